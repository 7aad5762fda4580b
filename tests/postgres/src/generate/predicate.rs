//! Conditions.

use super::{Generator, Leaves, Relation, Scope};
use crate::query::{Body, Expr, Group, Item, Part, Query, Select};
use crate::shapes::{Shape, is_made};
use crate::types::Type;

impl Generator<'_> {
    /// A condition over the rows that the FROM of `query` gives.
    pub fn condition(&mut self, query: &Query) -> Option<Expr> {
        let relations = query.relations(self.schema).into_iter();
        let relations: Vec<_> =
            relations.map(|(alias, columns)| Relation { alias, columns, has_key: false, rows: 1 }).collect();
        let scope = Scope { relations, ..Scope::default() };
        (!scope.relations.is_empty()).then(|| self.predicate(Leaves::Rows(&scope), 2))
    }

    /// A condition.
    pub(super) fn predicate(&mut self, leaves: Leaves<'_>, depth: usize) -> Expr {
        let data_type = Type::Boolean;
        if depth > 0 && self.random.chance(35) {
            let depth = depth - 1;
            return match self.random.below(8) {
                0..3 => {
                    let parts = vec![self.predicate(leaves, depth), self.predicate(leaves, depth)];
                    Expr::call(data_type, "({} AND {})", parts)
                }
                3..6 => {
                    let parts = vec![self.predicate(leaves, depth), self.predicate(leaves, depth)];
                    Expr::call(data_type, "({} OR {})", parts)
                }
                6 => Expr::call(data_type, "(NOT {})", vec![self.predicate(leaves, depth)]),
                _ => {
                    let template = self.random.pick(&[
                        "({} IS TRUE)",
                        "({} IS NOT FALSE)",
                        "({} IS UNKNOWN)",
                        "({} IS NOT TRUE)",
                        "({} IS NULL)",
                    ]);
                    Expr::call(data_type, template, vec![self.predicate(leaves, depth)])
                }
            };
        }
        if depth > 0
            && let Leaves::Rows(scope) = leaves
            && self.random.chance(14)
        {
            return self.subquery_predicate(scope);
        }
        let (one, other) = self.comparable(leaves);
        let value = |this: &mut Self, of: Type| {
            if this.random.chance(65) { this.leaf(of, leaves) } else { this.expr(of, leaves, depth.min(1)) }
        };
        match self.random.below(16) {
            0..7 => {
                let template = self.random.pick(&[
                    "({} = {})",
                    "({} <> {})",
                    "({} < {})",
                    "({} <= {})",
                    "({} > {})",
                    "({} >= {})",
                ]);
                Expr::call(data_type, template, vec![value(self, one), value(self, other)])
            }
            7 | 8 => {
                let template = self.random.pick(&["({} IS NULL)", "({} IS NOT NULL)"]);
                Expr::call(data_type, template, vec![value(self, one)])
            }
            9 => {
                let template = self.random.pick(&["({} IS DISTINCT FROM {})", "({} IS NOT DISTINCT FROM {})"]);
                Expr::call(data_type, template, vec![value(self, one), value(self, other)])
            }
            10 => {
                let template = self.random.pick(&["({} BETWEEN {} AND {})", "({} NOT BETWEEN {} AND {})"]);
                Expr::call(data_type, template, vec![value(self, one), value(self, other), value(self, other)])
            }
            11 => {
                let template = self.random.pick(&["({} IN ({}, {}))", "({} NOT IN ({}, {}))"]);
                Expr::call(data_type, template, vec![value(self, one), value(self, one), value(self, one)])
            }
            12 => {
                let template =
                    self.random.pick(&["({} LIKE 'a%')", "({} LIKE '%b%')", "({} NOT LIKE '_')", "({} ILIKE 'A%')"]);
                Expr::call(data_type, template, vec![value(self, Type::Text)])
            }
            13 if is_made(Shape::Precedence) => {
                let template = self.random.pick(&[
                    "({} IS DISTINCT FROM {} AND {})",
                    "(NOT {} = {} OR {})",
                    "({} = {} IS NOT NULL AND {})",
                    "({} < {} OR {} AND false)",
                ]);
                Expr::call(data_type, template, vec![value(self, one), value(self, one), value(self, data_type)])
            }
            14 => self.comparisons_with_constants(one, leaves),
            15 if self.random.chance(50) => self.comparison_of_rows(leaves),
            _ => value(self, data_type),
        }
    }

    /// Two or three comparisons of one value with constants, which optimizers make fewer.
    fn comparisons_with_constants(&mut self, data_type: Type, leaves: Leaves<'_>) -> Expr {
        let value = self.leaf(data_type, leaves);
        let mut all = self.comparison_with_constants(&value, data_type);
        for _ in 0..=self.random.below(2) {
            let next = self.comparison_with_constants(&value, data_type);
            let template = self.random.pick(&["({} AND {})", "({} AND {})", "({} OR {})", "({} AND NOT {})"]);
            all = Expr::call(Type::Boolean, template, vec![all, next]);
        }
        all
    }

    fn comparison_with_constants(&mut self, value: &Expr, data_type: Type) -> Expr {
        let (one, other) = (self.literal(data_type), self.literal(data_type));
        let value = value.clone();
        let (template, parts): (&[&str], _) = match self.random.below(10) {
            0..7 => {
                let parts = if self.random.chance(50) { vec![value, one] } else { vec![one, value] };
                (&["({} = {})", "({} <> {})", "({} < {})", "({} <= {})", "({} > {})", "({} >= {})"], parts)
            }
            7 => (&["({} BETWEEN {} AND {})", "({} NOT BETWEEN {} AND {})"], vec![value, one, other]),
            8 => (&["({} IN ({}, {}))", "({} NOT IN ({}, {}))"], vec![value, one, other]),
            _ => (&["({} IS DISTINCT FROM {})", "({} IS NOT DISTINCT FROM {})"], vec![value, one]),
        };
        Expr::call(Type::Boolean, self.random.pick(template), parts)
    }

    /// Types that can be compared.
    pub(super) fn comparable(&mut self, leaves: Leaves<'_>) -> (Type, Type) {
        let one = match leaves {
            Leaves::Rows(scope) | Leaves::Groups(_, scope) if self.random.chance(90) => scope.types(self.random)[0],
            _ => self.random.pick(&Type::ALL),
        };
        if one.is_number() && self.random.chance(30) {
            let mixes = is_made(Shape::DoubleAndDecimal);
            let numbers = [Type::SmallInt, Type::Integer, Type::BigInt, Type::Decimal, Type::Numeric, Type::Double];
            let other = self.random.pick(&numbers);
            let is_mixed = (one == Type::Double) != (other == Type::Double);
            return (one, if is_mixed && !mixes { one } else { other });
        }
        match one {
            Type::Date if self.random.chance(15) => (one, Type::Timestamp),
            _ => (one, one),
        }
    }

    /// EXISTS, IN, ANY and ALL.
    fn subquery_predicate(&mut self, outer: &Scope) -> Expr {
        let (from, mut scope) = self.from(0);
        let own = scope.clone();
        self.look_out(&mut scope, outer);
        let correlation = if self.random.chance(60) { self.correlation(&scope, outer) } else { None };
        let more = self.random.chance(50).then(|| self.predicate(Leaves::Rows(&scope), 1));
        let filter = match (correlation, more) {
            (Some(one), Some(other)) => Some(Expr::call(Type::Boolean, "{} AND {}", vec![one, other])),
            (one, other) => one.or(other),
        };
        let columns: Vec<_> =
            scope.relations.iter().flat_map(|relation| &relation.columns).map(|column| column.1).collect();
        let data_type = self.random.pick(&columns);
        // An aggregate without GROUP BY, of columns of its own: one row, unless HAVING has another mind.
        let aggregate = if self.random.chance(20) { self.call_of_aggregate(data_type, &own) } else { None };
        let having = aggregate.as_ref().filter(|_| self.random.chance(30)).map(|_| {
            let template = self.random.pick(&["(count(*) < 2)", "(count(*) = 0)", "(count(*) > 0)"]);
            Expr::call(Type::Boolean, template, Vec::new())
        });
        let value = aggregate.unwrap_or_else(|| self.leaf(data_type, Leaves::Rows(&scope)));
        let select = Select {
            distinct: self.random.chance(10),
            items: vec![Item { expr: value, alias: None }],
            from: Some(from),
            filter,
            group: Group::No,
            having,
            windows: Vec::new(),
        };
        let query = Part::Query(Box::new(Query::of(Body::Select(Box::new(select)))));
        let exists = self.random.pick(&["EXISTS ({})", "NOT EXISTS ({})"]);
        let not_in = is_made(Shape::NotIn);
        match self.random.below(10) {
            4..7 => self.quantified("({} IN ({}))", data_type, outer, query),
            7 | 8 if not_in => self.quantified("({} NOT IN ({}))", data_type, outer, query),
            9 if not_in => {
                let template =
                    self.random.pick(&["({} = ANY ({}))", "({} > ALL ({}))", "({} <> ALL ({}))", "({} < ANY ({}))"]);
                self.quantified(template, data_type, outer, query)
            }
            _ => Expr::parts(Type::Boolean, exists, vec![query]),
        }
    }

    fn quantified(&mut self, template: &str, data_type: Type, outer: &Scope, query: Part) -> Expr {
        let value = self.leaf(data_type, Leaves::Rows(outer));
        Expr::parts(Type::Boolean, template, vec![Part::Expr(value), query])
    }
}
