//! Texts as batches of Arrow, without a database: most arrays that the caller gets are those that the loader's workers decoded into.
//!
//! Columns, types and dialect are found out over the whole files, as in `CREATE TABLE t AS FROM 'file'`, or given by the option
//! `columns`. Not here: the options (`sql::options`), a text as a table of a query (`datafusion::files`).

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use longshore_load::{Control, LoadError, LoadReport, OnError, RejectTable, copy_from, reject_schema};
use longshore_storage::{Chunk, Memory, Relation, Schema, Storage};

use crate::datafusion::{PlainFor, plain_batch, plain_schema, text_with_columns};
use crate::sql::options::{ErrorChoice, Options};
use crate::statement::load_found;
use crate::text::{FileRejects, Finder, ReadCsv, TextInput, TextSources, named_by_inputs, tell_repairs};
use crate::{Config, Error, OptionSetting, Report, TypeId, panics};

/// Rows of texts, in the order of the files, as they were loaded. Batches of Arrow are made of them when they are asked for.
#[derive(Debug)]
pub struct TextRows {
    /// Names and types of the columns.
    pub schema: SchemaRef,
    /// Their types as PostgreSQL's programs know them.
    pub types: Arc<[TypeId]>,
    chunks: Vec<Arc<Chunk>>,
    /// How much was read, and in what time.
    pub report: Report,
    /// Records that were left out.
    pub rejected: u64,
    /// What is to be said of these as rows, if they were to be kept.
    pub rejects: Option<Box<TextRows>>,
    /// What else is to be said, such as which records were repaired.
    pub notice: Option<String>,
}

/// What a program asks of texts.
#[derive(Clone, Debug, Default)]
pub struct TextRequest {
    /// Paths, patterns, folders and addresses.
    pub files: Vec<String>,
    /// Options of `read_csv` by name.
    pub options: Vec<(String, OptionSetting)>,
    /// Whether records that cannot be taken are left out and told of as rows.
    pub keeps_rejects: bool,
}

impl TextRows {
    /// How many rows there are.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.rows()).sum()
    }

    /// How many batches [`TextRows::batch`] makes.
    #[must_use]
    pub fn batch_count(&self) -> usize {
        self.chunks.len()
    }

    /// The rows of batch `at`. Values of DECIMAL and BOOLEAN, which the loader keeps in less memory than Arrow, and those that
    /// become texts are made anew with each call; all else refers to what was loaded.
    ///
    /// # Errors
    /// When a value has no text.
    ///
    /// # Panics
    /// When there are not as many batches.
    pub fn batch(&self, at: usize) -> Result<RecordBatch, Error> {
        let chunk = &self.chunks[at];
        let all: Vec<usize> = (0..self.types.len()).collect();
        plain_batch(&chunk.batch(&all, 0, chunk.rows()), &self.schema, PlainFor::Columns)
    }

    /// All batches, each made when it is reached.
    pub fn batches(&self) -> impl Iterator<Item = Result<RecordBatch, Error>> + '_ {
        (0..self.batch_count()).map(|at| self.batch(at))
    }
}

/// Reads texts into memory; the workers are those of `config`, whose memory limit holds for the rows.
///
/// It blocks until all is read; `control` shows how far it is, and cancels it.
///
/// # Errors
/// As `SELECT * FROM read_csv(...)` with the same options.
pub fn read_text(request: &TextRequest, config: &Config, control: &Arc<Control>) -> Result<TextRows, Error> {
    panics::caught(|| {
        let memory = Memory::new(config.memory_limit);
        let call = ReadCsv::of_settings(&request.files, &request.options)?;
        if call.is_columnar()? {
            return Err(Error::invalid(format!(
                "{} is no text; read it with SELECT * FROM '{0}', which knows its columns",
                call.name()
            )));
        }
        let kept = request.keeps_rejects.then(|| Arc::new(RejectTable::new(&memory)));
        let rejects = rejects(call.options(), kept.as_ref())?;
        let reading = Reading { call: &call, config, memory: &memory, control, rejects };
        let (relation, loaded) = reading.read()?;
        let mut made = rows_of(&relation)?;
        made.report = Report { rows: loaded.rows, bytes_read: loaded.bytes, seconds: loaded.seconds, ..made.report };
        made.rejected = loaded.rejects.records;
        if let Some(kept) = kept {
            let table = Relation::new(reject_schema(), Arc::clone(&memory));
            table.set_storage(Storage::Plain);
            kept.append_to(&table)?;
            made.rejects = Some(Box::new(rows_of(&table)?));
        }
        let notices = control.take_notices();
        made.notice = (!notices.is_empty()).then(|| notices.join("\n"));
        Ok(made)
    })
}

/// What becomes of records that cannot be taken, where that is more than the options say by themselves.
fn rejects(options: &Options, kept: Option<&Arc<RejectTable>>) -> Result<Option<FileRejects>, Error> {
    match (&options.rejects.on_error, kept) {
        (ErrorChoice::Stop | ErrorChoice::Ignore, None) => Ok(None),
        (ErrorChoice::Stop, Some(kept)) => {
            let on_error = OnError::Collect(Arc::<RejectTable>::clone(kept));
            Ok(Some(FileRejects { on_error, limit: options.rejects.limit, path: None }))
        }
        (ErrorChoice::Ignore, Some(_)) => {
            Err(Error::invalid("option ON_ERROR: bad records are asked for as rows; leave the option out"))
        }
        (ErrorChoice::Table(_) | ErrorChoice::File(_), _) => Err(Error::invalid(
            "option ON_ERROR: there is no database that could keep a table of rejects; ask for them as rows, or load into a \
             table",
        )),
    }
}

/// Texts that are read into a relation of their own.
struct Reading<'a> {
    call: &'a ReadCsv,
    config: &'a Config,
    memory: &'a Arc<Memory>,
    control: &'a Arc<Control>,
    rejects: Option<FileRejects>,
}

impl Reading<'_> {
    fn read(&self) -> Result<(Relation, LoadReport), Error> {
        let Self { call, config, memory, control, rejects } = self;
        let tuning = call.tuned(&config.tuning());
        if call.columns.is_some() {
            return self.read_known();
        }
        let (options, types) = (call.options(), &call.options().types);
        let finder =
            Finder { options, types, tuning, memory, control, rejects: rejects.as_ref(), storage: Storage::Plain };
        let (relation, report) = load_found(&finder, TextSources::Files(call.files.clone()))?;
        match relation {
            Some(relation) => Ok((relation, report)),
            None => {
                Err(Error::invalid("option DRY_RUN: there is no table here that would not be loaded; leave it out"))
            }
        }
    }

    /// Reads texts whose columns are given.
    fn read_known(&self) -> Result<(Relation, LoadReport), Error> {
        let Self { call, config, memory, control, rejects } = self;
        let tuning = call.tuned(&config.tuning());
        let table = text_with_columns(call, &config.tuning(), memory, control, rejects.clone())?;
        let relation = |schema: &Arc<Schema>| {
            let relation = Relation::new(Arc::clone(schema), Arc::clone(memory));
            relation.set_storage(Storage::Plain);
            relation
        };
        let mut text = table.options.clone();
        // What cannot be read again is read with repairs at once.
        if table.inputs.iter().any(TextInput::reads_once) {
            text = text.repairing().unwrap_or(text);
        }
        loop {
            let files = table.inputs.iter().map(TextInput::file).collect();
            let into = relation(&table.schema);
            match (copy_from(files, &into, &text, &tuning, control), text.repairing()) {
                (Ok(report), _) => {
                    if let Some(log) = text.repair_log() {
                        tell_repairs(&log.summary(), control);
                    }
                    return Ok((into, report));
                }
                (Err(LoadError::Misshapen(_)), Some(repairing)) => text = repairing,
                (Err(error), _) => return Err(named_by_inputs(error, &table.inputs)),
            }
        }
    }
}

/// All rows of a relation that nobody else knows.
fn rows_of(relation: &Relation) -> Result<TextRows, Error> {
    let columns = relation.schema().columns();
    let types = columns.iter().map(|column| TypeId::of_column(column.column_type)).collect();
    let schema = plain_schema(&relation.schema().arrow(), PlainFor::Columns)?;
    let chunks = relation.snapshot().chunks().to_vec();
    Ok(TextRows { schema, types, chunks, report: Report::default(), rejected: 0, rejects: None, notice: None })
}
