//! ON CONFLICT of an INSERT of one row: what becomes of it where its key is there already.
//!
//! Keys are columns of the table, without NULL in this row; DO UPDATE sets columns to values, to what was proposed
//! (`excluded`), or to what stands there and one of these, added or taken away. All else goes through the planner.

use std::sync::Arc;

use longshore_storage::{Datum, Index, Relation, RowId, Transaction, TransactionError};
use sqlparser::ast::{AssignmentTarget, BinaryOperator, ConflictTarget, Expr, Ident, OnConflictAction, OnInsert};

use super::named_table::NamedTable;
use super::operand::{Arguments, Few, Operand, Operation, given};
use super::supplied::{Supplied, Surroundings};
use crate::Error;
use crate::sql::names;

/// The name of the row that was proposed.
const EXCLUDED: &str = "excluded";

/// What becomes of a row whose key is there.
#[derive(Debug)]
pub(super) struct Conflict {
    /// Each of these keys counts.
    keys: Vec<Arc<Index>>,
    /// What is changed of the row that is there; nothing where the new one is just left out.
    set: Vec<Assigned>,
}

/// A column that is set.
#[derive(Debug)]
struct Assigned {
    column: usize,
    operation: Operation,
    value: Value,
}

#[derive(Debug)]
enum Value {
    Given(Operand),
    /// That of the same column of the row that was proposed.
    Proposed,
    Supplied(Supplied),
}

impl Conflict {
    /// What ON CONFLICT says, if it is understood.
    pub(super) fn recognise(on: &OnInsert, named: &NamedTable) -> Option<Self> {
        let OnInsert::OnConflict(on) = on else { return None };
        let columns = match &on.conflict_target {
            None => None,
            Some(ConflictTarget::Columns(names)) => Some(positions(names, named)?),
            Some(ConflictTarget::OnConstraint(_)) => return None,
        };
        let set = match &on.action {
            OnConflictAction::DoNothing => Vec::new(),
            OnConflictAction::DoUpdate(update) if update.selection.is_none() && columns.is_some() => {
                let assigned = update.assignments.iter().map(|assignment| {
                    let AssignmentTarget::ColumnName(name) = &assignment.target else { return None };
                    Assigned::of(named.target(name)?, &assignment.value, named)
                });
                assigned.collect::<Option<Vec<_>>>()?
            }
            OnConflictAction::DoUpdate(_) => return None,
        };
        let is_twice = |at: usize| set[..at].iter().any(|before| before.column == set[at].column);
        if (0..set.len()).any(is_twice) {
            return None;
        }
        let unique = || named.rules.keys.iter().filter(|key| key.role.is_unique());
        if unique().any(|key| key.definition.is_some()) {
            return None;
        }
        let mut keys = Vec::new();
        for key in unique() {
            let mut of_key = key.columns.clone();
            of_key.sort_unstable();
            if columns.as_ref().is_none_or(|columns| *columns == of_key) {
                keys.push(named.table.relation.indexes().into_iter().find(|index| index.name() == key.name)?);
            }
        }
        (!keys.is_empty()).then_some(Self { keys, set })
    }

    /// Tells `take` each value that is given, and its column.
    pub(super) fn operands(&self, take: &mut impl FnMut(&Operand, Option<usize>)) {
        for assigned in &self.set {
            if let Value::Given(operand) = &assigned.value {
                take(operand, Some(assigned.column));
            }
        }
    }

    /// Gives `act` each value that is given for a column, and the column.
    pub(super) fn set_operands(&mut self, act: &mut impl FnMut(usize, &mut Operand)) {
        for assigned in &mut self.set {
            if let (Operation::Set, Value::Given(operand)) = (assigned.operation, &mut assigned.value) {
                act(assigned.column, operand);
            }
        }
    }

    /// The values that columns are set to, as far as they are given; `None` where one is not plain.
    pub(super) fn given<'a>(&'a self, relation: &Relation, arguments: Arguments<'_, 'a>) -> Option<Few<Datum<'a>>> {
        let given = self.set.iter().map(|assigned| match &assigned.value {
            Value::Given(operand) => given(operand, assigned.column, relation, arguments),
            Value::Proposed | Value::Supplied(_) => Some(Datum::Null),
        });
        given.collect()
    }

    /// Whether the keys of a row can be looked up: none of their values is NULL, but where a value is still to be supplied.
    pub(super) fn is_plain(&self, row: &[Datum<'_>], is_supplied: impl Fn(usize) -> bool) -> bool {
        let mut columns = self.keys.iter().flat_map(|index| index.columns());
        columns.all(|column| row[*column] != Datum::Null || is_supplied(*column))
    }

    /// A row that has one of the keys of `row`.
    pub(super) fn find(
        &self,
        transaction: &mut Transaction,
        relation: &Relation,
        row: &[Datum<'_>],
    ) -> Result<Option<RowId>, TransactionError> {
        for index in &self.keys {
            let key: Few<Datum<'_>> = index.columns().iter().map(|column| row[*column]).collect();
            let found = transaction.find(relation, index, &key)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// What is changed of the row that is there, whose place `row` would have taken.
    pub(super) fn changes<'a>(
        &self,
        surroundings: Surroundings<'_>,
        row: &[Datum<'a>],
        given: &[Datum<'a>],
    ) -> Result<Few<(usize, Operation, Datum<'a>)>, Error> {
        let mut changes = Few::new();
        for (assigned, given) in self.set.iter().zip(given) {
            let value = match &assigned.value {
                Value::Given(_) => *given,
                Value::Proposed => row[assigned.column],
                Value::Supplied(supplied) => supplied.value(surroundings)?,
            };
            changes.push((assigned.column, assigned.operation, value));
        }
        Ok(changes)
    }
}

impl Assigned {
    fn of(column: usize, expr: &Expr, named: &NamedTable) -> Option<Self> {
        if named.rules.origin(column).is_always() {
            return None;
        }
        if let Expr::BinaryOp { left, op, right } = expr {
            let operation = match op {
                BinaryOperator::Plus => Operation::Add,
                BinaryOperator::Minus => Operation::Subtract,
                _ => return None,
            };
            // A name without a table could be of either row.
            let is_of_table =
                matches!(left.as_ref(), Expr::CompoundIdentifier(_)) && named.column(left) == Some(column);
            let value = Value::of(column, right, named).filter(|value| !matches!(value, Value::Supplied(_)))?;
            return (is_of_table && named.adds_exactly(column)).then_some(Self { column, operation, value });
        }
        Some(Self { column, operation: Operation::Set, value: Value::of(column, expr, named)? })
    }
}

impl Value {
    fn of(column: usize, expr: &Expr, named: &NamedTable) -> Option<Self> {
        match expr {
            Expr::Nested(inner) => Self::of(column, inner, named),
            Expr::CompoundIdentifier(parts) => {
                let [table, name] = parts.as_slice() else { return None };
                let is_proposed = names::identifier(table).ok()? == EXCLUDED && named.alias != EXCLUDED;
                let is_same = positions(std::slice::from_ref(name), named)? == [column];
                (is_proposed && is_same).then_some(Self::Proposed)
            }
            _ => match Operand::of(expr) {
                Some(operand) => Some(Self::Given(operand)),
                None => Supplied::of(expr, named.schema().columns()[column].column_type).map(Self::Supplied),
            },
        }
    }
}

/// The places of columns, ascending.
fn positions(columns: &[Ident], named: &NamedTable) -> Option<Vec<usize>> {
    let place = |name: &Ident| named.schema().index_of(&names::identifier(name).ok()?);
    let mut places = columns.iter().map(place).collect::<Option<Vec<_>>>()?;
    places.sort_unstable();
    Some(places)
}
