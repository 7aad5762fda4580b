//! What fills the views of `information_schema`.

mod columns;
mod constraints;
mod privileges;
mod relations;
mod routines;
mod types;

use super::Fill;
use super::rows::{Cell, text};
use crate::sql::names::{self, CATALOG};

/// What fills the view of this name; `None` if nothing does.
pub(super) fn fill(name: &str) -> Option<Fill> {
    Some(match name {
        "applicable_roles" => privileges::applicable_roles,
        "enabled_roles" => privileges::enabled_roles,
        "character_sets" => types::character_sets,
        "check_constraints" => constraints::check_constraints,
        "column_privileges" => privileges::columns,
        "role_column_grants" => privileges::columns_of_roles,
        "columns" => columns::columns,
        "constraint_column_usage" => constraints::constraint_column_usage,
        "constraint_table_usage" => constraints::constraint_table_usage,
        "domain_constraints" => types::domain_constraints,
        "domains" => types::domains,
        "information_schema_catalog_name" => relations::catalog_name,
        "key_column_usage" => constraints::key_column_usage,
        "parameters" => routines::parameters,
        "referential_constraints" => constraints::referential_constraints,
        "role_table_grants" => privileges::tables_of_roles,
        "table_privileges" => privileges::tables,
        "routines" => routines::routines,
        "schemata" => relations::schemata,
        "sequences" => relations::sequences,
        "table_constraints" => constraints::table_constraints,
        "tables" => relations::tables,
        "view_table_usage" => relations::view_table_usage,
        "views" => relations::views,
        _ => return None,
    })
}

fn yes(value: bool) -> Cell {
    if value { "YES" } else { "NO" }.into()
}

/// The database, the schema and the name of something.
fn place(columns: [&'static str; 3], name: &str) -> [(&'static str, Cell); 3] {
    let (schema, own) = names::parts(name);
    let [catalog, of_schema, of_name] = columns;
    [(catalog, CATALOG.into()), (of_schema, text(schema)), (of_name, text(own))]
}

const TABLE: [&str; 3] = ["table_catalog", "table_schema", "table_name"];
const CONSTRAINT: [&str; 3] = ["constraint_catalog", "constraint_schema", "constraint_name"];

/// What is called `name` in the schema that something else is in.
fn beside(other: &str, name: &str) -> String {
    names::in_schema(names::parts(other).0, name)
}
