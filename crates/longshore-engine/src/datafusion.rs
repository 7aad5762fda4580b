//! Queries, planned and run by `DataFusion`: this file and the folder `datafusion/` are the only places that name it.

use std::path::Path;
use std::sync::Arc;

use longshore_load::Control;
use longshore_storage::{Memory, Schema};
use sqlparser::ast::Statement;

use crate::catalog::{Catalog, Table};
use crate::{Config, Error, Report, RowStream};

/// Plans and runs queries over the tables, views and files that a database knows.
pub(crate) struct Queries {}

impl Queries {
    /// Queries over `catalog` with the threads and the memory of `config`.
    pub(crate) fn new(config: &Config, catalog: Arc<Catalog>, memory: Arc<Memory>) -> Self {
        let _ = (config, catalog, memory);
        Self {}
    }

    /// Starts a query, EXPLAIN or SHOW.
    pub(crate) async fn query(
        &self,
        statement: Statement,
        control: &Arc<Control>,
    ) -> Result<RowStream, Error> {
        let _ = (statement, control);
        todo!()
    }

    /// Runs INSERT: all rows are appended, or none. Returns their number.
    pub(crate) async fn insert(
        &self,
        statement: Statement,
        control: &Arc<Control>,
    ) -> Result<u64, Error> {
        let _ = (statement, control);
        todo!()
    }

    /// Writes the rows of `table` as one Parquet file.
    pub(crate) async fn write_parquet(
        &self,
        table: &Table,
        path: &Path,
        control: &Arc<Control>,
    ) -> Result<Report, Error> {
        let _ = (table, path, control);
        todo!()
    }

    /// The rows of a Parquet file that [`Queries::write_parquet`] wrote from a table of this `schema`, in order.
    pub(crate) async fn read_parquet(
        &self,
        path: &Path,
        schema: &Schema,
        control: &Arc<Control>,
    ) -> Result<RowStream, Error> {
        let _ = (path, schema, control);
        todo!()
    }
}
