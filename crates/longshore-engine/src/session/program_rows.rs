//! Rows of the program that a session belongs to: tables of its queries, and what COPY reads.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::Session;
use crate::datafusion::{RowsOnce, known_batch, known_schema};
use crate::sql::references::relations_named;
use crate::sql::split::split;
use crate::sql::{Parsed, parse};
use crate::transaction::Registered;
use crate::{Error, ErrorKind};

/// Rows of a batch that is registered at most, so that a query works on it in parts.
const REGISTERED_ROWS: usize = 8192;

impl Session {
    /// Sets rows that the next `COPY ... FROM STDIN` reads, in the place of a text: their columns go to those of the statement
    /// in their order. Types that queries have not are converted, such as integers without a sign.
    ///
    /// # Errors
    /// When a column has a type that cannot be.
    pub fn set_rows(
        &mut self,
        schema: &Schema,
        batches: impl Iterator<Item = Result<RecordBatch, String>> + Send + 'static,
    ) -> Result<(), Error> {
        // Columns of one name are told apart.
        let known = known_schema(schema)?;
        let named = known.fields().iter().enumerate();
        let named = named.map(|(at, field)| field.as_ref().clone().with_name(format!("column{}", at + 1)));
        let known = Arc::new(Schema::new(named.collect::<Vec<_>>()));
        let to = Arc::clone(&known);
        let batches = batches.map(move |batch| match batch {
            Ok(batch) => known_batch(&batch, &to),
            Err(problem) => Err(Error::new(ErrorKind::Data, problem)),
        });
        self.streams.rows = Some(RowsOnce::new(known, batches));
        Ok(())
    }

    /// From now on, `name` stands for these rows in the queries of the session; they are read where they are, and never changed.
    ///
    /// # Errors
    /// When a table or view is called so; when a column has a type that queries have not, or a value that its type has not.
    pub fn register(&self, name: &str, schema: &Schema, batches: &[RecordBatch]) -> Result<(), Error> {
        let catalog = self.block.definitions().unwrap_or(&self.database.catalog);
        if catalog.get(name).is_some() {
            return Err(Error::exists(format!("{name} is a table or view already; register the rows by another name")));
        }
        let schema = known_schema(schema)?;
        let mut known = Vec::new();
        for batch in batches {
            let batch = known_batch(batch, &schema)?;
            let starts = (0..batch.num_rows()).step_by(REGISTERED_ROWS);
            known.extend(starts.map(|start| batch.slice(start, REGISTERED_ROWS.min(batch.num_rows() - start))));
        }
        self.block.numbers().registered.add(Registered { name: name.to_owned(), schema, batches: known.into() });
        Ok(())
    }

    /// Forgets the rows that `name` stands for, if it stands for some.
    pub fn unregister(&self, name: &str) {
        self.block.numbers().registered.remove(name);
    }

    /// Those of some names of tables that neither the database nor the session knows; see [`table_names`].
    #[must_use]
    pub fn unknown_tables(&self, names: &[String]) -> Vec<String> {
        let catalog = self.block.definitions().unwrap_or(&self.database.catalog);
        let registered = &self.block.numbers().registered;
        names.iter().filter(|name| catalog.get(name).is_none() && !registered.knows(name)).cloned().collect()
    }
}

/// The names that stand where tables do in the statements of a text, as far as it can be parsed.
#[must_use]
pub fn table_names(text: &str) -> Vec<String> {
    let split = split(text);
    let mut names = Vec::new();
    for statement in split.statements.iter().chain(std::iter::once(&split.rest)) {
        if let Ok(Parsed::Sql(statement)) = parse(statement) {
            names.extend(relations_named(&statement));
        }
    }
    names
}
