//! `has_table_privilege` and its like. There is one role, which may do everything.

use super::Gives::Bool;
use super::{Entry, Takes, Value, entry};
use crate::Error;
use crate::datafusion::planning::system_tables::SystemCatalog;

/// Arguments of the longest form: the role, the object, a column of it, and the privilege.
const WITH_COLUMN: &[Takes] = &[Takes::Either, Takes::Either, Takes::Either, Takes::Text];
const OF_OBJECT: &[Takes] = &[Takes::Either, Takes::Either, Takes::Text];

pub(super) const ENTRIES: &[Entry] = &[
    entry("has_table_privilege", OF_OBJECT, Bool, may).least(2),
    entry("has_any_column_privilege", OF_OBJECT, Bool, may).least(2),
    entry("has_column_privilege", WITH_COLUMN, Bool, may).least(3),
    entry("has_schema_privilege", OF_OBJECT, Bool, may).least(2),
    entry("has_database_privilege", OF_OBJECT, Bool, may).least(2),
    entry("has_sequence_privilege", OF_OBJECT, Bool, may).least(2),
    entry("has_function_privilege", OF_OBJECT, Bool, may).least(2),
    entry("has_type_privilege", OF_OBJECT, Bool, may).least(2),
    entry("has_language_privilege", OF_OBJECT, Bool, may).least(2),
    entry("has_tablespace_privilege", OF_OBJECT, Bool, may).least(2),
    entry("has_parameter_privilege", OF_OBJECT, Bool, may).least(2),
    entry("has_foreign_data_wrapper_privilege", OF_OBJECT, Bool, may).least(2),
    entry("has_server_privilege", OF_OBJECT, Bool, may).least(2),
    entry("pg_has_role", OF_OBJECT, Bool, may).least(2),
    entry("row_security_active", &[Takes::Either], Bool, |_, _| Ok(false.into())),
];

fn may(_: &SystemCatalog, _: &[Value]) -> Result<Value, Error> {
    Ok(true.into())
}
