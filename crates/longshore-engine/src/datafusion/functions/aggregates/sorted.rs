//! Values that are kept to be sorted.

use std::cmp::Ordering;
use std::ops::Range;

use datafusion::arrow::array::UInt64Array;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, make_comparator, new_empty_array};
use datafusion::arrow::compute::{SortOptions, concat, filter, is_not_null, partition, sort, sort_to_indices, take};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;

use crate::datafusion::functions::keys::keys;

/// What values are sorted by: their keys if they have such, and the bytes of types that are kept as bytes in their order.
pub(super) fn sort_keys(values: &ArrayRef) -> Result<ArrayRef> {
    let keys = keys(values)?;
    Ok(match keys.as_struct_opt() {
        Some(wrapped) if wrapped.num_columns() == 1 => ArrayRef::clone(wrapped.column(0)),
        _ => keys,
    })
}

/// The ranges of sorted values in which all are equal.
pub(super) fn equal_ranges(values: &ArrayRef) -> Result<Vec<Range<usize>>> {
    Ok(partition(&[sort_keys(values)?])?.ranges())
}

/// Values of a group, without NULL.
#[derive(Debug)]
pub(super) struct Sorted {
    data_type: DataType,
    options: SortOptions,
    is_distinct: bool,
    parts: Vec<ArrayRef>,
    /// How many NULLs were left out.
    pub(super) nulls: usize,
}

impl Sorted {
    pub(super) fn new(data_type: DataType, options: SortOptions, is_distinct: bool) -> Self {
        Self { data_type, options, is_distinct, parts: Vec::new(), nulls: 0 }
    }

    pub(super) fn add(&mut self, values: &ArrayRef) -> Result<()> {
        if self.data_type.is_null() {
            self.nulls += values.len();
            return Ok(());
        }
        self.nulls += values.null_count();
        let values =
            if values.null_count() > 0 { filter(values, &is_not_null(values)?)? } else { ArrayRef::clone(values) };
        if !values.is_empty() {
            self.parts.push(values);
        }
        Ok(())
    }

    /// All values as one array.
    pub(super) fn unsorted(&mut self) -> Result<ArrayRef> {
        if self.parts.len() != 1 {
            let parts: Vec<&dyn Array> = self.parts.iter().map(AsRef::as_ref).collect();
            let whole = if parts.is_empty() { new_empty_array(&self.data_type) } else { concat(&parts)? };
            self.parts = vec![whole];
        }
        Ok(ArrayRef::clone(&self.parts[0]))
    }

    pub(super) fn sorted(&mut self) -> Result<ArrayRef> {
        let values = self.unsorted()?;
        let values = take(&values, &sort_to_indices(&sort_keys(&values)?, Some(self.options), None)?, None)?;
        if !self.is_distinct || values.is_empty() {
            return Ok(values);
        }
        let first: UInt64Array = equal_ranges(&values)?.into_iter().map(|range| range.start as u64).collect();
        Ok(take(&values, &first, None)?)
    }

    /// How many NULLs stand before all values.
    pub(super) fn nulls_before(&self) -> usize {
        if self.options.nulls_first { self.nulls } else { 0 }
    }

    /// How each of `values` stands to the one value in `wanted`, in the order.
    pub(super) fn places(&self, values: &ArrayRef, wanted: &ArrayRef) -> Result<Vec<Ordering>> {
        let compare = make_comparator(&sort_keys(values)?, &sort_keys(wanted)?, self.options)?;
        Ok((0..values.len()).map(|at| compare(at, 0)).collect())
    }

    /// How many different ones of `values` stand before another one, to which they stand as `places` say.
    pub(super) fn distinct_before(&self, values: &ArrayRef, places: &[Ordering]) -> Result<usize> {
        let before: UInt64Array =
            places.iter().enumerate().filter(|(_, place)| **place == Ordering::Less).map(|(at, _)| at as u64).collect();
        if before.is_empty() {
            return Ok(0);
        }
        let before = sort(&sort_keys(&take(values, &before, None)?)?, Some(self.options))?;
        Ok(partition(&[before])?.len())
    }

    pub(super) fn bytes(&self) -> usize {
        self.parts.iter().map(Array::get_array_memory_size).sum()
    }
}
