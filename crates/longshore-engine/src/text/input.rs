//! One text of a statement: how it is opened, and where its fields go.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use longshore_load::{ComputedValue, FieldNames, FieldTarget, InputFile, KeptText, Source, SourceError};
use longshore_source::{FoundFile, Location, OpenOptions};

use super::files::{self, ComputedColumn};

/// Opens a text anew for every pass over it.
type Open = Arc<dyn Fn() -> Result<Source, SourceError> + Send + Sync>;

/// One text of a table: what [`InputFile`] is for one pass.
#[derive(Clone)]
pub(crate) struct TextInput {
    /// As the user named it.
    pub(crate) name: String,
    open: Open,
    /// Its length, where that is known.
    pub(crate) bytes: Option<u64>,
    /// Whether it cannot be opened a second time.
    reads_once: bool,
    /// Whether it can be because its text is kept.
    is_kept: bool,
    /// Where it ends for whoever reads it, if a footer follows.
    pub(super) text_end: Option<u64>,
    /// Where its first record begins for whoever reads it, if it was read up to there before.
    pub(crate) text_start: Option<u64>,
    /// What becomes of each field.
    pub(crate) fields: Vec<Option<FieldTarget>>,
    /// How the header decides that.
    pub(super) names: Option<Arc<FieldNames>>,
    /// What goes into columns that no field goes to.
    pub(crate) computed: Vec<(usize, ComputedValue)>,
    /// What its folders say.
    partitions: Vec<(String, Option<String>)>,
    /// Columns that have one value in all of it, which is known before it is opened; `None` is NULL.
    pub(crate) known: Vec<(usize, Option<String>)>,
}

impl TextInput {
    /// The file `found`, opened as `options` say.
    pub(super) fn of_file(found: &FoundFile, options: &OpenOptions) -> Self {
        let name = found.location.to_string();
        let location = found.location.clone();
        let options = options.clone();
        let open = move || longshore_source::open(&location, &options);
        let open: Open = if is_read_again(found) { Arc::new(open) } else { once(&name, open) };
        let partitions = found.partitions.clone();
        let reads_once = !is_read_again(found);
        Self { reads_once, partitions, ..Self::new(name, found.bytes, open) }
    }

    /// What `reader` gives, once.
    pub(super) fn of_reader(name: &str, reader: Box<dyn Read + Send>, options: &OpenOptions) -> Self {
        let (to_open, options) = (name.to_owned(), options.clone());
        let open = once(name, move || longshore_source::open_reader(&to_open, reader, None, &options));
        Self { reads_once: true, ..Self::new(name.to_owned(), None, open) }
    }

    /// What is open already.
    pub(super) fn of_source(name: &str, found: Option<FoundFile>, source: Source) -> Self {
        let partitions = found.map_or_else(Vec::new, |found| found.partitions);
        Self { reads_once: true, partitions, ..Self::new(name.to_owned(), None, once(name, move || Ok(source))) }
    }

    fn new(name: String, bytes: Option<u64>, open: Open) -> Self {
        Self {
            name,
            open,
            bytes,
            reads_once: false,
            is_kept: false,
            text_end: None,
            text_start: None,
            fields: Vec::new(),
            names: None,
            computed: Vec::new(),
            partitions: Vec::new(),
            known: Vec::new(),
        }
    }

    /// The same, whose text is kept as far as it is read if it can be read only once.
    pub(super) fn kept(self) -> Self {
        if !self.reads_once {
            return self;
        }
        let open = self.open;
        let text = KeptText::new(move || open());
        Self { open: Arc::new(move || text.open()), reads_once: false, is_kept: true, ..self }
    }

    /// Whether it cannot be opened a second time.
    pub(crate) fn reads_once(&self) -> bool {
        self.reads_once
    }

    /// Fills the columns that `computed` name.
    pub(super) fn fill(&mut self, computed: &[(usize, ComputedColumn)]) {
        let value = |computed_column| files::computed_value(computed_column, &self.name, &self.partitions);
        self.computed = computed.iter().map(|(column, computed_column)| (*column, value(computed_column))).collect();
        self.known = computed
            .iter()
            .filter_map(|(column, computed_column)| match computed_column {
                ComputedColumn::Partition(index) => Some((*column, self.partitions.get(*index)?.1.clone())),
                ComputedColumn::Filename => Some((*column, Some(self.name.clone()))),
                ComputedColumn::RowNumber | ComputedColumn::Value(_) | ComputedColumn::Number(_) => None,
            })
            .collect();
    }

    /// Makes room for `count` columns before those that are filled.
    pub(super) fn move_computed(&mut self, count: usize) {
        self.computed.iter_mut().for_each(|(column, _)| *column += count);
        self.known.iter_mut().for_each(|(column, _)| *column += count);
    }

    /// The text for one pass.
    pub(crate) fn file(&self) -> InputFile {
        let open = Arc::clone(&self.open);
        let mut file = InputFile::new(&self.name, move || open(), &[]);
        file.fields.clone_from(&self.fields);
        file.names.clone_from(&self.names);
        file.computed.clone_from(&self.computed);
        file.bytes = self.bytes;
        file.reads_once = self.reads_once;
        file.is_kept = self.is_kept;
        file.text_end = self.text_end;
        file.text_start = self.text_start;
        file
    }
}

/// Opens what is called `name` the first time; there is no second.
fn once(name: &str, open: impl FnOnce() -> Result<Source, SourceError> + Send + 'static) -> Open {
    let name = name.to_owned();
    let open = Mutex::new(Some(open));
    Arc::new(move || match open.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(open) => open(),
        None => Err(SourceError::Unfit {
            file: name.clone(),
            problem: "it can be read only once; save it to a file first".to_owned(),
        }),
    })
}

/// Whether a file can be read as often as is needed: not so pipes and standard input.
pub(super) fn is_read_again(file: &FoundFile) -> bool {
    match &file.location {
        Location::File(_) => file.bytes.is_some(),
        Location::Remote(_) => true,
        Location::Stdin => false,
    }
}
