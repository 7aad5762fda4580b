//! The pages of `docs/src` do what they say: their statements and commands are run, and what they print is compared.
//!
//! A block with ` file=NAME` in its first line is written to the page's folder. All `sql` blocks of a page are one
//! session, in order; a `text` block right behind one is its exact output. A block whose text begins with an error (in
//! any line) ends the session, so that the page is played again up to there, without it, in a new folder. Lines of a
//! `console` block that begin with `$ ` are run by `sh`, with `longshore` on the path; what follows is their output. In
//! expected text a line `...` stands for any lines, and `…` within a line for any characters. `sql,ignore` is not run.
//! Each line of a `sql sessions` block is a statement of the session that `/* NAME */` before it names, and fails with
//! the SQLSTATE behind ` -- `, or succeeds.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use futures::TryStreamExt as _;
use longshore_engine::{Config, Database, Error, ErrorKind, OPTIONS, Outcome, Session};
use tempfile::TempDir;

#[allow(dead_code, reason = "its main is not called")]
#[path = "../../longshore-engine/examples/embed.rs"]
mod embed;
#[allow(dead_code, reason = "its main is not called")]
#[path = "../../longshore-engine/examples/load.rs"]
mod load;
#[allow(dead_code, reason = "its main is not called")]
#[path = "../../longshore-engine/examples/rows.rs"]
mod rows;
#[allow(dead_code, reason = "its main is not called")]
#[path = "../../longshore-engine/examples/transactions.rs"]
mod transactions;

const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src");

/// How long a block may take, which ends the test where a statement lacks its end.
const BLOCK_TIME_MAX: Duration = Duration::from_mins(2);

/// What tells the end of a block's output, and what of it a session prints.
const MARK: &str = "SELECT 'x' AS \"end of block\";\n";
const MARK_LINES: [&str; 5] = [" end of block", "--------------", " x", "(1 row)", ""];

/// A block between fences.
#[derive(Debug)]
struct Block {
    /// What stands behind the opening fence.
    info: String,
    /// The line of the opening fence, from 1.
    line: usize,
    text: String,
    /// The text block right behind it.
    expected: Option<String>,
}

impl Block {
    fn fails(&self) -> bool {
        self.expected.as_deref().is_some_and(|text| text.lines().any(|line| line.starts_with("error: ")))
    }
}

/// The blocks of a page.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    // Whether the next block stands right behind the last one.
    let mut follows = false;
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            follows &= line.trim().is_empty();
            continue;
        };
        let mut text = String::new();
        for (_, line) in lines.by_ref().take_while(|(_, line)| !line.starts_with("```")) {
            text.push_str(line);
            text.push('\n');
        }
        match blocks.last_mut() {
            Some(before) if follows && info == "text" && before.info == "sql" && before.expected.is_none() => {
                before.expected = Some(text);
            }
            _ => blocks.push(Block { info: info.to_owned(), line: number + 1, text, expected: None }),
        }
        follows = true;
    }
    blocks
}

/// Whether `found` is what `expected` says.
fn matches(expected: &[&str], found: &[&str]) -> bool {
    match (expected.split_first(), found.split_first()) {
        (None, None) => true,
        (Some((&"...", rest)), _) => (0..=found.len()).any(|lines| matches(rest, &found[lines..])),
        (Some((line, expected)), Some((first, found))) => line_matches(line, first) && matches(expected, found),
        _ => false,
    }
}

fn line_matches(expected: &str, found: &str) -> bool {
    match expected.split_once('…') {
        None => expected == found,
        Some((start, rest)) => found.strip_prefix(start).is_some_and(|found| {
            let ends = found.char_indices().map(|(at, _)| at).chain([found.len()]);
            ends.into_iter().any(|at| line_matches(rest, &found[at..]))
        }),
    }
}

/// The lines of a text, without blanks at their ends and without empty lines at its end.
fn lines(text: &str) -> Vec<&str> {
    text.trim_end().lines().map(str::trim_end).collect()
}

fn difference(page: &str, line: usize, expected: &str, found: &str) -> Option<String> {
    (!matches(&lines(expected), &lines(found)))
        .then(|| format!("{page}:{line}:\n--- expected\n{}\n--- found\n{}\n", expected.trim_end(), found.trim_end()))
}

/// A page that is being played: a folder, and the session that works in it.
struct Play {
    folder: TempDir,
    session: Child,
    output: Receiver<String>,
}

impl Play {
    fn start(blocks: &[Block]) -> Play {
        let folder = tempfile::tempdir().expect("a directory");
        for (block, name) in blocks.iter().filter_map(|block| Some((block, block.info.split_once(" file=")?.1))) {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, &block.text).expect("a file");
        }
        let mut session = shell(folder.path(), "exec longshore --threads 2 2>&1").spawn().expect("sh starts");
        let output = BufReader::new(session.stdout.take().expect("a pipe"));
        let (send, receive) = channel();
        thread::spawn(move || output.lines().map_while(Result::ok).all(|line| send.send(line).is_ok()));
        Play { folder, session, output: receive }
    }

    /// Does what a block says: what should be printed and what is, and whether the session goes on.
    fn perform(&mut self, block: &Block) -> (Vec<(Option<String>, String)>, bool) {
        match block.info.as_str() {
            "sql" => {
                let (found, goes_on) = self.statements(&block.text);
                (vec![(block.expected.clone(), found)], goes_on)
            }
            "console" => {
                let run = |(command, expected)| (Some(expected), self.command(command));
                (commands(&block.text).into_iter().map(run).collect(), true)
            }
            _ => (Vec::new(), true),
        }
    }

    /// Runs statements: what they print, and whether the session goes on.
    fn statements(&mut self, text: &str) -> (String, bool) {
        let input = self.session.stdin.as_mut().expect("a pipe");
        // A session that fails does not read to the end.
        let _ = input.write_all(format!("{text}\n{MARK}").as_bytes()).and_then(|()| input.flush());
        let mut printed: Vec<String> = Vec::new();
        while !printed.iter().map(String::as_str).collect::<Vec<_>>().ends_with(&MARK_LINES) {
            match self.output.recv_timeout(BLOCK_TIME_MAX) {
                Ok(line) => printed.push(unplaced(line)),
                Err(_) => return (printed.join("\n"), false),
            }
        }
        printed.truncate(printed.len() - MARK_LINES.len());
        (printed.join("\n"), true)
    }

    /// Runs a command: what it prints.
    fn command(&self, command: &str) -> String {
        let done = shell(self.folder.path(), &format!("{{ {command}\n}} 2>&1")).output().expect("sh runs");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }
}

impl Drop for Play {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.session.kill();
        let _ = self.session.wait();
    }
}

/// `sh` with the binary on its path, free of the environment's settings.
fn shell(folder: &Path, command: &str) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_longshore")).parent().expect("a folder");
    let path =
        env::join_paths([binary.to_owned()].into_iter().chain(env::split_paths(&env::var_os("PATH").expect("PATH"))));
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(folder).env("PATH", path.expect("a path")).env_remove("LONGSHORE_KERNEL");
    shell.stdin(Stdio::piped()).stdout(Stdio::piped());
    shell
}

/// An error without its place on standard input: at the prompt it has none.
fn unplaced(line: String) -> String {
    let rest = line.strip_prefix("error: standard input:").and_then(|rest| rest.split_once(": "));
    match rest {
        Some((number, message)) if number.parse::<usize>().is_ok() => format!("error: {message}"),
        _ => line,
    }
}

/// Plays a page: where it is wrong.
fn problems(name: &str, page: &str) -> Vec<String> {
    let blocks = blocks(page);
    let mut problems = Vec::new();
    let mut play = Play::start(&blocks);
    for (index, block) in blocks.iter().enumerate() {
        if block.info.starts_with("sql,") && block.info != "sql,ignore" {
            problems.push(format!("{name}:{}: {} means nothing", block.line, block.info));
        }
        let (outputs, goes_on) = play.perform(block);
        for (expected, found) in &outputs {
            if goes_on == block.fails() || !goes_on && expected.is_none() {
                let what = if goes_on { "an error is expected" } else { "the session ended" };
                problems.push(format!("{name}:{}: {what}:\n{}\n--- found\n{found}\n", block.line, block.text));
            }
            problems.extend(expected.as_ref().and_then(|expected| difference(name, block.line, expected, found)));
        }
        if !goes_on {
            play = Play::start(&blocks);
            for before in blocks[..index].iter().filter(|block| !block.fails()) {
                play.perform(before);
            }
        }
    }
    problems
}

/// Runs the statements of a page that say which session runs them: where one ends otherwise than its line says.
async fn session_problems(name: &str, page: &str) -> Vec<String> {
    let database = Database::open(Config::default()).expect("a database");
    let mut sessions: BTreeMap<String, Session> = BTreeMap::new();
    let mut problems = Vec::new();
    for block in blocks(page).iter().filter(|block| block.info == "sql sessions") {
        for (at, line) in block.text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            let named = line.strip_prefix("/* ").and_then(|rest| rest.split_once(" */ "));
            let (session, rest) = named.unwrap_or(("", line));
            let (sql, expected) = rest.rsplit_once(" -- ").unwrap_or((rest, ""));
            let session = sessions.entry(session.to_owned()).or_insert_with(|| database.session());
            let failure = run(session, sql).await.err();
            let found = failure.as_ref().map_or("", |error| error.kind().sqlstate());
            if found != expected {
                let message = failure.map_or_else(String::new, |error| error.to_string());
                let line = block.line + 1 + at;
                problems.push(format!("{name}:{line}: {sql}: {expected:?} expected, found {found:?} {message}"));
            }
        }
    }
    problems
}

/// Executes a statement, and reads its rows to the end.
async fn run(session: &mut Session, sql: &str) -> Result<(), Error> {
    match session.execute(sql.trim_end()).await? {
        Outcome::Rows(rows) => rows.try_collect::<Vec<_>>().await.map(drop),
        Outcome::Done { .. } => Ok(()),
    }
}

/// The commands of a console block, and what each prints.
fn commands(text: &str) -> Vec<(&str, String)> {
    let mut commands: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command, String::new())),
            (None, Some((_, expected))) => writeln!(expected, "{line}").expect("a String takes everything"),
            (None, None) => {}
        }
    }
    commands
}

/// All pages: their paths below `docs/src`, and their texts.
fn pages() -> Vec<(String, String)> {
    let mut folders = vec![PathBuf::from(PAGES)];
    let mut pages = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                let name = path.strip_prefix(PAGES).expect("below").to_string_lossy().into_owned();
                pages.push((name, fs::read_to_string(&path).expect("UTF-8")));
            }
        }
    }
    pages.sort_unstable();
    pages
}

/// What links of a page name, without what stands in fences, and what it includes.
fn links(page: &str) -> Vec<String> {
    let prose: String = page.split("```").step_by(2).collect();
    let links = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let included = page.split("{{#include ").skip(1).filter_map(|rest| rest.split_once('}'));
    links.chain(included).map(|(link, _)| link.to_owned()).collect()
}

/// The heading's name in addresses, as mdBook makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || "_- ".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// The part of a page between the marks of `name`.
fn listed<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let begin = format!("<!-- {name}: checked by crates/longshore-cli/tests/book.rs -->\n");
    page.split_once(&begin)?.1.split_once(&format!("<!-- end of {name} -->\n")).map(|(table, _)| table)
}

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(PAGES).join(name)).expect("a page")
}

/// Names all kinds of errors; a new one does not compile until it is named here.
macro_rules! kinds {
    ($($kind:ident)*) => {
        const KINDS: &[ErrorKind] = &[$(ErrorKind::$kind),*];
        const _: fn(ErrorKind) = |kind| match kind { $(ErrorKind::$kind)|* | ErrorKind::Coded(_) => {} };
    };
}
kinds!(
    Syntax Unsupported NotFound NoColumn NoObject NoFunction Ambiguous Grouping ConflictTarget Exists Dependent Invalid
    Data Io Damaged Memory Cancelled Conflict Deadlock LockNotAvailable NotNull Duplicate ForeignKey Check Generated OutOfRange InvalidText
    TooLong RegularExpression Substring Subscript EscapeSequence EscapeUse Encoding NullNotAllowed
    DateTimeFormat DateTimeRange IntervalField ZoneDisplacement DivisionByZero InvalidPower InvalidLogarithm InvalidBucket
    SequenceLimit State DuplicateObject DuplicateColumn DuplicateAlias Windowing ViewCheck TypeMismatch
    WrongObject Cardinality
    InvalidForeignKey ActiveTransaction NoTransaction NoSavepoint Aborted ReadOnly PreparedExists NoPrepared TooLarge
    TooComplex InvalidRecursion NoSchema SchemaExists InvalidTable InvalidColumn Privilege ReservedName InvalidName Internal
);

#[test]
fn every_page_does_what_it_says() {
    let found: Vec<String> = pages().iter().flat_map(|(name, text)| problems(name, text)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_statement_of_a_session_ends_as_its_page_says() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut found = Vec::new();
    for (name, text) in pages() {
        found.extend(runtime.block_on(session_problems(&name, &text)));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    let page = "```sql sessions\nSELECT 1 / 0; -- 22012\nSELECT 1; -- 22012\n/* B */ SELECT 1 / 0;\n```\n";
    assert_eq!(runtime.block_on(session_problems("wrong", page)).len(), 2);
}

#[test]
fn a_page_that_is_wrong_fails() {
    let page = "```csv file=a/b.csv\nx,y\n1,one\n```\n```sql\nSELECT y FROM 'a/b.csv';\n```\n\n```text\n  y\n\
                ANSWER\n one\n(1 row)\n```\n```sql\nSELECT 1 / 0;\n```\n```text\nerror: division by …\n```\n\
                ```console\n$ longshore --format csv -c \"SELECT 7 AS a\"\na\n7\n```\n";
    let right = page.replace("ANSWER", "...");
    assert_eq!(problems("right", &right), Vec::<String>::new());
    let wrong = problems("wrong", page);
    assert!(wrong.len() == 1 && wrong[0].starts_with("wrong:5:\n--- expected\n  y\nANSWER\n"), "{wrong:?}");
    assert!(wrong[0].contains("--- found\n  y\n-----\n one\n(1 row)\n"), "{wrong:?}");
    for (before, after) in
        [("division by …", "…zero…!"), ("error: division by …", "1"), ("a\n7", "a\n8"), ("1 / 0", "1")]
    {
        assert_eq!(problems("wrong", &right.replace(before, after)).len().min(1), 1, "{before} as {after}");
    }
}

#[test]
fn every_page_is_in_the_summary_and_every_link_leads_somewhere() {
    let pages = pages();
    let summary: BTreeSet<String> = links(&page("SUMMARY.md")).into_iter().collect();
    let mut wrong = Vec::new();
    for (name, text) in &pages {
        if name != "SUMMARY.md" && !summary.contains(name) {
            wrong.push(format!("{name}: is not in SUMMARY.md"));
        }
        let parts: Vec<&str> = text.split("```").collect();
        for pair in parts.windows(2) {
            let file = pair[1].lines().next().and_then(|info| info.split_once(" file="));
            let introduction = pair[0].trim_end().rsplit("\n\n").next();
            if let Some((_, file)) = file
                && !introduction.is_some_and(|text| text.contains(&format!("`{file}`")))
            {
                wrong.push(format!("{name}: {file} is not named in the paragraph before it"));
            }
        }
        for link in links(text).into_iter().filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let folder = Path::new(name).parent().expect("a folder");
            let file = if file.is_empty() { name.into() } else { folder.join(file) };
            let Ok(text) = fs::read_to_string(Path::new(PAGES).join(&file)) else {
                wrong.push(format!("{name}: {link}: there is no such page"));
                continue;
            };
            let mut headings = text.lines().filter(|line| line.starts_with('#'));
            if !heading.is_empty() && !headings.any(|line| anchor(line.trim_start_matches('#')) == heading) {
                wrong.push(format!("{name}: {link}: there is no such heading"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_page_of_options_lists_every_option() {
    let mut expected = "| option | where | value | default | meaning |\n|---|---|---|---|---|\n".to_owned();
    for option in OPTIONS {
        let cells = [option.values, option.default, option.meaning].map(|cell| cell.replace('|', "\\|"));
        let cells = cells.map(|cell| cell.replace("(docs/src/", "(../"));
        let places: Vec<_> = option.places().collect();
        writeln!(expected, "| `{}` | {} | {} |", option.name, places.join(", "), cells.join(" | "))
            .expect("a String takes everything");
    }
    let found = page("reference/options.md");
    assert!(
        listed(&found, "options") == Some(expected.as_str()),
        "put this between the marks in options.md:\n{expected}"
    );
}

#[test]
fn the_page_of_sqlstates_lists_every_code() {
    let page = page("reference/sqlstates.md");
    let rows = listed(&page, "sqlstates").expect("marks").lines().skip(2);
    let listed: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
    let codes: BTreeSet<&str> = KINDS.iter().map(|kind| kind.sqlstate()).collect();
    let expected: Vec<&str> = codes.into_iter().collect();
    assert_eq!(listed, expected, "the codes of sqlstates.md, in order, and those of ErrorKind");
}

#[test]
fn the_examples_run() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(embed::run()).expect("embed.rs");
    runtime.block_on(load::run()).expect("load.rs");
    runtime.block_on(rows::run()).expect("rows.rs");
    runtime.block_on(transactions::run()).expect("transactions.rs");
}
