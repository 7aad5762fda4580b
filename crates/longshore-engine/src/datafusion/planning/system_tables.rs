//! `pg_catalog` and `information_schema`: tables of what the catalog holds, made when a statement reads them.
//!
//! They have PostgreSQL 15's columns, which are listed in `pg_catalog.txt` and `information_schema.txt`; a table that nobody
//! fills is empty. What never changes stands in files beside them ([`fixed`]); what a statement's session sees of its database
//! is described once for the statement ([`objects`]), with an OID for each object. What is temporary is shown to its own
//! session only. Not here: functions over the same objects (`system_functions`).

mod access;
pub(super) mod base_types;
pub(super) mod constraint_text;
mod definition;
mod expression_text;
mod fixed;
pub(super) mod index_text;
mod information_schema;
mod kind;
mod lookups;
pub(super) mod objects;
mod pg_catalog;
mod provider;
mod rows;
pub(super) mod signatures;
pub(super) mod table_oids;
mod type_ref;
mod types;
mod view_columns;
pub(super) mod view_text;
pub(super) mod views_by_function;

use std::fmt;
use std::sync::{Arc, OnceLock};

use datafusion::catalog::TableProvider;
use longshore_storage::Relation;

pub(super) use definition::relations;
pub(super) use expression_text::prettier;
pub(in crate::datafusion) use kind::{kind_of, typed};
pub(super) use lookups::{
    arguments_of, base_of_domain, columns_of, roles, system_comment, system_oid, system_relation, system_rows,
    type_named, type_shown,
};
use objects::Objects;
pub(super) use pg_catalog::comments::{PG_CLASS_CLASS, PG_DATABASE_CLASS, PG_NAMESPACE_CLASS, PG_TYPE_CLASS};
use provider::SystemTable;
use rows::Rows;
use view_columns::ViewColumn;

use super::names::Names;
use crate::catalog::{Catalog, View};
use crate::transaction::StatementTransaction;

/// PostgreSQL's schema of system tables.
pub(super) const PG_CATALOG: &str = "pg_catalog";
/// The standard's schema of views over them.
pub(super) const INFORMATION_SCHEMA: &str = "information_schema";

/// What fills a table.
type Fill = fn(&SystemCatalog, &mut Rows<'_>);

/// A comment: the table and the OID of the object, the number of the column or 0, and the text.
type Comment = (u32, u32, i64, String);

/// What a statement sees of its database: what system tables and system functions are about.
pub(in crate::datafusion) struct SystemCatalog {
    pub(super) catalog: Arc<Catalog>,
    pub(super) transaction: Arc<StatementTransaction>,
    names: Arc<Names>,
    objects: OnceLock<Objects>,
    comments: OnceLock<Vec<Comment>>,
}

impl SystemCatalog {
    pub(super) fn new(catalog: &Arc<Catalog>, transaction: &Arc<StatementTransaction>, names: &Arc<Names>) -> Self {
        Self {
            catalog: Arc::clone(catalog),
            transaction: Arc::clone(transaction),
            names: Arc::clone(names),
            objects: OnceLock::new(),
            comments: OnceLock::new(),
        }
    }

    /// The objects of the database.
    pub(super) fn objects(&self) -> &Objects {
        self.objects.get_or_init(|| Objects::new(&self.catalog, &self.transaction))
    }

    /// What people have said of objects.
    pub(super) fn comments(&self) -> &[Comment] {
        self.comments.get_or_init(|| pg_catalog::comments::all(self))
    }

    /// The columns of a view, if it was planned with the statement.
    fn view_columns(&self, view: &View) -> Option<Vec<ViewColumn>> {
        let provider = self.names.knows(&view.name).then(|| self.names.lookup(&view.name)).flatten()?;
        Some(view_columns::of(self.objects(), &provider))
    }

    /// Rows and bytes of a table, as far as they are known without counting as read.
    pub(super) fn size(&self, relation: &Arc<Relation>) -> (u64, usize) {
        let snapshot = self.transaction.snapshot(relation);
        (snapshot.rows(), snapshot.bytes())
    }
}

impl fmt::Debug for SystemCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemCatalog").finish_non_exhaustive()
    }
}

/// The system table of this name.
pub(super) fn table(catalog: &Arc<SystemCatalog>, schema: &str, name: &str) -> Option<Arc<dyn TableProvider>> {
    let definition = definition::find(schema, name)?;
    let fill = if schema == PG_CATALOG { pg_catalog::fill(name) } else { information_schema::fill(name) };
    Some(Arc::new(SystemTable::new(definition, catalog, fill)))
}

/// Whether a system table tells the columns of views in a statement of this text, so that they are planned for that.
pub(super) fn describes_columns(name: &str, text: impl Fn() -> String) -> bool {
    const TABLES: [&str; 7] = [
        "pg_attribute",
        "columns",
        "column_privileges",
        "role_column_grants",
        "view_column_usage",
        "element_types",
        // Comments on columns of views are told by the numbers of the columns.
        "pg_description",
    ];
    if name == "pg_class" {
        let text = text();
        return text.contains("relnatts") || text.contains('*') || text.contains("col_description");
    }
    TABLES.contains(&name)
}
