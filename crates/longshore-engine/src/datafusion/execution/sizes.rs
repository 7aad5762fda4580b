//! Functions that make much of little: what they would need is known before they allocate it, and refused.
//!
//! `repeat('a', 2000000000)` is a short statement. `DataFusion`'s functions allocate whatever they are asked for, and an
//! allocation that the system refuses ends the process. So the functions whose results can be far larger than what they
//! are given stand behind a [`Bounded`] one, which computes how large its results will be ([`estimate`]). One value may
//! have [`VALUE_BYTES_MAX`]; the results for one batch must fit into the memory that the limit leaves, or that the
//! machine has. While a statement is planned, only small constants are computed: planning cannot be cancelled. Not here:
//! functions whose results grow as the sum of what they are given.

mod estimate;
mod planning;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_datafusion_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    StructFieldMapping,
};

use super::memory::machine_bytes_left;
use crate::datafusion::errors::external;
use crate::datafusion::functions::equality::constant;
use crate::{Error, ErrorKind};
use estimate::{Estimate, Sizes};
pub(in crate::datafusion) use planning::{Planning, while_planning};

/// Bytes that a value may have at most, as in PostgreSQL.
const VALUE_BYTES_MAX: usize = 1 << 30;
/// Results up to this size are made without a look at the memory.
const SMALL_BYTES: usize = 1 << 20;
/// Constants up to this size are computed while a statement is planned.
const PLANNED_BYTES_MAX: usize = 64 << 10;
/// Offsets into the texts or lists of one array have 32 bits.
const ARRAY_UNITS_MAX: usize = i32::MAX as usize;

/// Puts [`Bounded`] functions in the place of those that can make much of little.
pub(in crate::datafusion) fn bound(state: &mut SessionState) -> Result<()> {
    let pool = Arc::clone(&state.runtime_env().memory_pool);
    for (name, estimate) in estimate::FUNCTIONS {
        let inner = state.udf(name)?;
        let bounded = Bounded { inner, estimate, pool: Arc::clone(&pool) };
        state.register_udf(Arc::new(ScalarUDF::new_from_impl(bounded)))?;
    }
    Ok(())
}

/// A function that is not called for results which are too large.
#[derive(Debug)]
struct Bounded {
    inner: Arc<ScalarUDF>,
    estimate: Estimate,
    pool: Arc<dyn MemoryPool>,
}

impl PartialEq for Bounded {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl Eq for Bounded {}

impl Hash for Bounded {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl Bounded {
    /// Refuses results of these `sizes`, or holds the memory for them.
    fn admit(&self, sizes: Sizes, returned: &DataType, rows: usize) -> Result<Option<MemoryReservation>> {
        let name = self.name();
        if sizes.largest > VALUE_BYTES_MAX {
            return Err(external(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "{name}() would make a value of {} bytes, and a value may have {VALUE_BYTES_MAX}",
                    sizes.largest
                ),
            )));
        }
        if sizes.total > PLANNED_BYTES_MAX && while_planning() {
            // The expression stays as it is, and is evaluated when the statement runs.
            return Err(exec_datafusion_err!("{name}() is not computed while a statement is planned"));
        }
        if sizes.total <= SMALL_BYTES {
            return Ok(None);
        }
        let has_short_offsets =
            matches!(returned, DataType::Utf8 | DataType::Binary | DataType::List(_) | DataType::Map(..));
        if has_short_offsets && sizes.units > ARRAY_UNITS_MAX {
            return Err(self.too_much(sizes.total, rows, "more than one batch of rows can hold"));
        }
        if matches!(self.pool.memory_limit(), MemoryLimit::Infinite)
            && machine_bytes_left().is_some_and(|left| sizes.total > left)
        {
            return Err(self.too_much(sizes.total, rows, "more than the machine has left"));
        }
        let reservation = MemoryConsumer::new(format!("{name}()")).register(&self.pool);
        reservation.try_grow(sizes.total)?;
        Ok(Some(reservation))
    }

    fn too_much(&self, bytes: usize, rows: usize, why: &str) -> DataFusionError {
        external(Error::new(
            ErrorKind::Memory,
            format!(
                "{}() would make {bytes} bytes for {rows} rows at once, {why}; ask for shorter results",
                self.name()
            ),
        ))
    }
}

/// Whether `expr` calls a function whose result is too large to be computed while a statement is planned, or may be.
pub(in crate::datafusion) fn is_computed_later(expr: &Expr) -> bool {
    let Expr::ScalarFunction(call) = expr else { return false };
    let Some(bounded) = call.func.inner().downcast_ref::<Bounded>() else { return false };
    let args: Option<Vec<_>> = call.args.iter().map(|arg| constant(arg).map(ColumnarValue::Scalar)).collect();
    args.is_none_or(|args| (bounded.estimate)(&args, 1).is_ok_and(|sizes| sizes.total > PLANNED_BYTES_MAX))
}

impl ScalarUDFImpl for Bounded {
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows =
            if args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_))) { 1 } else { args.number_rows };
        let sizes = (self.estimate)(&args.args, rows)?;
        let _held = self.admit(sizes, args.return_field.data_type(), rows)?;
        self.inner.invoke_with_args(args)
    }

    fn name(&self) -> &str {
        self.inner.inner().name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.inner().aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.inner().schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.inner.inner().signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.inner().return_type(arg_types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.inner.inner().return_field_from_args(args)
    }

    fn is_strict(&self) -> bool {
        self.inner.inner().is_strict()
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner.inner().simplify(args, info)
    }

    fn preimage(&self, args: &[Expr], literal: &Expr, info: &SimplifyContext) -> Result<PreimageResult> {
        self.inner.inner().preimage(args, literal, info)
    }

    fn short_circuits(&self) -> bool {
        self.inner.inner().short_circuits()
    }

    fn conditional_arguments<'a>(&self, args: &'a [Expr]) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.inner.inner().conditional_arguments(args)
    }

    fn evaluate_bounds(&self, inputs: &[&Interval]) -> Result<Interval> {
        self.inner.inner().evaluate_bounds(inputs)
    }

    fn propagate_constraints(&self, interval: &Interval, inputs: &[&Interval]) -> Result<Option<Vec<Interval>>> {
        self.inner.inner().propagate_constraints(interval, inputs)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.inner().output_ordering(inputs)
    }

    fn preserves_lex_ordering(&self, inputs: &[ExprProperties]) -> Result<bool> {
        self.inner.inner().preserves_lex_ordering(inputs)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.inner().coerce_types(arg_types)
    }

    fn struct_field_mapping(&self, literals: &[Option<ScalarValue>]) -> Option<StructFieldMapping> {
        self.inner.inner().struct_field_mapping(literals)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.inner().documentation()
    }
}
