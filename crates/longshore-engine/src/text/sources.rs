//! Where the texts of a statement come from, and what can be told of them before they are read.

use std::io::Read;
use std::sync::Arc;

use longshore_load::{Cancellation, Control, Source, TextOptions};
use longshore_source::FoundFile;
use longshore_storage::Column;

use super::column_mapping::ColumnMapping;
use super::files::{self, ComputedColumn};
use super::input::{TextInput, is_read_again};
use crate::Error;
use crate::sql::options::Options;

/// Bytes of a text that tell how its records stand.
const HEAD_BYTES: usize = 256 << 10;

/// Where the texts of one table come from.
pub(crate) enum TextSources {
    /// Files, in this order.
    Files(Vec<FoundFile>),
    /// What can be read once, and its name.
    Reader(String, Box<dyn Read + Send>),
    /// What can be read once, and was opened to look at its head: its name, and the file if it is one.
    Opened(String, Option<FoundFile>, Box<Source>),
}

impl TextSources {
    /// As messages name them.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Files(files) => files.first().map_or_else(String::new, |file| file.location.to_string()),
            Self::Reader(name, _) | Self::Opened(name, ..) => name.clone(),
        }
    }

    /// The columns that the options ask for beside those of the texts.
    pub(crate) fn further_columns(&self, options: &Options) -> Result<Vec<(Column, ComputedColumn)>, Error> {
        let files: &[FoundFile] = match self {
            Self::Files(files) => files,
            Self::Opened(_, file, _) => file.as_slice(),
            Self::Reader(..) => &[],
        };
        files::further_columns(files, &options.source, &options.types)
    }

    /// How to read texts whose fields go to the columns `mapping`, where nothing is to be found out.
    pub(super) fn plan_as_said(
        mut self,
        options: &Options,
        mapping: &ColumnMapping<'_>,
        control: &Control,
    ) -> Result<(Vec<TextInput>, TextOptions), Error> {
        let names: Vec<&str> = mapping.columns.iter().map(|column| column.name.as_str()).collect();
        let plan = options.text(&names, || self.head(options, control))?;
        let fields: Vec<_> =
            plan.fields.iter().map(|field| field.map(|field| mapping.target(options, field))).collect();
        let names = options.field_names(mapping.targets(options), mapping.others()).map(Arc::new);
        let mut inputs = self.inputs(options, mapping.computed);
        for input in &mut inputs {
            input.fields.clone_from(&fields);
            input.names.clone_from(&names);
        }
        Ok((inputs, plan.options))
    }

    /// The texts, the fields of which are not known yet; `further` are what goes into the columns behind them.
    pub(crate) fn all_inputs(self, options: &Options, further: &[(Column, ComputedColumn)]) -> Vec<TextInput> {
        let computed: Vec<_> = further.iter().map(|(_, computed_column)| computed_column.clone()).enumerate().collect();
        self.inputs(options, &computed)
    }

    pub(super) fn inputs(self, options: &Options, computed: &[(usize, ComputedColumn)]) -> Vec<TextInput> {
        let open = &options.source.open;
        let mut inputs: Vec<TextInput> = match self {
            Self::Files(files) => files.iter().map(|file| TextInput::of_file(file, open)).collect(),
            Self::Reader(name, reader) => vec![TextInput::of_reader(&name, reader, open)],
            Self::Opened(name, file, source) => vec![TextInput::of_source(&name, file, *source)],
        };
        for input in &mut inputs {
            input.fill(computed);
        }
        inputs
    }

    /// The head of the first text, whether it is all of it, and the texts as they were.
    pub(super) fn with_head(self, options: &Options, control: &Control) -> Result<(Vec<u8>, bool, Self), Error> {
        let open = &options.source.open;
        let (name, file, source) = match self {
            Self::Reader(name, reader) => {
                let source = longshore_source::open_reader(&name, reader, None, open)?;
                (name, None, source)
            }
            Self::Opened(name, file, source) => (name, file, *source),
            Self::Files(files) => {
                let Some(first) = first_of(&files).cloned() else { return Ok((Vec::new(), true, Self::Files(files))) };
                if is_read_again(&first) {
                    let source = longshore_source::open(&first.location, open)?;
                    let (head, at_end, _) = source.with_head(HEAD_BYTES, control.cancellation())?;
                    return Ok((head, at_end, Self::Files(files)));
                }
                if files.len() > 1 {
                    return Err(Error::unsupported(format!(
                        "{} can be read only once, and must be looked at first; load it alone, or say what it is without AUTO",
                        first.location
                    )));
                }
                let source = longshore_source::open(&first.location, open)?;
                (first.location.to_string(), Some(first), source)
            }
        };
        let (head, at_end, source) = source.with_head(HEAD_BYTES, control.cancellation())?;
        Ok((head, at_end, Self::Opened(name, file, Box::new(source))))
    }

    /// Refuses several files if one cannot be read twice.
    pub(crate) fn check_read_again(&self) -> Result<(), Error> {
        match self {
            Self::Files(files) if files.len() > 1 => match files.iter().find(|file| !is_read_again(file)) {
                Some(file) => Err(Error::unsupported(format!(
                    "{} can be read only once, and UNION_BY_NAME must look at every file first; save it to a file",
                    file.location
                ))),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// The head of the first text; nothing of one of several files that can be read only once. What can be read only
    /// once is open then.
    pub(crate) fn head(&mut self, options: &Options, control: &Control) -> Result<Vec<u8>, Error> {
        let several_once = match self {
            Self::Files(files) => files.len() > 1 && first_of(files).is_some_and(|first| !is_read_again(first)),
            Self::Reader(..) | Self::Opened(..) => false,
        };
        if several_once {
            return Ok(Vec::new());
        }
        let (head, _, texts) = std::mem::replace(self, Self::Files(Vec::new())).with_head(options, control)?;
        *self = texts;
        Ok(head)
    }

    /// The head of the first text, opened for it alone; nothing of what can be read only once.
    pub(super) fn head_again(&self, options: &Options) -> Result<Vec<u8>, Error> {
        let first = match self {
            Self::Files(files) => first_of(files).filter(|first| is_read_again(first)),
            Self::Reader(..) | Self::Opened(..) => None,
        };
        let Some(first) = first else { return Ok(Vec::new()) };
        let source = longshore_source::open(&first.location, &options.source.open)?;
        Ok(source.with_head(HEAD_BYTES, &Cancellation::default())?.0)
    }
}

/// The first of `files` that is not empty, as far as that is known before they are opened.
fn first_of(files: &[FoundFile]) -> Option<&FoundFile> {
    files.iter().find(|file| file.bytes != Some(0)).or(files.first())
}
