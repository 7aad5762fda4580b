//! `lag`, `lead` and `ntile` whose numbers are computed: `lag(v, offset, default)` with columns for them.
//!
//! `DataFusion` takes literals only.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int32Array, UInt64Array};
use datafusion::arrow::compute::{cast, interleave, take};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::type_coercion::binary::type_union_resolution;
use datafusion::logical_expr::{LimitEffect, PartitionEvaluator, Signature, Volatility, WindowUDF, WindowUDFImpl};
use datafusion::physical_expr::PhysicalExpr;

/// What stands behind the name of such a function.
pub(in crate::datafusion) const COMPUTED: &str = " (computed)";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Function {
    Lag,
    Lead,
    Ntile,
}

/// The function that a name of ours means.
pub(in crate::datafusion) fn named(name: &str) -> Option<Arc<WindowUDF>> {
    let function = match name.strip_suffix(COMPUTED)? {
        "lag" => Function::Lag,
        "lead" => Function::Lead,
        "ntile" => Function::Ntile,
        _ => return None,
    };
    let shifted =
        Shifted { name: name.to_owned(), function, signature: Signature::variadic_any(Volatility::Immutable) };
    Some(Arc::new(WindowUDF::new_from_impl(shifted)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Shifted {
    name: String,
    function: Function,
    signature: Signature,
}

impl WindowUDFImpl for Shifted {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn field(&self, arguments: WindowUDFFieldArgs) -> Result<FieldRef> {
        let types: Vec<DataType> = arguments.input_fields().iter().map(|field| field.data_type().clone()).collect();
        let data_type = match (self.function, types.as_slice()) {
            (Function::Ntile, [_]) => DataType::Int32,
            (Function::Lag | Function::Lead, [value, _]) => value.clone(),
            (Function::Lag | Function::Lead, [value, _, default]) => {
                let Some(common) = common(value, default) else {
                    return plan_err!("the value and the default of {} are of types that do not meet", self.name);
                };
                common
            }
            _ => return plan_err!("{} does not take so many arguments", self.name),
        };
        Ok(Arc::new(Field::new(arguments.name(), data_type, true)))
    }

    fn partition_evaluator(&self, arguments: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        let types: Vec<DataType> = arguments.input_fields().iter().map(|field| field.data_type().clone()).collect();
        let data_type = match types.as_slice() {
            [value, _, default] => common(value, default),
            [value, ..] => Some(value.clone()),
            [] => None,
        };
        Ok(Box::new(Evaluator { function: self.function, data_type: data_type.unwrap_or(DataType::Null) }))
    }

    fn limit_effect(&self, _arguments: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        LimitEffect::Unknown
    }
}

/// The type of values and defaults together. A literal without a type takes that of the values.
fn common(value: &DataType, default: &DataType) -> Option<DataType> {
    if *default == DataType::Utf8 || default == value {
        return Some(value.clone());
    }
    type_union_resolution(&[value.clone(), default.clone()])
}

#[derive(Debug)]
struct Evaluator {
    function: Function,
    /// The type of values and defaults.
    data_type: DataType,
}

impl PartitionEvaluator for Evaluator {
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        match (self.function, values) {
            (Function::Ntile, [buckets]) => ntile(buckets, rows),
            (_, [value, offset]) => {
                let places: UInt64Array = self.places(offset, rows)?.into_iter().map(Place::row).collect();
                Ok(take(value, &places, None)?)
            }
            (_, [value, offset, default]) => {
                let (value, default) = (cast(value, &self.data_type)?, cast(default, &self.data_type)?);
                let nothing = datafusion::arrow::array::new_null_array(&self.data_type, 1);
                let places = self.places(offset, rows)?.into_iter().enumerate();
                let places = places.map(|(row, place)| match place {
                    Place::Row(row) => (0, row as usize),
                    Place::Outside => (1, row),
                    Place::Unknown => (2, 0),
                });
                let arrays: [&dyn Array; 3] = [value.as_ref(), default.as_ref(), nothing.as_ref()];
                Ok(interleave(&arrays, &places.collect::<Vec<_>>())?)
            }
            _ => exec_err!("a window function with other arguments than were planned"),
        }
    }
}

/// Where a row looks.
enum Place {
    Row(u64),
    Outside,
    /// The offset is NULL.
    Unknown,
}

impl Place {
    fn row(self) -> Option<u64> {
        match self {
            Self::Row(row) => Some(row),
            Self::Outside | Self::Unknown => None,
        }
    }
}

impl Evaluator {
    fn places(&self, offsets: &ArrayRef, rows: usize) -> Result<Vec<Place>> {
        let offsets = cast(offsets, &DataType::Int64)?;
        let offsets = offsets.as_primitive::<Int64Type>();
        let forward = self.function == Function::Lead;
        Ok((0..rows)
            .map(|row| {
                if offsets.is_null(row) {
                    return Place::Unknown;
                }
                let offset = offsets.value(row);
                let place = if forward { (row as i64).checked_add(offset) } else { (row as i64).checked_sub(offset) };
                match place.and_then(|place| u64::try_from(place).ok()).filter(|place| *place < rows as u64) {
                    Some(place) => Place::Row(place),
                    None => Place::Outside,
                }
            })
            .collect())
    }
}

/// The rows dealt out to as many buckets as the first row says, the first ones of which have one row more.
fn ntile(buckets: &ArrayRef, rows: usize) -> Result<ArrayRef> {
    let buckets = cast(buckets, &DataType::Int64)?;
    let buckets = buckets.as_primitive::<Int64Type>();
    if rows == 0 || buckets.is_null(0) {
        return Ok(Arc::new(Int32Array::new_null(rows)));
    }
    let Ok(count @ 1..) = usize::try_from(buckets.value(0)) else {
        return exec_err!("argument of ntile must be greater than zero");
    };
    let (size, larger) = (rows / count, rows % count);
    let bucket = |row: usize| {
        let in_larger = larger * (size + 1);
        if row < in_larger { row / (size + 1) } else { larger + (row - in_larger) / size.max(1) }
    };
    Ok(Arc::new((0..rows).map(|row| Some(bucket(row) as i32 + 1)).collect::<Int32Array>()))
}
