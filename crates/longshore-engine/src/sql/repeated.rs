//! Columns that a query names beside `*`: `SELECT *, filename FROM ...` gives `filename` and `filename_1`.
//!
//! `*` has them already, and the planner refuses two columns of one name. Only where the list is the outermost: nothing
//! else can refer to its names by mistake.

use sqlparser::ast::{Expr, Ident, Query, SelectItem, SetExpr, WildcardAdditionalOptions};

/// Gives columns that stand beside `*` in the list of `query` names of their own.
pub(crate) fn name_apart(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    let is_all = |item: &SelectItem| matches!(item, SelectItem::Wildcard(options) if takes_all(options));
    if !select.projection.iter().any(is_all) {
        return;
    }
    let mut taken: Vec<String> = Vec::new();
    for item in &mut select.projection {
        let name = match item {
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(&*name),
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => parts.last(),
            _ => None,
        };
        let Some(name) = name.cloned() else { continue };
        let alias = (1..u32::MAX).map(|number| format!("{}_{number}", name.value)).find(|alias| !taken.contains(alias));
        if let (Some(alias), SelectItem::UnnamedExpr(expr)) = (alias, &*item) {
            taken.push(alias.clone());
            *item = SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias: Ident { value: alias, quote_style: name.quote_style, span: name.span },
            };
        }
    }
}

/// Whether the star leaves nothing out and replaces nothing.
fn takes_all(options: &WildcardAdditionalOptions) -> bool {
    let none = WildcardAdditionalOptions { wildcard_token: options.wildcard_token.clone(), ..Default::default() };
    *options == none
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Parsed, parse};
    use sqlparser::ast::Statement;

    fn apart(sql: &str) -> String {
        let Ok(Parsed::Sql(statement)) = parse(sql) else { panic!("{sql}") };
        let Statement::Query(mut query) = *statement else { panic!("{sql}") };
        name_apart(&mut query);
        query.to_string()
    }

    #[test]
    fn only_columns_beside_a_star_are_renamed() {
        for (sql, expected) in [
            ("SELECT *, a FROM t", "SELECT *, a AS a_1 FROM t"),
            ("SELECT t.\"B\", *, t.\"B\" FROM t", "SELECT t.\"B\" AS \"B_1\", *, t.\"B\" AS \"B_2\" FROM t"),
            ("SELECT *, a AS b, a + 1 FROM t", "SELECT *, a AS b, a + 1 FROM t"),
            ("SELECT a, a FROM t", "SELECT a, a FROM t"),
            ("SELECT x FROM (SELECT *, a FROM t)", "SELECT x FROM (SELECT *, a FROM t)"),
        ] {
            assert_eq!(apart(sql), expected, "{sql}");
        }
    }
}
