//! Statements about one row by its whole key, which do not pass through the query planner.
//!
//! `SELECT columns FROM t WHERE key`, `UPDATE t SET column = value | column + value | column - value, ... WHERE key` and
//! `DELETE FROM t WHERE key`, where `key` is a conjunction of `column = value` over just the columns of a unique index,
//! and `INSERT INTO t [(columns)] VALUES (values)`; a value is a parameter or a literal, and so is the default of a
//! column that is left out. Whatever is not of this shape, has a CHECK to pass, or is given a value that its column does
//! not plainly take, goes through the planner.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};
use longshore_storage::{Datum, Index, Transaction, TransactionError};
use sqlparser::ast::{
    AssignmentTarget, BinaryOperator, Expr, FromTable, GroupByExpr, Ident, ObjectName, Query, Select, SelectItem,
    SetExpr, Statement, TableFactor, TableObject, TableWithJoins, UnaryOperator, Value,
};

use super::{fit, number_of};
use crate::catalog::{Catalog, Origin, Rules, Table};
use crate::sql::names;
use crate::statement::plain_select;
use crate::transaction::Work;

mod row;

/// A statement about one row.
#[derive(Debug)]
pub(crate) struct Fast {
    table: Arc<Table>,
    /// The table's rules, as far as which it was recognised.
    rules: Arc<Rules>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Select { key: Key, columns: Vec<usize>, schema: SchemaRef },
    Insert { values: Vec<Operand> },
    Update { key: Key, set: Vec<(usize, NewValue)> },
    Delete { key: Key },
}

/// How the row is found.
#[derive(Debug)]
struct Key {
    index: Arc<Index>,
    /// One for each column of the index, in its order.
    values: Vec<Operand>,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Parameter(usize),
    Null,
    Bool(bool),
    Integer(i64),
    Text(String),
}

/// What a column is set to.
#[derive(Debug)]
enum NewValue {
    To(Operand),
    /// Its value before and an integer, added or taken away.
    Plus(Operand),
    Minus(Operand),
}

/// What became of a statement.
pub(crate) enum Done {
    Rows(RecordBatch),
    /// What was done, and to how many rows.
    Changed(&'static str, u64),
    /// Nothing: the planner has to see to it.
    Planner,
}

impl Fast {
    /// The statement as one about one row, if it is such a one.
    pub(crate) fn recognise(statement: &Statement, catalog: &Catalog) -> Option<Self> {
        match statement {
            Statement::Query(query) => select(query, catalog),
            Statement::Insert(_) => insert(statement, catalog),
            Statement::Update(_) => update(statement, catalog),
            Statement::Delete(_) => delete(statement, catalog),
            _ => None,
        }
    }

    /// Whether its table is still the one of its name to who sees what `work` does, and has the same rules.
    pub(crate) fn is_current(&self, catalog: &Catalog, work: &Work) -> bool {
        let table = work.table(catalog, &self.table.name);
        table.is_some_and(|table| Arc::ptr_eq(&table, &self.table) && Arc::ptr_eq(&table.rules(), &self.rules))
    }

    /// Runs it with the values `arguments`.
    pub(crate) fn run<'a>(
        &'a self,
        transaction: &mut Transaction,
        arguments: &[Datum<'a>],
    ) -> Result<Done, TransactionError> {
        let relation = &self.table.relation;
        let columns = relation.schema().columns();
        let given = |operand: &'a Operand, column: usize| fit(operand.value(arguments), columns[column].column_type);
        let row_of = |transaction: &mut Transaction, key: &'a Key| {
            let values = key.index.columns().iter().zip(&key.values).map(|(&column, value)| given(value, column));
            let Some(values) = values.collect::<Option<Vec<_>>>() else { return Ok(None) };
            if values.contains(&Datum::Null) {
                return Ok(Some(None));
            }
            transaction.find(relation, &key.index, &values).map(Some)
        };
        Ok(match &self.kind {
            Kind::Select { key, columns, schema } => match row_of(transaction, key)? {
                None => Done::Planner,
                Some(None) => Done::Rows(RecordBatch::new_empty(Arc::clone(schema))),
                Some(Some(row)) => Done::Rows(row::read(transaction, relation, row, columns, schema)?),
            },
            Kind::Insert { values } => {
                let values = values.iter().enumerate().map(|(column, value)| given(value, column));
                match values.collect::<Option<Vec<_>>>() {
                    None => Done::Planner,
                    Some(values) => {
                        transaction.insert(relation, &values)?;
                        Done::Changed("INSERT 0", 1)
                    }
                }
            }
            Kind::Update { key, set } => {
                let new: Option<Vec<_>> = set.iter().map(|(column, value)| given(value.operand(), *column)).collect();
                let (Some(new), Some(found)) = (new, row_of(transaction, key)?) else { return Ok(Done::Planner) };
                let Some(row) = found else { return Ok(Done::Changed("UPDATE", 0)) };
                let mut values = Vec::with_capacity(set.len());
                for ((column, value), given) in set.iter().zip(new) {
                    let value = match value {
                        NewValue::To(_) => Some(given),
                        NewValue::Plus(_) => row::sum(transaction, relation, row, *column, given, i64::checked_add)?,
                        NewValue::Minus(_) => row::sum(transaction, relation, row, *column, given, i64::checked_sub)?,
                    };
                    match value {
                        Some(value) => values.push((*column, value)),
                        None => return Ok(Done::Planner),
                    }
                }
                transaction.update(relation, row, &values)?;
                Done::Changed("UPDATE", 1)
            }
            Kind::Delete { key } => match row_of(transaction, key)? {
                None => Done::Planner,
                Some(None) => Done::Changed("DELETE", 0),
                Some(Some(row)) => {
                    transaction.delete(relation, row)?;
                    Done::Changed("DELETE", 1)
                }
            },
        })
    }
}

impl Operand {
    fn value<'a>(&'a self, arguments: &[Datum<'a>]) -> Datum<'a> {
        match self {
            Self::Parameter(number) => arguments[*number],
            Self::Null => Datum::Null,
            Self::Bool(value) => Datum::Bool(*value),
            Self::Integer(value) => Datum::I64(*value),
            Self::Text(value) => Datum::Text(value),
        }
    }

    fn of(expr: &Expr) -> Option<Self> {
        Some(match expr {
            Expr::Nested(inner) => Self::of(inner)?,
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match Self::of(expr)? {
                Self::Integer(value) => Self::Integer(-value),
                _ => return None,
            },
            Expr::Value(value) => match &value.value {
                Value::Placeholder(name) => Self::Parameter(number_of(name).ok()?),
                Value::Null => Self::Null,
                Value::Boolean(value) => Self::Bool(*value),
                Value::Number(digits, false) => Self::Integer(digits.parse().ok()?),
                Value::SingleQuotedString(text) => Self::Text(text.clone()),
                _ => return None,
            },
            _ => return None,
        })
    }
}

impl NewValue {
    fn operand(&self) -> &Operand {
        match self {
            Self::To(operand) | Self::Plus(operand) | Self::Minus(operand) => operand,
        }
    }
}

/// The table that is named, and what else it may be called.
struct Named {
    table: Arc<Table>,
    rules: Arc<Rules>,
    alias: String,
}

impl Named {
    fn new(from: &TableWithJoins, catalog: &Catalog) -> Option<Self> {
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

    fn fast(self, kind: Kind) -> Fast {
        Fast { table: self.table, rules: self.rules, kind }
    }

    fn column(&self, expr: &Expr) -> Option<usize> {
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
        self.table.relation.schema().index_of(&names::identifier(name).ok()?)
    }

    fn target(&self, name: &ObjectName) -> Option<usize> {
        match name.0.as_slice() {
            [part] => self.position(part.as_ident()?),
            _ => None,
        }
    }

    /// The unique index whose columns, all of them and no others, the condition compares with values.
    fn key(&self, condition: Option<&Expr>) -> Option<Key> {
        let mut equal = Vec::new();
        self.equalities(condition?, &mut equal)?;
        let unique = self.rules.keys.iter().filter(|key| key.role.is_unique() && key.columns.len() == equal.len());
        for key in unique {
            let value = |column: &usize| equal.iter().find(|(of, _)| of == column).map(|(_, value)| value.clone());
            if let Some(values) = key.columns.iter().map(value).collect::<Option<Vec<_>>>() {
                let index = self.table.relation.indexes().into_iter().find(|index| index.name() == key.name)?;
                return Some(Key { index, values });
            }
        }
        None
    }

    fn equalities(&self, condition: &Expr, equal: &mut Vec<(usize, Operand)>) -> Option<()> {
        match condition {
            Expr::Nested(inner) => self.equalities(inner, equal),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                self.equalities(left, equal)?;
                self.equalities(right, equal)
            }
            Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
                let (column, value) = match (self.column(left), self.column(right)) {
                    (Some(column), None) => (column, Operand::of(right)?),
                    (None, Some(column)) => (column, Operand::of(left)?),
                    _ => return None,
                };
                if equal.iter().any(|(of, _)| *of == column) {
                    return None;
                }
                equal.push((column, value));
                Some(())
            }
            _ => None,
        }
    }
}

fn select(query: &Query, catalog: &Catalog) -> Option<Fast> {
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    // Built again of the parts that are understood, so that no clause is overlooked.
    let mut plain = plain_select().ok()?;
    plain.projection.clone_from(&select.projection);
    plain.from.clone_from(&select.from);
    plain.selection.clone_from(&select.selection);
    let is_plain_query = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && query.locks.is_empty()
        && query.for_clause.is_none();
    if !is_plain_query || !is_same(select, &plain) {
        return None;
    }
    let [from] = select.from.as_slice() else { return None };
    let named = Named::new(from, catalog)?;
    let key = named.key(select.selection.as_ref())?;
    let arrow = named.table.relation.schema().arrow();
    let mut columns = Vec::new();
    let mut fields: Vec<Arc<Field>> = Vec::new();
    for item in &select.projection {
        match item {
            SelectItem::Wildcard(options) if options.to_string().is_empty() => {
                columns.extend(0..arrow.fields().len());
                fields.extend(arrow.fields().iter().cloned());
            }
            SelectItem::UnnamedExpr(expr) => {
                columns.push(named.column(expr)?);
                fields.push(Arc::clone(&arrow.fields()[*columns.last()?]));
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                columns.push(named.column(expr)?);
                let field = arrow.field(*columns.last()?).clone();
                fields.push(Arc::new(field.with_name(names::identifier(alias).ok()?)));
            }
            _ => return None,
        }
    }
    let schema = Arc::new(Schema::new(fields));
    Some(named.fast(Kind::Select { key, columns, schema }))
}

fn is_same(select: &Select, plain: &Select) -> bool {
    let no_groups =
        matches!(&select.group_by, GroupByExpr::Expressions(groups, rest) if groups.is_empty() && rest.is_empty());
    no_groups && select == plain
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
    let key = named.key(update.selection.as_ref())?;
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
    Some(named.fast(Kind::Update { key, set }))
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
    let key = named.key(delete.selection.as_ref())?;
    Some(named.fast(Kind::Delete { key }))
}
