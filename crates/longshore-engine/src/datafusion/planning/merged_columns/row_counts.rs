//! `count(t.*)`: how many rows of t there are.
//!
//! The planner takes it for `count(*)`, which also counts the rows of an outer join that have none of t. Where there can
//! be such rows, a column of t that is NOT NULL otherwise tells them.

use sqlparser::ast::{
    DuplicateTreatment, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, OrderBy, OrderByKind, Select,
    SelectItem, TableFactor,
};

use super::from_items::{FromItems, factors, folded};
use crate::Error;
use crate::sql::build::name_of;
use crate::sql::expressions::each_own;
use crate::sql::visit::VisitMut;

/// Puts what counts the rows of t in the place of `count(t.*)`.
pub(super) fn resolve(select: &mut Select, order_by: Option<&mut OrderBy>, items: &FromItems<'_>) -> Result<(), Error> {
    let factors = factors(&select.from).into_iter();
    let factors =
        factors.filter_map(|(factor, is_missing)| Some((folded(&name_of(factor)?), factor.clone(), is_missing)));
    let counts = Counts { items, factors: factors.collect() };
    for item in &mut select.projection {
        let shown = item.to_string();
        counts.put_into(item)?;
        // The column keeps its name.
        if let SelectItem::UnnamedExpr(expr) = item
            && expr.to_string() != shown
        {
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: Ident::with_quote('"', shown) };
        }
    }
    counts.put_into(&mut select.having)?;
    counts.put_into(&mut select.qualify)?;
    match order_by.map(|order_by| &mut order_by.kind) {
        Some(OrderByKind::Expressions(keys)) => counts.put_into(keys),
        _ => Ok(()),
    }
}

struct Counts<'a> {
    items: &'a FromItems<'a>,
    /// Name, what it is, and whether there can be rows without one of it.
    factors: Vec<(String, TableFactor, bool)>,
}

impl Counts<'_> {
    fn put_into(&self, node: &mut impl VisitMut) -> Result<(), Error> {
        each_own(node, |expr| self.count(expr))
    }

    fn count(&self, expr: &mut Expr) -> Result<(), Error> {
        let Expr::Function(call) = expr else { return Ok(()) };
        let FunctionArguments::List(list) = &mut call.args else { return Ok(()) };
        let [FunctionArg::Unnamed(arg)] = list.args.as_mut_slice() else { return Ok(()) };
        let FunctionArgExpr::QualifiedWildcard(table) = &arg else { return Ok(()) };
        if !call.name.to_string().eq_ignore_ascii_case("count") {
            // A whole row (`whole_rows`).
            return Ok(());
        }
        if list.duplicate_treatment == Some(DuplicateTreatment::Distinct) {
            return Err(Error::unsupported(format!("count(DISTINCT {arg}) is not supported; name columns")));
        }
        let name = table.0.last().and_then(|part| part.as_ident()).map(folded);
        let found = self.factors.iter().find(|(other, ..)| Some(other) == name.as_ref());
        let Some((_, factor, is_missing)) = found else { return Ok(()) };
        *arg = if *is_missing {
            let columns = self.items.columns(factor)?;
            let told = columns.into_iter().find(|column| !column.nullable).ok_or_else(|| {
                Error::unsupported(format!(
                    "count({arg}) over rows of an outer join: no column of it is NOT NULL; count a column that tells its \
                     rows"
                ))
            })?;
            FunctionArgExpr::Expr(told.expr)
        } else {
            FunctionArgExpr::Wildcard
        };
        Ok(())
    }
}
