//! Columns that a query has twice: `SELECT *, filename FROM ...` gives `filename` and `filename_1`, and so do `SELECT
//! filename, filename` and `SELECT count(*), count(*)` with their names.
//!
//! The planner refuses two columns of one name. Only where the list is the outermost: nothing else can refer to its names
//! by mistake.

use sqlparser::ast::{Expr, Ident, Query, SelectItem, SetExpr, WildcardAdditionalOptions};

/// Gives columns of `query` that stand beside `*`, or have the name of an earlier one, names of their own.
pub(crate) fn name_apart(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    let is_all = |item: &SelectItem| matches!(item, SelectItem::Wildcard(options) if takes_all(options));
    let has_all = select.projection.iter().any(is_all);
    let mut taken: Vec<Name> = select.projection.iter().filter_map(Name::given).collect();
    let mut before: Vec<Name> = Vec::new();
    for item in &mut select.projection {
        let Some(name) = Name::of(item) else { continue };
        if before.iter().any(|other| other.meets(&name)) || (has_all && name.is_column) {
            let free = |alias: &Name| !taken.iter().any(|other| other.meets(alias));
            if let Some(alias) = (1..u32::MAX).map(|number| name.numbered(number)).find(free) {
                if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = &*item {
                    *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: alias.ident.clone() };
                }
                taken.push(alias);
            }
        }
        before.push(name);
    }
}

/// What a column of the result is called.
struct Name {
    qualifier: Option<String>,
    ident: Ident,
    /// Whether it is the name of a column that is read, as it is.
    is_column: bool,
}

impl Name {
    /// What `item` is called; `None` for stars.
    fn of(item: &SelectItem) -> Option<Name> {
        let named = |ident: &Ident| Name { qualifier: None, ident: ident.clone(), is_column: false };
        match item {
            SelectItem::UnnamedExpr(Expr::Identifier(ident)) => Some(Name { is_column: true, ..named(ident) }),
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                let (last, qualifiers) = parts.split_last()?;
                let qualifier = qualifiers.iter().map(folded).collect::<Vec<_>>().join(".");
                Some(Name { qualifier: Some(qualifier), is_column: true, ..named(last) })
            }
            SelectItem::UnnamedExpr(other) => Some(named(&Ident::with_quote('"', other.to_string()))),
            SelectItem::ExprWithAlias { alias, .. } => Some(named(alias)),
            _ => None,
        }
    }

    /// The alias of `item`.
    fn given(item: &SelectItem) -> Option<Name> {
        matches!(item, SelectItem::ExprWithAlias { .. }).then(|| Name::of(item)).flatten()
    }

    fn numbered(&self, number: u32) -> Name {
        let value = format!("{}_{number}", self.ident.value);
        let ident = Ident { value, quote_style: self.ident.quote_style, span: self.ident.span };
        Name { qualifier: None, ident, is_column: false }
    }

    /// Whether the planner takes both for one name.
    fn meets(&self, other: &Name) -> bool {
        let qualifiers_meet = match (&self.qualifier, &other.qualifier) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        };
        qualifiers_meet && folded(&self.ident) == folded(&other.ident)
    }
}

fn folded(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
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
    fn only_columns_that_would_repeat_a_name_are_renamed() {
        for (sql, expected) in [
            ("SELECT *, a FROM t", "SELECT *, a AS a_1 FROM t"),
            ("SELECT t.\"B\", *, t.\"B\" FROM t", "SELECT t.\"B\" AS \"B_1\", *, t.\"B\" AS \"B_2\" FROM t"),
            ("SELECT *, a AS b, a + 1 FROM t", "SELECT *, a AS b, a + 1 FROM t"),
            ("SELECT a, A, t.a, b AS a FROM t", "SELECT a, A AS A_1, t.a AS a_2, b AS a_3 FROM t"),
            ("SELECT a, a, 1 AS a_1 FROM t", "SELECT a, a AS a_2, 1 AS a_1 FROM t"),
            ("SELECT t.a, u.a FROM t, u", "SELECT t.a, u.a FROM t, u"),
            ("SELECT \"A\", a FROM t", "SELECT \"A\", a FROM t"),
            ("SELECT 1, 1, count(*), count(*)", "SELECT 1, 1 AS \"1_1\", count(*), count(*) AS \"count(*)_1\""),
            ("SELECT x FROM (SELECT *, a FROM t)", "SELECT x FROM (SELECT *, a FROM t)"),
        ] {
            assert_eq!(apart(sql), expected, "{sql}");
        }
    }
}
