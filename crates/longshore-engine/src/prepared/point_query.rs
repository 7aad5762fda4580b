//! Statements about one row by its whole key, or about few rows by an index, which do not pass through the query planner.
//!
//! `SELECT columns FROM t WHERE key`, `UPDATE t SET column = value | column + value | column - value, ... WHERE key` and
//! `DELETE FROM t WHERE key`, where `key` is a conjunction of `column = value` over just the columns of a unique index,
//! or over just the first columns of any index, with bounds of the next one or without, and conditions on other columns, which no
//! index serves ([`residual`]); and `INSERT INTO t [(columns)]
//! VALUES (values) [ON CONFLICT ...]`. By an index with an order, a SELECT may have ORDER BY in that order and LIMIT; or it asks for `count`,
//! `sum`, `min` and `max`. A value is a parameter or a literal, and so is the default of a column that is left out; or it is the
//! time ([`supplied`]), or the next number of a sequence. A change may have RETURNING with columns.
//! Whatever is not of this shape, has a CHECK to pass, finds many rows, or is given a value that its column does not
//! plainly take, goes through the planner. Not here: how statements are recognised (`recognise`, `select`).

mod aggregate;
mod conditions;
mod conflict;
mod lookup;
mod named_table;
mod operand;
mod recognise;
mod residual;
mod select;
mod sum;
mod supplied;
#[cfg(test)]
mod tests;
mod texts;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use longshore_load::Control;
use longshore_storage::{
    ColumnType, Datum, Direction, Relation, RowId, RowLock, Schema, Transaction, TransactionError,
};

use crate::catalog::{Catalog, Rules, Table};
use crate::transaction::{StatementTransaction, row_arrays};
use crate::{Error, TypeId};
use aggregate::Aggregate;
use conflict::Conflict;
use lookup::{Key, Lookup, Range};
use operand::{Arguments, Few, NewValue, Operand, Operation, given};
use supplied::Supplied;
pub(crate) use supplied::Surroundings;
use texts::{GivenText, ReadTexts};

/// Rows of an INSERT, after which it looks whether it is cancelled.
const ROWS_PER_LOOK: usize = 1024;

/// A statement about one row, or about few.
#[derive(Debug)]
pub(crate) struct PointQueryPlan {
    table: Arc<Table>,
    /// The table's rules, as far as which it was recognised.
    rules: Arc<Rules>,
    kind: Kind,
    /// What a change gives back of the rows that it is about.
    returning: Option<Returning>,
    /// How the rows that are found are locked, if they are.
    lock: Option<RowLock>,
    parameters: Option<Vec<Option<ColumnType>>>,
    /// Texts that are to be read before it is run.
    texts: Vec<GivenText>,
    /// Those of the columns of its rows.
    types: Arc<[TypeId]>,
}

#[derive(Debug)]
enum Kind {
    Select {
        key: Key,
        columns: Vec<usize>,
        schema: SchemaRef,
    },
    Few {
        range: Range,
        direction: Direction,
        limit: Option<Operand>,
        output: Output,
        schema: SchemaRef,
    },
    /// A value for each column; for those that are `supplied`, NULL stands there.
    Insert {
        values: Vec<Operand>,
        supplied: Vec<(usize, Supplied)>,
        conflict: Option<Conflict>,
    },
    /// Columns and values; for places in this list that are `supplied`, NULL stands there.
    Update {
        lookup: Lookup,
        set: Vec<(usize, NewValue)>,
        supplied: Vec<(usize, Supplied)>,
    },
    Delete {
        lookup: Lookup,
    },
}

/// Columns that are given back.
#[derive(Debug)]
struct Returning {
    columns: Vec<usize>,
    schema: SchemaRef,
}

/// What a SELECT about few rows gives back.
#[derive(Debug)]
enum Output {
    Columns(Vec<usize>),
    /// One row.
    Aggregates(Vec<Aggregate>),
}

/// What became of a statement.
pub(crate) enum Done {
    Rows(RecordBatch, Arc<[TypeId]>),
    /// What was done, and to how many rows.
    Changed(&'static str, u64),
    /// What was done, and what is given back of the rows.
    Returned(&'static str, RecordBatch, Arc<[TypeId]>),
    /// Nothing: the planner has to see to it.
    Planner,
}

impl PointQueryPlan {
    /// Whether its table is still the one of its name to who sees what `transaction` does, and has the same rules.
    pub(crate) fn is_current(&self, catalog: &Catalog, transaction: &StatementTransaction) -> bool {
        let table = transaction.table(catalog, &self.table.name);
        table.is_some_and(|table| Arc::ptr_eq(&table, &self.table) && Arc::ptr_eq(&table.rules(), &self.rules))
    }

    /// The types of the columns that the parameters are values of, or `None` for a number of rows; nothing where one of them is not used
    /// just once.
    pub(crate) fn parameters(&self) -> Option<&[Option<ColumnType>]> {
        self.parameters.as_deref()
    }

    /// Inserts rows, which are given one after the other, each of as many values as there are parameters. Nothing is
    /// inserted where a value is none that its column plainly takes.
    pub(crate) fn insert_rows<'a>(
        &'a self,
        surroundings: Surroundings<'_>,
        transaction: &mut Transaction,
        arguments: &[Datum<'a>],
        parameters: usize,
        control: &Control,
    ) -> Result<Done, Error> {
        let (Kind::Insert { values, supplied, conflict: None }, relation) = (&self.kind, &self.table.relation) else {
            return Ok(Done::Planner);
        };
        let Some(texts) = ReadTexts::of(&self.texts, surroundings, &arguments.chunks(parameters)) else {
            return Ok(Done::Planner);
        };
        let mut stored = Vec::with_capacity(arguments.len() / parameters.max(1) * values.len());
        for (execution, given_values) in arguments.chunks(parameters).enumerate() {
            let read = texts.values(execution);
            let arguments = Arguments { values: given_values, read: &read };
            for (column, value) in values.iter().enumerate() {
                match given(value, column, relation, arguments) {
                    Some(value) => stored.push(value),
                    None => return Ok(Done::Planner),
                }
            }
        }
        let (mut count, mut inserted) = (0, Vec::new());
        for row in stored.chunks_mut(values.len()) {
            if count % ROWS_PER_LOOK == 0 && control.is_cancelled() {
                return Err(Error::cancelled());
            }
            for (column, supplied) in supplied {
                row[*column] = supplied.value(surroundings)?;
            }
            let inserted_as = transaction.insert(relation, row)?;
            if self.returning.is_some() {
                inserted.push(inserted_as);
            }
            count += 1;
        }
        let returned = self.read(transaction, &inserted)?;
        Ok(self.changed("INSERT 0", count, returned))
    }

    /// What is given back of rows as they are now; `None` where nothing is.
    fn read(&self, transaction: &mut Transaction, rows: &[RowId]) -> Result<Option<RecordBatch>, TransactionError> {
        let read = |Returning { columns, schema }: &Returning| {
            row_arrays::read(transaction, &self.table.relation, rows, columns, schema)
        };
        self.returning.as_ref().map(read).transpose()
    }

    fn changed(&self, verb: &'static str, rows: usize, returned: Option<RecordBatch>) -> Done {
        match returned {
            None => Done::Changed(verb, rows as u64),
            Some(batch) => Done::Returned(verb, batch, Arc::clone(&self.types)),
        }
    }

    /// The names and types of the columns of its rows; `None` if it gives none.
    pub(crate) fn columns(&self) -> Option<(&SchemaRef, &Arc<[TypeId]>)> {
        let returned = self.returning.as_ref().map(|returning| &returning.schema);
        self.kind.schema().or(returned).map(|schema| (schema, &self.types))
    }

    fn rows(&self, batch: RecordBatch) -> Done {
        Done::Rows(batch, Arc::clone(&self.types))
    }

    /// Locks rows, if it does.
    fn lock(&self, transaction: &mut Transaction, rows: &[RowId]) -> Result<(), TransactionError> {
        let Some(lock) = self.lock else { return Ok(()) };
        rows.iter().try_for_each(|row| transaction.lock_row(&self.table.relation, *row, lock))
    }

    /// Runs it with the values `arguments`.
    pub(crate) fn run<'a>(
        &'a self,
        surroundings: Surroundings<'_>,
        transaction: &mut Transaction,
        arguments: &[Datum<'a>],
    ) -> Result<Done, Error> {
        let relation = &self.table.relation;
        let Some(texts) = ReadTexts::of(&self.texts, surroundings, &std::iter::once(arguments)) else {
            return Ok(Done::Planner);
        };
        let read = texts.values(0);
        let arguments = Arguments { values: arguments, read: &read };
        Ok(match &self.kind {
            Kind::Select { key, columns, schema } => match key.find(transaction, relation, arguments)? {
                None => Done::Planner,
                Some(None) => self.rows(RecordBatch::new_empty(Arc::clone(schema))),
                Some(Some(row)) => {
                    self.lock(transaction, &[row])?;
                    self.rows(row_arrays::read(transaction, relation, &[row], columns, schema)?)
                }
            },
            Kind::Few { range, direction, limit, output, schema } => {
                let limit = match limit {
                    None => None,
                    Some(limit) => match whole(limit.value(arguments)) {
                        None => return Ok(Done::Planner),
                        limit => limit,
                    },
                };
                let found = range.find(transaction, relation, arguments, *direction, limit)?;
                let Some(found) = found else { return Ok(Done::Planner) };
                self.lock(transaction, &found)?;
                match output {
                    Output::Columns(columns) => {
                        self.rows(row_arrays::read(transaction, relation, &found, columns, schema)?)
                    }
                    Output::Aggregates(aggregates) => {
                        let batch = aggregate::evaluate(transaction, relation, &found, aggregates, schema)?;
                        batch.map_or(Done::Planner, |batch| self.rows(batch))
                    }
                }
            }
            Kind::Insert { values, supplied, conflict } => {
                let mut row = Few::new();
                for (column, value) in values.iter().enumerate() {
                    let Some(value) = given(value, column, relation, arguments) else { return Ok(Done::Planner) };
                    row.push(value);
                }
                let to_set = conflict.as_ref().map(|conflict| conflict.given(relation, arguments));
                let is_supplied = |column: usize| supplied.iter().any(|(of, _)| *of == column);
                // Before a number of a sequence is taken.
                let is_plain = conflict.as_ref().is_none_or(|conflict| conflict.is_plain(&row, is_supplied));
                if matches!(to_set, Some(None)) || !is_plain {
                    return Ok(Done::Planner);
                }
                for (column, supplied) in supplied {
                    row[*column] = supplied.value(surroundings)?;
                }
                if let (Some(conflict), Some(Some(to_set))) = (conflict, to_set)
                    && let Some(found) = conflict.find(transaction, relation, &row)?
                {
                    let changes = conflict.changes(surroundings, &row, &to_set)?;
                    let changed = match changes.as_slice() {
                        [] => Few::new(),
                        changes => match update(transaction, relation, &[found], changes)? {
                            Some(changed) => changed,
                            None => return Ok(Done::Planner),
                        },
                    };
                    let returned = self.read(transaction, &changed)?;
                    return Ok(self.changed("INSERT 0", changed.len(), returned));
                }
                let inserted = transaction.insert(relation, &row)?;
                let returned = self.read(transaction, &[inserted])?;
                self.changed("INSERT 0", 1, returned)
            }
            Kind::Update { lookup, set, supplied } => {
                let mut new = Few::new();
                for (column, value) in set {
                    let given = given(&value.operand, *column, relation, arguments);
                    let Some(given) = given else { return Ok(Done::Planner) };
                    new.push((*column, value.operation, given));
                }
                let Some(rows) = lookup.find(transaction, relation, arguments)? else { return Ok(Done::Planner) };
                for (place, supplied) in supplied {
                    new[*place].2 = supplied.value(surroundings)?;
                }
                let Some(rows) = update(transaction, relation, &rows, &new)? else { return Ok(Done::Planner) };
                let returned = self.read(transaction, &rows)?;
                self.changed("UPDATE", rows.len(), returned)
            }
            Kind::Delete { lookup } => {
                let Some(rows) = lookup.find(transaction, relation, arguments)? else { return Ok(Done::Planner) };
                let returned = self.read(transaction, &rows)?;
                for row in &rows {
                    transaction.delete(relation, *row)?;
                }
                self.changed("DELETE", rows.len(), returned)
            }
        })
    }
}

/// Changes rows, and says where they are then; where a new value is none that is plain, none of them is changed.
fn update(
    transaction: &mut Transaction,
    relation: &Relation,
    rows: &[RowId],
    set: &[(usize, Operation, Datum<'_>)],
) -> Result<Option<Few<RowId>>, TransactionError> {
    let mut values = Few::with_capacity(rows.len() * set.len());
    for row in rows {
        for (column, operation, given) in set {
            let value = match operation {
                Operation::Set => Some(*given),
                Operation::Add => sum::sum(transaction, relation, *row, *column, *given, i64::checked_add)?,
                Operation::Subtract => sum::sum(transaction, relation, *row, *column, *given, i64::checked_sub)?,
            };
            match value {
                Some(value) => values.push((*column, value)),
                None => return Ok(None),
            }
        }
    }
    let changed =
        rows.iter().zip(values.chunks(set.len())).map(|(row, values)| transaction.update(relation, *row, values));
    changed.collect::<Result<Few<_>, _>>().map(Some)
}

/// A number of rows.
fn whole(value: Datum<'_>) -> Option<usize> {
    match value {
        Datum::I16(value) => usize::try_from(value).ok(),
        Datum::I32(value) => usize::try_from(value).ok(),
        Datum::I64(value) => usize::try_from(value).ok(),
        _ => None,
    }
}

impl Kind {
    /// What [`PointQueryPlan::parameters`] gives, of a statement about a table with this `schema`.
    fn parameters(&self, schema: &Schema) -> Option<Vec<Option<ColumnType>>> {
        let mut parameters: Vec<Option<Option<ColumnType>>> = Vec::new();
        let mut is_once = true;
        let mut take = |operand: &Operand, column: Option<usize>| {
            if let Operand::Parameter(number) = *operand {
                parameters.resize(parameters.len().max(number + 1), None);
                let column_type = column.map(|column| schema.columns()[column].column_type);
                is_once &= parameters[number].replace(column_type).is_none();
            }
        };
        match self {
            Self::Select { key, .. } => key.operands(&mut take),
            Self::Few { range, limit, .. } => {
                range.operands(&mut take);
                if let Some(limit) = limit {
                    take(limit, None);
                }
            }
            Self::Insert { values, conflict, .. } => {
                values.iter().enumerate().for_each(|(column, value)| take(value, Some(column)));
                if let Some(conflict) = conflict {
                    conflict.operands(&mut take);
                }
            }
            Self::Update { lookup, set, .. } => {
                for (column, value) in set {
                    take(&value.operand, Some(*column));
                }
                lookup.operands(&mut take);
            }
            Self::Delete { lookup } => lookup.operands(&mut take),
        }
        if is_once { parameters.into_iter().collect() } else { None }
    }

    /// Gives `act` each value that is given for a column, and the column.
    fn set_operands(&mut self, act: &mut impl FnMut(usize, &mut Operand)) {
        match self {
            Self::Insert { values, conflict, .. } => {
                values.iter_mut().enumerate().for_each(|(column, value)| act(column, value));
                if let Some(conflict) = conflict {
                    conflict.set_operands(act);
                }
            }
            Self::Update { set, .. } => {
                for (column, value) in set {
                    if let Operation::Set = value.operation {
                        act(*column, &mut value.operand);
                    }
                }
            }
            Self::Select { .. } | Self::Few { .. } | Self::Delete { .. } => {}
        }
    }

    /// The columns of the rows that it gives.
    fn schema(&self) -> Option<&SchemaRef> {
        match self {
            Self::Select { schema, .. } | Self::Few { schema, .. } => Some(schema),
            Self::Insert { .. } | Self::Update { .. } | Self::Delete { .. } => None,
        }
    }

    /// The types of the columns of the rows that it gives, where the table has this schema and this OID.
    fn types(&self, of_table: &Schema, table_oid: u32) -> Arc<[TypeId]> {
        match self {
            Self::Select { columns, .. } | Self::Few { output: Output::Columns(columns), .. } => {
                types_of(columns, of_table, table_oid)
            }
            _ => {
                let fields = self.schema().into_iter().flat_map(|schema| schema.fields());
                fields.map(|field| TypeId::of_values(field.data_type())).collect()
            }
        }
    }
}

/// The types of columns of the table that has this schema and this OID.
fn types_of(columns: &[usize], of_table: &Schema, table_oid: u32) -> Arc<[TypeId]> {
    let of_column = |at: &usize| TypeId::of_column(of_table.columns()[*at].column_type);
    columns.iter().map(|at| of_column(at).shown_of(table_oid, *at)).collect()
}
