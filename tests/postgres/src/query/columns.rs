//! What the columns of queries and relations are called, and of which types they are.

use super::{Body, Expr, From, Part, Query};
use crate::schema::Schema;
use crate::types::Type;

/// Names of columns with their types.
pub type Columns = Vec<(String, Type)>;

impl Query {
    /// The number of its columns.
    #[must_use]
    pub fn width(&self) -> usize {
        match &self.body {
            Body::Select(select) => select.items.len(),
            Body::Set { left, .. } => left.width(),
            Body::Values(rows) => rows.first().map_or(0, Vec::len),
        }
    }

    /// Its columns; those without a name are called by their places.
    #[must_use]
    pub fn columns(&self) -> Columns {
        let named = |(at, expr): (usize, &Expr), alias: Option<&String>| {
            let name = alias.cloned().unwrap_or_else(|| match expr {
                Expr::Column(_, _, name) => name.clone(),
                _ => format!("column{}", at + 1),
            });
            (name, expr.data_type())
        };
        match &self.body {
            Body::Select(select) => {
                let items = select.items.iter().enumerate();
                items.map(|(at, item)| named((at, &item.expr), item.alias.as_ref())).collect()
            }
            Body::Set { left, .. } => left.columns(),
            Body::Values(rows) => {
                rows.first().into_iter().flatten().enumerate().map(|(at, expr)| named((at, expr), None)).collect()
            }
        }
    }

    /// The relations of its FROM, with their columns.
    #[must_use]
    pub fn relations(&self, schema: &Schema) -> Vec<(String, Columns)> {
        let mut found = Vec::new();
        if let Some(from) = self.select().and_then(|select| select.from.as_ref()) {
            self.collect(from, schema, &mut found);
        }
        found
    }

    fn collect(&self, from: &From, schema: &Schema, found: &mut Vec<(String, Columns)>) {
        match from {
            From::Table { name, alias } => {
                let cte = self.ctes.iter().find(|cte| cte.name == *name).map(|cte| cte.query.columns());
                let table = schema.tables.iter().find(|table| table.name == *name).map(|table| table.columns.clone());
                found.extend(cte.or(table).map(|columns| (alias.clone(), columns)));
            }
            From::Derived { query, alias, .. } => found.push((alias.clone(), query.columns())),
            From::Join { left, right, .. } => {
                self.collect(left, schema, found);
                self.collect(right, schema, found);
            }
        }
    }
}

impl Expr {
    /// Whether it, or a part of it that is no query, is such that `is` says so.
    pub fn any(&self, is: &impl Fn(&Self) -> bool) -> bool {
        if is(self) {
            return true;
        }
        match self {
            Self::Call(_, _, parts) => parts.iter().any(|part| matches!(part, Part::Expr(expr) if expr.any(is))),
            _ => false,
        }
    }

    /// Whether it reads a column.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.any(&|part| matches!(part, Self::Column(..)))
    }

    /// Whether it has an aggregate or a window function.
    #[must_use]
    pub fn aggregates(&self) -> bool {
        const NAMES: [&str; 8] = ["count(", "sum(", "avg(", "min(", "max(", "bool_and(", "bool_or(", "string_agg("];
        self.any(&|part| match part {
            Self::Call(_, texts, _) => {
                NAMES.iter().any(|name| texts[0].starts_with(name)) || texts.iter().any(|text| text.contains(" OVER "))
            }
            _ => false,
        })
    }
}
