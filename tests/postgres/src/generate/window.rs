//! Windows.

use super::{DIRECTIONS, Generator, Leaves, Scope};
use crate::query::{Expr, Item, Select};
use crate::shapes::{Shape, is_made};
use crate::types::Type;

/// Frames whose rows do not depend on the order of equals.
const FRAMES: [&str; 8] = [
    "",
    "",
    " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP",
    " GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    " GROUPS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP",
];
/// Frames that count rows.
const ROW_FRAMES: [&str; 8] = [
    "",
    " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
    " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
    " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW",
    " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING EXCLUDE TIES",
    " GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE GROUP",
];

impl Generator<'_> {
    /// Makes `select` one with window functions.
    pub(super) fn windows(&mut self, select: &mut Select, scope: &Scope, types: &[Type]) {
        let leaves = Leaves::Rows(scope);
        let mut named = None;
        if self.random.chance(30) {
            let partition = self.partition(scope);
            let with_order = self.random.chance(40) || !is_made(Shape::WindowOfWindow);
            let order = if with_order { self.by_keys(scope) } else { None };
            let has_order = order.is_some();
            select.windows.push(("w".to_owned(), partition, order.map_or(String::new(), |order| format!(" {order}"))));
            named = Some(has_order);
        }
        for &data_type in types {
            let expr = if self.random.chance(60) {
                self.window(data_type, scope, named).unwrap_or_else(|| self.leaf(data_type, leaves))
            } else {
                self.leaf(data_type, leaves)
            };
            select.items.push(Item { expr, alias: None });
        }
    }

    fn partition(&mut self, scope: &Scope) -> Vec<Expr> {
        let columns = scope.types(self.random);
        let columns = columns.into_iter().take(self.random.below(2)).collect::<Vec<_>>();
        columns.into_iter().map(|data_type| self.leaf(data_type, Leaves::Rows(scope))).collect()
    }

    /// An order in which every row has its own place, if the relations have keys.
    fn by_keys(&mut self, scope: &Scope) -> Option<String> {
        if !scope.relations.iter().all(|relation| relation.has_key) {
            return None;
        }
        let keys =
            scope.relations.iter().map(|relation| format!("{}.id{}", relation.alias, self.random.pick(&DIRECTIONS)));
        Some(format!("ORDER BY {}", keys.collect::<Vec<_>>().join(", ")))
    }

    /// A window function with a value of `data_type`, if there is one.
    fn window(&mut self, data_type: Type, scope: &Scope, named: Option<bool>) -> Option<Expr> {
        let leaves = Leaves::Rows(scope);
        let keys = self.by_keys(scope);
        let argument = self.leaf(data_type, leaves);
        let (call, mut parts, counts_rows) = match (data_type, self.random.below(6)) {
            (Type::BigInt, 0) if keys.is_some() => ("row_number()", Vec::new(), true),
            (Type::BigInt, 1) => (self.random.pick(&["rank()", "dense_rank()"]), Vec::new(), false),
            (Type::BigInt, 2) => ("count(*)", Vec::new(), false),
            (Type::BigInt, 3) => ("sum({})", vec![self.leaf(Type::Integer, leaves)], false),
            (Type::Decimal | Type::Numeric | Type::Double, 0 | 1) => ("sum({})", vec![argument], false),
            (Type::Boolean, 0..3) | (_, 0) if keys.is_some() => {
                let call = self.random.pick(&[
                    "lag({})",
                    "lead({}, 2)",
                    "first_value({})",
                    "last_value({})",
                    "nth_value({}, 2)",
                ]);
                (call, vec![argument], true)
            }
            (Type::Boolean, _) => return None,
            _ => (self.random.pick(&["min({})", "max({})"]), vec![argument], false),
        };
        let mut over = String::new();
        let of_window = match named {
            Some(true) if self.random.chance(60) => {
                return Some(Expr::call(data_type, &format!("{call} OVER w"), parts));
            }
            Some(false) => self.random.chance(60),
            _ => false,
        };
        if of_window {
            over.push('w');
        } else {
            let partition = self.partition(scope);
            if !partition.is_empty() {
                over.push_str("PARTITION BY {}");
                parts.extend(partition);
            }
        }
        let rows = counts_rows || keys.is_some() && self.random.chance(50);
        if rows {
            over = format!("{over} {}{}", keys?, self.random.pick(&ROW_FRAMES));
        } else if self.random.chance(70) {
            let types = scope.types(self.random);
            let of = self.random.pick(&types);
            let direction = self.random.pick(&DIRECTIONS);
            over = format!("{over} ORDER BY {{}}{direction}{}", self.random.pick(&FRAMES));
            parts.push(self.leaf(of, leaves));
        }
        Some(Expr::call(data_type, &format!("{call} OVER ({over})"), parts))
    }
}
