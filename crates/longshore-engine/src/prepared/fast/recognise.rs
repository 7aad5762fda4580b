//! Which statements are about one row or few: the table, the condition, the index; INSERT, UPDATE and DELETE.
//!
//! Not here: SELECT (`select`).

use std::ops::Bound;
use std::sync::Arc;

use longshore_storage::{Direction, IndexKind, Schema};
use sqlparser::ast::{
    AssignmentTarget, BinaryOperator, Expr, FromTable, Ident, ObjectName, SetExpr, Statement, TableFactor, TableObject,
    TableWithJoins,
};

use super::way::{Key, Range, Way};
use super::{Fast, Kind, NewValue, Operand, select};
use crate::catalog::{Catalog, Origin, Rules, Table};
use crate::datafusion::has_plain_order;
use crate::sql::names;

impl Fast {
    /// The statement as one about one row or few, if it is such a one.
    pub(crate) fn recognise(statement: &Statement, catalog: &Catalog) -> Option<Self> {
        match statement {
            Statement::Query(query) => select::select(query, catalog),
            Statement::Insert(_) => insert(statement, catalog),
            Statement::Update(_) => update(statement, catalog),
            Statement::Delete(_) => delete(statement, catalog),
            _ => None,
        }
    }
}

/// The table that is named, and what else it may be called.
pub(super) struct Named {
    pub(super) table: Arc<Table>,
    rules: Arc<Rules>,
    pub(super) alias: String,
}

/// What a conjunction says of columns: all of it, or it is not understood.
#[derive(Default)]
pub(super) struct Conditions {
    /// Each column once.
    equal: Vec<(usize, Operand)>,
    /// Bounds of one column.
    bounded: Option<(usize, Bound<Operand>, Bound<Operand>)>,
}

impl Named {
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
            Some(alias) if alias.columns.is_empty() => names::identifier(&alias.name).ok()?,
            Some(_) => return None,
            None => name.clone(),
        };
        let table = catalog.table(&name)?;
        Some(Self { rules: table.rules(), table, alias })
    }

    pub(super) fn fast(self, kind: Kind) -> Fast {
        Fast { table: self.table, rules: self.rules, kind }
    }

    pub(super) fn schema(&self) -> &Schema {
        self.table.relation.schema()
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

    fn position(&self, name: &Ident) -> Option<usize> {
        self.schema().index_of(&names::identifier(name).ok()?)
    }

    fn target(&self, name: &ObjectName) -> Option<usize> {
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
            _ => None,
        }
    }

    /// The unique index of just the columns that are compared with values, if that is all that is said.
    pub(super) fn key(&self, conditions: &Conditions) -> Option<Key> {
        let Conditions { equal, bounded: None } = conditions else { return None };
        let unique = self.rules.keys.iter().filter(|key| key.role.is_unique() && key.columns.len() == equal.len());
        for key in unique {
            if let Some(values) = conditions.values(&key.columns) {
                let index = self.table.relation.indexes().into_iter().find(|index| index.name() == key.name)?;
                return Some(Key { index, values });
            }
        }
        None
    }

    /// The rows that the conditions leave, by an index that has them in this order, backwards if need be: each of its
    /// columns, and whether it descends.
    pub(super) fn range(&self, conditions: &Conditions, order: &[(usize, bool)]) -> Option<(Range, Direction)> {
        let Conditions { equal, bounded } = conditions;
        let is_ordered = |column: usize| {
            let described = &self.schema().columns()[column];
            !described.nullable && has_plain_order(described.column_type)
        };
        // What has one value only orders nothing.
        let order: Vec<_> = order.iter().filter(|(column, _)| equal.iter().all(|(of, _)| of != column)).collect();
        let descends = order.first().is_some_and(|(_, descends)| *descends);
        for key in &self.rules.keys {
            let Some((first, rest)) = key.columns.split_at_checked(equal.len()) else { continue };
            let Some(values) = conditions.values(first) else { continue };
            let has_bounds =
                bounded.as_ref().is_none_or(|(column, ..)| rest.first() == Some(column) && is_ordered(*column));
            let in_order = order.len() <= rest.len()
                && order.iter().zip(rest).all(|(by, column)| **by == (*column, descends) && is_ordered(*column));
            let is_whole = rest.is_empty();
            if !has_bounds || !in_order || (key.index == IndexKind::Hash && !is_whole) {
                continue;
            }
            let index = self.table.relation.indexes().into_iter().find(|index| index.name() == key.name)?;
            let (low, high) = match bounded {
                Some((_, low, high)) => (low.clone(), high.clone()),
                None => (Bound::Unbounded, Bound::Unbounded),
            };
            let direction = if descends { Direction::Backward } else { Direction::Forward };
            return Some((Range { index, values, low, high }, direction));
        }
        None
    }

    /// The rows that UPDATE or DELETE is about; some of `set` may be all that is changed of them.
    fn way(&self, condition: Option<&Expr>, set: &[(usize, NewValue)]) -> Option<Way> {
        let conditions = self.conditions(Some(condition?))?;
        if let Some(key) = self.key(&conditions) {
            return Some(Way::One(key));
        }
        // Keys that are changed of several rows may change places.
        let is_of_key =
            |(column, _): &(usize, NewValue)| self.rules.keys.iter().any(|key| key.columns.contains(column));
        if set.iter().any(is_of_key) {
            return None;
        }
        Some(Way::Few(self.range(&conditions, &[])?.0))
    }
}

impl Conditions {
    /// Whether nothing is said.
    pub(super) fn is_empty(&self) -> bool {
        self.equal.is_empty() && self.bounded.is_none()
    }

    /// Whether it is said which value a column has.
    pub(super) fn has(&self, column: usize) -> bool {
        self.equal.iter().any(|(of, _)| *of == column)
    }

    /// The values of `columns`, if it is just these that have one.
    fn values(&self, columns: &[usize]) -> Option<Vec<Operand>> {
        let value = |column: &usize| self.equal.iter().find(|(of, _)| of == column).map(|(_, value)| value.clone());
        if columns.len() == self.equal.len() { columns.iter().map(value).collect() } else { None }
    }

    fn compare(&mut self, column: usize, operator: &BinaryOperator, value: Operand) -> Option<()> {
        if *operator == BinaryOperator::Eq {
            if self.equal.iter().any(|(of, _)| *of == column) {
                return None;
            }
            self.equal.push((column, value));
            return Some(());
        }
        let (of, low, high) = self.bounded.get_or_insert((column, Bound::Unbounded, Bound::Unbounded));
        let (bound, value) = match operator {
            BinaryOperator::Gt => (low, Bound::Excluded(value)),
            BinaryOperator::GtEq => (low, Bound::Included(value)),
            BinaryOperator::Lt => (high, Bound::Excluded(value)),
            BinaryOperator::LtEq => (high, Bound::Included(value)),
            _ => return None,
        };
        if *of != column || *bound != Bound::Unbounded {
            return None;
        }
        *bound = value;
        Some(())
    }
}

fn swapped(operator: &BinaryOperator) -> Option<BinaryOperator> {
    Some(match operator {
        BinaryOperator::Eq => BinaryOperator::Eq,
        BinaryOperator::Lt => BinaryOperator::Gt,
        BinaryOperator::LtEq => BinaryOperator::GtEq,
        BinaryOperator::Gt => BinaryOperator::Lt,
        BinaryOperator::GtEq => BinaryOperator::LtEq,
        _ => return None,
    })
}

fn insert(statement: &Statement, catalog: &Catalog) -> Option<Fast> {
    let Statement::Insert(insert) = statement else { return None };
    let is_plain = insert.on.is_none()
        && insert.returning.is_none()
        && insert.table_alias.is_none()
        && insert.or.is_none()
        && !insert.ignore
        && !insert.overwrite
        && !insert.replace_into
        && insert.assignments.is_empty();
    let TableObject::TableName(name) = &insert.table else { return None };
    let table = catalog.table(&names::relation(name).ok()?)?;
    let source = insert.source.as_ref().filter(|source| is_plain && source.with.is_none())?;
    let SetExpr::Values(values) = source.body.as_ref() else { return None };
    let [row] = values.rows.as_slice() else { return None };
    let columns = table.relation.schema().columns().len();
    let named = Named { alias: table.name.clone(), rules: table.rules(), table };
    if !named.rules.checks.is_empty() || insert.settings.is_some() {
        return None;
    }
    let targets: Option<Vec<usize>> = match insert.columns.as_slice() {
        [] => Some((0..columns).collect()),
        names => names.iter().map(|name| named.target(name)).collect(),
    };
    let targets = targets?;
    if targets.len() != row.len() {
        return None;
    }
    let mut given = vec![None; columns];
    for (target, value) in targets.into_iter().zip(row.iter()) {
        if named.rules.origin(target).is_always() {
            return None;
        }
        given[target] = Some(Operand::of(value)?);
    }
    let operand = |(column, given): (usize, Option<Operand>)| match (given, named.rules.origin(column)) {
        (Some(given), _) => Some(given),
        (None, Origin::Null) => Some(Operand::Null),
        (None, Origin::Default(expr)) => Operand::of(expr),
        (None, Origin::Identity { .. }) => None,
    };
    let values = given.into_iter().enumerate().map(operand).collect::<Option<Vec<_>>>()?;
    Some(named.fast(Kind::Insert { values }))
}

fn update(statement: &Statement, catalog: &Catalog) -> Option<Fast> {
    let Statement::Update(update) = statement else { return None };
    let is_plain = update.from.is_none()
        && update.returning.is_none()
        && update.or.is_none()
        && update.limit.is_none()
        && update.order_by.is_empty();
    let named = Named::new(&update.table, catalog).filter(|_| is_plain)?;
    let mut set: Vec<(usize, NewValue)> = Vec::with_capacity(update.assignments.len());
    for assignment in &update.assignments {
        let AssignmentTarget::ColumnName(name) = &assignment.target else { return None };
        let column = named.target(name)?;
        if set.iter().any(|(before, _)| *before == column) {
            return None;
        }
        let is_read = named.rules.checks.iter().any(|check| check.columns.contains(&column));
        if is_read || named.rules.origin(column).is_always() {
            return None;
        }
        set.push((column, new_value(&named, column, &assignment.value)?));
    }
    let way = named.way(update.selection.as_ref(), &set)?;
    Some(named.fast(Kind::Update { way, set }))
}

fn new_value(named: &Named, column: usize, value: &Expr) -> Option<NewValue> {
    match value {
        Expr::BinaryOp { left, op: BinaryOperator::Plus, right } if named.column(left) == Some(column) => {
            Some(NewValue::Plus(Operand::of(right)?))
        }
        Expr::BinaryOp { left, op: BinaryOperator::Minus, right } if named.column(left) == Some(column) => {
            Some(NewValue::Minus(Operand::of(right)?))
        }
        value => Some(NewValue::To(Operand::of(value)?)),
    }
}

fn delete(statement: &Statement, catalog: &Catalog) -> Option<Fast> {
    let Statement::Delete(delete) = statement else { return None };
    let is_plain = delete.using.is_none()
        && delete.returning.is_none()
        && delete.tables.is_empty()
        && delete.limit.is_none()
        && delete.order_by.is_empty();
    let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
    let [table] = tables.as_slice() else { return None };
    let named = Named::new(table, catalog).filter(|_| is_plain)?;
    let way = named.way(delete.selection.as_ref(), &[])?;
    Some(named.fast(Kind::Delete { way }))
}
