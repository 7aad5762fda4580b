//! `FROM pg_show_all_settings()`: functions that PostgreSQL's views are over, in whose place the view stands.

use std::convert::Infallible;
use std::ops::ControlFlow;

use crate::sql::visit::VisitMut;
use sqlparser::ast::{Ident, ObjectName, Statement, TableAlias, TableFactor, VisitorMut};

use super::PG_CATALOG;

/// Functions without arguments, each with the view that has its columns.
const VIEWS: [(&str, &str); 9] = [
    ("pg_available_extension_versions", "pg_available_extension_versions"),
    ("pg_available_extensions", "pg_available_extensions"),
    ("pg_config", "pg_config"),
    ("pg_cursor", "pg_cursors"),
    ("pg_lock_status", "pg_locks"),
    ("pg_prepared_statement", "pg_prepared_statements"),
    ("pg_show_all_settings", "pg_settings"),
    ("pg_timezone_abbrevs", "pg_timezone_abbrevs"),
    ("pg_timezone_names", "pg_timezone_names"),
];

/// Puts views in the place of such functions.
pub(in crate::datafusion::planning) fn write_out(statement: &mut Statement) {
    let ControlFlow::Continue(()) = VisitMut::visit(statement, &mut Writer);
}

struct Writer;

impl VisitorMut for Writer {
    type Break = Infallible;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        if let TableFactor::Table { name, alias, args: args @ Some(_), with_ordinality: false, .. } = factor
            && args.as_ref().is_some_and(|args| args.args.is_empty())
            && let Some((function, view)) = view_of(name)
        {
            *args = None;
            *name = ObjectName::from(vec![Ident::new(PG_CATALOG), Ident::new(view)]);
            alias.get_or_insert_with(|| TableAlias {
                explicit: true,
                name: Ident::new(function),
                columns: Vec::new(),
                at: None,
            });
        }
        ControlFlow::Continue(())
    }
}

fn view_of(name: &ObjectName) -> Option<(&'static str, &'static str)> {
    let (last, schema) = name.0.split_last()?;
    let is_system = |part: &str| part.eq_ignore_ascii_case(PG_CATALOG);
    if !schema.iter().all(|part| part.as_ident().is_some_and(|part| is_system(&part.value))) {
        return None;
    }
    let last = last.as_ident()?;
    VIEWS.into_iter().find(|(function, _)| function.eq_ignore_ascii_case(&last.value))
}
