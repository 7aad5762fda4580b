//! Values that a statement does not write: the time at which its transaction began, and the next number of a sequence.
//!
//! They are found out just before rows are changed, once it is known that the planner is not needed: a number is taken once.

use longshore_storage::{ColumnType, Datum};
use longshore_time::calendar::MICROS_PER_DAY;
use sqlparser::ast::{Expr, Function, FunctionArguments};

use crate::catalog::{Catalog, Origin};
use crate::datafusion::Queries;
use crate::sql::names;
use crate::sql::parameters::fit;
use crate::transaction::StatementTransaction;
use crate::{Error, ErrorKind};

/// A value that is not written.
#[derive(Debug)]
pub(super) struct Supplied {
    source: Source,
    /// That of the column that gets it.
    column_type: ColumnType,
}

#[derive(Debug)]
enum Source {
    Began,
    /// The next number of the sequence of this name.
    Next(String),
}

/// Where a statement works.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'s> {
    pub(crate) transaction: &'s StatementTransaction,
    pub(crate) catalog: &'s Catalog,
    pub(crate) queries: &'s Queries,
}

impl Supplied {
    /// What an expression is to a column of this type, if it is such a value: `now()` and its like.
    pub(super) fn of(expr: &Expr, column_type: ColumnType) -> Option<Self> {
        let name = match expr {
            Expr::Nested(inner) => return Self::of(inner, column_type),
            Expr::Function(function) => called_without_arguments(function)?,
            _ => return None,
        };
        let is_it = match column_type {
            ColumnType::TimestampTz => matches!(&*name, "now" | "current_timestamp" | "transaction_timestamp"),
            ColumnType::Timestamp => {
                matches!(&*name, "now" | "current_timestamp" | "transaction_timestamp" | "localtimestamp")
            }
            ColumnType::Date => matches!(&*name, "now" | "current_timestamp" | "current_date"),
            _ => false,
        };
        is_it.then_some(Self { source: Source::Began, column_type })
    }

    /// What a column of this type gets that is not given a value, if it is such a value.
    pub(super) fn of_origin(origin: &Origin, column_type: ColumnType) -> Option<Self> {
        let is_whole = matches!(column_type, ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt);
        match (origin.sequence(), origin) {
            (Some(sequence), _) if is_whole => Some(Self { source: Source::Next(sequence), column_type }),
            (None, Origin::Default(expr)) => Self::of(expr, column_type),
            _ => None,
        }
    }

    /// The value.
    pub(super) fn value(&self, surroundings: Surroundings<'_>) -> Result<Datum<'static>, Error> {
        let Surroundings { transaction, catalog, .. } = surroundings;
        let found = match &self.source {
            Source::Next(sequence) => fit(Datum::I64(transaction.next_number(catalog, sequence)?), self.column_type),
            Source::Began => {
                let time = transaction.time();
                let local = || time.settings.local(time.began);
                match self.column_type {
                    ColumnType::TimestampTz => Some(Datum::I64(time.began)),
                    ColumnType::Timestamp => Some(Datum::I64(local())),
                    _ => i32::try_from(local().div_euclid(MICROS_PER_DAY)).ok().map(Datum::I32),
                }
            }
        };
        let too_large = || format!("{} out of range", self.column_type.to_string().to_lowercase());
        found.ok_or_else(|| Error::new(ErrorKind::OutOfRange, too_large()))
    }
}

/// The name of a function that is called with nothing.
fn called_without_arguments(function: &Function) -> Option<String> {
    let [name] = function.name.0.as_slice() else { return None };
    let has_none = match &function.args {
        FunctionArguments::None => true,
        FunctionArguments::List(list) => list.args.is_empty() && list.clauses.is_empty(),
        FunctionArguments::Subquery(_) => false,
    };
    let is_plain = function.over.is_none()
        && function.filter.is_none()
        && function.null_treatment.is_none()
        && function.within_group.is_empty()
        && !function.uses_odbc_syntax;
    if has_none && is_plain { names::identifier(name.as_ident()?).ok() } else { None }
}
