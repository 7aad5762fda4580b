//! What a text is whose columns nobody gave: dialect, header, names and types.
//!
//! Types hold for every value of every file. Not here: detection itself (`longshore-format::sniff`,
//! `longshore_load::infer`).

use std::sync::Arc;

use longshore_format::sniff::Sniffed;
use longshore_load::{
    Control, FieldTarget, InferRequest, InferredColumn, LoadError, OtherFields, TextOptions, Tuning, infer,
};
use longshore_storage::{Column, ColumnType, Memory, Schema, Storage};

use super::files::ComputedColumn;
use super::given::sniffing;
use super::input::TextInput;
use super::rejects::FileRejects;
use super::sources::TextSources;
use super::{explain, notices};
use crate::Error;
use crate::sql::options::{Format, Options};

/// A text, and how to read it.
pub(crate) struct FoundText {
    pub(crate) inputs: Vec<TextInput>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) options: TextOptions,
    /// The columns of the text, and why they are what they are.
    pub(crate) columns: Vec<InferredColumn>,
    /// What was found of its language.
    pub(crate) sniffed: Sniffed,
}

/// What inference works with.
pub(crate) struct Finder<'a> {
    pub(crate) options: &'a Options,
    pub(crate) types: &'a [(String, ColumnType)],
    pub(crate) tuning: Tuning,
    pub(crate) memory: &'a Arc<Memory>,
    pub(crate) control: &'a Control,
    /// What becomes of records that cannot be taken, where the statement says it.
    pub(crate) rejects: Option<&'a FileRejects>,
    /// How rows are kept, if they are loaded.
    pub(crate) storage: Storage,
}

impl Finder<'_> {
    /// Finds out what `texts` are, which are read from front to back for it. Where they cannot be read by what was found
    /// of their dialect, that goes to `told`.
    pub(crate) fn find_or_tell(&self, mut texts: TextSources, told: &mut Option<Sniffed>) -> Result<FoundText, Error> {
        let head = texts.head(self.options, self.control)?;
        let name = texts.name();
        let further = texts.further_columns(self.options)?;
        let request = self.request(&head, &further)?;
        if request.by_name {
            texts.check_read_again()?;
        }
        let inputs: Vec<TextInput> =
            texts.all_inputs(self.options, &further).into_iter().map(TextInput::kept).collect();
        let files = inputs.iter().map(TextInput::file).collect();
        let found = infer(files, &request, self.control);
        let found = found.map_err(|error| {
            *told = request.last_found();
            Self::explained(error, &inputs, &head, &request)
        })?;
        notices::tell(&found, &name, self.control);
        let names: Vec<&str> = found.schema.columns().iter().map(|column| column.name.as_str()).collect();
        self.options.check_found(&name, &names)?;
        let count = found.columns.len();
        let targets = found.columns.iter().enumerate();
        let target = |index, name: &str| {
            let default = self.options.default_of(name).map(str::to_owned);
            FieldTarget { default, ..FieldTarget::new(index) }
        };
        let targets: Vec<_> =
            targets.map(|(index, column)| (column.name.clone(), target(index, &column.name))).collect();
        let fields: Vec<_> = targets.iter().map(|(_, target)| Some(target.clone())).collect();
        let has_header = request.by_name && !found.sniffed.family.value.names_fields();
        let names = has_header.then(|| Arc::new(self.options.names_in_header(targets, OtherFields::Refuse)));
        let inputs = inputs.into_iter().enumerate().map(|(number, mut input)| {
            let footer = found.footers.iter().find(|footer| footer.number == number);
            input.text_end = footer.map(|footer| footer.byte);
            input.fields.clone_from(&fields);
            input.names.clone_from(&names);
            input.move_computed(count);
            input
        });
        Ok(FoundText {
            inputs: inputs.collect(),
            schema: found.schema,
            options: found.options,
            columns: found.columns,
            sniffed: found.sniffed,
        })
    }

    /// What inference is asked for.
    pub(crate) fn request(&self, head: &[u8], further: &[(Column, ComputedColumn)]) -> Result<InferRequest, Error> {
        let given = sniffing(self.options, head)?;
        if self.options.format == Some(Format::Pattern) && given.rules.pattern.is_none() {
            // Says what is missing.
            self.options.text(&[], || Ok(Vec::new()))?;
        }
        let mut options = self.options.text_without_language(self.types);
        if let Some(rejects) = self.rejects {
            options.on_error = rejects.on_error.clone();
            options.reject_limit = rejects.limit;
        }
        let of_folder = |name: &str| {
            further
                .iter()
                .any(|(column, computed)| column.name == name && matches!(computed, ComputedColumn::Partition(_)))
        };
        Ok(InferRequest {
            given,
            types: self.types.iter().filter(|(name, _)| !of_folder(name)).cloned().collect(),
            spelled: self.options.spelled().to_vec(),
            defaults: self.options.defaults().map(|(name, text)| (name.to_owned(), text.to_owned())).collect(),
            extra: further.iter().map(|(column, _)| column.clone()).collect(),
            by_name: self.options.union_by_name,
            repairs: !self.options.strict,
            options,
            tuning: self.tuning.clone(),
            memory: Arc::clone(self.memory),
            storage: self.storage,
            found: Arc::default(),
        })
    }

    /// Says what was taken for what: the error may be of a dialect that is not the file's.
    pub(crate) fn explained(error: LoadError, inputs: &[TextInput], head: &[u8], request: &InferRequest) -> Error {
        let error = explain::of_inputs(error, inputs);
        match request.last_found() {
            Some(found) => explain::with_found(error, &found),
            None => explain::explained(error, head, &request.given),
        }
    }
}
