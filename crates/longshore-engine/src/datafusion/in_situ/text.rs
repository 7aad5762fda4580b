//! Text as a table of one statement. Not here: where its columns come from (the module above), its scan (`source`).

use std::fmt;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::TableType;
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use longshore_load::{
    Control, FieldNames, FieldTarget, Fill, InputFile, KeptText, LoadError, OtherFields, Source, TextOptions, Tuning,
};
use longshore_source::{FoundFile, Location, OpenOptions};
use longshore_storage::{Column, Memory, Schema};

use super::TextSource;
use super::files::{self, Filling};
use super::{detect, prune};
use crate::Error;
use crate::datafusion::predicate::Predicate;
use crate::datafusion::pushdown::Projection;
use crate::sql::options::Options;

/// Opens a text anew for every pass over it.
type Open = Arc<dyn Fn() -> std::result::Result<Source, LoadError> + Send + Sync>;

/// One text of a table: what [`InputFile`] is for one pass.
#[derive(Clone)]
pub(crate) struct TextInput {
    /// As the user named it.
    pub(crate) name: String,
    open: Open,
    /// Its length, where that is known.
    bytes: Option<u64>,
    /// Whether it cannot be opened a second time.
    reads_once: bool,
    /// Whether it can be because its text is kept.
    is_kept: bool,
    /// Where it ends for whoever reads it, if a footer follows.
    pub(super) text_end: Option<u64>,
    /// What becomes of each field.
    pub(crate) fields: Vec<Option<FieldTarget>>,
    /// How the header decides that.
    pub(super) names: Option<Arc<FieldNames>>,
    /// What goes into columns that no field goes to.
    pub(crate) fills: Vec<(usize, Fill)>,
    /// What its folders say.
    partitions: Vec<(String, Option<String>)>,
    /// Columns that have one value in all of it, which is known before it is opened; `None` is NULL.
    pub(super) known: Vec<(usize, Option<String>)>,
}

impl TextInput {
    /// The file `found`, opened as `options` say.
    fn of_file(found: &FoundFile, options: &OpenOptions) -> Self {
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
    fn of_reader(name: &str, reader: Box<dyn Read + Send>, options: &OpenOptions) -> Self {
        let (to_open, options) = (name.to_owned(), options.clone());
        let open = once(name, move || longshore_source::open_reader(&to_open, reader, None, &options));
        Self { reads_once: true, ..Self::new(name.to_owned(), None, open) }
    }

    /// What is open already.
    fn of_source(name: &str, found: Option<FoundFile>, source: Source) -> Self {
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
            fields: Vec::new(),
            names: None,
            fills: Vec::new(),
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

    /// Fills the columns that `fillings` name.
    fn fill(&mut self, fillings: &[(usize, Filling)]) {
        let fills =
            fillings.iter().map(|(column, filling)| (*column, files::fill(filling, &self.name, &self.partitions)));
        self.fills = fills.collect();
        self.known = fillings
            .iter()
            .filter_map(|(column, filling)| match filling {
                Filling::Partition(index) => Some((*column, self.partitions.get(*index)?.1.clone())),
                Filling::Filename => Some((*column, Some(self.name.clone()))),
                Filling::RowNumber | Filling::Value(_) | Filling::Number(_) => None,
            })
            .collect();
    }

    /// Makes room for `count` columns before those that are filled.
    pub(super) fn move_fills(&mut self, count: usize) {
        self.fills.iter_mut().for_each(|(column, _)| *column += count);
        self.known.iter_mut().for_each(|(column, _)| *column += count);
    }

    /// The text for one pass.
    pub(crate) fn file(&self) -> InputFile {
        let open = Arc::clone(&self.open);
        let mut file = InputFile::new(&self.name, move || open(), &[]);
        file.fields.clone_from(&self.fields);
        file.names.clone_from(&self.names);
        file.fills.clone_from(&self.fills);
        file.bytes = self.bytes;
        file.reads_once = self.reads_once;
        file.is_kept = self.is_kept;
        file.text_end = self.text_end;
        file
    }
}

/// Opens what is called `name` the first time; there is no second.
fn once(name: &str, open: impl FnOnce() -> std::result::Result<Source, LoadError> + Send + 'static) -> Open {
    let name = name.to_owned();
    let open = Mutex::new(Some(open));
    Arc::new(move || match open.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(open) => open(),
        None => Err(LoadError::Unfit {
            file: name.clone(),
            problem: "it can be read only once; save it to a file first".to_owned(),
        }),
    })
}

/// Bytes of a text that tell how its records stand.
const HEAD_BYTES: usize = 256 << 10;

/// Where the texts of one table come from.
pub(crate) enum Texts {
    /// Files, in this order.
    Files(Vec<FoundFile>),
    /// What can be read once, and its name.
    Reader(String, Box<dyn Read + Send>),
    /// What can be read once, and was opened to look at its head: its name, and the file if it is one.
    Opened(String, Option<FoundFile>, Box<Source>),
}

/// The columns that the fields of texts go to.
pub(crate) struct Wanted<'a> {
    /// These columns, in the order of the fields where nothing else tells.
    pub(crate) columns: Vec<&'a Column>,
    /// Their places in the table.
    pub(crate) places: &'a [usize],
    /// What goes into other columns of it.
    pub(crate) fillings: &'a [(usize, Filling)],
    /// Whether the user listed them.
    pub(crate) are_listed: bool,
}

impl Wanted<'_> {
    /// What a field is that goes to the column at `index` of these.
    pub(super) fn target(&self, options: &Options, index: usize) -> FieldTarget {
        let default = options.default_of(&self.columns[index].name).map(str::to_owned);
        FieldTarget { column: self.places[index], default }
    }

    /// The same for all of them, with their names.
    pub(super) fn targets(&self, options: &Options) -> Vec<(String, FieldTarget)> {
        (0..self.columns.len()).map(|index| (self.columns[index].name.clone(), self.target(options, index))).collect()
    }

    /// What becomes of fields that are none of these, where that can be told.
    pub(super) fn others(&self) -> OtherFields {
        if self.are_listed { OtherFields::ReadOver } else { OtherFields::Refuse }
    }
}

impl Texts {
    /// As messages name them.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Files(files) => files.first().map_or_else(String::new, |file| file.location.to_string()),
            Self::Reader(name, _) | Self::Opened(name, ..) => name.clone(),
        }
    }

    /// The columns that the options ask for beside those of the texts.
    pub(crate) fn further_columns(&self, options: &Options) -> std::result::Result<Vec<(Column, Filling)>, Error> {
        let files: &[FoundFile] = match self {
            Self::Files(files) => files,
            Self::Opened(_, file, _) => file.as_slice(),
            Self::Reader(..) => &[],
        };
        files::further_columns(files, &options.source, &options.types)
    }

    /// How to read texts whose fields go to the columns `wanted`.
    pub(crate) fn plan(
        self,
        options: &Options,
        wanted: &Wanted<'_>,
        control: &Control,
    ) -> std::result::Result<(Vec<TextInput>, TextOptions), Error> {
        if options.auto {
            detect::plan(self, options, wanted, control)
        } else {
            self.plan_as_said(options, wanted, control)
        }
    }

    /// The same where nothing is to be found out.
    pub(super) fn plan_as_said(
        mut self,
        options: &Options,
        wanted: &Wanted<'_>,
        control: &Control,
    ) -> std::result::Result<(Vec<TextInput>, TextOptions), Error> {
        let names: Vec<&str> = wanted.columns.iter().map(|column| column.name.as_str()).collect();
        let plan = options.text(&names, || self.head(options, control))?;
        let fields: Vec<_> = plan.fields.iter().map(|field| field.map(|field| wanted.target(options, field))).collect();
        let names = options.field_names(wanted.targets(options), wanted.others()).map(Arc::new);
        let mut inputs = self.inputs(options, wanted.fillings);
        for input in &mut inputs {
            input.fields.clone_from(&fields);
            input.names.clone_from(&names);
        }
        Ok((inputs, plan.options))
    }

    /// The texts, the fields of which are not known yet; `further` are what goes into the columns behind them.
    pub(crate) fn all_inputs(self, options: &Options, further: &[(Column, Filling)]) -> Vec<TextInput> {
        let fillings: Vec<_> = further.iter().map(|(_, filling)| filling.clone()).enumerate().collect();
        self.inputs(options, &fillings)
    }

    pub(super) fn inputs(self, options: &Options, fillings: &[(usize, Filling)]) -> Vec<TextInput> {
        let open = &options.source.open;
        let mut inputs: Vec<TextInput> = match self {
            Self::Files(files) => files.iter().map(|file| TextInput::of_file(file, open)).collect(),
            Self::Reader(name, reader) => vec![TextInput::of_reader(&name, reader, open)],
            Self::Opened(name, file, source) => vec![TextInput::of_source(&name, file, *source)],
        };
        for input in &mut inputs {
            input.fill(fillings);
        }
        inputs
    }

    /// The head of the first text, whether it is all of it, and the texts as they were.
    pub(super) fn with_head(
        self,
        options: &Options,
        control: &Control,
    ) -> std::result::Result<(Vec<u8>, bool, Self), Error> {
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
                    let (head, at_end, _) = source.with_head(HEAD_BYTES, control)?;
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
        let (head, at_end, source) = source.with_head(HEAD_BYTES, control)?;
        Ok((head, at_end, Self::Opened(name, file, Box::new(source))))
    }

    /// Refuses several files if one cannot be read twice.
    pub(crate) fn check_read_again(&self) -> std::result::Result<(), Error> {
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
    pub(crate) fn head(&mut self, options: &Options, control: &Control) -> std::result::Result<Vec<u8>, Error> {
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
    pub(super) fn head_again(&self, options: &Options) -> std::result::Result<Vec<u8>, Error> {
        let first = match self {
            Self::Files(files) => first_of(files).filter(|first| is_read_again(first)),
            Self::Reader(..) | Self::Opened(..) => None,
        };
        let Some(first) = first else { return Ok(Vec::new()) };
        Ok(longshore_source::open(&first.location, &options.source.open)?.with_head(HEAD_BYTES, &Control::new())?.0)
    }
}

/// The first of `files` that is not empty, as far as that is known before they are opened.
fn first_of(files: &[FoundFile]) -> Option<&FoundFile> {
    files.iter().find(|file| file.bytes != Some(0)).or(files.first())
}

/// Whether a file can be read as often as is needed: not so pipes and standard input.
pub(super) fn is_read_again(file: &FoundFile) -> bool {
    match &file.location {
        Location::File(_) => file.bytes.is_some(),
        Location::Remote(_) => true,
        Location::Stdin => false,
    }
}

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

    /// The texts for one pass, without those that have no row for which `predicate` is true; all where bad records are
    /// told of.
    pub(super) fn files(&self, predicate: Option<&Predicate>) -> Result<Vec<InputFile>> {
        let inputs = match predicate {
            Some(predicate) if self.options.on_error.stops() => {
                prune::files_left(&self.inputs, predicate, &self.arrow)?
            }
            _ => self.inputs.iter().collect(),
        };
        Ok(inputs.into_iter().map(TextInput::file).collect())
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

#[async_trait]
impl TableProvider for TextTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.arrow)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let projection = Projection::new(&self.arrow, projection)?;
        Ok(DataSourceExec::from_data_source(TextSource::new(Arc::new(self.clone()), projection, limit)))
    }
}
