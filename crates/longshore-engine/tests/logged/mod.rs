//! Databases whose log is in memory: what they are must come back from it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::StreamExt;
use longshore_engine::{Config, Database, Error, Outcome, Session};
use longshore_storage::RedoLog;
use longshore_storage::log::{LogError, Lsn};

/// Rows of a table that are compared one by one; of more, only their number and checksum.
const ROWS_SHOWN_MAX: u64 = 2000;

/// A log in memory.
#[derive(Default)]
pub struct MemoryLog(Mutex<Vec<(Lsn, Vec<u8>)>>);

impl RedoLog for MemoryLog {
    fn append(&self, record: &[u8], _reserved: usize) -> Result<Lsn, LogError> {
        let mut records = self.0.lock().expect("no append panics");
        let position = Lsn::new(records.len() as u64 + 1);
        records.push((position, record.to_vec()));
        Ok(position)
    }
}

impl MemoryLog {
    /// A database as the records left it.
    pub fn replayed(&self, config: &Config) -> Result<Arc<Database>, Error> {
        let records = self.0.lock().expect("no append panics");
        let records: Vec<(Lsn, &[u8])> = records.iter().map(|(at, record)| (*at, record.as_slice())).collect();
        Ok(Database::open_replayed(config.clone(), &records)?.0)
    }
}

/// All that can be asked of a database, but for how far its sequences are.
pub async fn described(database: &Arc<Database>, directory: &Path) -> String {
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
        let quoted = format!("\"{}\"", name.replace('"', "\"\""));
        let _ = writeln!(text, "{}", rows(&mut session, &format!("DESCRIBE {quoted}")).await);
        let checksum = database.checksum(&name).expect("the table is there");
        let _ = writeln!(text, "{checksum:?}");
        if checksum.rows <= ROWS_SHOWN_MAX {
            let _ = writeln!(text, "{}", rows(&mut session, &format!("SELECT * FROM {quoted}")).await);
        }
    }
    let _ = writeln!(text, "{:?}", database.sequence_names());
    let schema = exported_schema(&mut session, directory).await;
    let _ = writeln!(text, "{}", schema.lines().filter(|line| !line.starts_with("SELECT setval")).collect::<Vec<_>>().join("\n"));
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
pub async fn rows(session: &mut Session, sql: &str) -> String {
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
pub fn difference(before: &str, after: &str) -> Option<String> {
    if before == after {
        return None;
    }
    let (lost, new): (BTreeSet<&str>, BTreeSet<&str>) = (before.lines().collect(), after.lines().collect());
    let (gone, come): (Vec<_>, Vec<_>) = (lost.difference(&new).take(10).collect(), new.difference(&lost).take(10).collect());
    Some(format!("lost: {gone:#?}\nnew: {come:#?}"))
}
