//! Queries in other forms than statements: prepared, by cursors, in FROM, in WITH, as views and as tables. Rows and types must be
//! the same.

use std::fmt::Write as _;

use futures::StreamExt;
use longshore_engine::{Error, Outcome, Session};

use crate::slt::shown;

/// What queries have that give other rows each time, change something, or tell of what the other forms make.
const OTHER_EACH_TIME: [&str; 34] = [
    "nextval",
    "setval",
    "currval",
    "lastval",
    "random",
    "setseed",
    "now()",
    "clock_timestamp",
    "current_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "localtime",
    "current_time",
    "timeofday",
    "gen_random",
    "uuid_generate",
    "uuidv",
    "insert",
    "update",
    "delete",
    "merge ",
    " into ",
    "txid",
    "for share",
    "for key share",
    "advisory",
    "tablesample",
    "set_config",
    "longshore_",
    "pg_stat",
    "pg_cursors",
    "pg_prepared",
    "pg_backend",
    "pg_temp",
];
/// Types of system tables that no column of a table has, and those that a column has with a length only.
const NOT_OF_TABLES: [u32; 9] = [18, 19, 26, 1003, 1014, 1015, 1042, 1043, 2249];

/// The rows of a query, in any order, and the names and types of their columns.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    names: Vec<String>,
    types: Vec<u32>,
    rows: Vec<Vec<String>>,
}

impl Answer {
    pub(crate) async fn of(outcome: Outcome) -> Result<Option<Self>, Error> {
        let Outcome::Rows(mut stream) = outcome else { return Ok(None) };
        let names = stream.schema().fields().iter().map(|field| field.name().clone()).collect();
        let types = stream.types().iter().map(|shown| shown.oid).collect();
        let mut rows = Vec::new();
        while let Some(batch) = stream.next().await {
            rows.extend(shown(&batch?));
        }
        rows.sort();
        Ok(Some(Self { names, types, rows }))
    }

    /// What is not the same in `other`.
    fn difference(&self, other: &Self, names_too: bool) -> Option<String> {
        if self.rows != other.rows {
            return Some(format!("rows {:?} where the statement gives {:?}", other.rows, self.rows));
        }
        let is_same = self.types == other.types && (!names_too || self.names == other.names);
        let columns = |answer: &Self| answer.names.iter().cloned().zip(answer.types.clone()).collect::<Vec<_>>();
        (!is_same).then(|| format!("columns {:?} where the statement gives {:?}", columns(other), columns(self)))
    }
}

/// Whether `sql` is a query that gives the same rows each time.
pub(crate) fn may_be_repeated(sql: &str) -> bool {
    let sql = sql.to_ascii_lowercase();
    let begins =
        ["select", "values", "with", "table", "from", "("].iter().any(|word| sql.trim_start().starts_with(word));
    begins && !sql.contains(';') && !OTHER_EACH_TIME.iter().any(|word| sql.contains(word))
}

/// What the query `sql`, whose answer is `expected`, gives by another form that is not the same.
pub(crate) async fn difference(session: &mut Session, sql: &str, expected: &Answer) -> Option<String> {
    let sql = sql.trim();
    for form in FORMS {
        if let Some(difference) = by(session, form, sql, expected).await.unwrap_or_else(|error| Some(error.to_string()))
        {
            return Some(format!("{form:?}: {difference}"));
        }
    }
    None
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Prepared,
    Execute,
    Cursor,
    From,
    With,
    View,
    Table,
}

const FORMS: [Form; 7] = [Form::Prepared, Form::Execute, Form::Cursor, Form::From, Form::With, Form::View, Form::Table];

async fn by(session: &mut Session, form: Form, sql: &str, expected: &Answer) -> Result<Option<String>, Error> {
    let names = &expected.names;
    let are_unique = (1..names.len()).all(|at| !names[..at].contains(&names[at]));
    let is_of_system = sql.to_ascii_lowercase().contains("pg_") || sql.contains("information_schema");
    let mut columns = String::new();
    for at in 0..names.len() {
        let _ = write!(columns, "{}c{at}", if at > 0 { ", " } else { "" });
    }
    match form {
        Form::Prepared => {
            let prepared = session.prepare(sql)?;
            let described = session.describe(&prepared).await?;
            let types: Vec<u32> =
                described.columns.iter().flat_map(|columns| columns.types.iter()).map(|shown| shown.oid).collect();
            if types != expected.types {
                return Ok(Some(format!(
                    "described with the types {types:?} where the statement gives {:?}",
                    expected.types
                )));
            }
            for _ in 0..3 {
                let answer = Answer::of(session.execute_prepared(&prepared, &[]).await?).await?;
                if let Some(difference) = answer.and_then(|answer| expected.difference(&answer, true)) {
                    return Ok(Some(difference));
                }
            }
            Ok(None)
        }
        Form::Execute => {
            let steps = [format!("PREPARE other_form AS {sql}"), "EXECUTE other_form".to_owned()];
            let answer = last(session, &steps).await;
            session.execute("DEALLOCATE other_form").await?;
            Ok(expected.difference(&answer?, true))
        }
        Form::Cursor => {
            let steps =
                ["BEGIN".to_owned(), format!("DECLARE other_form CURSOR FOR {sql}"), "FETCH ALL other_form".to_owned()];
            let answer = last(session, &steps).await;
            session.execute("ROLLBACK").await?;
            Ok(expected.difference(&answer?, true))
        }
        Form::From | Form::With if !are_unique => Ok(None),
        Form::From => {
            let answer = last(session, &[format!("SELECT * FROM ({sql}) AS other_form")]).await?;
            Ok(expected.difference(&answer, true))
        }
        Form::With => {
            let sql = format!("WITH other_form AS MATERIALIZED ({sql}) SELECT * FROM other_form");
            Ok(expected.difference(&last(session, &[sql]).await?, true))
        }
        Form::View | Form::Table if is_of_system || names.is_empty() => Ok(None),
        Form::View => {
            let steps =
                [format!("CREATE TEMP VIEW other_form ({columns}) AS {sql}"), "SELECT * FROM other_form".to_owned()];
            let answer = last(session, &steps).await;
            session.execute("DROP VIEW IF EXISTS other_form").await?;
            Ok(expected.difference(&answer?, false))
        }
        Form::Table => {
            let steps =
                [format!("CREATE TEMP TABLE other_form ({columns}) AS {sql}"), "SELECT * FROM other_form".to_owned()];
            let answer = last(session, &steps).await;
            session.execute("DROP TABLE IF EXISTS other_form").await?;
            match answer {
                Err(error) if error.to_string().contains("which a table cannot hold") => Ok(None),
                Err(error) => Err(error),
                Ok(answer) if expected.types.iter().any(|known| NOT_OF_TABLES.contains(known)) => {
                    Ok(expected.difference(&Answer { types: expected.types.clone(), ..answer }, false))
                }
                Ok(answer) => Ok(expected.difference(&answer, false)),
            }
        }
    }
}

/// The answer to the last of several statements.
async fn last(session: &mut Session, statements: &[String]) -> Result<Answer, Error> {
    let mut answer = None;
    for sql in statements {
        answer = Answer::of(session.execute(sql).await?).await?;
    }
    Ok(answer.expect("the last statement is a query"))
}
