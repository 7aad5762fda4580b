//! Columns that are decoded together: those of a relation, of a query, of a filter or of a check.
//!
//! Not here: decoding them (the module above).

use std::sync::Arc;

use longshore_csv::Rows;
use longshore_storage::{Arena, PartitionBuffer, Schema};

use super::{DecodeError, FieldPlan};

/// Columns that are decoded together.
pub(crate) struct Output {
    /// These columns alone.
    pub(crate) schema: Arc<Schema>,
    /// Their places in the whole schema.
    pub(crate) columns: Vec<usize>,
}

impl Output {
    /// Some columns of `schema`.
    pub(crate) fn of(schema: &Schema, columns: &[usize]) -> Self {
        let selected = columns.iter().map(|&column| schema.columns()[column].clone()).collect();
        Self { schema: Arc::new(Schema::new(selected)), columns: columns.to_vec() }
    }

    /// Room for `rows`.
    pub(crate) fn buffer(
        &self,
        plan: &FieldPlan,
        rows: Rows<'_>,
        arena: &mut Arena,
    ) -> Result<PartitionBuffer, DecodeError> {
        PartitionBuffer::with_capacity(&self.schema, rows.count(), plan.heap_bytes(&rows), arena)
            .map(PartitionBuffer::without_bounds)
            .map_err(|error| DecodeError::Other(error.into()))
    }
}
