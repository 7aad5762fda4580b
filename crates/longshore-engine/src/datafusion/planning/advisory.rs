//! `pg_advisory_lock` and its like: locks by numbers to which applications give a meaning.
//!
//! They are functions of one statement, since it matters whose session it is. Not here: the locks (`transaction/advisory`).

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use longshore_storage::{AdvisoryKey, AdvisoryLock};

use crate::datafusion::errors::{external, from_datafusion};
use crate::transaction::{Scope, StatementTransaction};
use crate::{Error, ErrorKind};

/// The function of this name, for a statement that works in `transaction`.
pub(in crate::datafusion) fn function(name: &str, transaction: &Arc<StatementTransaction>) -> Option<Arc<ScalarUDF>> {
    let (name, kind) = KINDS.into_iter().find(|(known, _)| *known == name)?;
    let keys =
        vec![TypeSignature::Exact(vec![DataType::Int64]), TypeSignature::Exact(vec![DataType::Int64, DataType::Int64])];
    let arguments = if kind == Kind::UnlockAll { TypeSignature::Nullary } else { TypeSignature::OneOf(keys) };
    let signature = Signature::new(arguments, Volatility::Volatile);
    Some(Arc::new(ScalarUDF::new_from_impl(Function { name, kind, transaction: Arc::clone(transaction), signature })))
}

/// The names of the functions.
pub(in crate::datafusion) fn names() -> impl Iterator<Item = &'static str> {
    KINDS.into_iter().map(|(name, _)| name)
}

/// Whether a function is one of these.
pub(in crate::datafusion) fn is_one(function: &ScalarUDF) -> bool {
    function.inner().is::<Function>()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Lock { scope: Scope, is_shared: bool, waits: bool },
    Unlock { is_shared: bool },
    UnlockAll,
}

const fn lock(scope: Scope, is_shared: bool, waits: bool) -> Kind {
    Kind::Lock { scope, is_shared, waits }
}

const KINDS: [(&str, Kind); 11] = [
    ("pg_advisory_lock", lock(Scope::Session, false, true)),
    ("pg_advisory_lock_shared", lock(Scope::Session, true, true)),
    ("pg_advisory_xact_lock", lock(Scope::Transaction, false, true)),
    ("pg_advisory_xact_lock_shared", lock(Scope::Transaction, true, true)),
    ("pg_try_advisory_lock", lock(Scope::Session, false, false)),
    ("pg_try_advisory_lock_shared", lock(Scope::Session, true, false)),
    ("pg_try_advisory_xact_lock", lock(Scope::Transaction, false, false)),
    ("pg_try_advisory_xact_lock_shared", lock(Scope::Transaction, true, false)),
    ("pg_advisory_unlock", Kind::Unlock { is_shared: false }),
    ("pg_advisory_unlock_shared", Kind::Unlock { is_shared: true }),
    ("pg_advisory_unlock_all", Kind::UnlockAll),
];

impl Kind {
    /// Whether it gives back nothing, which is an empty text.
    fn is_void(self) -> bool {
        matches!(self, Self::Lock { waits: true, .. } | Self::UnlockAll)
    }
}

struct Function {
    name: &'static str,
    kind: Kind,
    transaction: Arc<StatementTransaction>,
    signature: Signature,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.transaction, &other.transaction)
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Function {
    /// The key of each row; none where an argument is NULL.
    fn keys(args: &ScalarFunctionArgs) -> std::result::Result<Vec<Option<AdvisoryKey>>, Error> {
        let columns = args.args.iter().map(|value| {
            let array = value.to_array(args.number_rows).and_then(|array| Ok(cast(&array, &DataType::Int64)?));
            array.map(|array| array.as_primitive::<Int64Type>().clone()).map_err(from_datafusion)
        });
        let columns: Vec<Int64Array> = columns.collect::<std::result::Result<_, Error>>()?;
        let small =
            |value: i64| i32::try_from(value).map_err(|_| Error::new(ErrorKind::OutOfRange, "integer out of range"));
        let key = |row: usize| {
            if columns.iter().any(|column| column.is_null(row)) {
                return Ok(None);
            }
            Ok(match columns.as_slice() {
                [one] => Some(AdvisoryKey::One(one.value(row))),
                [first, second] => Some(AdvisoryKey::Two(small(first.value(row))?, small(second.value(row))?)),
                _ => None,
            })
        };
        (0..args.number_rows).map(key).collect()
    }

    fn answer(&self, args: &ScalarFunctionArgs) -> std::result::Result<ArrayRef, Error> {
        let locks = self.transaction.numbers().advisory();
        let answers: Vec<Option<bool>> = match self.kind {
            Kind::UnlockAll => {
                locks.give_all_back()?;
                vec![Some(true); args.number_rows]
            }
            Kind::Lock { scope, is_shared, waits } => {
                let take = |key: Option<AdvisoryKey>| {
                    key.map(|key| locks.take(AdvisoryLock { key, is_shared }, scope, waits)).transpose()
                };
                Self::keys(args)?.into_iter().map(take).collect::<std::result::Result<_, Error>>()?
            }
            Kind::Unlock { is_shared } => {
                let give = |key: Option<AdvisoryKey>| {
                    key.map(|key| locks.give_back(AdvisoryLock { key, is_shared })).transpose()
                };
                Self::keys(args)?.into_iter().map(give).collect::<std::result::Result<_, Error>>()?
            }
        };
        if self.kind.is_void() {
            return Ok(Arc::new(answers.iter().map(|answer| answer.map(|_| "")).collect::<StringArray>()));
        }
        Ok(Arc::new(BooleanArray::from(answers)))
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(if self.kind.is_void() { DataType::Utf8 } else { DataType::Boolean })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.answer(&args).map(ColumnarValue::Array).map_err(external)
    }
}
