//! Queries over CSV files in place: the same rows as after a load, with everything pushed into the parse.

use std::path::PathBuf;

use longshore_engine::Session;
use longshore_testing::{Random, share};
use tempfile::TempDir;

use crate::dialects::table::{Numbers, Table};
use crate::dialects::writer::Dialect;
use crate::query_support::{fails, fill, ok, predicate, run, session, sorted};

/// Rows of the file that most tests use.
const ROWS: usize = 40_000;

/// A folder with `t.csv`, the rows of the table `t`, which is in `session`.
async fn folder(session: &mut Session) -> TempDir {
    let folder = TempDir::new().expect("a temporary folder");
    fill(session, ROWS).await;
    let path = folder.path().join("t.csv");
    ok(session, &format!("COPY t TO '{}'", path.display())).await;
    folder
}

fn write(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("the file can be written");
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_gives_the_same_rows_as_the_table_it_came_from() {
    let mut session = session(3);
    let folder = folder(&mut session).await;
    let file = format!("read_csv('{}', table => 't') AS t", folder.path().join("t.csv").display());
    assert_eq!(
        sorted(&mut session, &format!("SELECT * FROM {file}")).await,
        sorted(&mut session, "SELECT * FROM t").await
    );
    let mut random = Random::new(11);
    for round in 0..40 {
        let condition = predicate(&mut random, ROWS, 2);
        let columns = random.pick(&["id", "tz, s", "count(*), sum(big)", "d, c, dt, id", "max(w), min(v), count(r)"]);
        let file = sorted(&mut session, &format!("SELECT {columns} FROM {file} WHERE {condition}")).await;
        let table = sorted(&mut session, &format!("SELECT {columns} FROM t WHERE {condition}")).await;
        assert!(file == table, "round {round}: {condition}: {} and {} rows", file.len(), table.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn projection_predicate_and_limit_reach_the_parse() {
    let mut session = session(2);
    let folder = folder(&mut session).await;
    let file = format!("read_csv('{}', table => 't')", folder.path().join("t.csv").display());
    let plan =
        ok(&mut session, &format!("EXPLAIN SELECT s FROM {file} WHERE id < 100 AND c LIKE 'c1%'")).await.join("\n");
    assert!(!plan.contains("FilterExec") && plan.contains("columns=[s]"), "{plan}");
    assert!(plan.contains("predicate="), "{plan}");
    assert_eq!(ok(&mut session, &format!("SELECT id FROM {file} LIMIT 3")).await, ["1", "2", "3"]);
    assert_eq!(ok(&mut session, &format!("SELECT id FROM {file} LIMIT 2 OFFSET 5000")).await, ["5001", "5002"]);
    assert_eq!(ok(&mut session, &format!("SELECT id FROM {file} WHERE id > 39000 LIMIT 7")).await.len(), 7);
    assert_eq!(ok(&mut session, &format!("SELECT count(*) FROM {file}")).await, ["40000"]);
    assert_eq!(
        ok(&mut session, &format!("SELECT count(*) FROM {file} a JOIN {file} b ON a.id = b.id")).await,
        ["40000"]
    );
    assert_eq!(ok(&mut session, &format!("CREATE TABLE u AS SELECT * FROM {file}")).await, ["SELECT 40000"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_come_from_the_call_the_alias_or_a_table() {
    let mut session = session(2);
    let folder = TempDir::new().expect("a temporary folder");
    let csv = write(&folder, "p.csv", "1,one,2.50\n2,\"tw,o\",\n").display().to_string();
    let columns = "columns => {'a': 'INTEGER', 'b': 'VARCHAR(10)', 'c': 'DECIMAL(5,2)'}";
    let expected = ["1|one|2.50", "2|tw,o|-"];
    assert_eq!(ok(&mut session, &format!("SELECT * FROM read_csv('{csv}', {columns})")).await, expected);
    assert_eq!(
        ok(&mut session, &format!("SELECT p.a FROM read_csv('{csv}', {columns}) WHERE p.c IS NULL")).await,
        ["2"]
    );
    assert_eq!(
        ok(&mut session, &format!("SELECT x.b FROM read_csv('{csv}', {columns}) AS x WHERE x.a = 1")).await,
        ["one"]
    );
    assert_eq!(
        ok(&mut session, &format!("SELECT x.q FROM read_csv('{csv}', {columns}) AS x (q, r, s) WHERE q = 1")).await,
        ["1"]
    );
    let alias = "AS t (a INTEGER, b TEXT, c DECIMAL(5,2))";
    assert_eq!(ok(&mut session, &format!("SELECT * FROM '{csv}' {alias}")).await, expected);
    assert_eq!(ok(&mut session, &format!("SELECT t.b FROM '{csv}' {alias} WHERE t.a > 1")).await, ["tw,o"]);
    ok(&mut session, "CREATE TABLE p (a BIGINT NOT NULL, b TEXT, c DOUBLE PRECISION)").await;
    assert_eq!(ok(&mut session, &format!("SELECT a, c FROM '{csv}'")).await, ["1|2.5", "2|-"]);
    assert_eq!(ok(&mut session, &format!("SELECT b FROM read_csv('{csv}', table => p)")).await, ["one", "tw,o"]);
    ok(&mut session, &format!("INSERT INTO p SELECT * FROM '{csv}'")).await;
    ok(&mut session, &format!("CREATE VIEW pv AS SELECT p.a FROM '{csv}' JOIN p AS q ON p.a = q.a")).await;
    assert_eq!(sorted(&mut session, "SELECT * FROM pv").await, ["1", "2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn options_say_how_the_text_is_read() {
    let mut session = session(2);
    let folder = TempDir::new().expect("a temporary folder");
    let columns = "columns => {'a': 'INTEGER', 'b': 'TEXT'}";
    for (name, text, options) in [
        ("p.csv", "1,x\n2,NULL\n", "nullstr => 'NULL'"),
        ("p.csv", "a,b\n1,x\n2,\n", "header => true"),
        ("p.csv", "a,b\n1,x\n2,\n", "header => 'match'"),
        ("p.tsv", "1\tx\n2\t\n", "header => false"),
        ("p.tbl", "1|x|\n2||\n", "mode => 'exact'"),
        ("p.csv", "1;'x';\n2;;\n", "delimiter => ';', quote => '''', trailing_delimiter => true"),
        ("p.csv", "1,x\n2,\"\"\n", "force_null => 'b', mode => 'fast'"),
    ] {
        let path = write(&folder, name, text);
        let sql = format!("SELECT * FROM read_csv('{}', {columns}, {options})", path.display());
        assert_eq!(ok(&mut session, &sql).await, ["1|x", "2|-"], "{options}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_refused_with_a_remedy() {
    let mut session = session(2);
    let folder = TempDir::new().expect("a temporary folder");
    let good = write(&folder, "good.csv", "1,2\n").display().to_string();
    let bad = write(&folder, "bad.csv", "1,2\n3,x\n").display().to_string();
    let columns = "columns => {'a': 'INTEGER', 'b': 'INTEGER'}";
    for (sql, part) in [
        ("SELECT * FROM read_parquet('some.parquet')".to_owned(), "some.parquet does not exist"),
        (format!("SELECT * FROM read_csv('none.csv', {columns})"), "none.csv does not exist"),
        (format!("SELECT * FROM read_csv('{good}', {columns}, table => 't')"), "not from both"),
        (format!("SELECT * FROM read_csv('{good}', table => 'nope')"), "table nope does not exist"),
        (format!("SELECT * FROM read_csv('{good}', {columns}, colour => 'red')"), "COLOUR"),
        (format!("SELECT * FROM read_csv('{good}', {columns}, mode => 'slow')"), "exact, fast"),
        (format!("SELECT * FROM read_csv('{good}', {columns}, force_null => 'z')"), "the column z"),
        (format!("SELECT * FROM read_csv('{good}', columns => {{'a': 'COLOUR'}})"), "COLOUR"),
        (format!("SELECT * FROM '{good}' AS t (a INTEGER, b)"), "column b has no type"),
        (format!("SELECT * FROM read_csv('{bad}', {columns})"), "line 2"),
        (format!("INSERT INTO '{good}' VALUES (1, 2)"), "good.csv"),
    ] {
        let message = fails(&mut session, &sql).await;
        assert!(message.contains(part), "{sql}: {message}");
    }
    // A field that the query does not need is not looked at.
    assert_eq!(ok(&mut session, &format!("SELECT sum(a) FROM read_csv('{bad}', {columns})")).await, ["4"]);
}

/// The statement that `sniff_csv` gives for `call`.
async fn pasted(session: &mut Session, call: &str) -> String {
    let sql = format!("SELECT value FROM sniff_csv({call}) WHERE property = 'statement'");
    ok(session, &sql).await.join("\n")
}

/// Rows of a query, and the names and types of its columns.
async fn table(session: &mut Session, sql: &str) -> Result<(Vec<String>, Vec<String>), String> {
    let rows = run(session, sql).await.map_err(|error| format!("{sql}: {error}"))?;
    let schema = match session.execute(sql).await {
        Ok(longshore_engine::Outcome::Rows(rows)) => rows.schema().clone(),
        _ => return Err(format!("{sql} gives no rows")),
    };
    Ok((rows, schema.fields().iter().map(|field| format!("{} {}", field.name(), field.data_type())).collect()))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_sniffer_says_reads_the_same_when_it_is_pasted() {
    let mut session = session(2);
    let folder = TempDir::new().expect("a temporary folder");
    let mut wrong = Vec::new();
    for seed in 0..share(150) as u64 {
        let dialect = Dialect::random(seed);
        let numbers = if dialect.comma_decimals { Numbers::Comma } else { Numbers::Point };
        let written = dialect.write(&Table::random(seed, numbers), seed);
        let path = folder.path().join(format!("{seed}.csv"));
        std::fs::write(&path, &written.text).expect("the file can be written");
        let path = path.display();
        let found = table(&mut session, &format!("SELECT * FROM '{path}'")).await.expect("it is read as it was found");
        let statement = pasted(&mut session, &format!("'{path}'")).await;
        match table(&mut session, &statement).await {
            Ok(again) if again == found => {}
            Ok(again) => wrong.push(format!("{statement}\n{found:?}\n{again:?}")),
            Err(error) => wrong.push(error),
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_given_is_pasted_as_well() {
    let mut session = session(2);
    let folder = TempDir::new().expect("a temporary folder");
    for (name, text, options) in [
        ("a.csv", "a;day\n1;31.01.2024\nNA;\n", ""),
        ("b.csv", "a;day\n1;01.02.2024\n-;NA\n", ", null => ['-', ''], types => {day: 'TEXT'}"),
        ("c.csv", "a;day;t\n1;01/02/2024;1/2/2024 03:04\n", ", date_order => 'dmy'"),
        ("d.csv", "a;day\n1;1/2/2024\n", ", date_order => 'mdy', types => {day: 'TIMESTAMP'}"),
        ("e.csv", "A b;x\n1; y \n", ", normalize_names => true, trim => true, filename => 'f', row_number => true"),
        ("f.csv", "a;b\n1;1,5\n2;2.5\n", ", decimal_separator => {b: ','}, types => {b: 'TEXT'}"),
        ("g.csv", "a,b\n\"1\",\"\"\n\"\",\"x\"\n", ""),
        ("i.txt", "id   name    amount\n1    Anna     12.50\n22   Bob       3.75\n333  Charly  100.00\n", ""),
        ("j.json", "{\"a b\": 1, \"c\": {\"d\": 2}}\n{\"a b\": null, \"c\": {}}\n", ", format => 'json'"),
        ("k.json", "[{\"A\": 1, \"a\": \"x\"}, {\"A\": 2}]", ", normalize_names => true"),
        ("l.txt", "1\tx\t\\N\n2\ta\\tb\t5\n", ""),
        ("m.csv", "a,b\r1,x\r2,y\r", ""),
        ("n.csv", "a,n\n1,\"1,234\"\n2,\"5,678\"\n", ", thousands_separator => ','"),
        ("o.csv", "a,b\n1,ja\n2,nein\n", ", true_values => 'ja', false_values => ['nein'], types => {b: 'BOOLEAN'}"),
    ] {
        let call = format!("'{}'{options}", write(&folder, name, text).display());
        let found = table(&mut session, &format!("SELECT * FROM read_csv({call})")).await.expect("it is read");
        let statement = pasted(&mut session, &call).await;
        let again = table(&mut session, &statement).await.unwrap_or_else(|error| panic!("{call}: {error}"));
        assert_eq!(again, found, "{statement}");
    }
    let (first, second) = (write(&folder, "1.csv", "A b,c\n1,2\n"), write(&folder, "2.csv", "c,D\n3,4.5\n"));
    let files = format!("['{}', '{}']", first.display(), second.display());
    let call = format!("{files}, union_by_name => true, normalize_names => true");
    let found = table(&mut session, &format!("SELECT * FROM read_csv({call})")).await.expect("they are read");
    assert_eq!(found.0, ["1|2|-", "-|3|4.5"]);
    let statement = pasted(&mut session, &call).await;
    assert_eq!(table(&mut session, &statement).await, Ok(found), "{statement}");
}
