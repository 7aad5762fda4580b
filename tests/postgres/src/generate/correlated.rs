//! Subqueries that depend on the rows around them by more than equality: a row that is picked by an order, LATERAL; and
//! comparisons of rows.

use super::{DIRECTIONS, Generator, Leaves, Relation, Scope};
use crate::query::{Body, Expr, From, Group, Item, On, Order, Part, Query, Select};
use crate::types::Type;

impl Generator<'_> {
    /// `(SELECT value FROM t WHERE ... ORDER BY id LIMIT 1)`: a value of one row, about the row around it.
    pub(super) fn value_of_row(&mut self, data_type: Type, leaves: Leaves<'_>) -> Expr {
        let Leaves::Rows(outer) = leaves else { return self.leaf(data_type, leaves) };
        let Some((mut query, scope)) = self.rows_about(outer) else { return self.leaf(data_type, leaves) };
        let value = self.leaf(data_type, Leaves::Rows(&scope));
        if let Some(select) = query.select_mut() {
            select.items = vec![Item { expr: value, alias: None }];
        }
        query.limit = Some(1);
        query.offset = self.random.chance(25).then(|| self.random.below(2));
        Expr::parts(data_type, "({})", vec![Part::Query(Box::new(query))])
    }

    /// Rows of a table in the order of its key, about the row around.
    fn rows_about(&mut self, outer: &Scope) -> Option<(Query, Scope)> {
        let table = self.random.pick(&self.schema.tables);
        let alias = self.alias();
        let from = From::Table { name: table.name.clone(), alias: alias.clone() };
        let relation = Relation { alias: alias.clone(), columns: table.columns, has_key: true, rows: table.rows.len() };
        let own = Scope { relations: vec![relation], ..Scope::default() };
        let correlation = self.correlation(&own, outer)?;
        let mut scope = own;
        self.look_out(&mut scope, outer);
        let filter = if self.random.chance(30) {
            let more = self.predicate(Leaves::Rows(&scope), 1);
            Expr::call(Type::Boolean, "{} AND ({})", vec![correlation, more])
        } else {
            correlation
        };
        let select = Select {
            distinct: false,
            items: Vec::new(),
            from: Some(from),
            filter: Some(filter),
            group: Group::No,
            having: None,
            windows: Vec::new(),
        };
        let mut query = Query::of(Body::Select(Box::new(select)));
        let key = Expr::Column(Type::Integer, Some(alias), "id".to_owned());
        query.order.push(Order { key, direction: self.random.pick(&DIRECTIONS) });
        Some((query, scope))
    }

    /// `from` with a LATERAL behind it.
    pub(super) fn lateral(&mut self, (from, mut scope): (From, Scope)) -> (From, Scope) {
        let Some((mut query, inner)) = self.rows_about(&scope) else { return (from, scope) };
        let types = inner.types(self.random);
        let names = ["la", "lb", "lc", "ld", "le"];
        let columns: Vec<(String, Type)> =
            types.iter().zip(names).map(|(data_type, name)| (name.to_owned(), *data_type)).collect();
        let mut items = Vec::new();
        for (name, data_type) in &columns {
            let expr = self.leaf(*data_type, Leaves::Rows(&inner));
            items.push(Item { expr, alias: Some(name.clone()) });
        }
        if let Some(select) = query.select_mut() {
            select.items = items;
        }
        if self.random.chance(60) {
            query.limit = Some(self.random.pick(&[1, 1, 2]));
        } else {
            query.order.clear();
        }
        let alias = self.alias();
        let right = Box::new(From::Derived { query: Box::new(query), alias: alias.clone(), is_lateral: true });
        let (kind, on) = if self.random.chance(50) {
            ("CROSS JOIN", On::None)
        } else {
            ("LEFT JOIN", On::Expr(Expr::Literal(Type::Boolean, "true".to_owned())))
        };
        scope.relations.push(Relation { alias, columns, has_key: false, rows: 2 });
        (From::Join { kind, left: Box::new(from), right, on }, scope)
    }

    /// `(a, b) = (c, d)` and its like.
    pub(super) fn comparison_of_rows(&mut self, leaves: Leaves<'_>) -> Expr {
        let (one, two) = (self.comparable(leaves).0, self.comparable(leaves).0);
        let row = |this: &mut Self| vec![this.leaf(one, leaves), this.leaf(two, leaves)];
        let (template, rows) = self.random.pick(&[
            ("(({}, {}) = ({}, {}))", 2),
            ("(({}, {}) <> ({}, {}))", 2),
            ("(({}, {}) < ({}, {}))", 2),
            ("(({}, {}) >= ({}, {}))", 2),
            ("(({}, {}) IN (({}, {}), ({}, {})))", 3),
            ("(({}, {}) NOT IN (({}, {}), ({}, {})))", 3),
            ("(ROW({}, {}) IS NULL)", 1),
            ("(ROW({}, {}) IS NOT NULL)", 1),
            ("(ROW({}, {}) IS DISTINCT FROM ROW({}, {}))", 2),
        ]);
        let parts = (0..rows).flat_map(|_| row(self)).collect();
        Expr::call(Type::Boolean, template, parts)
    }
}
