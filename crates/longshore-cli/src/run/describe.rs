//! What `\d` and `\d+` show of a table: its columns, how they are stored, and its constraints.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;

use super::{Failure, Reason, Runner};

/// Shows the columns of a table, a view or a file, named as a statement names it.
///
/// # Errors
///
/// As [`Runner::statement`].
pub(super) async fn columns(runner: &mut Runner, name: &str) -> Result<(), Failure> {
    runner.statement(&format!("DESCRIBE {name}")).await?;
    constraints(runner, name)
}

/// Shows also how the columns of a table are stored. Views and files store nothing.
///
/// # Errors
///
/// As [`Runner::statement`].
pub(super) async fn columns_and_storage(runner: &mut Runner, name: &str) -> Result<(), Failure> {
    if !runner.database().is_table(&folded(name)) {
        return columns(runner, name).await;
    }
    let described = runner.fetch(&format!("DESCRIBE {name}")).await?;
    let text = name.replace('\'', "''");
    let stored = runner.fetch(&format!("SELECT encoding, bytes, bytes_if_plain FROM storage('{text}')")).await?;
    runner.show(&beside(&described, &stored)?)?;
    constraints(runner, name)
}

/// The columns of both results, which have as many rows.
fn beside(one: &RecordBatch, other: &RecordBatch) -> Result<RecordBatch, Failure> {
    let (one_schema, other_schema) = (one.schema(), other.schema());
    let fields = one_schema.fields().iter().chain(other_schema.fields()).map(Arc::clone);
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let columns = [one.columns(), other.columns()].concat();
    RecordBatch::try_new(schema, columns).map_err(|error| Reason::Message(error.to_string()).into())
}

/// Lists the keys, indexes, checks and foreign keys of a table.
fn constraints(runner: &Runner, table: &str) -> Result<(), Failure> {
    let (name, database) = (folded(table), runner.database());
    let mut text = String::new();
    for (heading, lines) in [
        ("Indexes", database.keys(&name)),
        ("Check constraints", database.checks(&name)),
        ("Foreign-key constraints", database.foreign_keys(&name)),
        ("Referenced by", database.referenced_by(&name)),
    ] {
        if !lines.is_empty() {
            let _ = writeln!(text, "{heading}:\n    {}", lines.join("\n    "));
        }
    }
    runner.show_text(&text)
}

/// The name that stands for a table.
fn folded(name: &str) -> String {
    let name = match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(quoted) => quoted.to_owned(),
        None => name.to_lowercase(),
    };
    name.trim_start_matches("public.").to_owned()
}
