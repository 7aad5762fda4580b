//! Every statement of `docs/src/guide/recipes.md` does what it says, with a file that is as the recipe has it.
//!
//! What stands in backticks in the second column of the recipes is either a statement, which is run as it is, or the
//! options of `COPY t FROM 'file.csv'`. [`PROOFS`] has an entry for each, or [`NOT_HERE`] says where it is proved; a
//! recipe that is in neither fails.

use std::collections::BTreeSet;
use std::fs;

use crate::run::longshore_in;

const RECIPES: &str = include_str!("../../../../docs/src/guide/recipes.md");

/// A recipe with a file that needs it.
struct Proof {
    /// As it stands in the recipes.
    recipe: &'static str,
    /// The columns of table `t` before it, or statements that are run before; nothing where it makes the table.
    before: &'static str,
    files: &'static [(&'static str, &'static [u8])],
    /// A part of what the query returns, or for other statements of what is in `t` then.
    rows: &'static str,
}

const fn proof(
    recipe: &'static str,
    before: &'static str,
    files: &'static [(&'static str, &'static [u8])],
    rows: &'static str,
) -> Proof {
    Proof { recipe, before, files, rows }
}

const PROOFS: &[Proof] = &[
    proof("DESCRIBE 'file.csv'", "", &[("file.csv", b"a,b\n1,x\n")], "a,INTEGER,every value is INTEGER\n"),
    proof(
        "SELECT * FROM sniff_csv('file.csv')",
        "",
        &[("file.csv", b"a;b\n1;x\n")],
        "SELECT * FROM read_csv('file.csv', format => csv, delimiter => ';', ",
    ),
    proof("CREATE TABLE t AS FROM 'file.csv'", "", &[("file.csv", b"a;b\n1;x\n")], "a,b\n1,x\n"),
    proof(
        "CREATE TABLE t AS FROM 'file.csv' (TYPES (zip TEXT, price DECIMAL(10,2)))",
        "",
        &[("file.csv", b"zip,price,n\n01234,1.5,7\n")],
        "zip,price,n\n01234,1.50,7\n",
    ),
    proof(
        "COPY t FROM 'file.csv' (DELIMITER ';', DECIMAL_SEPARATOR ',')",
        "a DECIMAL(5,2), b TEXT",
        &[("file.csv", b"1,25;x\n")],
        "a,b\n1.25,x\n",
    ),
    proof(
        "(ON_CONFLICT keep_first)",
        "id INTEGER PRIMARY KEY, name TEXT",
        &[("file.csv", b"1,first\n2,x\n1,second\n")],
        "id,name\n1,first\n2,x\n",
    ),
    proof(
        "(ON_CONFLICT reject, ON_ERROR table 'rejects')",
        "id INTEGER PRIMARY KEY, name TEXT",
        &[("file.csv", b"1,first\n2,x\n1,second\n")],
        "id,name\n1,first\n2,x\n",
    ),
    proof(
        "(ON_CONFLICT keep_last)",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO t VALUES (1, 'old')",
        &[("file.csv", b"1,newer\n1,newest\n")],
        "id,name\n1,newest\n",
    ),
    proof(
        "COPY t (id, price) FROM 'prices.csv' (ON_CONFLICT update)",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, price INTEGER); INSERT INTO t VALUES (1, 'old', 5)",
        &[("prices.csv", b"1,7\n")],
        "id,name,price\n1,old,7\n",
    ),
    proof(
        "COPY t FROM 'inbox/*.csv' (ONCE)",
        "CREATE TABLE t (a INTEGER, b TEXT); COPY t FROM 'inbox/1.csv'",
        &[("inbox/1.csv", b"1,x\n"), ("inbox/2.csv", b"2,y\n")],
        BOTH,
    ),
    proof(
        "(ONCE, ON_CHANGE continue)",
        "CREATE TABLE t (a INTEGER, b TEXT); COPY t FROM 'file.csv' (ONCE); COPY (SELECT 1, 'x' UNION ALL SELECT 2, 'y' \
         ORDER BY 1) TO 'file.csv'",
        &[("file.csv", b"1,x\n")],
        BOTH,
    ),
    proof("(THOUSANDS_SEPARATOR ',')", "a INTEGER", &[("file.csv", b"\"1,234\"\n")], "a\n1234\n"),
    proof(
        "(THOUSANDS_SEPARATOR (price ','))",
        "name TEXT, price INTEGER",
        &[("file.csv", b"\"1,x\",\"1,234\"\n")],
        "name,price\n\"1,x\",1234\n",
    ),
    proof("(DELIMITER '||')", "a INTEGER, b TEXT", &[("file.csv", b"1||x|y\n")], "a,b\n1,x|y\n"),
    proof("(COMMENT '#')", "a INTEGER", &[("file.csv", b"# one\n1\n")], "a\n1\n"),
    proof("(SKIP 3)", "a INTEGER", &[("file.csv", b"Title\n\nof 2024\n1\n")], "a\n1\n"),
    proof("(DATE_FORMAT eu)", "d DATE", &[("file.csv", b"31.01.2024\n")], "d\n2024-01-31\n"),
    proof("(DATE_FORMAT us)", "d DATE", &[("file.csv", b"1/31/2024\n")], "d\n2024-01-31\n"),
    proof("(DATE_FORMAT '%b %d, %Y')", "d DATE", &[("file.csv", b"\"Jan 31, 2024\"\n")], "d\n2024-01-31\n"),
    proof("(TIMESTAMP_FORMAT epoch)", "t TIMESTAMP", &[("file.csv", b"1700000000\n")], "t\n2023-11-14 22:13:20\n"),
    proof(
        "(NULL ('', 'NA', '-'))",
        "a INTEGER, b TEXT",
        &[("file.csv", b"NA,x\n-,\n1,\"NA\"\n")],
        "a,b\n,x\n,\n1,NA\n",
    ),
    proof("(DATE_ORDER dmy)", "d DATE", &[("file.csv", b"01/02/2024\n2024-02-01\n")], "d\n2024-02-01\n2024-02-01\n"),
    proof("(DATE_ORDER mdy)", "d DATE", &[("file.csv", b"01/02/2024\n")], "d\n2024-01-02\n"),
    proof("(TRUE_VALUES 'ja', FALSE_VALUES 'nein')", "a BOOLEAN", &[("file.csv", b"ja\nnein\n")], "a\ntrue\nfalse\n"),
    proof("(SHORT_RECORDS pad)", "a INTEGER, b TEXT", &[("file.csv", b"1\n2,x\n")], "a,b\n1,\n2,x\n"),
    proof(
        "(SHORT_RECORDS pad, DEFAULTS (country 'NZ'))",
        "a INTEGER, country TEXT",
        &[("file.csv", b"1\n2,AU\n")],
        "a,country\n1,NZ\n2,AU\n",
    ),
    proof("(LONG_RECORDS truncate)", "a INTEGER", &[("file.csv", b"1,x,y\n")], "a\n1\n"),
    proof(
        "(STRAY_QUOTES literal)",
        "a INTEGER, b TEXT",
        &[("file.csv", b"1,5\" pipe\n2,\"x,y\"\n")],
        "a,b\n1,\"5\"\" pipe\"\n2,\"x,y\"\n",
    ),
    proof("(QUOTE NONE)", "a INTEGER, b TEXT", &[("file.csv", b"1,\"x\n")], "a,b\n1,\"\"\"x\"\n"),
    proof(
        "(ESCAPE '\\', ESCAPE_RULE everything)",
        "a INTEGER, b TEXT",
        &[("file.csv", b"1,x\\,y\n")],
        "a,b\n1,\"x,y\"\n",
    ),
    proof("(ON_ERROR table 'rejects')", "a INTEGER", &[("file.csv", b"1\nx\n2\n")], "a\n1\n2\n"),
    proof(
        "SELECT * FROM rejects",
        "CREATE TABLE t (a INTEGER); COPY t FROM 'file.csv' (ON_ERROR table 'rejects')",
        &[("file.csv", b"1\nx\n2\n")],
        "file.csv,2,",
    ),
    proof("(ON_ERROR file 'rejects.csv', REJECT_LIMIT '1%')", "a INTEGER", &[("file.csv", b"1\n2\n")], "a\n1\n2\n"),
    proof("(DRY_RUN, ON_ERROR ignore)", "a INTEGER", &[("file.csv", b"1\nx\n")], "a\n"),
    proof("(ENCODING 'latin1')", "a TEXT", &[("file.csv", b"\xe4\n")], "a\n\u{e4}\n"),
    proof("(ENCODING 'shift_jis')", "a TEXT", &[("file.csv", b"\x83\x65\n")], "a\n\u{30c6}\n"),
    proof("(ENCODING_ERRORS replace)", "a TEXT", &[("file.csv", b"\xe4\n")], "a\n\u{fffd}\n"),
    proof(
        "COPY t FROM 'part-*.csv.gz'",
        "a INTEGER, b TEXT",
        &[("part-1.csv.gz", GZIP), ("part-2.csv.gz", b"2,y\n")],
        BOTH,
    ),
    proof("COPY t FROM ('a.csv', 'b.csv')", "a INTEGER, b TEXT", &[("a.csv", b"1,x\n"), ("b.csv", b"2,y\n")], BOTH),
    proof("COPY t FROM 'folder/'", "a INTEGER, b TEXT", &[("folder/1", b"1,x\n"), ("folder/in/2", b"2,y\n")], BOTH),
    proof(
        "COPY t FROM 'part-*.csv' (FILENAME source)",
        "a INTEGER, b TEXT, source TEXT",
        &[("part-1.csv", b"1,x\n"), ("part-2.csv", b"2,y\n")],
        "a,b,source\n1,x,part-1.csv\n2,y,part-2.csv\n",
    ),
    proof(
        "(FILENAME source, ROW_NUMBER line)",
        "a INTEGER, source TEXT, line BIGINT",
        &[("file.csv", b"7\n8\n")],
        "a,source,line\n7,file.csv,1\n8,file.csv,2\n",
    ),
    proof("CREATE TABLE t AS FROM 'part-*.csv' (UNION_BY_NAME)", "", OF_OTHER_COLUMNS, BY_NAME),
    proof("COPY t FROM 'part-*.csv' (UNION_BY_NAME)", "a INTEGER, b TEXT, c TEXT", OF_OTHER_COLUMNS, BY_NAME),
    proof("COPY t FROM 'file.csv' (AUTO)", "a INTEGER, b TEXT", &[("file.csv", b"b;a\nx;1\ny;2\n")], BOTH),
    proof(
        "CREATE TABLE t AS FROM 'folder' (HIVE_PARTITIONING)",
        "",
        &[("folder/year=2024/month=01/f.csv", b"a\n7\n")],
        "a,year,month\n7,2024,",
    ),
    proof(
        "(HIVE_PARTITIONING, TYPES (month INTEGER))",
        "",
        &[("folder/year=2024/month=01/f.csv", b"a\n7\n")],
        "a,year,month\n7,2024,1\n",
    ),
    proof(
        "CREATE TABLE t AS FROM 'file.json'",
        "",
        &[("file.json", b"[{\"a\": 1, \"b\": \"x\"}, {\"a\": 2, \"b\": \"y\"}]")],
        BOTH,
    ),
    proof(
        "COPY t FROM 'file.json' (FORMAT json, PATHS (city 'address.city'))",
        "id INTEGER, city TEXT",
        &[("file.json", b"{\"id\": 1, \"address\": {\"city\": \"Ulm\"}}\n")],
        "id,city\n1,Ulm\n",
    ),
    proof(
        "COPY t FROM 'file.txt' (FORMAT fixed, PLACES '0-10,10-25')",
        "a TEXT, b TEXT",
        &[("file.txt", b"one       first\n2         second\n")],
        "a,b\none,first\n2,second\n",
    ),
    proof(
        "CREATE TABLE t AS FROM 'access.log' (FORMAT pattern, PATTERN combined)",
        "",
        &[("access.log", ACCESS)],
        "127.0.0.1,",
    ),
    proof(
        "(FORMAT logfmt)",
        "level TEXT, msg TEXT",
        &[("file.csv", b"level=info msg=\"it runs\" n=1\n")],
        "level,msg\ninfo,it runs\n",
    ),
    proof(
        "(FORMAT pattern, PATTERN combined)",
        "host TEXT, status INTEGER",
        &[("file.csv", ACCESS)],
        "host,status\n127.0.0.1,200\n",
    ),
    proof(
        "(FORMAT pattern, PATTERN '(?<time>\\S+) (?<message>.*)')",
        "time TEXT, message TEXT",
        &[("file.csv", b"12:00 it runs\n")],
        "time,message\n12:00,it runs\n",
    ),
    proof("(FORMAT text)", "a INTEGER, b TEXT", &[("file.csv", b"1\tx\\ty\n2\t\\N\n")], "a,b\n1,x\ty\n2,\n"),
    proof(
        "COPY t FROM 'file.csv' (HEADER) WHERE day >= '2024-01-01'",
        "a INTEGER, day DATE",
        &[("file.csv", b"a,day\n1,2023-12-31\n2,2024-01-01\n")],
        "a,day\n2,2024-01-01\n",
    ),
    proof(
        "COPY t FROM (SELECT a, upper(b) FROM 'file.csv')",
        "a INTEGER, b TEXT",
        &[("file.csv", b"a,b\n1,x\n2,y\n")],
        "a,b\n1,X\n2,Y\n",
    ),
];

/// Recipes that need more than a file, and where they are proved.
const NOT_HERE: [(&str, &str); 4] = [
    ("COPY t FROM 's3://bucket/part-*.csv'", "remote.rs"),
    ("(ANONYMOUS, REGION 'us-west-2')", "remote.rs"),
    ("COPY t FROM 'file.parquet'", "tests/sql/copy/parquet.slt"),
    ("SELECT * FROM 'file.parquet'", "tests/sql/copy/parquet.slt"),
];

const OF_OTHER_COLUMNS: &[(&str, &[u8])] = &[("part-1.csv", b"a,b\n1,x\n"), ("part-2.csv", b"c,a\nz,2\n")];

const BY_NAME: &str = "a,b,c\n1,x,\n2,,z\n";

const BOTH: &str = "a,b\n1,x\n2,y\n";

/// `printf '1,x\n' | gzip`
const GZIP: &[u8] = &[31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 51, 212, 169, 224, 2, 0, 188, 229, 183, 95, 4, 0, 0, 0];

const ACCESS: &[u8] =
    b"127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 2326 \"http://x/\" \"Mozilla\"\n";

/// What stands in backticks in the second column of the table, and in the text before it, and is something to write.
fn recipes() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in RECIPES.lines() {
        let row = line.replace("\\|", "\u{1}");
        let cell = row.split('|').nth(2).unwrap_or(&row).replace('\u{1}', "|");
        let is_row = line.starts_with('|');
        for quoted in cell.split('`').skip(1).step_by(2) {
            let is_statement = ["COPY ", "CREATE ", "SELECT ", "DESCRIBE "].iter().any(|verb| quoted.starts_with(verb));
            let is_whole = !quoted.contains("...")
                && !quoted.contains("OPTION")
                && (quoted.contains('\'') || quoted.contains("rejects"));
            if is_statement && is_whole || is_row && quoted.starts_with('(') && !quoted.contains("...") {
                found.insert(quoted.to_owned());
            }
        }
    }
    found
}

/// The statement that a recipe means.
fn statement(recipe: &str) -> String {
    match recipe.strip_prefix('(') {
        Some(options) if options.starts_with("HIVE") => format!("CREATE TABLE t AS FROM 'folder' {recipe}"),
        Some(_) => format!("COPY t FROM 'file.csv' {recipe}"),
        None => recipe.to_owned(),
    }
}

#[test]
fn every_recipe_does_what_it_says() {
    let mut unproved = recipes();
    assert!(unproved.len() > 40, "found only {unproved:?}");
    let mut wrong = Vec::new();
    for Proof { recipe, before, files, rows } in PROOFS {
        if !unproved.remove(*recipe) {
            wrong.push(format!("{recipe}\n  is not in docs/src/guide/recipes.md"));
        }
        let directory = tempfile::tempdir().expect("a directory");
        for (name, text) in *files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let before = match *before {
            "" => "SELECT 1 AS nothing".to_owned(),
            statements if statements.starts_with("CREATE") => statements.to_owned(),
            columns => format!("CREATE TABLE t ({columns})"),
        };
        let is_query = recipe.starts_with("SELECT") || recipe.starts_with("DESCRIBE");
        let after = if is_query { "SELECT 1 AS nothing" } else { "SELECT * FROM t" };
        let statements = ["--format", "csv", "-c", &before, "-c", &statement(recipe), "-c", after];
        let run = longshore_in(directory.path(), &statements, "");
        if run.status != 0 || !run.out.contains(rows) {
            wrong.push(format!("{recipe}\n  expected {rows:?}\n  found {:?}\n  {}", run.out, run.err));
        }
    }
    for (recipe, _) in NOT_HERE {
        assert!(unproved.remove(recipe), "{recipe} is not in docs/src/guide/recipes.md");
    }
    wrong.extend(unproved.iter().map(|recipe| format!("{recipe}\n  is not proved here; add it to PROOFS")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
