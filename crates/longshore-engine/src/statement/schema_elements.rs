//! CREATE SCHEMA with what is made in it: all of it, or nothing.
//!
//! Outside of a transaction block it has one to itself. Names without a schema mean the new one first.

use std::pin::Pin;

use crate::catalog::SearchPath;
use crate::sql::{self, Parsed, schema_elements::SchemaElements};
use crate::statement::{SessionContext, end_of_transaction, execute, schemas};
use crate::{Error, Outcome};

/// Makes a schema and what belongs in it.
pub(super) fn create<'a>(
    session: SessionContext<'a>,
    parts: SchemaElements,
) -> Pin<Box<dyn Future<Output = Result<Outcome, Error>> + Send + 'a>> {
    Box::pin(async move {
        let SessionContext { database, block, prepared, streams, settings, shapes, cursors, control } = session;
        block.refuse_if_failed()?;
        let has_own_block = !block.is_open();
        if has_own_block {
            block.begin(block.defaults())?;
        }
        let path = block.numbers().path();
        let mut done = Ok(Outcome::done(""));
        for (at, text) in std::iter::once(&parts.schema).chain(&parts.elements).enumerate() {
            if at == 1 {
                done = done.and_then(|outcome| {
                    let schema = made(&parts.schema)?;
                    let mut said = path.said.clone();
                    said.insert(0, schema);
                    block.numbers().set_path(SearchPath { said, ..SearchPath::clone(&path) });
                    Ok(outcome)
                });
            }
            if done.is_err() {
                break;
            }
            let in_block = block.definitions().map(|catalog| database.with_catalog(catalog));
            let database = in_block.as_ref().unwrap_or(database);
            let (prepared, streams) = (&mut *prepared, &mut *streams);
            let (block, settings, shapes) = (&mut *block, &mut *settings, &mut *shapes);
            let cursors = &mut *cursors;
            let part = SessionContext { database, block, prepared, streams, settings, shapes, cursors, control };
            let outcome = Box::pin(execute(part, text)).await;
            // The statement is called by what it begins with.
            done = if at == 0 { outcome } else { done.and_then(|first| outcome.map(|_| first)) };
        }
        block.numbers().set_path(SearchPath::clone(&path));
        if has_own_block {
            done = match done {
                Ok(outcome) => block.commit(false, control).map(|_| outcome),
                Err(error) => block.rollback(false).and(Err(error)),
            };
            block.wait_until_safe().await?;
            end_of_transaction(database, block)?;
        } else if done.is_err() {
            block.fail();
        }
        done
    })
}

/// The name of the schema that a statement makes.
fn made(sql: &str) -> Result<String, Error> {
    match sql::parse(sql)? {
        Parsed::Sql(statement) => match statement.as_ref() {
            sqlparser::ast::Statement::CreateSchema { schema_name, .. } => schemas::name_said(schema_name),
            other => Err(Error::internal(format!("a schema expected, found {other}"))),
        },
        other => Err(Error::internal(format!("a schema expected, found {other:?}"))),
    }
}
