//! `random()` and `setseed(seed)`: each session has random numbers of its own.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, Float64Array, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use crate::Error;
use crate::datafusion::errors::external;
use crate::transaction::{RandomNumbers, StatementTransaction};

/// The function of this name, for a statement of the session whose numbers `transaction` has.
pub(in crate::datafusion) fn function(name: &str, transaction: &StatementTransaction) -> Option<Arc<ScalarUDF>> {
    let (name, arguments) = match name {
        RANDOM => (RANDOM, Vec::new()),
        SEED => (SEED, vec![DataType::Float64]),
        _ => return None,
    };
    let signature = if arguments.is_empty() {
        Signature::nullary(Volatility::Volatile)
    } else {
        Signature::exact(arguments, Volatility::Volatile)
    };
    let numbers = Arc::clone(&transaction.numbers().random);
    Some(Arc::new(ScalarUDF::new_from_impl(Function { name, numbers, signature })))
}

/// The names of the functions.
pub(in crate::datafusion) const NAMES: [&str; 2] = [RANDOM, SEED];

const RANDOM: &str = "random";
const SEED: &str = "setseed";

/// Whether a function is one of these.
pub(in crate::datafusion) fn is_one(function: &ScalarUDF) -> bool {
    function.inner().is::<Function>()
}

#[derive(Debug)]
struct Function {
    name: &'static str,
    numbers: Arc<RandomNumbers>,
    signature: Signature,
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.numbers, &other.numbers)
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(if self.name == RANDOM { DataType::Float64 } else { DataType::Utf8View })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(seeds) = args.args.first() else {
            let numbers = (0..args.number_rows).map(|_| self.numbers.next());
            return Ok(ColumnarValue::Array(Arc::new(Float64Array::from_iter_values(numbers))));
        };
        let seeds = seeds.to_array(args.number_rows)?;
        for seed in seeds.as_primitive::<Float64Type>().iter().flatten() {
            if !(-1.0..=1.0).contains(&seed) {
                let message = format!("setseed parameter {seed} is out of allowed range [-1,1]");
                return Err(external(Error::invalid(message)));
            }
            self.numbers.seed(seed);
        }
        // PostgreSQL gives nothing, which it shows as an empty text.
        let nothing = (0..seeds.len()).map(|row| seeds.is_valid(row).then_some(""));
        Ok(ColumnarValue::Array(Arc::new(nothing.collect::<StringViewArray>())))
    }
}
