//! `nextval`, `currval`, `lastval` and `setval`, as PostgreSQL has them.
//!
//! They are functions of one statement, since it matters whose session it is. Not here: sequences (`catalog::sequence`).

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, BooleanArray, Int64Array, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};

use crate::Error;
use crate::catalog::{Catalog, Privileges, Sequence};
use crate::datafusion::errors::external;
use crate::sql::in_text;
use crate::transaction::{StatementTransaction, TO_TAKE};

/// The function of this name, for a statement that works in `transaction`.
pub(in crate::datafusion) fn function(
    name: &str,
    catalog: &Arc<Catalog>,
    transaction: &Arc<StatementTransaction>,
) -> Option<Arc<ScalarUDF>> {
    let kind = KINDS.into_iter().find(|kind| kind.name() == name)?;
    let (catalog, transaction) = (Arc::clone(catalog), Arc::clone(transaction));
    let signature = Signature::new(kind.arguments(), Volatility::Volatile);
    Some(Arc::new(ScalarUDF::new_from_impl(Function { kind, catalog, transaction, signature })))
}

/// The names of the functions.
pub(in crate::datafusion) fn names() -> impl Iterator<Item = &'static str> {
    KINDS.into_iter().map(Kind::name)
}

/// Whether a function is one of these.
pub(in crate::datafusion) fn is_one(function: &ScalarUDF) -> bool {
    function.inner().is::<Function>()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Next,
    Current,
    Last,
    Set,
}

const KINDS: [Kind; 4] = [Kind::Next, Kind::Current, Kind::Last, Kind::Set];

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Next => "nextval",
            Self::Current => "currval",
            Self::Last => "lastval",
            Self::Set => "setval",
        }
    }

    /// The privileges on a sequence of which one is needed.
    fn privileges(self) -> Privileges {
        match self {
            Self::Next => TO_TAKE,
            Self::Set => Privileges::UPDATE,
            Self::Current | Self::Last => Privileges::USAGE | Privileges::SELECT,
        }
    }

    fn arguments(self) -> TypeSignature {
        match self {
            Self::Next | Self::Current => TypeSignature::String(1),
            Self::Last => TypeSignature::Nullary,
            Self::Set => TypeSignature::OneOf(vec![
                TypeSignature::Exact(vec![DataType::Utf8, DataType::Int64]),
                TypeSignature::Exact(vec![DataType::Utf8, DataType::Int64, DataType::Boolean]),
            ]),
        }
    }
}

/// A function about sequences.
struct Function {
    kind: Kind,
    catalog: Arc<Catalog>,
    transaction: Arc<StatementTransaction>,
    signature: Signature,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && Arc::ptr_eq(&self.transaction, &other.transaction)
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
    }
}

impl Function {
    /// The sequence that a text names.
    fn sequence(&self, name: &str) -> std::result::Result<Arc<Sequence>, Error> {
        self.transaction.sequence(&self.catalog, &in_text::relation(name)?, self.kind.privileges())
    }

    /// Takes a number for each of `names`.
    fn next(&self, names: &StringArray) -> std::result::Result<Int64Array, Error> {
        let last = self.transaction.numbers_to_change(self.name())?;
        let mut numbers = Vec::with_capacity(names.len());
        let mut row = 0;
        while row < names.len() {
            if names.is_null(row) {
                numbers.push(None);
                row += 1;
                continue;
            }
            // All that one sequence has to give for rows that follow each other is taken at once.
            let name = names.value(row);
            let end = (row..names.len()).find(|other| names.is_null(*other) || names.value(*other) != name);
            let sequence = self.sequence(name)?;
            let taken = sequence.take((end.unwrap_or(names.len()) - row) as u64)?;
            numbers.extend(taken.numbers().map(Some));
            last.taken(&sequence, taken.last());
            row += taken.count as usize;
        }
        self.transaction.numbers_are_taken(self.catalog.log())?;
        Ok(Int64Array::from(numbers))
    }

    fn set(
        &self,
        names: &StringArray,
        values: &Int64Array,
        called: Option<&BooleanArray>,
    ) -> std::result::Result<Int64Array, Error> {
        let last = self.transaction.numbers_to_change(self.name())?;
        let mut set = Vec::with_capacity(names.len());
        for row in 0..names.len() {
            if names.is_null(row) || values.is_null(row) || called.is_some_and(|called| called.is_null(row)) {
                set.push(None);
                continue;
            }
            let (sequence, value) = (self.sequence(names.value(row))?, values.value(row));
            let is_called = called.is_none_or(|called| called.value(row));
            sequence.set(value, is_called)?;
            if is_called {
                last.set(&sequence, value);
            }
            set.push(Some(value));
        }
        self.transaction.numbers_are_taken(self.catalog.log())?;
        Ok(Int64Array::from(set))
    }

    fn answer(&self, args: &ScalarFunctionArgs) -> std::result::Result<ColumnarValue, Error> {
        let rows = args.number_rows;
        let argument = |index: usize, data_type: DataType| {
            let array = args.args[index].to_array(rows).and_then(|array| Ok(cast(&array, &data_type)?));
            array.map_err(crate::datafusion::errors::from_datafusion)
        };
        let texts = |index| argument(index, DataType::Utf8).map(|array| array.as_string::<i32>().clone());
        let numbers = match self.kind {
            Kind::Next => self.next(&texts(0)?)?,
            Kind::Current => {
                let names = texts(0)?;
                let numbers = names.iter().map(|name| match name {
                    None => Ok(None),
                    Some(name) => self.transaction.numbers().of(&self.sequence(name)?).map(Some),
                });
                Int64Array::from(numbers.collect::<std::result::Result<Vec<_>, Error>>()?)
            }
            Kind::Last => Int64Array::from_value(self.transaction.numbers().latest()?, rows),
            Kind::Set => {
                let values = argument(1, DataType::Int64)?;
                let called = match args.args.len() {
                    3 => Some(argument(2, DataType::Boolean)?),
                    _ => None,
                };
                let called = called.as_ref().map(AsArray::as_boolean);
                self.set(&texts(0)?, values.as_primitive::<Int64Type>(), called)?
            }
        };
        Ok(ColumnarValue::Array(Arc::new(numbers)))
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &'static str {
        self.kind.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.answer(&args).map_err(external)
    }
}
