//! Which statements are about one row or few: INSERT, UPDATE and DELETE.
//!
//! Not here: SELECT (`select`), tables and conditions (`named`).

use sqlparser::ast::{AssignmentTarget, BinaryOperator, Expr, FromTable, SetExpr, Statement, TableObject};

use super::conflict::Conflict;
use super::named_table::NamedTable;
use super::supplied::Supplied;
use super::{Kind, NewValue, Operand, Operation, PointQueryPlan, select};
use crate::catalog::{Catalog, Origin, columns_read};
use crate::sql::names;

impl PointQueryPlan {
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

fn insert(statement: &Statement, catalog: &Catalog) -> Option<PointQueryPlan> {
    let Statement::Insert(insert) = statement else { return None };
    let is_plain = insert.table_alias.is_none()
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
    let named = NamedTable::of(table, None, catalog);
    if !named.rules.checks.is_empty() || named.rules.generated().next().is_some() || insert.settings.is_some() {
        return None;
    }
    let targets: Option<Vec<usize>> = match insert.columns.as_slice() {
        [] => Some((0..columns.min(row.len())).collect()),
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
        given[target] = Some(value);
    }
    let (mut values, mut supplied) = (Vec::with_capacity(columns), Vec::new());
    for (column, value) in given.into_iter().enumerate() {
        let (column_type, origin) = (named.schema().columns()[column].column_type, named.rules.origin(column));
        let operand = match (value, origin) {
            (Some(value), _) => Operand::of(value),
            (None, Origin::Null) => Some(Operand::Null),
            (None, Origin::Default(expr)) => Operand::of(expr),
            (None, Origin::Identity { .. } | Origin::Generated(_)) => None,
        };
        let operand = if let Some(operand) = operand {
            operand
        } else {
            let found = match value {
                Some(value) => Supplied::of(value, column_type)?,
                None => Supplied::of_origin(origin, column_type)?,
            };
            supplied.push((column, found));
            Operand::Null
        };
        values.push(operand);
    }
    let conflict = match &insert.on {
        Some(on) => Some(Conflict::recognise(on, &named)?),
        None => None,
    };
    named.changing(Kind::Insert { values, supplied, conflict }, insert.returning.as_deref())
}

fn update(statement: &Statement, catalog: &Catalog) -> Option<PointQueryPlan> {
    let Statement::Update(update) = statement else { return None };
    let is_plain = update.from.is_none() && update.or.is_none() && update.limit.is_none() && update.order_by.is_empty();
    let named = NamedTable::new(&update.table, catalog).filter(|_| is_plain)?;
    let mut set: Vec<(usize, NewValue)> = Vec::with_capacity(update.assignments.len());
    let mut supplied = Vec::new();
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
        let value = if let Some(value) = new_value(&named, column, &assignment.value) {
            value
        } else {
            let column_type = named.schema().columns()[column].column_type;
            supplied.push((set.len(), Supplied::of(&assignment.value, column_type)?));
            NewValue { operation: Operation::Set, operand: Operand::Null }
        };
        set.push((column, value));
    }
    let columns = named.schema().columns();
    let is_computed_from = |(column, _): &(usize, NewValue)| {
        named.rules.generated().any(|(_, expr)| columns_read(expr, columns).contains(column))
    };
    if set.iter().any(is_computed_from) {
        return None;
    }
    let lookup = named.lookup(update.selection.as_ref(), &set)?;
    named.changing(Kind::Update { lookup, set, supplied }, update.returning.as_deref())
}

fn new_value(named: &NamedTable, column: usize, value: &Expr) -> Option<NewValue> {
    let (operation, operand) = match value {
        Expr::BinaryOp { left, op: op @ (BinaryOperator::Plus | BinaryOperator::Minus), right } => {
            if named.column(left) != Some(column) || !named.adds_exactly(column) {
                return None;
            }
            (if *op == BinaryOperator::Plus { Operation::Add } else { Operation::Subtract }, right.as_ref())
        }
        value => (Operation::Set, value),
    };
    Some(NewValue { operation, operand: Operand::of(operand)? })
}

fn delete(statement: &Statement, catalog: &Catalog) -> Option<PointQueryPlan> {
    let Statement::Delete(delete) = statement else { return None };
    let is_plain =
        delete.using.is_none() && delete.tables.is_empty() && delete.limit.is_none() && delete.order_by.is_empty();
    let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
    let [table] = tables.as_slice() else { return None };
    let named = NamedTable::new(table, catalog).filter(|_| is_plain)?;
    let lookup = named.lookup(delete.selection.as_ref(), &[])?;
    named.changing(Kind::Delete { lookup }, delete.returning.as_deref())
}
