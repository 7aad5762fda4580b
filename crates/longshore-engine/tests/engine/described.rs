//! All that can be asked of a database, as text: what comes back from disk must be the same.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::StreamExt;
use longshore_engine::{Database, Outcome, Session};

/// Rows of a table that are compared one by one; of more, only their number and checksum.
const ROWS_SHOWN_MAX: u64 = 2000;

/// All that can be asked of a database, but for how far its sequences are.
pub(crate) async fn described(database: &Arc<Database>, directory: &Path) -> String {
    let mut session = database.session();
    let mut text = String::new();
    for name in database.table_names() {
        let _ = writeln!(text, "{name}: columns {:?}", database.column_names(&name));
        if !database.is_table(&name) {
            continue;
        }
        for part in
            [database.keys(&name), database.checks(&name), database.foreign_keys(&name), database.referenced_by(&name)]
        {
            let _ = writeln!(text, "{part:?}");
        }
        let quoted = |part: &str| format!("\"{}\"", part.replace('"', "\"\""));
        // A table in a schema other than `public` stands behind its name.
        let quoted = name.split('.').map(quoted).collect::<Vec<_>>().join(".");
        let _ = writeln!(text, "{}", rows(&mut session, &format!("DESCRIBE {quoted}")).await);
        let checksum = database.checksum(&name).expect("the table is there");
        let _ = writeln!(text, "{checksum:?}");
        if checksum.rows <= ROWS_SHOWN_MAX {
            // In any order: rows that are inserted later take the places of others that went.
            let rows = rows(&mut session, &format!("SELECT * FROM {quoted}")).await;
            let mut rows: Vec<&str> = rows.lines().collect();
            rows.sort_unstable();
            let _ = writeln!(text, "{}", rows.join("\n"));
        }
    }
    let _ = writeln!(text, "{:?}", database.sequence_names());
    let schema = exported_schema(&mut session, directory).await;
    let _ = writeln!(
        text,
        "{}",
        schema.lines().filter(|line| !line.starts_with("SELECT setval")).collect::<Vec<_>>().join("\n")
    );
    text
}

/// What EXPORT DATABASE says of the schema.
async fn exported_schema(session: &mut Session, directory: &Path) -> String {
    let to = directory.join("exported (of the test)");
    let sql = format!("EXPORT DATABASE '{}'", to.display());
    session.execute(&sql).await.expect("the database is exported");
    let schema = std::fs::read_to_string(to.join("schema.sql")).expect("there is a schema");
    std::fs::remove_dir_all(&to).expect("it can be removed");
    schema
}

/// The rows of a query, a line each.
pub(crate) async fn rows(session: &mut Session, sql: &str) -> String {
    let outcome = session.execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let Outcome::Rows(mut stream) = outcome else { return String::new() };
    let mut text = String::new();
    while let Some(batch) = stream.next().await {
        show(&batch.unwrap_or_else(|error| panic!("{sql}: {error}")), &mut text);
    }
    text
}

fn show(batch: &RecordBatch, text: &mut String) {
    let options = FormatOptions::default().with_null("NULL");
    let columns = batch.columns().iter();
    let columns: Vec<_> =
        columns.map(|column| ArrayFormatter::try_new(column, &options).expect("every type has a format")).collect();
    for row in 0..batch.num_rows() {
        let values: Vec<String> = columns.iter().map(|column| column.value(row).to_string()).collect();
        let _ = writeln!(text, "{}", values.join("|"));
    }
}

/// What two descriptions do not have in common; `None` if they are equal.
pub(crate) fn difference(before: &str, after: &str) -> Option<String> {
    if before == after {
        return None;
    }
    let (lost, new): (BTreeSet<&str>, BTreeSet<&str>) = (before.lines().collect(), after.lines().collect());
    let (gone, come): (Vec<_>, Vec<_>) =
        (lost.difference(&new).take(10).collect(), new.difference(&lost).take(10).collect());
    Some(format!("lost: {gone:#?}\nnew: {come:#?}"))
}
