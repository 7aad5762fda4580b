//! Relations and joins.

use super::{Generator, Leaves, ROWS_MAX, Relation, Scope};
use crate::query::{Expr, From, On};
use crate::shapes::{Shape, is_made};
use crate::types::Type;

impl Generator<'_> {
    /// A FROM, and what it gives names to.
    pub(super) fn from(&mut self, depth: usize) -> (From, Scope) {
        let joins = self.random.pick(&[0, 0, 1, 1, 1, 2, 2, 3]).min(depth + 1);
        let (mut from, relation) = self.relation(depth);
        let mut scope = Scope { relations: vec![relation], ..Scope::default() };
        for _ in 0..joins {
            if scope.rows() > ROWS_MAX {
                break;
            }
            if self.random.chance(10) {
                (from, scope) = self.lateral((from, scope));
                continue;
            }
            let (right, right_scope) = if self.random.chance(12) && depth > 0 {
                self.from(0)
            } else {
                let (right, relation) = self.relation(depth);
                (right, Scope { relations: vec![relation], ..Scope::default() })
            };
            (from, scope) = self.join((from, scope), (right, right_scope));
        }
        (from, scope)
    }

    /// A table, a query of WITH or a subquery.
    fn relation(&mut self, depth: usize) -> (From, Relation) {
        if depth > 0 && self.random.chance(22) {
            let (mut query, columns) = self.subquery(depth - 1);
            if is_made(Shape::OrderedSubquery) && self.random.chance(35) {
                self.order(&mut query);
            }
            let alias = self.alias();
            let from = From::Derived { query: Box::new(query), alias: alias.clone(), is_lateral: false };
            return (from, Relation { alias, columns, has_key: false, rows: 10 });
        }
        if !self.named.is_empty() && self.random.chance(60) {
            let relation = self.random.pick(&self.named);
            let alias = self.alias();
            let from = From::Table { name: relation.alias.clone(), alias: alias.clone() };
            return (from, Relation { alias, ..relation });
        }
        let table = self.random.pick(&self.schema.tables);
        let alias = self.alias();
        let from = From::Table { name: table.name.clone(), alias: alias.clone() };
        (from, Relation { alias, columns: table.columns, has_key: true, rows: table.rows.len().max(1) })
    }

    fn join(&mut self, (left, left_scope): (From, Scope), (right, right_scope): (From, Scope)) -> (From, Scope) {
        let kind = match self.random.below(12) {
            0..4 => "JOIN",
            7 | 8 if is_made(Shape::RightJoin) => "RIGHT JOIN",
            9 | 10 if is_made(Shape::RightJoin) => "FULL JOIN",
            11 => "CROSS JOIN",
            _ => "LEFT JOIN",
        };
        let is_outer = matches!(kind, "RIGHT JOIN" | "FULL JOIN");
        let common = common(&left_scope, &right_scope);
        let mut scope = left_scope.clone();
        scope.relations.extend(right_scope.relations.iter().cloned());
        scope.merged.retain(|(name, _)| !right_scope.has(name));
        scope.merged.extend(right_scope.merged.iter().filter(|(name, _)| !left_scope.has(name)).cloned());
        let (left, right) = (Box::new(left), Box::new(right));
        if kind == "CROSS JOIN" {
            return (From::Join { kind, left, right, on: On::None }, scope);
        }
        let merges = !is_outer || is_made(Shape::MergedOuter);
        if merges && self.random.chance(25) && !common.is_empty() && right_scope.merged.is_empty() {
            let natural = self.random.chance(30) && is_natural(&left_scope, &right_scope, &common);
            let names = if natural {
                common.clone()
            } else {
                let first = self.random.pick(&common);
                let second = self.random.pick(&common);
                if first.0 == second.0 { vec![first] } else { vec![first, second] }
            };
            scope.merged.retain(|(name, _)| names.iter().all(|(merged, _)| merged != name));
            scope.merged.extend(names.iter().cloned());
            if natural {
                let kind = match kind {
                    "JOIN" => "NATURAL JOIN",
                    "LEFT JOIN" => "NATURAL LEFT JOIN",
                    "RIGHT JOIN" => "NATURAL RIGHT JOIN",
                    _ => "NATURAL FULL JOIN",
                };
                return (From::Join { kind, left, right, on: On::None }, scope);
            }
            let names = names.into_iter().map(|(name, _)| name).collect();
            return (From::Join { kind, left, right, on: On::Using(names) }, scope);
        }
        let on = self.join_condition(&left_scope, &right_scope, &scope, kind);
        (From::Join { kind, left, right, on: On::Expr(on) }, scope)
    }

    fn join_condition(&mut self, left: &Scope, right: &Scope, both: &Scope, kind: &str) -> Expr {
        let mut pairs = Vec::new();
        for one in &left.relations {
            for (name, data_type) in &one.columns {
                for other in &right.relations {
                    for (other_name, other_type) in &other.columns {
                        let fits = data_type == other_type || data_type.is_whole() && other_type.is_whole();
                        if fits {
                            let column = |relation: &Relation, name: &String, data_type: Type| {
                                Expr::Column(data_type, Some(relation.alias.clone()), name.clone())
                            };
                            pairs.push((column(one, name, *data_type), column(other, other_name, *other_type)));
                        }
                    }
                }
            }
        }
        let full = kind == "FULL JOIN";
        if pairs.is_empty() {
            return if full {
                Expr::Literal(Type::Boolean, "true".to_owned())
            } else {
                self.predicate(Leaves::Rows(both), 1)
            };
        }
        if !full && self.random.chance(12) {
            return self.predicate(Leaves::Rows(both), 2);
        }
        let (one, other) = self.random.pick(&pairs);
        let sides = if self.random.chance(30) { vec![other, one] } else { vec![one, other] };
        let mut condition = Expr::call(Type::Boolean, "{} = {}", sides);
        if self.random.chance(12) && !full {
            let (one, other) = self.random.pick(&pairs);
            condition = Expr::call(Type::Boolean, "{} AND {} = {}", vec![condition, one, other]);
        }
        if self.random.chance(35) {
            let relations = self.random.pick(&[&left.relations, &right.relations, &both.relations]);
            let side = Scope { relations: relations.clone(), ..both.clone() };
            let more = self.predicate(Leaves::Rows(&side), 1);
            condition = Expr::call(Type::Boolean, "{} AND ({})", vec![condition, more]);
        }
        condition
    }
}

/// Columns that both sides have once, and of types that meet.
fn common(left: &Scope, right: &Scope) -> Vec<(String, Type)> {
    let once = |scope: &Scope, name: &str| {
        if let Some(column) = scope.merged.iter().find(|column| column.0 == name) {
            return Some(column.1);
        }
        let mut found = scope.relations.iter().flat_map(|relation| &relation.columns).filter(|column| column.0 == name);
        let first = found.next()?.1;
        found.next().is_none().then_some(first)
    };
    let mut common = Vec::new();
    for (name, data_type) in left.relations.iter().flat_map(|relation| &relation.columns) {
        let is_there = common.iter().any(|(known, _)| known == name);
        if !is_there && once(left, name) == Some(*data_type) && once(right, name) == Some(*data_type) {
            common.push((name.clone(), *data_type));
        }
    }
    common
}

/// Whether NATURAL would join by the columns in `common` only.
fn is_natural(left: &Scope, right: &Scope, common: &[(String, Type)]) -> bool {
    let columns = left.relations.iter().flat_map(|relation| &relation.columns);
    columns.into_iter().all(|(name, _)| !right.has(name) || common.iter().any(|(known, _)| known == name))
}

impl Scope {
    /// Rows that the relations together may have, about: most joins are by a column.
    fn rows(&self) -> usize {
        self.relations.iter().map(|relation| relation.rows).reduce(|rows, more| rows * more / 2).unwrap_or(1)
    }

    /// Whether a relation has a column of this name.
    fn has(&self, name: &str) -> bool {
        self.relations.iter().any(|relation| relation.columns.iter().any(|column| column.0 == name))
    }
}
