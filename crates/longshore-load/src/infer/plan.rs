//! How the fields of a file are decoded by a guess.
//!
//! Not here: the guess (`guess`), reading by it (`read`).

use std::sync::Arc;

use longshore_csv::Kernel;
use longshore_csv::decode::{Advice, Reason};
use longshore_storage::{Column, Schema};

use super::Keep;
use super::guess::{Guess, Look};
use crate::error::{LoadError, RejectedColumn};
use crate::fields::{FieldPlan, Output};
use crate::files::OpenFile;
use crate::options::TextOptions;

/// How the fields of a file are decoded by a guess.
pub(super) struct Plan {
    pub(super) file: Arc<OpenFile>,
    pub(super) guess: Arc<Guess>,
    pub(super) fields: FieldPlan,
    pub(super) schema: Arc<Schema>,
    pub(super) looks: Vec<Look>,
    /// The field of each column; `None` where the file has none.
    pub(super) positions: Vec<Option<usize>>,
}

impl Plan {
    /// Plans to read `file` by `guess`; `kernel` scans it.
    ///
    /// # Errors
    /// When `options` do not fit the types of the guess.
    pub(super) fn new(
        file: &Arc<OpenFile>,
        guess: Arc<Guess>,
        keep: Keep,
        options: &TextOptions,
        kernel: Kernel,
    ) -> Result<Self, LoadError> {
        let all = guess.schema.columns();
        let looks: Vec<Look> = (0..guess.len()).map(|column| guess.column(column).look(false)).collect();
        let columns: Vec<usize> = match keep {
            Keep::Rows | Keep::Checks => (0..all.len()).collect(),
            Keep::Types => (0..looks.len()).filter(|column| looks[*column] == Look::Verify).collect(),
        };
        let schema = Arc::new(Schema::new(columns.iter().map(|column| all[*column].clone()).collect()));
        let output = Output { schema: Arc::clone(&schema), columns };
        let options = guess.options(options);
        let fields = FieldPlan::new(&file.name, &output, &file.input, &options, kernel)?;
        let mut positions = vec![None; guess.len()];
        for (position, target) in file.input.fields.iter().enumerate() {
            if let Some(slot) = target.as_ref().and_then(|target| positions.get_mut(target.column)) {
                *slot = Some(position);
            }
        }
        Ok(Self { file: Arc::clone(file), guess, fields, schema, looks, positions })
    }

    /// The field of a column; `None` where the file has none.
    pub(super) fn position(&self, column: usize) -> Option<usize> {
        self.positions[column]
    }

    /// Whether the type of a column is given.
    pub(super) fn is_fixed(&self, column: usize) -> bool {
        self.guess.column(column).is_fixed()
    }

    /// The columns of the file.
    pub(super) fn columns(&self) -> &[Column] {
        &self.guess.schema.columns()[..self.guess.len()]
    }

    /// The name of a column.
    pub(super) fn name(&self, column: usize) -> &str {
        &self.guess.schema.columns()[column].name
    }

    /// The column that a field which was decoded goes to.
    pub(super) fn column(&self, position: usize) -> usize {
        self.file.input.fields[position].as_ref().expect("the plan read the field").column
    }

    /// Whether a value that cannot be decoded tells that a column is something else.
    pub(super) fn may_widen(&self, column: usize) -> bool {
        self.guess.column(column).may_widen() && self.looks[column] != Look::Decode
    }

    /// Which column a field belongs to, and what is wrong with its text. (The file was opened with the first guess.)
    pub(super) fn explain(&self, position: usize, raw: &[u8], reason: Reason) -> (RejectedColumn, Advice) {
        let advice = self.fields.advice(position, raw, reason).expect("the plan read the field");
        (RejectedColumn::of(&self.guess.schema.columns()[self.column(position)]), advice)
    }
}
