//! Whether the rows of a table obey its constraints, asked by queries.

use arrow_array::Int64Array;
use futures::TryStreamExt as _;
use longshore_storage::{ReferenceMatch, Snapshot};

use crate::catalog::{Check, Key, Reference, Role, Rules};
use crate::sql::names;
use crate::{Error, Outcome, Session};

/// What tables are called in queries: a column of that name would be taken for the table.
const CHILD: &str = "\"row that is checked\"";
const PARENT: &str = "\"row that it refers to\"";

/// What is to be obeyed, and by which rows.
pub(super) struct Constraints<'a> {
    pub(super) name: &'a str,
    pub(super) rules: &'a Rules,
    pub(super) snapshot: &'a Snapshot,
}

/// What is not obeyed, a line for each.
pub(super) async fn check(session: &mut Session, table: &Constraints<'_>) -> Vec<String> {
    let name = names::quoted(table.name);
    let mut problems = Vec::new();
    for (at, column) in table.snapshot.schema().columns().iter().enumerate().filter(|(_, column)| !column.nullable) {
        let count = table.snapshot.statistics(at).null_count;
        if count > 0 {
            let column = names::quoted(&column.name);
            problems.push(format!("table {name}: {} NULL in {column}, which is NOT NULL", rows(count, "is", "are")));
        }
    }
    for key in table.rules.keys.iter().filter(|key| key.role.is_unique()) {
        let what = table.described(key);
        match count(session, &table.duplicates(key)).await {
            Ok(0) => {}
            Ok(1) => problems.push(format!("table {name}: 1 value of {what} occurs more than once")),
            Ok(found) => problems.push(format!("table {name}: {found} values of {what} occur more than once")),
            Err(error) => problems.push(unchecked(&name, &what, &error)),
        }
    }
    for check in table.rules.checks.iter().filter(|check| check.is_valid) {
        let what = format!("CHECK {}", names::quoted(&check.name));
        match count(session, &violations(&name, check)).await {
            Ok(0) => {}
            Ok(found) => problems.push(format!("table {name}: {} not pass {what}", rows(found, "does", "do"))),
            Err(error) => problems.push(unchecked(&name, &what, &error)),
        }
    }
    for reference in table.rules.references.iter().filter(|reference| reference.is_valid) {
        let what = format!("FOREIGN KEY {}", names::quoted(&reference.name));
        match count(session, &table.orphans(reference)).await {
            Ok(0) => {}
            Ok(found) => problems.push(format!(
                "table {name}: {} to no row of table {}, which {what} demands",
                rows(found, "refers", "refer"),
                names::quoted(&reference.table),
            )),
            Err(error) => problems.push(unchecked(&name, &what, &error)),
        }
    }
    problems
}

fn unchecked(table: &str, what: &str, error: &Error) -> String {
    format!("table {table}: {what} cannot be checked: {error}")
}

fn rows(count: u64, one: &str, many: &str) -> String {
    if count == 1 { format!("1 row {one}") } else { format!("{count} rows {many}") }
}

/// The number that a query gives.
async fn count(session: &mut Session, sql: &str) -> Result<u64, Error> {
    let Outcome::Rows(rows) = session.execute(sql).await? else {
        return Err(Error::internal(format!("{sql} gives no rows")));
    };
    let batches: Vec<_> = rows.try_collect().await?;
    let numbers = batches.iter().filter_map(|batch| batch.column(0).as_any().downcast_ref::<Int64Array>());
    let number = numbers.flatten().flatten().next();
    let number = number.and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| Error::internal(format!("{sql} gives no number")))
}

/// A query for the number of rows that do not pass a CHECK.
fn violations(table: &str, check: &Check) -> String {
    format!("SELECT count(*) FROM {table} WHERE NOT ({})", check.condition)
}

impl Constraints<'_> {
    fn columns(&self, columns: &[usize]) -> Vec<String> {
        columns.iter().map(|column| names::quoted(&self.snapshot.schema().columns()[*column].name)).collect()
    }

    fn described(&self, key: &Key) -> String {
        let role = match key.role {
            Role::Primary => "PRIMARY KEY",
            Role::Unique => "UNIQUE",
            Role::UniqueIndex | Role::Index => "UNIQUE INDEX",
        };
        format!("{role} {} {}", names::quoted(&key.name), key.parts(self.snapshot.schema().columns()))
    }

    /// A query for the number of values of a key that occur more than once: NULL equals nothing, unless the key says so.
    fn duplicates(&self, key: &Key) -> String {
        let parts = match &key.definition {
            None => self.columns(&key.columns),
            Some(definition) => definition.parts.iter().map(|part| format!("({part})")).collect(),
        };
        let predicate = key.definition.iter().filter_map(|definition| definition.predicate.as_ref());
        let mut conditions: Vec<String> = predicate.map(|predicate| format!("({predicate})")).collect();
        if !key.nulls_are_equal {
            conditions.extend(parts.iter().map(|part| format!("{part} IS NOT NULL")));
        }
        let condition = if conditions.is_empty() { "true".to_owned() } else { conditions.join(" AND ") };
        format!(
            "SELECT count(*) FROM (SELECT 1 AS one FROM {} WHERE {condition} GROUP BY {} HAVING count(*) > 1) AS d",
            names::quoted(self.name),
            parts.join(", ")
        )
    }

    /// A query for the number of rows that refer to none.
    fn orphans(&self, reference: &Reference) -> String {
        let columns = self.columns(&reference.columns);
        let pairs = columns.iter().zip(&reference.referenced);
        let pairs: Vec<String> =
            pairs.map(|(column, to)| format!("{PARENT}.{} = {CHILD}.{column}", names::quoted(to))).collect();
        let are = |test: &str, word: &str| {
            let tests: Vec<String> = columns.iter().map(|column| format!("{CHILD}.{column} {test}")).collect();
            tests.join(word)
        };
        let half = match reference.matching {
            ReferenceMatch::Simple => String::new(),
            // None or all of them are NULL.
            ReferenceMatch::Full => {
                format!(" OR (({}) AND ({}))", are("IS NULL", " OR "), are("IS NOT NULL", " OR "))
            }
        };
        format!(
            "SELECT count(*) FROM {} AS {CHILD} WHERE ({} AND NOT EXISTS (SELECT 1 FROM {} AS {PARENT} WHERE {})){half}",
            names::quoted(self.name),
            are("IS NOT NULL", " AND "),
            names::quoted(&reference.table),
            pairs.join(" AND ")
        )
    }
}
