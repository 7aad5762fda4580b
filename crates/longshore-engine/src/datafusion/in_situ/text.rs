//! Text as a table of one statement. Not here: where its columns come from (the module above), its scan (`source`).

use std::fmt;
use std::fs::Metadata;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::TableType;
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use longshore_load::{FieldTarget, Fill, InputFile, LoadError, Source, TextOptions, Tuning};
use longshore_source::{Location, OpenOptions};
use longshore_storage::{Memory, Schema};

use super::TextSource;
use crate::Error;
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
    /// What becomes of each field.
    pub(crate) fields: Vec<Option<FieldTarget>>,
    /// What goes into columns that no field goes to.
    pub(crate) fills: Vec<(usize, Fill)>,
}

impl TextInput {
    /// The file `path`, opened as `options` say; its i-th field goes to column `fields[i]`.
    pub(crate) fn of_file(path: &Path, options: &OpenOptions, fields: &[Option<usize>]) -> Self {
        let name = path.display().to_string();
        let bytes = path.metadata().ok().filter(Metadata::is_file).map(|file| file.len());
        let location = Location::parse(&name);
        let options = options.clone();
        Self::new(name, bytes, Arc::new(move || longshore_source::open(&location, &options)), fields)
    }

    /// What `reader` gives, once; its i-th field goes to column `fields[i]`.
    pub(crate) fn of_reader(
        name: &str,
        reader: Box<dyn Read + Send>,
        options: &OpenOptions,
        fields: &[Option<usize>],
    ) -> Self {
        let once = Mutex::new(Some(reader));
        let to_open = name.to_owned();
        let options = options.clone();
        let open = move || match once.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(reader) => longshore_source::open_reader(&to_open, reader, None, &options),
            None => Err(LoadError::Unfit {
                file: to_open.clone(),
                problem: "it can be read only once; save it to a file first".to_owned(),
            }),
        };
        Self::new(name.to_owned(), None, Arc::new(open), fields)
    }

    fn new(name: String, bytes: Option<u64>, open: Open, fields: &[Option<usize>]) -> Self {
        let fields = fields.iter().map(|column| column.map(FieldTarget::new)).collect();
        Self { name, open, bytes, fields, fills: Vec::new() }
    }

    /// The text for one pass.
    pub(crate) fn file(&self) -> InputFile {
        let open = Arc::clone(&self.open);
        let mut file = InputFile::new(&self.name, move || open(), &[]);
        file.fields.clone_from(&self.fields);
        file.fills.clone_from(&self.fills);
        file.bytes = self.bytes;
        file
    }
}

/// Bytes of a text that tell how its records stand.
const HEAD_BYTES: usize = 256 << 10;

/// Where the texts of one table come from.
pub(crate) enum Texts {
    /// Files, in this order.
    Files(Vec<PathBuf>),
    /// What can be read once, and its name.
    Reader(String, Box<dyn Read + Send>),
}

/// What goes into a column that no field goes to.
pub(crate) enum Filling {
    /// The name of the file.
    Filename,
    /// The value of this text.
    Value(String),
}

impl Texts {
    /// As messages name them.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Files(paths) => paths.first().map_or_else(String::new, |path| path.display().to_string()),
            Self::Reader(name, _) => name.clone(),
        }
    }

    /// How to read texts with `columns`, the i-th of which is the column `places[i]` of the table; `fillings` are for
    /// other columns of it.
    pub(crate) fn plan(
        self,
        options: &Options,
        columns: &[&str],
        places: &[usize],
        fillings: &[(usize, Filling)],
    ) -> std::result::Result<(Vec<TextInput>, TextOptions), Error> {
        let plan = options.text(columns, || self.head(options))?;
        let fields: Vec<Option<usize>> = plan.fields.iter().map(|field| field.map(|field| places[field])).collect();
        let open = &options.source.open;
        let mut inputs = match self {
            Self::Files(paths) => paths.iter().map(|path| TextInput::of_file(path, open, &fields)).collect(),
            Self::Reader(name, reader) => vec![TextInput::of_reader(&name, reader, open, &fields)],
        };
        for input in &mut inputs {
            for (target, field) in input.fields.iter_mut().zip(&plan.fields) {
                if let (Some(target), Some(field)) = (target, field) {
                    target.default = options.default_of(columns[*field]).map(str::to_owned);
                }
            }
            let fills = fillings.iter().map(|(column, filling)| match filling {
                Filling::Filename => (*column, Fill::Constant(input.name.clone())),
                Filling::Value(text) => (*column, Fill::Constant(text.clone())),
            });
            input.fills = fills.collect();
        }
        Ok((inputs, plan.options))
    }

    /// The texts, the fields of which are not known yet; a column for the name of the file is the first further one.
    pub(crate) fn all_inputs(self, options: &Options) -> Vec<TextInput> {
        let open = &options.source.open;
        let mut inputs = match self {
            Self::Files(paths) => paths.iter().map(|path| TextInput::of_file(path, open, &[])).collect(),
            Self::Reader(name, reader) => vec![TextInput::of_reader(&name, reader, open, &[])],
        };
        if options.source.filename.is_some() {
            for input in &mut inputs {
                input.fills = vec![(0, Fill::Constant(input.name.clone()))];
            }
        }
        inputs
    }

    /// The head of the first text; nothing of what can be read only once.
    pub(crate) fn head(&self, options: &Options) -> std::result::Result<Vec<u8>, Error> {
        match self {
            Self::Files(paths) if paths.first().is_some_and(|path| path.is_file()) => {
                let location = Location::parse(&paths[0].display().to_string());
                Ok(longshore_source::open(&location, &options.source.open)?.into_head(HEAD_BYTES)?)
            }
            _ => Ok(Vec::new()),
        }
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

    /// The texts for one pass.
    pub(super) fn inputs(&self) -> Vec<InputFile> {
        self.inputs.iter().map(TextInput::file).collect()
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
