//! The table that a statement is about, the conditions on its columns, the index that serves them, and the columns that are given
//! back.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use arrow_schema::{Field, Schema as ArrowSchema};
use longshore_storage::{ColumnType, Direction, Schema};
use sqlparser::ast::{BinaryOperator, Expr, Ident, ObjectName, SelectItem, TableFactor, TableWithJoins, UnaryOperator};

use super::lookup::{Key, Lookup, Range};
use super::residual::{Condition, Residual, Test};
use super::{Kind, NewValue, Operand, PointQueryPlan, Returning, types_of};
use crate::catalog::{AccessPath, Catalog, Check, ObjectId, Rules, Table};
use crate::datafusion::has_plain_order;
use crate::sql::names;

/// The table that is named, and what else it may be called.
pub(super) struct NamedTable {
    pub(super) table: Arc<Table>,
    pub(super) rules: Arc<Rules>,
    pub(super) alias: String,
    oid: u32,
}

/// What a conjunction says of columns: all of it, or it is not understood.
#[derive(Default)]
pub(super) struct Conditions {
    /// Each column once.
    equal: Vec<(usize, Operand)>,
    /// Bounds of columns, each column once.
    bounded: Vec<(usize, Bound<Operand>, Bound<Operand>)>,
    /// What else is asked.
    rest: Vec<Condition>,
}

impl NamedTable {
    pub(super) fn new(from: &TableWithJoins, catalog: &Catalog) -> Option<Self> {
        let TableWithJoins { relation: factor @ TableFactor::Table { name, alias, args: None, .. }, joins } = from
        else {
            return None;
        };
        let plain = matches!(factor, TableFactor::Table { with_hints, version: None, sample: None, index_hints, .. }
            if with_hints.is_empty() && index_hints.is_empty());
        if !joins.is_empty() || !plain {
            return None;
        }
        let name = names::relation(name).ok()?;
        let alias = match alias {
            Some(alias) if alias.columns.is_empty() => Some(names::identifier(&alias.name).ok()?),
            Some(_) => return None,
            None => None,
        };
        Some(Self::of(catalog.table(&name)?, alias, catalog))
    }

    /// A table of `catalog`, which is called by its own name if it has no other.
    pub(super) fn of(table: Arc<Table>, alias: Option<String>, catalog: &Catalog) -> Self {
        let alias = alias.unwrap_or_else(|| names::own(&table.name).to_owned());
        let oid = catalog.oid(ObjectId::Table(table.identity()));
        Self { rules: table.rules(), table, alias, oid }
    }

    pub(super) fn plan(self, mut kind: Kind) -> PointQueryPlan {
        let parameters = kind.parameters(self.schema());
        let types = kind.types(self.schema(), self.oid);
        let texts = kind.take_texts(self.schema());
        let (table, rules) = (self.table, self.rules);
        PointQueryPlan { table, rules, kind, returning: None, lock: None, parameters, texts, types }
    }

    /// The same for a change that gives `items` back of its rows.
    pub(super) fn changing(self, kind: Kind, items: Option<&[SelectItem]>) -> Option<PointQueryPlan> {
        let Some(items) = items else { return Some(self.plan(kind)) };
        let (columns, fields) = self.projected(items)?;
        let types = types_of(&columns, self.schema(), self.oid);
        let returning = Some(Returning { columns, schema: Arc::new(ArrowSchema::new(fields)) });
        Some(PointQueryPlan { returning, types, ..self.plan(kind) })
    }

    pub(super) fn schema(&self) -> &Schema {
        self.table.relation.schema()
    }

    /// Whether an integer that is added to a column gives the value that the planner gives.
    pub(super) fn adds_exactly(&self, column: usize) -> bool {
        matches!(
            self.schema().columns()[column].column_type,
            ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt | ColumnType::Decimal { .. }
        )
    }

    /// Whether a column is of an enumeration, whose order is that of its labels.
    fn is_enumeration(&self, column: usize) -> bool {
        let is_of_type = |check: &Check| check.columns == [column] && matches!(check.user_type(), Some((_, "")));
        self.rules.checks.iter().any(is_of_type)
    }

    pub(super) fn column(&self, expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Nested(inner) => self.column(inner),
            Expr::Identifier(name) => self.position(name),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, column] if names::identifier(table).ok()? == self.alias => self.position(column),
                _ => None,
            },
            _ => None,
        }
    }

    /// The columns that are given back, and what they are called.
    pub(super) fn projected(&self, items: &[SelectItem]) -> Option<(Vec<usize>, Vec<Arc<Field>>)> {
        let arrow = self.schema().arrow();
        let mut columns = Vec::new();
        let mut fields: Vec<Arc<Field>> = Vec::new();
        for item in items {
            match item {
                SelectItem::Wildcard(options) if options.to_string().is_empty() => {
                    columns.extend(0..arrow.fields().len());
                    fields.extend(arrow.fields().iter().cloned());
                }
                SelectItem::UnnamedExpr(expr) => {
                    columns.push(self.column(expr)?);
                    fields.push(Arc::clone(&arrow.fields()[*columns.last()?]));
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    columns.push(self.column(expr)?);
                    let field = arrow.field(*columns.last()?).clone();
                    fields.push(Arc::new(field.with_name(names::identifier(alias).ok()?)));
                }
                _ => return None,
            }
        }
        // The planner gives those of one name others.
        let is_twice = |at: usize| fields[..at].iter().any(|before| before.name() == fields[at].name());
        (!(0..fields.len()).any(is_twice)).then_some((columns, fields))
    }

    fn position(&self, name: &Ident) -> Option<usize> {
        self.schema().index_of(&names::identifier(name).ok()?)
    }

    pub(super) fn target(&self, name: &ObjectName) -> Option<usize> {
        match name.0.as_slice() {
            [part] => self.position(part.as_ident()?),
            _ => None,
        }
    }

    /// What a condition says, if all of it is understood.
    pub(super) fn conditions(&self, condition: Option<&Expr>) -> Option<Conditions> {
        let mut conditions = Conditions::default();
        if let Some(condition) = condition {
            self.add(condition, &mut conditions)?;
        }
        Some(conditions)
    }

    fn add(&self, condition: &Expr, to: &mut Conditions) -> Option<()> {
        match condition {
            Expr::Nested(inner) => self.add(inner, to),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                self.add(left, to)?;
                self.add(right, to)
            }
            Expr::BinaryOp { left, op, right } => match (self.column(left), self.column(right)) {
                (Some(column), None) => to.compare(column, op, Operand::of(right)?),
                (None, Some(column)) => to.compare(column, &swapped(op)?, Operand::of(left)?),
                _ => None,
            },
            Expr::Between { expr, negated: false, low, high } => {
                let column = self.column(expr)?;
                to.compare(column, &BinaryOperator::GtEq, Operand::of(low)?)?;
                to.compare(column, &BinaryOperator::LtEq, Operand::of(high)?)
            }
            Expr::InList { expr, list, negated: false } => {
                let values = list.iter().map(Operand::of).collect::<Option<_>>()?;
                to.ask(self.column(expr)?, Test::Compared(Ordering::is_eq, values));
                Some(())
            }
            Expr::IsNull(expr) => {
                to.ask(self.column(expr)?, Test::IsNull(true));
                Some(())
            }
            Expr::IsNotNull(expr) => {
                to.ask(self.column(expr)?, Test::IsNull(false));
                Some(())
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => to.is_truth(self.truth(expr)?, false),
            expr => to.is_truth(self.truth(expr)?, true),
        }
    }

    /// The column of truth values that an expression is.
    fn truth(&self, expr: &Expr) -> Option<usize> {
        self.column(expr).filter(|column| self.schema().columns()[*column].column_type == ColumnType::Boolean)
    }

    /// What is left to be asked of rows that were found by the values of columns, and by bounds of another one; `None` where it
    /// cannot be asked of single rows.
    fn residual(&self, conditions: &Conditions, valued: &[usize], bounded: Option<usize>) -> Option<Residual> {
        let compared = |column: usize, accepts: fn(Ordering) -> bool, value: &Operand| Condition {
            column,
            test: Test::Compared(accepts, vec![value.clone()]),
        };
        let mut left = conditions.rest.clone();
        for (column, value) in conditions.equal.iter().filter(|(column, _)| !valued.contains(column)) {
            left.push(compared(*column, Ordering::is_eq, value));
        }
        for (column, low, high) in conditions.bounded.iter().filter(|(column, ..)| Some(*column) != bounded) {
            match low {
                Bound::Included(value) => left.push(compared(*column, Ordering::is_ge, value)),
                Bound::Excluded(value) => left.push(compared(*column, Ordering::is_gt, value)),
                Bound::Unbounded => {}
            }
            match high {
                Bound::Included(value) => left.push(compared(*column, Ordering::is_le, value)),
                Bound::Excluded(value) => left.push(compared(*column, Ordering::is_lt, value)),
                Bound::Unbounded => {}
            }
        }
        let is_ordered = |condition: &Condition| match condition.test {
            Test::Compared(accepts, _) => accepts(Ordering::Less) != accepts(Ordering::Greater),
            Test::IsNull(_) => false,
        };
        if left.iter().any(|condition| is_ordered(condition) && self.is_enumeration(condition.column)) {
            return None;
        }
        Residual::new(left, |column| self.schema().columns()[column].column_type)
    }

    /// The unique index whose columns are all compared with values.
    pub(super) fn key(&self, conditions: &Conditions) -> Option<Key> {
        for key in self.rules.keys.iter().filter(|key| key.role.is_unique() && !key.columns.is_empty()) {
            if let Some(values) = conditions.values(&key.columns) {
                let index = self.table.relation.indexes().into_iter().find(|index| index.name() == key.name)?;
                let residual = self.residual(conditions, &key.columns, None)?;
                return Some(Key { index, values, residual });
            }
        }
        None
    }

    /// The rows that the conditions leave, by an index that has them in this order, backwards if need be: each of its
    /// columns, and whether it descends.
    pub(super) fn range(&self, conditions: &Conditions, order: &[(usize, bool)]) -> Option<(Range, Direction)> {
        let Conditions { equal, bounded, .. } = conditions;
        let is_ordered = |column: usize| {
            let described = &self.schema().columns()[column];
            !described.nullable && has_plain_order(described.column_type) && !self.is_enumeration(column)
        };
        // What has one value only orders nothing.
        let order: Vec<_> = order.iter().filter(|(column, _)| equal.iter().all(|(of, _)| of != column)).collect();
        let descends = order.first().is_some_and(|(_, descends)| *descends);
        let has_bounds = |column: usize| bounded.iter().any(|(bound, ..)| *bound == column) && is_ordered(column);
        let served = self.rules.keys.iter().filter(|key| !key.columns.is_empty()).filter_map(|key| {
            let is_unique = key.role.is_unique();
            let path =
                AccessPath::new(key.index, &key.columns, is_unique, |column| conditions.has(column), has_bounds)?;
            let rest = &key.columns[path.values..];
            let has_order = order.len() <= rest.len()
                && order.iter().zip(rest).all(|(by, column)| **by == (*column, descends) && is_ordered(*column));
            let in_order = has_order || path.finds_one();
            (in_order && (path.selects() || conditions.is_empty())).then_some((path, key))
        });
        let (path, key) = served.min_by_key(|(path, _)| path.rank())?;
        let valued = &key.columns[..path.values];
        let values = conditions.values(valued)?;
        let index = self.table.relation.indexes().into_iter().find(|index| index.name() == key.name)?;
        let bounds = key.columns.get(path.values).filter(|_| path.has_range);
        let bounds = bounds.and_then(|column| bounded.iter().find(|(of, ..)| of == column));
        let residual = self.residual(conditions, valued, bounds.map(|(column, ..)| *column))?;
        let (low, high) = match bounds {
            Some((_, low, high)) => (low.clone(), high.clone()),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        let direction = if descends { Direction::Backward } else { Direction::Forward };
        Some((Range { index, values, low, high, residual }, direction))
    }

    /// The rows that UPDATE or DELETE is about; some of `set` may be all that is changed of them.
    pub(super) fn lookup(&self, condition: Option<&Expr>, set: &[(usize, NewValue)]) -> Option<Lookup> {
        let conditions = self.conditions(Some(condition?))?;
        if let Some(key) = self.key(&conditions) {
            return Some(Lookup::Key(key));
        }
        // Keys that are changed of several rows may change places.
        let is_of_key =
            |(column, _): &(usize, NewValue)| self.rules.keys.iter().any(|key| key.columns.contains(column));
        if set.iter().any(is_of_key) {
            return None;
        }
        Some(Lookup::Range(self.range(&conditions, &[])?.0))
    }
}

impl Conditions {
    /// Whether nothing is said.
    pub(super) fn is_empty(&self) -> bool {
        self.equal.is_empty() && self.bounded.is_empty() && self.rest.is_empty()
    }

    /// Whether it is said which value a column has.
    pub(super) fn has(&self, column: usize) -> bool {
        self.equal.iter().any(|(of, _)| *of == column)
    }

    /// The values of `columns`, if all of them have one.
    fn values(&self, columns: &[usize]) -> Option<Vec<Operand>> {
        let value = |column: &usize| self.equal.iter().find(|(of, _)| of == column).map(|(_, value)| value.clone());
        columns.iter().map(value).collect()
    }

    fn ask(&mut self, column: usize, test: Test) {
        self.rest.push(Condition { column, test });
    }

    /// A column of truth values has this one.
    fn is_truth(&mut self, column: usize, truth: bool) -> Option<()> {
        self.compare(column, &BinaryOperator::Eq, Operand::Bool(truth))
    }

    fn compare(&mut self, column: usize, operator: &BinaryOperator, value: Operand) -> Option<()> {
        match operator {
            BinaryOperator::NotEq => {
                self.ask(column, Test::Compared(Ordering::is_ne, vec![value]));
                return Some(());
            }
            BinaryOperator::Eq => {
                if self.equal.iter().any(|(of, _)| *of == column) {
                    return None;
                }
                self.equal.push((column, value));
                return Some(());
            }
            _ => {}
        }
        let at = self.bounded.iter().position(|(of, ..)| *of == column).unwrap_or(self.bounded.len());
        if at == self.bounded.len() {
            self.bounded.push((column, Bound::Unbounded, Bound::Unbounded));
        }
        let (_, low, high) = &mut self.bounded[at];
        let (bound, value) = match operator {
            BinaryOperator::Gt => (low, Bound::Excluded(value)),
            BinaryOperator::GtEq => (low, Bound::Included(value)),
            BinaryOperator::Lt => (high, Bound::Excluded(value)),
            BinaryOperator::LtEq => (high, Bound::Included(value)),
            _ => return None,
        };
        if *bound != Bound::Unbounded {
            return None;
        }
        *bound = value;
        Some(())
    }
}

fn swapped(operator: &BinaryOperator) -> Option<BinaryOperator> {
    Some(match operator {
        BinaryOperator::Eq => BinaryOperator::Eq,
        BinaryOperator::NotEq => BinaryOperator::NotEq,
        BinaryOperator::Lt => BinaryOperator::Gt,
        BinaryOperator::LtEq => BinaryOperator::GtEq,
        BinaryOperator::Gt => BinaryOperator::Lt,
        BinaryOperator::GtEq => BinaryOperator::LtEq,
        _ => return None,
    })
}
