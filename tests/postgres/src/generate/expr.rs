//! Values: columns, literals, functions, casts, CASE, scalar subqueries.

use super::{Generator, Leaves, Relation, Scope};
use crate::query::{Expr, Group, Item, Part, Select};
use crate::shapes::{Shape, is_made};
use crate::types::Type;

impl Generator<'_> {
    /// A column or a literal of `data_type`.
    pub(super) fn leaf(&mut self, data_type: Type, leaves: Leaves<'_>) -> Expr {
        let found = match leaves {
            Leaves::Rows(scope) => self.column(data_type, scope),
            Leaves::Groups(keys, scope) => {
                let keys: Vec<_> = keys.iter().filter(|key| key.data_type() == data_type).cloned().collect();
                if !keys.is_empty() && self.random.chance(60) {
                    Some(self.random.pick(&keys))
                } else {
                    self.call_of_aggregate(data_type, scope)
                }
            }
            Leaves::Nothing => None,
        };
        found.unwrap_or_else(|| self.literal(data_type))
    }

    pub(super) fn literal(&mut self, data_type: Type) -> Expr {
        Expr::Literal(data_type, data_type.literal(self.random))
    }

    fn column(&mut self, data_type: Type, scope: &Scope) -> Option<Expr> {
        if self.random.chance(12) {
            return None;
        }
        let mut found = Vec::new();
        let outer: &[Relation] = if self.random.chance(30) { &scope.outer } else { &[] };
        for relation in scope.relations.iter().chain(outer) {
            for (name, of) in &relation.columns {
                if *of == data_type {
                    found.push(Expr::Column(data_type, Some(relation.alias.clone()), name.clone()));
                }
            }
        }
        for (name, of) in &scope.merged {
            if *of == data_type {
                found.push(Expr::Column(data_type, None, name.clone()));
                found.push(Expr::Column(data_type, None, name.clone()));
            }
        }
        (!found.is_empty()).then(|| self.random.pick(&found))
    }

    /// An expression of `data_type`.
    pub(super) fn expr(&mut self, data_type: Type, leaves: Leaves<'_>, depth: usize) -> Expr {
        if depth == 0 || self.random.chance(25) {
            return self.leaf(data_type, leaves);
        }
        let depth = depth - 1;
        match self.random.below(20) {
            0 => return self.case(data_type, leaves, depth),
            1 => {
                let parts = vec![self.expr(data_type, leaves, depth), self.expr(data_type, leaves, depth)];
                let template = self.random.pick(&["coalesce({}, {})", "nullif({}, {})"]);
                return Expr::call(data_type, template, parts);
            }
            2 if data_type != Type::Boolean => {
                let parts = vec![self.expr(data_type, leaves, depth), self.expr(data_type, leaves, depth)];
                let template = self.random.pick(&["greatest({}, {})", "least({}, {})"]);
                return Expr::call(data_type, template, parts);
            }
            3 => return self.scalar_subquery(data_type, leaves),
            4 => return self.value_of_row(data_type, leaves),
            _ => {}
        }
        match data_type {
            Type::Boolean => self.predicate(leaves, depth),
            Type::SmallInt | Type::Integer | Type::BigInt => self.whole(data_type, leaves, depth),
            Type::Decimal => self.decimal(leaves, depth),
            Type::Numeric => self.numeric(leaves, depth),
            Type::Double => self.double(leaves, depth),
            Type::Text => self.text(leaves, depth),
            Type::Date => self.date(leaves, depth),
            Type::Timestamp => self.timestamp(leaves, depth),
        }
    }

    fn case(&mut self, data_type: Type, leaves: Leaves<'_>, depth: usize) -> Expr {
        let value = |this: &mut Self| this.expr(data_type, leaves, depth);
        if self.random.chance(35) {
            let of = self.random.pick(&Type::ALL);
            let parts =
                vec![self.leaf(of, leaves), self.leaf(of, leaves), value(self), self.leaf(of, leaves), value(self)];
            return Expr::call(data_type, "CASE {} WHEN {} THEN {} WHEN {} THEN {} END", parts);
        }
        let mut parts = vec![self.predicate(leaves, depth), value(self)];
        if self.random.chance(30) {
            return Expr::call(data_type, "CASE WHEN {} THEN {} END", parts);
        }
        parts.push(value(self));
        Expr::call(data_type, "CASE WHEN {} THEN {} ELSE {} END", parts)
    }

    /// A subquery of one row, over relations of its own; sometimes about the row around it.
    fn scalar_subquery(&mut self, data_type: Type, leaves: Leaves<'_>) -> Expr {
        let (from, mut scope) = self.from(0);
        let Some(value) = self.call_of_aggregate(data_type, &scope) else { return self.leaf(data_type, leaves) };
        if let Leaves::Rows(outer) = leaves {
            self.look_out(&mut scope, outer);
        }
        let correlation = match leaves {
            Leaves::Rows(outer) if self.random.chance(60) => self.correlation(&scope, outer),
            _ => None,
        };
        let filter = match correlation {
            None => self.random.chance(50).then(|| self.predicate(Leaves::Rows(&scope), 1)),
            Some(filter) if self.random.chance(30) => {
                let more = self.predicate(Leaves::Rows(&scope), 1);
                Some(Expr::call(Type::Boolean, "{} AND ({})", vec![filter, more]))
            }
            filter => filter,
        };
        let select = Select {
            distinct: false,
            items: vec![Item { expr: value, alias: None }],
            from: Some(from),
            filter,
            group: Group::No,
            having: None,
            windows: Vec::new(),
        };
        let query = crate::query::Query::of(crate::query::Body::Select(Box::new(select)));
        Expr::parts(data_type, "({})", vec![Part::Query(Box::new(query))])
    }

    /// Sometimes lets a subquery name the columns around it wherever it likes.
    pub(super) fn look_out(&mut self, inner: &mut Scope, outer: &Scope) {
        if self.random.chance(20) {
            inner.outer.clone_from(&outer.relations);
        }
    }

    /// A comparison of a column inside with one around.
    pub(super) fn correlation(&mut self, inner: &Scope, outer: &Scope) -> Option<Expr> {
        let mut pairs = Vec::new();
        for one in
            inner.relations.iter().flat_map(|relation| relation.columns.iter().map(move |column| (relation, column)))
        {
            for other in outer
                .relations
                .iter()
                .flat_map(|relation| relation.columns.iter().map(move |column| (relation, column)))
            {
                if one.1.1 == other.1.1 {
                    let column = |(relation, (name, data_type)): (&Relation, &(String, Type))| {
                        Expr::Column(*data_type, Some(relation.alias.clone()), name.clone())
                    };
                    pairs.push(vec![column(one), column(other)]);
                }
            }
        }
        let template =
            self.random.pick(&["{} = {}", "{} = {}", "{} = {}", "{} < {}", "{} <> {}", "{} IS DISTINCT FROM {}"]);
        (!pairs.is_empty()).then(|| Expr::call(Type::Boolean, template, self.random.pick(&pairs)))
    }

    fn whole(&mut self, data_type: Type, leaves: Leaves<'_>, depth: usize) -> Expr {
        let name = data_type.sql().to_lowercase();
        let value = |this: &mut Self| this.expr(data_type, leaves, depth);
        match self.random.below(13) {
            0 | 1 => Expr::call(data_type, "({} + {})", vec![value(self), value(self)]),
            2 => Expr::call(data_type, "({} - {})", vec![value(self), value(self)]),
            3 if data_type == Type::BigInt => {
                let factor = self.leaf(Type::Integer, leaves);
                Expr::call(data_type, "({} * {}::bigint)", vec![self.leaf(Type::Integer, leaves), factor])
            }
            4 => Expr::call(data_type, "({} / nullif({}, 0))", vec![value(self), value(self)]),
            5 => Expr::call(data_type, "({} % nullif({}, 0))", vec![value(self), value(self)]),
            6 => Expr::call(data_type, "abs({})", vec![value(self)]),
            7 => Expr::call(data_type, "(- {})", vec![value(self)]),
            8 if data_type == Type::Integer => {
                let text = self.expr(Type::Text, leaves, depth);
                let template = self.random.pick(&["length({})", "strpos({}, 'a')", "ascii({})"]);
                Expr::call(data_type, template, vec![text])
            }
            8 | 9 if data_type == Type::Integer => {
                let from = self.random.pick(&[Type::Date, Type::Timestamp]);
                let template = self.random.pick(&[
                    "extract(year FROM {})::integer",
                    "extract(month FROM {})::integer",
                    "date_part('day', {})::integer",
                ]);
                Expr::call(data_type, template, vec![self.expr(from, leaves, depth)])
            }
            10 if data_type == Type::Integer => {
                let parts = vec![self.leaf(Type::Date, leaves), self.leaf(Type::Date, leaves)];
                Expr::call(data_type, "({} - {})", parts)
            }
            11 if data_type == Type::Integer => {
                Expr::call(data_type, "{}::integer", vec![self.leaf(Type::Boolean, leaves)])
            }
            12 => {
                let from =
                    if is_made(Shape::DoubleToWhole) && self.random.chance(40) { Type::Double } else { Type::Decimal };
                let template = self.random.pick(&["CAST({} AS ", "round({})::"]);
                let end = if template.starts_with("CAST") { ")" } else { "" };
                Expr::call(data_type, &format!("{template}{name}{end}"), vec![self.leaf(from, leaves)])
            }
            _ if data_type == Type::BigInt => {
                let from = self.random.pick(&[Type::SmallInt, Type::Integer]);
                Expr::call(data_type, "CAST({} AS BIGINT)", vec![self.expr(from, leaves, depth)])
            }
            _ => Expr::call(data_type, &format!("({{}} + 1::{name})"), vec![value(self)]),
        }
    }

    fn decimal(&mut self, leaves: Leaves<'_>, depth: usize) -> Expr {
        let data_type = Type::Decimal;
        let value = |this: &mut Self| this.expr(data_type, leaves, depth.min(1));
        match self.random.below(7) {
            0 => Expr::call(data_type, "({} + {})", vec![value(self), value(self)]),
            1 => Expr::call(data_type, "({} - {})", vec![value(self), value(self)]),
            2 => Expr::call(data_type, "({} * {})", vec![self.leaf(data_type, leaves), self.leaf(data_type, leaves)]),
            3 => Expr::call(data_type, "round({}, 1)", vec![value(self)]),
            4 => Expr::call(data_type, "abs({})", vec![value(self)]),
            5 => Expr::call(data_type, "CAST({} AS DECIMAL(10,2))", vec![self.leaf(Type::Integer, leaves)]),
            _ => Expr::call(data_type, "(- {})", vec![value(self)]),
        }
    }

    fn numeric(&mut self, leaves: Leaves<'_>, depth: usize) -> Expr {
        let data_type = Type::Numeric;
        let value = |this: &mut Self| this.expr(data_type, leaves, depth.min(1));
        match self.random.below(10) {
            0 => Expr::call(data_type, "({} + {})", vec![value(self), value(self)]),
            1 => Expr::call(data_type, "({} - {})", vec![value(self), value(self)]),
            2 => Expr::call(data_type, "({} * {})", vec![self.leaf(data_type, leaves), self.leaf(data_type, leaves)]),
            3 => Expr::call(data_type, "({} / nullif({}, 0))", vec![value(self), value(self)]),
            4 => {
                let from = self.random.pick(&[Type::Integer, Type::BigInt, Type::SmallInt, Type::Decimal]);
                Expr::call(
                    data_type,
                    "({} / nullif({}, 0))",
                    vec![self.leaf(from, leaves), self.leaf(data_type, leaves)],
                )
            }
            5 => {
                let template = self.random.pick(&["round({}, 1)", "trunc({}, 2)", "floor({})", "ceil({})", "abs({})"]);
                Expr::call(data_type, template, vec![value(self)])
            }
            6 => Expr::call(data_type, "sqrt(abs({}))", vec![self.leaf(data_type, leaves)]),
            7 => Expr::call(data_type, "mod({}, 7)", vec![value(self)]),
            8 => {
                let from = self.random.pick(&[Type::Integer, Type::BigInt, Type::Decimal, Type::Double]);
                Expr::call(data_type, "CAST({} AS NUMERIC)", vec![self.leaf(from, leaves)])
            }
            _ => Expr::call(data_type, "(- {})", vec![value(self)]),
        }
    }

    fn double(&mut self, leaves: Leaves<'_>, depth: usize) -> Expr {
        let data_type = Type::Double;
        let value = |this: &mut Self| this.expr(data_type, leaves, depth);
        match self.random.below(8) {
            0 => Expr::call(data_type, "({} + {})", vec![value(self), value(self)]),
            1 => Expr::call(data_type, "({} - {})", vec![value(self), value(self)]),
            2 => Expr::call(data_type, "({} * {})", vec![value(self), value(self)]),
            3 => Expr::call(data_type, "({} / nullif({}, 0))", vec![value(self), value(self)]),
            4 => {
                let from = self.random.pick(&[Type::Integer, Type::BigInt, Type::Decimal]);
                Expr::call(data_type, "CAST({} AS DOUBLE PRECISION)", vec![self.expr(from, leaves, depth.min(1))])
            }
            5 => Expr::call(data_type, "abs({})", vec![value(self)]),
            6 => {
                let template = self.random.pick(&["floor({})", "ceil({})"]);
                Expr::call(data_type, template, vec![value(self)])
            }
            _ => Expr::call(data_type, "sqrt(abs({}))", vec![value(self)]),
        }
    }

    fn text(&mut self, leaves: Leaves<'_>, depth: usize) -> Expr {
        let data_type = Type::Text;
        if self.random.chance(25) {
            let from = self.random.pick(&[Type::Integer, Type::BigInt, Type::Boolean, Type::Date, Type::SmallInt]);
            let value = self.expr(from, leaves, depth.min(1));
            let template = self.random.pick(&["CAST({} AS TEXT)", "({})::text"]);
            return Expr::call(data_type, template, vec![value]);
        }
        let value = self.expr(data_type, leaves, depth);
        if self.random.chance(25) {
            let other = self.expr(data_type, leaves, depth);
            let template = self.random.pick(&["({} || {})", "concat({}, {})"]);
            return Expr::call(data_type, template, vec![value, other]);
        }
        let template = self.random.pick(&[
            "upper({})",
            "lower({})",
            "substr({}, 1, 1)",
            "substring({} FROM 2)",
            "trim({})",
            "replace({}, 'a', 'xy')",
            "left({}, 1)",
            "right({}, 1)",
            "reverse({})",
            "repeat({}, 2)",
            "lpad({}, 3, '*')",
            "btrim({}, 'a')",
        ]);
        Expr::call(data_type, template, vec![value])
    }

    fn date(&mut self, leaves: Leaves<'_>, depth: usize) -> Expr {
        let data_type = Type::Date;
        match self.random.below(4) {
            0 => Expr::call(data_type, "CAST({} AS DATE)", vec![self.expr(Type::Timestamp, leaves, depth)]),
            1 => Expr::call(
                data_type,
                "({} + {}::integer)",
                vec![self.leaf(data_type, leaves), self.leaf(Type::Integer, leaves)],
            ),
            2 => Expr::call(data_type, "({} - 1)", vec![self.expr(data_type, leaves, depth)]),
            _ => Expr::call(data_type, "({} + INTERVAL '1 month')::date", vec![self.expr(data_type, leaves, depth)]),
        }
    }

    fn timestamp(&mut self, leaves: Leaves<'_>, depth: usize) -> Expr {
        let data_type = Type::Timestamp;
        match self.random.below(4) {
            0 => Expr::call(data_type, "CAST({} AS TIMESTAMP)", vec![self.expr(Type::Date, leaves, depth)]),
            1 => Expr::call(data_type, "({} + INTERVAL '1 day')", vec![self.expr(data_type, leaves, depth)]),
            2 => Expr::call(data_type, "date_trunc('month', {})", vec![self.expr(data_type, leaves, depth)]),
            _ => Expr::call(data_type, "({} - INTERVAL '90 minutes')", vec![self.expr(data_type, leaves, depth)]),
        }
    }
}
