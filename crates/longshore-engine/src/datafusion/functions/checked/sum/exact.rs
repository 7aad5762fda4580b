//! Sums in the type of their values, of which every step is checked: decimals of so many digits that they may overflow,
//! and intervals. The sum of decimals has 38 digits in the end; one that leaves 128 bits on the way is refused, even if it
//! would come back.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowNumericType, AsArray, BooleanArray, Decimal128Array, PrimitiveArray,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::{and, sum as arrow_sum};
use datafusion::arrow::datatypes::{DataType, Decimal128Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

use crate::datafusion::errors::external;
use crate::{Error, ErrorKind};

/// What is said of a sum that does not fit.
fn overflow(data_type: &DataType) -> DataFusionError {
    let what = match data_type {
        DataType::Decimal128(..) => "overflow: the sum needs more than the 38 digits that a decimal has",
        _ => "overflow: the sum is out of range for an interval",
    };
    external(Error::new(ErrorKind::OutOfRange, what))
}

/// The sum as it is given, if it fits.
fn checked<T: ArrowNumericType>(sums: PrimitiveArray<T>, data_type: &DataType) -> Result<PrimitiveArray<T>> {
    let sums = sums.with_data_type(data_type.clone());
    if let (DataType::Decimal128(precision, _), Some(sums)) = (data_type, sums.as_any().downcast_ref())
        && Decimal128Array::validate_decimal_precision(sums, *precision).is_err()
    {
        return Err(overflow(data_type));
    }
    Ok(sums)
}

/// How far sums can be from zero at most, as far as the bits of their values tell. While that is no more than 128 bits
/// hold, nothing needs to be checked: of ordinary decimals, nothing ever does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach(u128);

impl Reach {
    pub(super) fn new(data_type: &DataType) -> Self {
        Self(if matches!(data_type, DataType::Decimal128(..)) { 0 } else { u128::MAX })
    }

    /// Whether sums cannot overflow when `values` are added too.
    pub(super) fn admits(&mut self, values: &dyn Array) -> bool {
        let Some(decimals) = values.as_any().downcast_ref::<Decimal128Array>() else { return false };
        // The upper halves alone, which are quicker to go through: those of negative values are turned around.
        let upper = |value: &i128| {
            let upper = (value >> 64) as i64;
            upper ^ (upper >> 63)
        };
        let bits = decimals.values().iter().fold(0_i64, |bits, value| bits | upper(value));
        let bound = u128::from(bits.unsigned_abs() + 1) << 64;
        let sum = bound.saturating_mul(decimals.len() as u128);
        self.0 = self.0.saturating_add(sum);
        self.0 <= i128::MAX.unsigned_abs()
    }

    /// Whether every sum has few enough digits.
    pub(super) fn fits(self) -> bool {
        self.0 < 10_u128.pow(38)
    }
}

/// One sum; values may be taken away again.
pub(super) struct ExactSum<T: ArrowNumericType> {
    sum: T::Native,
    count: u64,
    data_type: DataType,
    reach: Reach,
}

impl<T: ArrowNumericType> ExactSum<T> {
    pub(super) fn new(data_type: DataType) -> Self {
        let reach = Reach::new(&data_type);
        Self { sum: T::Native::default(), count: 0, data_type, reach }
    }

    fn step(
        &mut self,
        values: &ArrayRef,
        step: impl Fn(T::Native, T::Native) -> std::result::Result<T::Native, ArrowError>,
    ) -> Result<u64> {
        let values = values.as_primitive::<T>();
        let sum = if self.reach.admits(values) {
            arrow_sum(values).map_or(Ok(self.sum), |sum| step(self.sum, sum))
        } else if values.null_count() == 0 {
            values.values().iter().try_fold(self.sum, |sum, value| step(sum, *value))
        } else {
            values.iter().flatten().try_fold(self.sum, step)
        };
        self.sum = sum.map_err(|_| overflow(&self.data_type))?;
        Ok((values.len() - values.null_count()) as u64)
    }
}

impl<T: ArrowNumericType> fmt::Debug for ExactSum<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExactSum").field("sum", &self.sum).field("count", &self.count).finish_non_exhaustive()
    }
}

impl<T: ArrowNumericType> Accumulator for ExactSum<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.count += self.step(&values[0], ArrowNativeTypeOp::add_checked)?;
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = PrimitiveArray::<T>::from_iter([(self.count > 0).then_some(self.sum)]);
        ScalarValue::try_from_array(&checked(sum, &self.data_type)?, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::new_primitive::<T>((self.count > 0).then_some(self.sum), &self.data_type)?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.count -= self.step(&values[0], ArrowNativeTypeOp::sub_checked)?;
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }
}

/// The sums of many groups.
pub(super) struct ExactGroups<T: ArrowNumericType> {
    sums: Vec<T::Native>,
    /// Which groups have a value; `None` while all have.
    seen: Option<Vec<bool>>,
    data_type: DataType,
}

impl<T: ArrowNumericType> ExactGroups<T> {
    pub(super) fn new(data_type: DataType) -> Self {
        Self { sums: Vec::new(), seen: None, data_type }
    }

    /// Goes on from sums that are there.
    fn from_sums(sums: &PrimitiveArray<T>, data_type: DataType) -> Self {
        let seen = sums.nulls().map(|nulls| nulls.iter().collect());
        Self { sums: sums.values().to_vec(), seen, data_type }
    }

    fn take(&mut self, emit_to: EmitTo) -> PrimitiveArray<T> {
        let sums = emit_to.take_needed(&mut self.sums);
        let seen = self.seen.as_mut().map(|seen| emit_to.take_needed(seen));
        PrimitiveArray::new(sums.into(), seen.map(NullBuffer::from))
    }
}

impl<T: ArrowNumericType> GroupsAccumulator for ExactGroups<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        groups: usize,
    ) -> Result<()> {
        let values = values[0].as_primitive::<T>();
        if self.seen.is_none() && (values.null_count() > 0 || filter.is_some()) {
            self.seen = Some(vec![true; self.sums.len()]);
        }
        self.sums.resize(groups, T::Native::default());
        if let Some(seen) = &mut self.seen {
            seen.resize(groups, false);
        }
        let sums = &mut self.sums;
        let mut add = |group: usize, value: T::Native| match sums[group].add_checked(value) {
            Ok(sum) => {
                sums[group] = sum;
                true
            }
            Err(_) => false,
        };
        let mut fits = true;
        match &mut self.seen {
            None => {
                for (group, value) in group_indices.iter().zip(values.values()) {
                    fits &= add(*group, *value);
                }
            }
            Some(seen) => {
                for (row, (group, value)) in group_indices.iter().zip(values.values()).enumerate() {
                    let is_wanted = filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
                    if is_wanted && values.is_valid(row) {
                        fits &= add(*group, *value);
                        seen[*group] = true;
                    }
                }
            }
        }
        if fits { Ok(()) } else { Err(overflow(&self.data_type)) }
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let sums = self.take(emit_to);
        Ok(Arc::new(checked(sums, &self.data_type)?))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![Arc::new(self.take(emit_to).with_data_type(self.data_type.clone()))])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], groups: usize) -> Result<()> {
        self.update_batch(values, group_indices, None, groups)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let values = values[0].as_primitive::<T>().clone().with_data_type(self.data_type.clone());
        let Some(filter) = filter else { return Ok(vec![Arc::new(values)]) };
        let valid = BooleanArray::new(filter.values().clone(), None);
        let wanted = match filter.nulls() {
            Some(nulls) => and(&valid, &BooleanArray::new(nulls.inner().clone(), None))?,
            None => valid,
        };
        let (_, buffer, nulls) = values.into_parts();
        let nulls = NullBuffer::union(nulls.as_ref(), Some(&NullBuffer::new(wanted.values().clone())));
        Ok(vec![Arc::new(PrimitiveArray::<T>::new(buffer, nulls).with_data_type(self.data_type.clone()))])
    }

    fn size(&self) -> usize {
        let seen = self.seen.as_ref().map_or(0, Vec::capacity);
        size_of::<Self>() + self.sums.capacity() * size_of::<T::Native>() + seen
    }
}

/// The sums of many groups of decimals: `DataFusion`'s own as long as none can overflow.
pub(super) struct DecimalGroups {
    /// `None` once sums may overflow.
    quick: Option<Box<dyn GroupsAccumulator>>,
    exact: ExactGroups<Decimal128Type>,
    reach: Reach,
    data_type: DataType,
}

impl DecimalGroups {
    pub(super) fn new(quick: Box<dyn GroupsAccumulator>, data_type: DataType) -> Self {
        let exact = ExactGroups::new(data_type.clone());
        Self { quick: Some(quick), exact, reach: Reach::new(&data_type), data_type }
    }
}

impl GroupsAccumulator for DecimalGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        groups: usize,
    ) -> Result<()> {
        if let Some(mut quick) = self.quick.take() {
            if self.reach.admits(values[0].as_ref()) {
                quick.update_batch(values, group_indices, filter, groups)?;
                self.quick = Some(quick);
                return Ok(());
            }
            if let Some(sums) = quick.state(EmitTo::All)?.first() {
                self.exact = ExactGroups::from_sums(sums.as_primitive(), self.data_type.clone());
            }
        }
        self.exact.update_batch(values, group_indices, filter, groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let Some(quick) = &mut self.quick else { return self.exact.evaluate(emit_to) };
        let sums = quick.evaluate(emit_to)?;
        if self.reach.fits() {
            return Ok(sums);
        }
        Ok(Arc::new(checked(sums.as_primitive::<Decimal128Type>().clone(), &self.data_type)?))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        match &mut self.quick {
            Some(quick) => quick.state(emit_to),
            None => self.exact.state(emit_to),
        }
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], groups: usize) -> Result<()> {
        self.update_batch(values, group_indices, None, groups)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.exact.convert_to_state(values, filter)
    }

    fn size(&self) -> usize {
        self.exact.size() + self.quick.as_ref().map_or(0, |quick| quick.size())
    }
}
