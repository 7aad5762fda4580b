//! The names that one statement sees: tables with the rows they have now, views with their plans, and sequences as tables.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch};
use datafusion::catalog::{CatalogProvider, CatalogProviderList, MemTable, SchemaProvider, TableProvider};
use datafusion::common::{DataFusionError, Result, TableReference};
use longshore_storage::Relation;

use crate::catalog::{Catalog, LOADS, Sequence};
use crate::datafusion::scan::loads::LoadsTable;
use crate::datafusion::scan::table::RelationTable;
use crate::sql::names::{self, CATALOG, SCHEMA};
use crate::transaction::{Registered, RegisteredRows, StatementTransaction};

/// The name by which the catalog knows what a reference is about.
pub(in crate::datafusion) fn name_of(reference: &TableReference) -> String {
    names::in_schema(reference.schema().unwrap_or(SCHEMA), reference.table())
}

/// The tables and views of one statement, with the rows that its transaction sees.
pub(in crate::datafusion) struct Names {
    catalog: Arc<Catalog>,
    transaction: Arc<StatementTransaction>,
    known: Mutex<HashMap<String, Arc<dyn TableProvider>>>,
}

impl Names {
    /// Names of `catalog` as `transaction` sees them, none looked up yet.
    pub(in crate::datafusion) fn new(catalog: Arc<Catalog>, transaction: Arc<StatementTransaction>) -> Self {
        Self { catalog, transaction, known: Mutex::default() }
    }

    fn known<R>(&self, act: impl FnOnce(&mut HashMap<String, Arc<dyn TableProvider>>) -> R) -> R {
        act(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes `name` stand for the planned view `provider`.
    pub(in crate::datafusion) fn define(&self, name: &str, provider: Arc<dyn TableProvider>) {
        self.known(|known| known.insert(name.to_owned(), provider));
    }

    /// Makes the names of rows that a program has registered stand for them, in their order.
    pub(in crate::datafusion) fn define_registered(&self, registered: &RegisteredRows) {
        for Registered { name, schema, batches } in registered.all() {
            match MemTable::try_new(schema, vec![batches.to_vec()]) {
                Ok(table) => self.define(&name, Arc::new(table)),
                // The batches were made with the schema.
                Err(_) => debug_assert!(false, "the rows of {name} have other columns"),
            }
        }
    }

    /// Whether `name` was looked up or defined before.
    pub(in crate::datafusion) fn knows(&self, name: &str) -> bool {
        self.known(|known| known.contains_key(name))
    }

    /// Logs that all rows of the tables which were looked up count as read.
    pub(in crate::datafusion) fn log_everything(&self) {
        self.known(|known| {
            known.values().filter_map(|provider| provider.downcast_ref()).for_each(RelationTable::log_everything);
        });
    }

    /// The relation that `name` stands for, if it is a table.
    pub(in crate::datafusion) fn relation(&self, name: &str) -> Option<Arc<Relation>> {
        let known = self.known(|known| known.get(name).map(Arc::clone));
        match known {
            Some(provider) => provider.downcast_ref::<RelationTable>().map(|table| Arc::clone(table.relation())),
            None => self.transaction.table(&self.catalog, name).map(|table| Arc::clone(&table.relation)),
        }
    }

    /// Who sees them.
    pub(in crate::datafusion) fn transaction(&self) -> &StatementTransaction {
        &self.transaction
    }

    /// What `name` stands for.
    pub(in crate::datafusion) fn lookup(&self, name: &str) -> Option<Arc<dyn TableProvider>> {
        self.known(|known| {
            if let Some(provider) = known.get(name) {
                return Some(Arc::clone(provider));
            }
            // Views are planned and defined before the statement that reads them.
            let provider: Arc<dyn TableProvider> = match self.transaction.table(&self.catalog, name) {
                Some(table) => Arc::new(RelationTable::new(&table, &self.transaction)),
                None if name == LOADS => Arc::new(LoadsTable::new(&self.catalog, &self.transaction)),
                None => state_of(self.catalog.sequence(name)?.as_ref())?,
            };
            known.insert(name.to_owned(), Arc::clone(&provider));
            Some(provider)
        })
    }
}

/// A sequence as a table of one row: the last number, and whether it was given out.
fn state_of(sequence: &Sequence) -> Option<Arc<dyn TableProvider>> {
    let (last, is_called) = sequence.value();
    let columns: [(&str, ArrayRef); 3] = [
        ("last_value", Arc::new(Int64Array::from(vec![last]))),
        ("log_cnt", Arc::new(Int64Array::from(vec![0]))),
        ("is_called", Arc::new(BooleanArray::from(vec![is_called]))),
    ];
    let row = RecordBatch::try_from_iter(columns).ok()?;
    Some(Arc::new(MemTable::try_new(row.schema(), vec![vec![row]]).ok()?))
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").finish_non_exhaustive()
    }
}

#[async_trait]
impl SchemaProvider for Names {
    fn table_names(&self) -> Vec<String> {
        self.catalog.names()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        Ok(self.lookup(name))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.catalog.get(name).is_some() || name == LOADS
    }
}

/// The one catalog with its one schema.
#[derive(Debug)]
pub(in crate::datafusion) struct OneSchema(pub(in crate::datafusion) Arc<Names>);

impl CatalogProvider for OneSchema {
    fn schema_names(&self) -> Vec<String> {
        vec![SCHEMA.to_owned()]
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        (name == SCHEMA).then(|| Arc::clone(&self.0) as Arc<dyn SchemaProvider>)
    }
}

impl CatalogProviderList for OneSchema {
    fn register_catalog(&self, _name: String, _catalog: Arc<dyn CatalogProvider>) -> Option<Arc<dyn CatalogProvider>> {
        None
    }

    fn catalog_names(&self) -> Vec<String> {
        vec![CATALOG.to_owned()]
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        (name == CATALOG).then(|| Arc::new(Self(Arc::clone(&self.0))) as Arc<dyn CatalogProvider>)
    }
}
