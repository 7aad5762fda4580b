//! Types of a whole file, at the speed of a load: a guess from the head and some other places, and all workers decode by
//! it.
//!
//! Where a span disagrees, the values at fault are classified exactly, and the guess widens for all
//! ([`TypeSet`](longshore_format::sniff::types::TypeSet)); spans that were decoded by a narrower one are read once more,
//! until every span was decoded by the final types. As a set of types only becomes smaller, and as all values were
//! checked to have what is left, the result does not depend on who read what first. A load keeps what it decoded by the
//! final types, so that the guess costs nothing where it was right. The text of streams is kept while it is little, and
//! else fetched again where it is needed (`again`). Where records or quotes speak against the dialect, the place is looked
//! at, and all is read anew if it tells another one (`look`).
//!
//! Not here: the sniffer and the types (`longshore-format`), how spans are found (`span`).

mod again;
mod encoding;
mod fit;
mod footer;
mod format;
mod guess;
mod look;
mod open_quote;
mod pass;
mod plan;
mod read;
mod sample;
mod whole;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use longshore_format::sniff::types::TypeSet;
use longshore_format::sniff::{Given, Sniffed};
use longshore_storage::{Column, ColumnType, Memory, Relation, Schema, Storage};

use crate::control::Control;
use crate::error::LoadError;
use crate::input::{FieldNames, FieldTarget, InputFile, OtherFields};
use crate::load::LoadReport;
use crate::options::{Header, Repaired, TextOptions, Tuning};
use crate::reject::{RejectOrder, RejectSummary, SpanRejects};
pub use footer::Footer;
pub use format::options as sniffed_options;
use guess::Fixed;
pub use guess::column_type;
use look::{Failed, Looks};
use pass::Task;
use read::Done;
pub use whole::found_options;

/// What is known of files whose columns are to be found out.
#[derive(Clone, Debug)]
pub struct InferRequest {
    /// What the user says about the format and the header.
    pub given: Given,
    /// Types that the user gave to some columns, by their names.
    pub types: Vec<(String, ColumnType)>,
    /// Types of columns whose spelling was given in a way that only values of one type have; columns that there are not
    /// do not count.
    pub spelled: Vec<(String, ColumnType)>,
    /// What columns take where a record or a file lacks them. It counts as one of their values.
    pub defaults: Vec<(String, String)>,
    /// Further columns behind those of the files: those computed of an [`InputFile`] count from the first of them.
    pub extra: Vec<Column>,
    /// Whether columns are found by the names in the header of each file, and some may be in some files only.
    pub by_name: bool,
    /// Whether records that are not whole are repaired where nothing is lost by it.
    pub repairs: bool,
    /// How the text is to be read apart from its format, header and skipped lines, which are found out.
    pub options: TextOptions,
    /// How the machine is used.
    pub tuning: Tuning,
    /// What the rows count against.
    pub memory: Arc<Memory>,
    /// How rows that are loaded are kept.
    pub storage: Storage,
    /// Takes what was found of the dialect, also where reading by it fails.
    pub found: Arc<Mutex<Option<Sniffed>>>,
}

impl InferRequest {
    /// What was found of the dialect at last, if anything was.
    #[must_use]
    pub fn last_found(&self) -> Option<Sniffed> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the column takes where it is lacking.
    fn default_of(&self, column: &str) -> Option<&str> {
        self.defaults.iter().find(|(name, _)| name == column).map(|(_, default)| default.as_str())
    }

    /// Where the field of a column goes.
    fn target(&self, index: usize, column: &str) -> FieldTarget {
        FieldTarget { default: self.default_of(column).map(str::to_owned), ..FieldTarget::new(index) }
    }
}

/// A column of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InferredColumn {
    /// Its name.
    pub name: String,
    /// Its type: every value of the files has it.
    pub column_type: ColumnType,
    /// Whether the type was given.
    pub given: bool,
    /// Why it has this type, as a part of a sentence.
    pub reason: String,
}

/// What files are.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// What the head of the first file told.
    pub sniffed: Sniffed,
    /// The columns of the files, in their order; without the extra ones.
    pub columns: Vec<InferredColumn>,
    /// The columns, and the extra ones.
    pub schema: Arc<Schema>,
    /// How to read the files with these columns.
    pub options: TextOptions,
    /// Rows of all files. Without a load, those with bad values are among them.
    pub rows: u64,
    /// Records that were repaired.
    pub repaired: Vec<Repaired>,
    /// The ends of files that were left out: their text is to be read up to there.
    pub footers: Vec<Footer>,
}

/// Finds out what `inputs` are and what types their columns have, reading all of them. Their fields are set; what they
/// say of fields is ignored.
///
/// Where bad records are rejected, records of another shape have no say, and nobody is told of them.
///
/// # Errors
/// When a file cannot be read, is empty, or has records that do not fit the dialect that was found.
pub fn infer(inputs: Vec<InputFile>, request: &InferRequest, control: &Control) -> Result<Inferred, LoadError> {
    let (inferred, _) = run(inputs, request, control, Keep::Types, None)?;
    Ok(inferred)
}

/// Does what [`load_inferred`] does, and keeps nothing of the rows.
///
/// # Errors
/// As [`load_inferred`].
pub fn dry_run_inferred(
    inputs: Vec<InputFile>,
    request: &InferRequest,
    control: &Control,
) -> Result<(Inferred, LoadReport), LoadError> {
    let begin = Instant::now();
    let order = RejectOrder::new(&request.options, &request.memory)?;
    let (inferred, spans) = run(inputs, request, control, Keep::Checks, order.as_ref())?;
    for span in spans {
        deliver(order.as_ref(), span.task.sequence, span.taken.rejects)?;
    }
    let report = report(order, inferred.rows, control, begin)?;
    Ok((inferred, report))
}

/// Does what [`infer`] does and keeps the rows: a relation with the columns that were found.
///
/// Where bad records are rejected, these are the misshapen ones, those with a value that is not of the type given for
/// its column, and those with bytes that are no text. They are told of when all files are read, and lie in memory until
/// then.
///
/// # Errors
/// As [`infer`], when the memory limit is reached, and when more records are rejected than may be.
pub fn load_inferred(
    inputs: Vec<InputFile>,
    request: &InferRequest,
    control: &Control,
) -> Result<(Relation, Inferred, LoadReport), LoadError> {
    let begin = Instant::now();
    let order = RejectOrder::new(&request.options, &request.memory)?;
    let (inferred, spans) = run(inputs, request, control, Keep::Rows, order.as_ref())?;
    let relation = Relation::new(Arc::clone(&inferred.schema), Arc::clone(&request.memory));
    relation.set_storage(request.storage);
    let append = relation.begin_append(request.tuning.merge);
    for span in spans {
        deliver(order.as_ref(), span.task.sequence, span.taken.rejects)?;
        append.merge_chunks(span.task.sequence, span.taken.chunks)?;
    }
    let mut report = report(order, inferred.rows, control, begin)?;
    report.rows = append.commit()?;
    Ok((relation, inferred, report))
}

/// Hands the rejects of a span on, if there are to be any.
fn deliver(order: Option<&RejectOrder>, sequence: u64, rejects: Option<SpanRejects>) -> Result<(), LoadError> {
    match order.zip(rejects) {
        Some((order, rejects)) => order.deliver(sequence, rejects).map_err(|(_, error)| error),
        None => Ok(()),
    }
}

/// What is to be said when `rows` rows are good.
fn report(order: Option<RejectOrder>, rows: u64, control: &Control, begin: Instant) -> Result<LoadReport, LoadError> {
    let rejects = match order {
        Some(order) => {
            order.finish(rows)?;
            order.summary()
        }
        None => RejectSummary::default(),
    };
    let (bytes, seconds) = (control.progress.bytes_done(), begin.elapsed().as_secs_f64());
    Ok(LoadReport { rows, rejects, bytes, seconds, ..LoadReport::default() })
}

/// What the reading of files is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// The types alone: what can be told without decoding is not decoded, and nothing is rejected.
    Types,
    /// The types, and to know what is wrong.
    Checks,
    /// The rows.
    Rows,
}

/// Infers; returns the spans in their order, with what is kept of them.
fn run(
    mut inputs: Vec<InputFile>,
    request: &InferRequest,
    control: &Control,
    keep: Keep,
    rejects: Option<&RejectOrder>,
) -> Result<(Inferred, Vec<Done>), LoadError> {
    for (number, input) in inputs.iter_mut().enumerate() {
        input.number = number;
    }
    if request.repairs {
        inputs = inputs.into_iter().map(InputFile::kept).collect();
    }
    let is_lenient = !request.options.on_error.stops();
    let mut looks = Looks::new(format::given(&request.given, &request.options), is_lenient, request.repairs);
    loop {
        let again = inputs.iter().map(InputFile::again).collect();
        let given = &looks.given;
        let mut sampled = sample::take(&mut inputs, given, &request.memory, control)?;
        if request.by_name {
            sample::take_by_name(&mut inputs, &mut sampled, given, &request.memory, control)?;
        }
        let found = sampled.sniffed.clone();
        if !looks.take(&found)? {
            inputs = again;
            continue;
        }
        *request.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.clone());
        match read_by(inputs, sampled, &looks, request, control, keep, rejects) {
            Ok(inferred) => return Ok(inferred),
            Err(failed) => looks.note(failed, &found, &request.memory, control)?,
        }
        inputs = again;
    }
}

/// Reads the files by what samples of them told.
fn read_by(
    mut inputs: Vec<InputFile>,
    sampled: sample::Sampled,
    looks: &Looks,
    request: &InferRequest,
    control: &Control,
    keep: Keep,
    rejects: Option<&RejectOrder>,
) -> Result<(Inferred, Vec<Done>), Failed> {
    let given = &looks.given;
    let sample::Sampled { sniffed, mut hints } = sampled;
    let columns = sniffed.columns.len();
    let first = inputs[0].name().to_owned();
    check_extra(&first, &sniffed, request)?;
    let names: Vec<&str> = sniffed.columns.iter().map(|column| column.name.as_str()).collect();
    let fields: Vec<_> = names.iter().enumerate().map(|(index, name)| Some(request.target(index, name))).collect();
    for input in &mut inputs {
        input.fields.clone_from(&fields);
        for computed in &mut input.computed {
            computed.0 += columns;
        }
    }
    let mut header = if sniffed.header.value { Header::Skip } else { Header::None };
    if request.by_name && !sniffed.family.value.names_fields() {
        header = Header::Skip;
        let names = Arc::new(names_of(&sniffed, given, request));
        for input in &mut inputs {
            input.names = Some(Arc::clone(&names));
        }
    } else if inputs.len() > 1 && sniffed.named_by_header {
        // Columns in another order must not be taken for each other.
        header = Header::Match;
    }
    let fixed = fixed_types(&first, &sniffed, request)?;
    let options = format::options_given(&sniffed, given, &request.options, looks.checks);
    let options = options.map_err(|error| error.about(&first))?;
    let nulls = format::nulls(&names, &options);
    let mut readings = Vec::with_capacity(columns);
    for ((reading, differs), hint) in
        format::readings(&names, &sniffed.reading(given), &options).into_iter().zip(&mut hints)
    {
        // The samples were read as those of most columns are written.
        *hint = if differs { TypeSet::EVERY } else { *hint };
        readings.push(reading);
    }
    let task = Task { first, looks, sniffed, hints, header, fixed, nulls, readings, request, control, keep, rejects };
    task.run(inputs)
}

/// How the columns that were found are found in each file.
fn names_of(sniffed: &Sniffed, given: &Given, request: &InferRequest) -> FieldNames {
    let columns = sniffed.columns.iter().enumerate();
    FieldNames {
        columns: columns.map(|(index, column)| (column.name.clone(), request.target(index, &column.name))).collect(),
        others: OtherFields::Refuse,
        normalize: given.normalize_names,
    }
}

/// Refuses further columns that are called as one of the files.
fn check_extra(file: &str, sniffed: &Sniffed, request: &InferRequest) -> Result<(), LoadError> {
    let is_taken = |extra: &&Column| sniffed.columns.iter().any(|column| column.name == extra.name);
    match request.extra.iter().find(is_taken) {
        None => Ok(()),
        Some(extra) => Err(LoadError::Options(format!(
            "{file}: a further column is to be called \"{}\", and so is a column of the file; give it another name, or \
             leave it out",
            extra.name
        ))),
    }
}

/// The types that the user gave, by column.
fn fixed_types(file: &str, sniffed: &Sniffed, request: &InferRequest) -> Result<Vec<Option<Fixed>>, LoadError> {
    let names: Vec<&str> = sniffed.columns.iter().map(|column| column.name.as_str()).collect();
    if let Some((name, _)) = request.types.iter().find(|(name, _)| !names.contains(&name.as_str())) {
        return Err(LoadError::Options(format!(
            "{file}: a type is given for column \"{name}\", which the file does not have; its columns are {}",
            names.join(", ")
        )));
    }
    let types = || request.types.iter().chain(&request.spelled);
    let given = |name: &str| types().find(|(given, _)| given == name).map(|(_, given)| Fixed(*given));
    Ok(names.into_iter().map(given).collect())
}
