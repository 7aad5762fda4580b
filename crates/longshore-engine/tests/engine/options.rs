//! Every option is proved: `tests/sql` has statements that use it and succeed, and statements that it makes fail.
//!
//! What is counted are the statements that `slt.rs` runs, so a mention in a comment is none. An option that takes
//! one of several words must have succeeded with each of them. Below, values of the wrong kind: each is refused with
//! the option's name and its place, and none is taken for another. Not here: whether the results are right, which is
//! said in `tests/sql`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use longshore_engine::{Config, Database, OPTIONS, Outcome};
use sqllogictest::{DefaultColumnType, QueryExpect, Record, StatementExpect, parse_file};

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sql");

/// Options, or words of them, that no statement of `tests/sql` can have: they need a server, or a file that no statement
/// writes. They are in these files.
const ELSEWHERE: [(&str, &str, &str); 12] = [
    ("FORMAT", "ARROW", "longshore-engine/tests/engine/sources.rs"),
    ("ENDPOINT", "", SERVER),
    ("REGION", "", SERVER),
    ("ACCESS_KEY_ID", "", SERVER),
    ("SECRET_ACCESS_KEY", "", SERVER),
    ("SESSION_TOKEN", "", SERVER),
    ("PATH_STYLE", "", SERVER),
    ("PATH_STYLE", "TRUE", SERVER),
    ("PATH_STYLE", "FALSE", SERVER),
    ("ANONYMOUS", "", SERVER),
    ("ANONYMOUS", "TRUE", SERVER),
    ("ANONYMOUS", "FALSE", SERVER),
];

const SERVER: &str = "longshore-cli/tests/binary/remote.rs";

/// Whether the option, or a word of it, is in another file.
fn is_elsewhere(option: &str, word: &str) -> bool {
    ELSEWHERE.iter().filter(|(name, other, _)| *name == option && *other == word).any(|(.., path)| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let text = text.to_ascii_uppercase();
        if word.is_empty() { behind(&text, option).next().is_some() } else { gives(&text, option, word) }
    })
}

/// A statement of the tests.
struct Tested {
    /// In upper case, with blanks for every other space.
    sql: String,
    succeeds: bool,
}

fn tested() -> Vec<Tested> {
    let mut statements = Vec::new();
    let mut folders = vec![PathBuf::from(TESTS)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the tests are there") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "slt") {
                statements.extend(of_file(&path));
            }
        }
    }
    assert!(statements.len() > 300, "found {} statements only", statements.len());
    statements
}

fn of_file(path: &Path) -> impl Iterator<Item = Tested> {
    let records = parse_file::<DefaultColumnType>(path).unwrap_or_else(|error| panic!("{error}"));
    records.into_iter().filter_map(|record| {
        let (sql, succeeds) = match record {
            Record::Statement { sql, expected, .. } => (sql, !matches!(expected, StatementExpect::Error(_))),
            Record::Query { sql, expected, .. } => (sql, !matches!(expected, QueryExpect::Error(_))),
            _ => return None,
        };
        Some(Tested { sql: sql.to_ascii_uppercase().replace(['\n', '\r', '\t'], " "), succeeds })
    })
}

/// What follows `word` wherever it stands for itself in `sql`.
fn behind<'a>(sql: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    sql.match_indices(word).filter_map(move |(at, _)| {
        let rest = &sql[at + word.len()..];
        (!sql[..at].ends_with(is_part) && !rest.starts_with(is_part)).then_some(rest)
    })
}

/// Whether `sql` gives `option` a value, in COPY's way or in that of `read_csv`.
fn uses(sql: &str, option: &str) -> bool {
    let takes_options = ["COPY", "READ_", "SNIFF_CSV", "EXPORT", "CREATE"].iter().any(|word| sql.contains(word));
    takes_options && behind(sql, option).next().is_some()
}

/// Whether `sql` gives `option` the value `word`; a truth value may be left out.
fn gives(sql: &str, option: &str, word: &str) -> bool {
    behind(sql, option).any(|rest| {
        let value = rest.trim_start().trim_start_matches("=>").trim_start();
        let value = value.strip_prefix('\'').unwrap_or(value);
        let end = value.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(value.len());
        match &value[..end] {
            "" => word == "TRUE" && value.starts_with([',', ')']),
            "ON" | "1" => word == "TRUE",
            "OFF" | "0" => word == "FALSE",
            given => given == word,
        }
    })
}

#[test]
fn every_option_has_statements_that_succeed_and_statements_that_fail() {
    let statements = tested();
    let mut gaps = Vec::new();
    for option in OPTIONS {
        for succeeds in [true, false] {
            let is_tried = |tested: &Tested| tested.succeeds == succeeds && uses(&tested.sql, option.name);
            let is_elsewhere = succeeds && is_elsewhere(option.name, "");
            if !statements.iter().any(is_tried) && !is_elsewhere {
                let what = if succeeds { "succeeds" } else { "is refused" };
                gaps.push(format!("no statement with {} {what}", option.name));
            }
        }
        for word in option.words {
            let word = word.to_ascii_uppercase();
            let is_given = |tested: &Tested| tested.succeeds && gives(&tested.sql, option.name, &word);
            if !statements.iter().any(is_given) && !is_elsewhere(option.name, &word) {
                gaps.push(format!("no statement with {} {word} succeeds", option.name));
            }
        }
    }
    assert!(gaps.is_empty(), "write these tests below tests/sql:\n{}", gaps.join("\n"));
}

#[test]
fn every_option_is_tried_wherever_it_has_a_meaning() {
    let statements = tested();
    let places = |sql: &str| {
        let has = |word: &str| sql.contains(word);
        let is_query = has("FROM (SELECT") || has("FROM (VALUES");
        let reads = has("READ_") || has("SNIFF_CSV");
        match () {
            () if sql.starts_with("EXPORT") => vec!["EXPORT DATABASE"],
            () if sql.starts_with("COPY") && has(" TO ") => vec!["COPY TO"],
            () if sql.starts_with("COPY") && is_query && reads => vec!["COPY FROM (query)", "read_csv"],
            () if reads => vec!["read_csv"],
            () if is_query => vec!["COPY FROM (query)"],
            () if has("COPY") || has("AS FROM") => vec!["COPY FROM"],
            () => Vec::new(),
        }
    };
    let mut tried: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for tested in statements.iter().filter(|tested| tested.succeeds) {
        for option in OPTIONS.iter().filter(|option| uses(&tested.sql, option.name)) {
            tried.entry(option.name).or_default().extend(places(&tested.sql));
        }
    }
    let here = OPTIONS.iter().filter(|option| !is_elsewhere(option.name, ""));
    let untried = here.flat_map(|option| {
        let tried = tried.get(option.name).cloned().unwrap_or_default();
        option.places().filter(move |place| !tried.contains(place)).map(|place| format!("{} in {place}", option.name))
    });
    let untried: Vec<String> = untried.collect();
    assert!(untried.is_empty(), "no statement below tests/sql succeeds with\n{}", untried.join("\n"));
}

/// Values of every kind that the syntax knows.
const VALUES: [&str; 14] = [
    "",
    "true",
    "nonsense",
    "0",
    "7",
    "99999999999999999999",
    "''",
    "'x'",
    "'several characters'",
    "(a, b)",
    "('x', 'y')",
    "(a 'x')",
    "table 'x'",
    "*",
];

#[tokio::test]
async fn a_value_is_taken_or_refused_by_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("f.csv");
    std::fs::write(&file, "a,b\n").expect("a file");
    let mut session = Database::open(Config { threads: 1, ..Config::default() }).expect("a database").session();
    session.execute("CREATE TABLE t (a text, b text)").await.map(drop).expect("a table");
    let mut refused = 0;
    for option in OPTIONS {
        for value in VALUES {
            let sql = format!("COPY t FROM '{}' ({} {value}, DRY_RUN)", file.display(), option.name);
            let sql = if option.name == "DRY_RUN" { sql.replace(", DRY_RUN", "") } else { sql };
            let message = match session.execute(&sql).await {
                Ok(Outcome::Done { .. }) => continue,
                Ok(Outcome::Rows(_)) => panic!("{sql}: COPY gives no rows"),
                Err(error) => error.to_string(),
            };
            refused += 1;
            // What the file has may be refused by its place instead.
            let is_named = message.contains(option.name) || message.contains("f.csv: line 1");
            assert!(is_named || message.starts_with("syntax error"), "{sql}: {message}");
            assert!(message.len() > 30 && !message.contains("internal"), "{sql}: {message}");
        }
    }
    assert!(refused > 300, "{refused}");
}
