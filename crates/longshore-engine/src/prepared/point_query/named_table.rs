//! The table that a statement is about, how its WHERE clause is read, the index that serves it, and the columns that are given back.

use std::ops::Bound;
use std::sync::Arc;

use arrow_schema::{Field, Schema as ArrowSchema};
use longshore_storage::{ColumnType, Direction, Schema};
use sqlparser::ast::{BinaryOperator, Expr, Ident, ObjectName, SelectItem, TableFactor, TableWithJoins, UnaryOperator};

use super::conditions::{Comparison, Conditions, Taken, Test};
use super::lookup::{Key, Lookup, Range};
use super::residual::Residual;
use super::{Kind, NewValue, Operand, PointQueryPlan, Returning, types_of};
use crate::catalog::{AccessPath, Catalog, ObjectId, Rules, Table};
use crate::datafusion::has_plain_order;
use crate::sql::names;

/// The table that is named, and what else it may be called.
pub(super) struct NamedTable {
    pub(super) table: Arc<Table>,
    pub(super) rules: Arc<Rules>,
    pub(super) alias: String,
    oid: u32,
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
            Expr::BinaryOp { left, op, right } => {
                let how = Comparison::new(op)?;
                let (column, how, value) = match (self.column(left), self.column(right)) {
                    (Some(column), None) => (column, how, right),
                    (None, Some(column)) => (column, how.swapped(), left),
                    _ => return None,
                };
                to.add(column, Test::Compared(how, Operand::of(value)?));
                Some(())
            }
            Expr::Between { expr, negated: false, low, high } => {
                let column = self.column(expr)?;
                to.add(column, Test::Compared(Comparison::GreaterOrEqual, Operand::of(low)?));
                to.add(column, Test::Compared(Comparison::LessOrEqual, Operand::of(high)?));
                Some(())
            }
            Expr::InList { expr, list, negated: false } => {
                let values = list.iter().map(Operand::of).collect::<Option<_>>()?;
                to.add(self.column(expr)?, Test::In(values));
                Some(())
            }
            Expr::IsNull(expr) => {
                to.add(self.column(expr)?, Test::IsNull(true));
                Some(())
            }
            Expr::IsNotNull(expr) => {
                to.add(self.column(expr)?, Test::IsNull(false));
                Some(())
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => self.add_truth(expr, false, to),
            expr => self.add_truth(expr, true, to),
        }
    }

    /// A column of truth values has this one.
    fn add_truth(&self, expr: &Expr, truth: bool, to: &mut Conditions) -> Option<()> {
        let column = self.column(expr)?;
        (self.schema().columns()[column].column_type == ColumnType::Boolean)
            .then(|| to.add(column, Test::Compared(Comparison::Equal, Operand::Bool(truth))))
    }

    /// What is left to be asked of rows that were found by the conditions that are taken; `None` where it cannot be asked of
    /// single rows.
    fn residual(&self, conditions: &Conditions, taken: &Taken) -> Option<Residual> {
        let left = conditions.left(taken);
        if left.iter().any(|condition| condition.test.is_of_order() && self.rules.is_enumeration(condition.column)) {
            return None;
        }
        Residual::new(left, |column| self.schema().columns()[column].column_type)
    }

    /// The unique index whose columns are all compared with values.
    pub(super) fn key(&self, conditions: &Conditions) -> Option<Key> {
        for key in self.rules.keys.iter().filter(|key| key.role.is_unique() && !key.columns.is_empty()) {
            let mut taken = Taken::new();
            if let Some(values) = conditions.values(&key.columns, &mut taken) {
                let index = self.table.relation.indexes().into_iter().find(|index| index.name() == key.name)?;
                let residual = self.residual(conditions, &taken)?;
                return Some(Key { index, values, residual });
            }
        }
        None
    }

    /// The rows that the conditions leave, by an index that has them in this order, backwards if need be: each of its
    /// columns, and whether it descends.
    pub(super) fn range(&self, conditions: &Conditions, order: &[(usize, bool)]) -> Option<(Range, Direction)> {
        let is_ordered = |column: usize| {
            let described = &self.schema().columns()[column];
            !described.nullable && has_plain_order(described.column_type) && !self.rules.is_enumeration(column)
        };
        // What has one value only orders nothing.
        let order: Vec<_> = order.iter().filter(|(column, _)| !conditions.has_value(*column)).collect();
        let descends = order.first().is_some_and(|(_, descends)| *descends);
        let has_bounds = |column: usize| conditions.has_bounds(column) && is_ordered(column);
        let served = self.rules.keys.iter().filter(|key| !key.columns.is_empty()).filter_map(|key| {
            let is_unique = key.role.is_unique();
            let path =
                AccessPath::new(key.index, &key.columns, is_unique, |column| conditions.has_value(column), has_bounds)?;
            let rest = &key.columns[path.values..];
            let has_order = order.len() <= rest.len()
                && order.iter().zip(rest).all(|(by, column)| **by == (*column, descends) && is_ordered(*column));
            let in_order = has_order || path.finds_one();
            (in_order && (path.selects() || conditions.is_empty())).then_some((path, key))
        });
        let (path, key) = served.min_by_key(|(path, _)| path.rank())?;
        let mut taken = Taken::new();
        let values = conditions.values(&key.columns[..path.values], &mut taken)?;
        let index = self.table.relation.indexes().into_iter().find(|index| index.name() == key.name)?;
        let (low, high) = match key.columns.get(path.values).filter(|_| path.has_range) {
            Some(column) => conditions.bounds(*column, &mut taken),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        let residual = self.residual(conditions, &taken)?;
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
