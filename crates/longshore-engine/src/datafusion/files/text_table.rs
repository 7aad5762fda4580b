//! Text as a table of one statement. Not here: where its columns come from (the module above), its scan (`text_source`).

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use longshore_load::{TextOptions, Tuning};
use longshore_storage::{Memory, Schema};

use crate::text::TextInput;

/// Text as a table of one statement.
#[derive(Clone)]
pub(crate) struct TextTable {
    /// As the user named it.
    pub(crate) name: String,
    pub(crate) inputs: Vec<TextInput>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) arrow: SchemaRef,
    pub(crate) options: TextOptions,
    pub(crate) tuning: Tuning,
    pub(crate) memory: Arc<Memory>,
    /// Whether every value of every row is checked, also of rows that a predicate leaves out.
    pub(crate) checks_all: bool,
}

impl TextTable {
    /// `inputs`, whose fields go to the columns of `schema`. Only what a query reads of it is checked.
    pub(crate) fn new(
        name: String,
        inputs: Vec<TextInput>,
        schema: Arc<Schema>,
        options: TextOptions,
        tuning: Tuning,
        memory: &Arc<Memory>,
    ) -> Self {
        let (arrow, memory) = (schema.arrow(), Arc::clone(memory));
        Self { name, inputs, schema, arrow, options, tuning, memory, checks_all: false }
    }

    /// Bytes of all texts, where they are known.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.inputs.iter().map(|input| input.bytes).sum()
    }
}

impl fmt::Debug for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextTable").field("name", &self.name).finish_non_exhaustive()
    }
}
