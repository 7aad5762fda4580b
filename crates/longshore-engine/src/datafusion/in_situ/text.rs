//! Text as a table of one statement. Not here: where its columns come from (the module above), its scan (`source`).

use std::fmt;
use std::fs::Metadata;
use std::io::Read;
use std::path::Path;
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
use longshore_storage::{Memory, Schema};

use super::TextSource;
use crate::datafusion::pushdown::Projection;

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
    /// The file `path`; its i-th field goes to column `fields[i]`.
    pub(crate) fn of_file(path: &Path, fields: &[usize]) -> Self {
        let name = path.display().to_string();
        let bytes = path.metadata().ok().filter(Metadata::is_file).map(|file| file.len());
        let path = path.to_owned();
        Self::new(name, bytes, Arc::new(move || Source::open(&path)), fields)
    }

    /// What `reader` gives, once; its i-th field goes to column `fields[i]`.
    pub(crate) fn of_reader(name: &str, reader: Box<dyn Read + Send>, fields: &[usize]) -> Self {
        let once = Mutex::new(Some(reader));
        let to_open = name.to_owned();
        let open = move || match once.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(reader) => Ok(Source::from_reader(&to_open, reader)),
            None => Err(LoadError::Unfit {
                file: to_open.clone(),
                problem: "it can be read only once; save it to a file first".to_owned(),
            }),
        };
        Self::new(name.to_owned(), None, Arc::new(open), fields)
    }

    fn new(name: String, bytes: Option<u64>, open: Open, fields: &[usize]) -> Self {
        let fields = fields.iter().map(|&column| Some(FieldTarget::new(column))).collect();
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
    /// The file `path` with the columns `schema`.
    pub(crate) fn of_file(
        path: &Path,
        schema: Arc<Schema>,
        options: TextOptions,
        tuning: Tuning,
        memory: Arc<Memory>,
    ) -> Self {
        let fields: Vec<usize> = (0..schema.columns().len()).collect();
        Self {
            name: path.display().to_string(),
            inputs: vec![TextInput::of_file(path, &fields)],
            arrow: schema.arrow(),
            schema,
            options,
            tuning,
            memory,
            checks_all: false,
        }
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
