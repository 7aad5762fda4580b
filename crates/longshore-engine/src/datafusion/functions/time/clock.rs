//! What time it is: of the transaction, of the statement, of the clock.
//!
//! `now()` and its like are the time at which the transaction began, as in PostgreSQL; outside of a block that is when the
//! statement did. The words `now`, `today`, `tomorrow` and `yesterday` in texts mean the same time (`session`).

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};

use super::casts::{self, Modifier};
use super::kinds::Kind;
use super::session::{self, SessionTime};
use crate::transaction::StatementTime;

/// Which moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Moment {
    Transaction,
    Statement,
    Clock,
}

/// Names, moments, and the types that are given.
const CLOCKS: [(&str, Moment, Kind); 10] = [
    ("now", Moment::Transaction, Kind::TimestampTz),
    ("current_timestamp", Moment::Transaction, Kind::TimestampTz),
    ("transaction_timestamp", Moment::Transaction, Kind::TimestampTz),
    ("statement_timestamp", Moment::Statement, Kind::TimestampTz),
    ("clock_timestamp", Moment::Clock, Kind::TimestampTz),
    ("localtimestamp", Moment::Transaction, Kind::Timestamp),
    ("current_date", Moment::Transaction, Kind::Date),
    ("today", Moment::Transaction, Kind::Date),
    ("localtime", Moment::Transaction, Kind::Time),
    ("current_time", Moment::Transaction, Kind::TimeTz),
];

/// All of them.
pub(super) fn functions() -> impl Iterator<Item = ScalarUDF> {
    CLOCKS.into_iter().map(|(name, moment, kind)| {
        let volatility = if moment == Moment::Clock { Volatility::Volatile } else { Volatility::Stable };
        let forms = vec![TypeSignature::Nullary, TypeSignature::Any(1)];
        ScalarUDF::new_from_impl(Clock { name, moment, kind, signature: Signature::one_of(forms, volatility) })
    })
}

/// The name of a function without arguments that gives the time at which the transaction began, if `function` is one.
pub(in crate::datafusion) fn of_transaction(function: &ScalarUDF) -> Option<&'static str> {
    let clock = function.inner().downcast_ref::<Clock>()?;
    (clock.moment == Moment::Transaction).then_some(clock.name)
}

/// What the function of this name gives in a statement, if it is one of those; it has no arguments.
pub(in crate::datafusion) fn value_in(name: &str, time: &StatementTime) -> Option<ScalarValue> {
    let (_, _, kind) = CLOCKS.iter().find(|(known, moment, _)| *known == name && *moment == Moment::Transaction)?;
    value(*kind, time.began, Modifier::None, &SessionTime::known(time)).ok()
}

/// A moment as a value of `kind`.
fn value(kind: Kind, micros: i64, digits: Modifier, session: &SessionTime<'_>) -> Result<ScalarValue> {
    let now = ScalarValue::TimestampMicrosecond(Some(micros), Some("UTC".into()));
    let array = casts::convert(&now.to_array()?, kind, digits, session)?;
    ScalarValue::try_from_array(&array, 0)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Clock {
    name: &'static str,
    moment: Moment,
    kind: Kind,
    signature: Signature,
}

/// The digits that are asked for.
fn digits(value: Option<&ScalarValue>) -> Modifier {
    let digits = value.and_then(|value| value.cast_to(&DataType::Int64).ok());
    match digits {
        Some(ScalarValue::Int64(Some(digits @ 0..=6))) => Modifier::Precision(digits as u8),
        _ => Modifier::None,
    }
}

impl ScalarUDFImpl for Clock {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        if arguments.len() > 1 {
            return internal_err!("{} takes digits of seconds only", self.name);
        }
        Ok(self.kind.data_type())
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(arg_types.to_vec())
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let started = info.query_execution_start_time().map(|time| time.timestamp_micros());
        let options = info.config_options();
        let moment = match self.moment {
            Moment::Transaction => session::began(options).or(started),
            Moment::Statement => session::began_with_statement(options).or(started),
            Moment::Clock => None,
        };
        let digits = match args.as_slice() {
            [Expr::Literal(value, _)] => digits(Some(value)),
            _ => Modifier::None,
        };
        match moment {
            Some(micros) => {
                let value = value(self.kind, micros, digits, &SessionTime::of(options))?;
                Ok(ExprSimplifyResult::Simplified(Expr::Literal(value, None)))
            }
            None => Ok(ExprSimplifyResult::Original(args)),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let session = SessionTime::of(&args.config_options);
        let micros = match (self.moment, session::began(&args.config_options)) {
            (Moment::Clock, _) => session::clock(),
            (Moment::Transaction, Some(began)) => began,
            // When the statement began is known where it is planned.
            _ => return internal_err!("{} stands in no plan", self.name),
        };
        let digits = match args.args.as_slice() {
            [ColumnarValue::Scalar(value)] => digits(Some(value)),
            _ => Modifier::None,
        };
        value(self.kind, micros, digits, &session).map(ColumnarValue::Scalar)
    }
}
