//! The rows of an append that is complete, and how they become part of a transaction.

use std::sync::Arc;

use crate::chunk::Chunk;
use crate::chunk::hot::HotChunk;
use crate::error::TransactionError;
use crate::relation::Relation;
use crate::table::IncrementalIndexBuild;
use crate::transaction::{Failure, Transaction};

/// The rows of an append that is complete.
pub(super) struct Ready {
    pub(super) rows: u64,
    pub(super) form: Form,
}

pub(super) enum Form {
    /// To be put behind others.
    Few(Vec<Arc<Chunk>>),
    /// To be slots; with what was indexed of them.
    Slots(Vec<HotChunk>, Option<(IncrementalIndexBuild, Vec<u32>)>),
}

impl Ready {
    /// All rows of chunks.
    pub(super) fn of_chunks(chunks: &[Arc<Chunk>]) -> Ready {
        let rows = chunks.iter().map(|chunk| chunk.rows() as u64).sum();
        let slots = chunks.iter().map(|chunk| HotChunk::of_chunk(Arc::clone(chunk))).collect();
        Ready { rows, form: Form::Slots(slots, None) }
    }

    /// The rows as they are.
    pub(super) fn chunks(&mut self) -> Vec<Arc<Chunk>> {
        match &mut self.form {
            Form::Few(chunks) => chunks.clone(),
            Form::Slots(slots, _) => slots.iter_mut().map(HotChunk::chunk).collect(),
        }
    }

    /// Whether the rows are to be put behind others.
    pub(super) fn is_few(&self) -> bool {
        matches!(self.form, Form::Few(_))
    }

    /// Whether two rows are known to have the same key, which must be unique.
    pub(super) fn has_duplicates(&self) -> bool {
        matches!(&self.form, Form::Slots(_, Some((index_build, _))) if index_build.has_duplicates())
    }

    /// Makes all rows part of a transaction, or none.
    pub(super) fn append_to(
        self,
        relation: &Relation,
        transaction: &mut Transaction,
        failure: Failure,
    ) -> Result<(), TransactionError> {
        match self.form {
            Form::Few(chunks) => {
                let appended = transaction.append_rows(relation, &chunks, failure);
                if !matches!(appended, Err(TransactionError::OutOfMemory(_))) {
                    return appended;
                }
                // Short of memory, the chunks as they are will do.
                let slots = chunks.into_iter().map(HotChunk::of_chunk).collect();
                transaction.append_slots(relation, slots, None, failure)
            }
            Form::Slots(slots, index_build) => transaction.append_slots(relation, slots, index_build, failure),
        }
    }
}
