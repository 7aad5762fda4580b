//! The columns of a table that are of an enumeration.

use std::collections::HashMap;
use std::sync::Arc;

use sqlparser::ast;

use crate::catalog::Check;
use crate::datafusion::functions::enums::Enumeration;
use crate::sql::names;

/// The columns that are of an enumeration, by what these rules of a table say.
pub(in crate::datafusion) fn of_checks<'a>(
    checks: impl Iterator<Item = &'a Check>,
) -> HashMap<usize, Arc<Enumeration>> {
    let of_type = checks.filter_map(|check| {
        let (column, name) = check.enumeration()?;
        let ast::Expr::InList { list, negated: false, .. } = &check.condition else { return None };
        let labels = list.iter().map(|label| match label {
            ast::Expr::Value(value) => value.value.clone().into_string(),
            _ => None,
        });
        let labels = labels.collect::<Option<Vec<_>>>()?;
        Some((column, Arc::new(Enumeration { name: names::shown_name(name), labels })))
    });
    of_type.collect()
}
