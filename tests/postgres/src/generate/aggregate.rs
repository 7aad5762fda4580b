//! Groups and aggregates.

use super::{Generator, Leaves, Scope};
use crate::query::{Expr, Group, Item, Select};
use crate::shapes::{Shape, is_made};
use crate::types::Type;

impl Generator<'_> {
    /// Makes `select` one of groups.
    pub(super) fn aggregate(&mut self, select: &mut Select, scope: &Scope, types: &[Type]) {
        let mut keys: Vec<Expr> = Vec::new();
        for _ in 0..self.random.pick(&[0, 1, 1, 2, 3]) {
            let data_type = self.random.pick(types);
            let key = if self.random.chance(80) {
                self.leaf(data_type, Leaves::Rows(scope))
            } else {
                self.expr(data_type, Leaves::Rows(scope), 1)
            };
            let is_constant = !key.reads();
            let is_there = keys.iter().any(|known| known.sql() == key.sql());
            if !is_constant && !is_there {
                keys.push(key);
            }
        }
        for &data_type in types {
            let expr = if self.random.chance(75) {
                self.leaf(data_type, Leaves::Groups(&keys, scope))
            } else {
                self.expr(data_type, Leaves::Groups(&keys, scope), 1)
            };
            select.items.push(Item { expr, alias: None });
        }
        if keys.is_empty() && !is_made(Shape::ConstantOverGroups) {
            for item in select.items.iter_mut().filter(|item| !item.expr.aggregates()) {
                let template = if item.expr.data_type() == Type::Boolean { "bool_or({})" } else { "max({})" };
                item.expr = Expr::call(item.expr.data_type(), template, vec![item.expr.clone()]);
            }
            return;
        }
        if keys.is_empty() {
            // Without GROUP BY, an aggregate makes one group of all rows.
            let has_aggregate = select.items.iter().any(|item| item.expr.aggregates());
            if !has_aggregate {
                let count = Expr::call(Type::BigInt, "count(*)", Vec::new());
                let data_type = types[0];
                let first = self.leaf(data_type, Leaves::Nothing);
                let expr = Expr::call(data_type, "CASE WHEN {} >= 0 THEN {} END", vec![count, first]);
                select.items[0].expr = expr;
            }
            return;
        }
        if self.random.chance(25) {
            select.having = Some(self.predicate(Leaves::Groups(&keys, scope), 1));
        }
        // PostgreSQL before 18 computes keys of grouping sets once more above the groups, of columns that may be NULL there
        // or may be not.
        let are_columns = keys.iter().all(|key| !key.sql().contains(['(', ' ', '\'', ':']));
        select.group = match self.random.below(8) {
            0..3 if !are_columns => Group::By(keys),
            0 => Group::Sets("ROLLUP", keys.into_iter().map(|key| vec![key]).collect()),
            1 => Group::Sets("CUBE", keys.into_iter().map(|key| vec![key]).collect()),
            2 => {
                let mut sets: Vec<_> = keys.iter().map(|key| vec![key.clone()]).collect();
                sets.push(if self.random.chance(50) { Vec::new() } else { keys });
                Group::Sets("GROUPING SETS", sets)
            }
            _ => Group::By(keys),
        };
    }

    /// A call of an aggregate with a value of `data_type`, if there is one.
    pub(super) fn call_of_aggregate(&mut self, data_type: Type, scope: &Scope) -> Option<Expr> {
        let leaves = Leaves::Rows(scope);
        let argument = |this: &mut Self, of: Type| {
            if this.random.chance(75) { this.leaf(of, leaves) } else { this.expr(of, leaves, 1) }
        };
        let any = self.random.pick(&Type::ALL);
        let call = match (data_type, self.random.below(6)) {
            (Type::Boolean, 0..4) => {
                let template = self.random.pick(&["bool_and({})", "bool_or({})"]);
                Expr::call(data_type, template, vec![argument(self, data_type)])
            }
            (Type::Boolean, _) => return None,
            (Type::BigInt, 0) => Expr::call(data_type, "count(*)", Vec::new()),
            (Type::BigInt, 1) => Expr::call(data_type, "count({})", vec![argument(self, any)]),
            (Type::BigInt, 2) => Expr::call(data_type, "count(DISTINCT {})", vec![argument(self, any)]),
            (Type::BigInt, 3) => Expr::call(data_type, "sum({})", vec![argument(self, Type::Integer)]),
            (Type::BigInt, 4) => Expr::call(data_type, "sum(DISTINCT {})", vec![argument(self, Type::Integer)]),
            (Type::Numeric, 0) => {
                let of = self.random.pick(&[Type::BigInt, Type::Numeric]);
                Expr::call(data_type, "sum({})", vec![argument(self, of)])
            }
            (Type::Numeric, 1 | 2) => {
                let of = self.random.pick(&[Type::SmallInt, Type::Integer, Type::BigInt, Type::Decimal, Type::Numeric]);
                let template = self.random.pick(&["avg({})", "avg({})", "variance({})", "stddev_pop({})"]);
                Expr::call(data_type, template, vec![argument(self, of)])
            }
            (Type::Decimal | Type::Double, 0 | 1) => Expr::call(data_type, "sum({})", vec![argument(self, data_type)]),
            (Type::Double, 2) => Expr::call(data_type, "avg({})", vec![argument(self, data_type)]),
            (Type::Double, 3) => {
                let average = Expr::call(data_type, "avg({})", vec![argument(self, Type::Integer)]);
                return Some(Expr::call(data_type, "{}::double precision", vec![average]));
            }
            (Type::Text, 0) => {
                let value = argument(self, data_type);
                let template =
                    self.random.pick(&["string_agg({}, ',' ORDER BY {})", "string_agg({}, '' ORDER BY {} DESC)"]);
                return Some(Expr::call(data_type, template, vec![value.clone(), value]));
            }
            (_, 0..5) => {
                let template = self.random.pick(&["min({})", "max({})"]);
                Expr::call(data_type, template, vec![argument(self, data_type)])
            }
            _ => return None,
        };
        if self.random.chance(10) {
            let filter = self.predicate(leaves, 0);
            return Some(Expr::call(data_type, "{} FILTER (WHERE {})", vec![call, filter]));
        }
        Some(call)
    }
}
