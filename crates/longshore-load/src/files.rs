//! Goes through the files of a load or a scan: one sequence of spans over all of them, in their order.
//!
//! A file is opened when its turn comes; while one is read, another thread opens the next few, since opening may mean
//! to wait for a server or to decompress. Not here: spans within a file (`span`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_csv::decode::{Advice, Reason};
use longshore_csv::{Dialect, Kernel, Missing, RecordFormat, RowText, Shape};
use longshore_format::QuoteCheck;
use longshore_storage::{Column, Memory, Schema};

use crate::fields::FieldPlan;
use crate::numbering::RecordCounts;
use crate::options::PIECE_BYTES_DEFAULT;
use crate::preamble::Fields;
use crate::span::{Span, Spans, Surroundings};
use crate::{
    Control, Fill, InputFile, LoadError, Meter, Mode, NumberSource, Repair, RepairLog, Source, TextFormat, TextOptions,
    Tuning,
};

/// Files that are open before their turn, at most.
const FILES_AHEAD_MAX: usize = 4;

/// Records that a piece has at least, unless it would be larger than [`PIECE_BYTES_MAX`]: what a piece costs for each
/// column, however few rows it has, is to be shared by some.
const PIECE_RECORDS_MIN: usize = 64;
/// Bytes that a piece grows to for the sake of [`PIECE_RECORDS_MIN`].
const PIECE_BYTES_MAX: usize = 8 << 20;

/// All files of a pass.
pub(crate) struct Files {
    plan: FilesPlan,
    count: usize,
    /// No more spans shall be claimed, and workers shall no longer wait for each other.
    stops: Arc<Stops>,
    /// How many records the spans have, if a column asks for their numbers.
    record_counts: RecordCounts,
    state: Mutex<State>,
}

/// What is the same for all files.
struct FilesPlan {
    /// The columns of the relation, or of the scan.
    schema: Arc<Schema>,
    /// The columns that are decoded together.
    outputs: Vec<Output>,
    options: TextOptions,
    tuning: Tuning,
    /// What text that is not mapped counts against.
    memory: Arc<Memory>,
}

/// Columns that are decoded together.
pub(crate) struct Output {
    /// These columns alone.
    pub(crate) schema: Arc<Schema>,
    /// Their places in the whole schema.
    pub(crate) columns: Vec<usize>,
}

struct State {
    queue: Queue,
    current: Option<Arc<OpenFile>>,
    /// Number of the current file's first span.
    sequence_base: u64,
}

/// Why workers shall no longer go on.
#[derive(Default)]
pub(crate) struct Stops {
    stopped: AtomicBool,
    abandoned: AtomicBool,
}

impl Stops {
    /// Whether nothing more shall be claimed.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Whether nobody shall wait for another worker.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }
}

/// The files whose turn has not come.
enum Queue {
    /// The only one.
    Single(Option<Box<InputFile>>, Arc<Memory>),
    /// Several, opened by another thread.
    Ahead(Receiver<(InputFile, Result<Source, LoadError>)>),
}

/// A file that is being read.
pub(crate) struct OpenFile {
    pub(crate) name: String,
    pub(crate) spans: Spans,
    pub(crate) language: Language,
    /// A plan per output.
    pub(crate) plans: Vec<FieldPlan>,
    /// Bytes that are scanned and decoded at a time.
    pub(crate) piece_bytes: usize,
    /// Whether a column asks for the numbers of records.
    pub(crate) is_numbered: bool,
    /// Number of its first span among those of all files.
    pub(crate) first_span: u64,
    /// What each field is, for messages.
    pub(crate) fields: Vec<Option<Column>>,
    /// What was to be opened.
    pub(crate) input: InputFile,
    /// For text that is made from other bytes: how many of those were read.
    meter: Option<Arc<Meter>>,
}

impl OpenFile {
    /// What to tell about the field `raw`, quotes included, at `position` of a record, that was refused for `reason`.
    pub(crate) fn advice(&self, position: usize, raw: &[u8], reason: Reason) -> Advice {
        let advice = self.plans.iter().find_map(|plan| plan.advice(position, raw, reason));
        advice.expect("a plan of the file read the field")
    }
}

/// How the records of a file are read.
pub(crate) enum Language {
    Csv { dialect: Dialect, shape: Shape },
    Other { format: Arc<dyn RecordFormat>, missing: Vec<Missing> },
}

/// A span that a worker claimed.
pub(crate) struct Work {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) span: Span,
    /// Position in the order of all files, from 0 without gaps.
    pub(crate) sequence: u64,
}

impl Files {
    /// Prepares to read `inputs` and opens the first.
    ///
    /// # Errors
    /// When the options contradict each other, or the first file cannot be opened or does not fit.
    pub(crate) fn new(
        inputs: Vec<InputFile>,
        schema: Arc<Schema>,
        outputs: Vec<Output>,
        options: TextOptions,
        tuning: Tuning,
        memory: &Arc<Memory>,
        control: &Control,
    ) -> Result<Self, LoadError> {
        options.values.check(options.row_dialect())?;
        let bytes: Option<u64> = inputs.iter().map(|input| input.bytes).sum();
        control.progress.start(bytes.unwrap_or(0));
        let count = inputs.len();
        let plan = FilesPlan { schema, outputs, options, tuning, memory: Arc::clone(memory) };
        let state = State { queue: Queue::new(inputs, memory), current: None, sequence_base: 0 };
        let record_counts = RecordCounts::default();
        let files = Self { plan, count, stops: Arc::default(), record_counts, state: Mutex::new(state) };
        {
            let mut state = files.state();
            files.open_next(&mut state, control)?;
        }
        Ok(files)
    }

    /// The instruction set of the scan.
    pub(crate) fn kernel(&self) -> Kernel {
        self.plan.tuning.kernel
    }

    /// How files are split.
    pub(crate) fn mode(&self) -> Mode {
        self.plan.options.mode
    }

    /// Whether to go on behind records that cannot be taken.
    pub(crate) fn is_lenient(&self) -> bool {
        !self.plan.options.on_error.stops()
    }

    /// What holds of quotes in all fields of plain CSV.
    pub(crate) fn quote_check(&self) -> QuoteCheck {
        self.plan.options.quote_check
    }

    /// Whether a record that is not whole ends the pass.
    pub(crate) fn repairs_later(&self) -> bool {
        matches!(self.plan.options.repair, Repair::Later(_))
    }

    /// Where records are noted that were repaired.
    pub(crate) fn repair_log(&self) -> Option<&RepairLog> {
        self.plan.options.repair_log().map(|log| &**log)
    }

    /// How many records the spans have, if a column asks for their numbers.
    pub(crate) fn record_counts(&self) -> &RecordCounts {
        &self.record_counts
    }

    /// Where numbers come from that columns ask for.
    pub(crate) fn numbers(&self) -> &[Arc<dyn NumberSource>] {
        &self.plan.options.numbers
    }

    /// The columns that are decoded together, for [`OpenFile::plans`] of the same index.
    pub(crate) fn output(&self, index: usize) -> &Output {
        &self.plan.outputs[index]
    }

    /// Claims the next span; `None` when there is none, or the work was stopped.
    pub(crate) fn claim(&self, control: &Control) -> Result<Option<Work>, (u64, LoadError)> {
        while !self.stops.is_stopped() {
            let (file, base) = {
                let state = self.state();
                match &state.current {
                    Some(file) => (Arc::clone(file), state.sequence_base),
                    None => return Ok(None),
                }
            };
            let claimed = file.spans.claim(control).map_err(|(sequence, error)| (base + sequence, error))?;
            if let Some(span) = claimed {
                let sequence = base + span.sequence;
                return Ok(Some(Work { file, span, sequence }));
            }
            let mut state = self.state();
            // Another worker may have gone on to the next file meanwhile.
            if state.current.as_ref().is_some_and(|current| Arc::ptr_eq(current, &file)) {
                state.sequence_base += file.spans.handed_out();
                let sequence = state.sequence_base;
                self.open_next(&mut state, control).map_err(|error| (sequence, error))?;
            }
        }
        Ok(None)
    }

    /// Hands out nothing more; called when a worker fails. What was claimed before is still read: it may hold the
    /// error that comes first.
    pub(crate) fn stop(&self) {
        self.stops.stopped.store(true, Ordering::Release);
    }

    /// Also frees workers that wait for another one; called when that one panics.
    pub(crate) fn abandon(&self) {
        self.stop();
        self.stops.abandoned.store(true, Ordering::Release);
    }

    /// Whether workers shall stop, or no longer wait.
    pub(crate) fn stops(&self) -> &Stops {
        &self.stops
    }

    /// How many spans there are at most.
    pub(crate) fn span_count_max(&self) -> usize {
        let state = self.state();
        match &state.current {
            Some(file) if self.count == 1 => file.spans.count_max(),
            Some(_) => usize::MAX,
            None => 0,
        }
    }

    fn open_next(&self, state: &mut State, control: &Control) -> Result<(), LoadError> {
        if let Some(meter) = state.current.take().and_then(|file| file.meter.clone()) {
            control.progress.add(meter.take(), 0);
        }
        if let Some((input, source)) = state.queue.next() {
            let file = self.open(input, source?, state.sequence_base, control)?;
            control.progress.add(file.bytes_done(file.spans.preamble_bytes()), 0);
            state.current = Some(Arc::new(file));
        }
        Ok(())
    }

    /// The name of the file that is read now, if it cannot be read twice.
    pub(crate) fn read_once_now(&self) -> Option<String> {
        let state = self.state();
        state.current.as_ref().filter(|file| file.input.reads_once || file.input.is_kept).map(|file| file.name.clone())
    }

    /// Spans of a stream that was read before, anew.
    pub(crate) fn open_again(&self, file: &OpenFile, control: &Control) -> Result<Spans, LoadError> {
        let FilesPlan { options, tuning, memory, .. } = &self.plan;
        // The same spans, whatever memory there is now.
        let tuning = &Tuning { span_bytes: file.spans.span_bytes().or(tuning.span_bytes), ..tuning.clone() };
        let surroundings = Surroundings { options, tuning, files: self.count, stops: &self.stops, control, memory };
        Spans::new(file.input.open_counted(memory)?, Fields::Known(&file.fields), &surroundings).map(|(spans, _)| spans)
    }

    /// Opens the file whose first span has the number `first_span`.
    fn open(
        &self,
        mut input: InputFile,
        source: Source,
        first_span: u64,
        control: &Control,
    ) -> Result<OpenFile, LoadError> {
        let FilesPlan { outputs, options, tuning, memory, .. } = &self.plan;
        let name = source.name.clone();
        let meter = source.meter().cloned();
        let surroundings = Surroundings { options, tuning, files: self.count, stops: &self.stops, control, memory };
        let (plans, fields, spans, preamble) = if let Some(names) = input.names.clone() {
            let (spans, mut preamble) = Spans::new(source, Fields::ByName(&names), &surroundings)?;
            names.apply(&mut input, preamble.fields.take().unwrap_or_default());
            (self.plans(&name, &input)?, self.columns_of(&input), spans, preamble)
        } else {
            // What is wrong with the plans is said before a stream is waited for.
            let (plans, fields) = (self.plans(&name, &input)?, self.columns_of(&input));
            let (spans, preamble) = Spans::new(source, Fields::Known(&fields), &surroundings)?;
            (plans, fields, spans, preamble)
        };
        let language = match &options.format {
            TextFormat::Csv(dialect) => Language::Csv {
                dialect: *dialect,
                shape: Shape { fields: fields.len(), trailing_delimiter: preamble.trailing_delimiter },
            },
            TextFormat::Other(format) => {
                let targets = input.fields.iter().zip(&fields);
                let missing =
                    targets.map(|(target, column)| missing(target.as_ref(), column.as_ref(), options)).collect();
                Language::Other { format: Arc::clone(format), missing }
            }
        };
        let piece_bytes = tuning.piece_bytes.unwrap_or_else(|| {
            PIECE_BYTES_DEFAULT.max(preamble.record_bytes.saturating_mul(PIECE_RECORDS_MIN).min(PIECE_BYTES_MAX))
        });
        // Who decodes by plans of their own need the numbers as well.
        let has_number = input.fills.iter().any(|(_, fill)| matches!(fill, Fill::RecordNumber | Fill::Number(_)));
        let is_numbered = has_number
            && plans.iter().zip(outputs).any(|(plan, output)| plan.is_numbered() || output.columns.is_empty());
        Ok(OpenFile {
            name,
            spans,
            language,
            plans,
            piece_bytes: piece_bytes.max(1),
            is_numbered,
            first_span,
            fields,
            input,
            meter,
        })
    }

    /// A plan per output for `input`, which is called `name`.
    fn plans(&self, name: &str, input: &InputFile) -> Result<Vec<FieldPlan>, LoadError> {
        let FilesPlan { outputs, options, tuning, .. } = &self.plan;
        outputs.iter().map(|output| FieldPlan::new(name, output, input, options, tuning.kernel)).collect()
    }

    /// The column of each field of `input`.
    fn columns_of(&self, input: &InputFile) -> Vec<Option<Column>> {
        let column = |target: &crate::FieldTarget| self.plan.schema.columns()[target.column].clone();
        input.fields.iter().map(|target| target.as_ref().map(column)).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a field is where a record lacks it, or has null.
fn missing(target: Option<&crate::FieldTarget>, column: Option<&Column>, options: &TextOptions) -> Missing {
    let null = options.values.null_text(column.map_or("", |column| &column.name));
    let default = target.and_then(|target| target.default.as_ref());
    Missing { null: null.as_bytes().into(), default: default.map(|default| default.as_bytes().into()) }
}

impl Queue {
    fn new(mut inputs: Vec<InputFile>, memory: &Arc<Memory>) -> Self {
        let memory = Arc::clone(memory);
        if inputs.len() <= 1 {
            return Self::Single(inputs.pop().map(Box::new), memory);
        }
        let (sender, receiver) = sync_channel(FILES_AHEAD_MAX);
        // Ends with its work, or when nobody receives any more.
        std::thread::spawn(move || {
            for input in inputs {
                let source = input.open_counted(&memory);
                let failed = source.is_err();
                if sender.send((input, source)).is_err() || failed {
                    return;
                }
            }
        });
        Self::Ahead(receiver)
    }

    fn next(&mut self) -> Option<(InputFile, Result<Source, LoadError>)> {
        match self {
            Self::Single(input, memory) => input.take().map(|input| {
                let source = input.open_counted(memory);
                (*input, source)
            }),
            Self::Ahead(receiver) => receiver.recv().ok(),
        }
    }
}

impl OpenFile {
    /// What has been done when `text_bytes` more bytes of text are, in the bytes that progress is told in.
    fn bytes_done(&self, text_bytes: u64) -> u64 {
        self.meter.as_ref().map_or(text_bytes, |meter| meter.take())
    }

    /// The language in which the decoders get the rows.
    pub(crate) fn row_text(&self) -> Option<RowText> {
        match &self.language {
            Language::Csv { .. } => None,
            Language::Other { missing, .. } => Some(RowText::new(missing.clone(), self.piece_bytes)),
        }
    }
}

impl Work {
    /// What has been done when `text_bytes` more bytes of text are, in the bytes that progress is told in.
    pub(crate) fn bytes_done(&self, text_bytes: usize) -> u64 {
        self.file.bytes_done(text_bytes as u64)
    }

    /// The text of the span.
    pub(crate) fn text(&self) -> &[u8] {
        self.file.spans.text(&self.span)
    }

    /// The text of the span and all that may be read behind it.
    pub(crate) fn readable(&self) -> &[u8] {
        self.file.spans.readable(&self.span)
    }

    /// Line feeds of the file before the span, where they do not follow from the span before.
    pub(crate) fn lines_before(&self) -> Option<u64> {
        (self.span.sequence == 0).then(|| self.file.spans.lines_before(&self.span, self.span.offset))
    }

    /// To be called when the rows were taken or the span failed: gives its memory back and checks that the file is
    /// still whole.
    pub(crate) fn finish(&self) -> Result<(), LoadError> {
        self.file.spans.finish(&self.span)
    }
}
