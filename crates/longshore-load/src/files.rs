//! Goes through the files of a load or a scan: one sequence of spans over all of them, in their order.
//!
//! A file is opened when its turn comes, or a little before ([`queue`]). Not here: spans within a file (`span`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_csv::{Kernel, Missing, Shape};
use longshore_format::QuoteCheck;
use longshore_source::Source;
use longshore_storage::{Column, Memory, Schema};

use crate::control::Control;
use crate::error::LoadError;
use crate::fields::{FieldPlan, Output};
use crate::input::{ComputedValue, FieldTarget, InputFile};
use crate::numbering::RecordCounts;
use crate::options::{Mode, NumberSource, PIECE_BYTES_DEFAULT, Repair, RepairLog, TextFormat, TextOptions, Tuning};
use crate::span::{Fields, ScanContext, Spans};
use crate::stop::Stops;

mod open_file;
mod queue;
mod span_task;

pub(crate) use open_file::{Language, OpenFile};
use queue::Queue;
pub(crate) use span_task::SpanTask;

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

struct State {
    queue: Queue,
    current: Option<Arc<OpenFile>>,
    /// Number of the current file's first span.
    sequence_base: u64,
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
    pub(crate) fn claim(&self, control: &Control) -> Result<Option<SpanTask>, (u64, LoadError)> {
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
                return Ok(Some(SpanTask { file, span, sequence }));
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
        self.stops.stop();
    }

    /// Also frees workers that wait for another one; called when that one panics.
    pub(crate) fn abandon(&self) {
        self.stops.abandon();
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
        if let Some(counter) = state.current.take().and_then(|file| file.counter.clone()) {
            control.progress.add(counter.take(), 0);
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
        let context = ScanContext { options, tuning, files: self.count, stops: &self.stops, control, memory };
        let from = file.input.text_start;
        Spans::new(file.input.open_counted(memory)?, from, Fields::Known(&file.fields), &context)
            .map(|(spans, _)| spans)
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
        let name = source.name().to_owned();
        let counter = source.counter().cloned();
        let from = input.text_start;
        let context = ScanContext { options, tuning, files: self.count, stops: &self.stops, control, memory };
        let (plans, fields, spans, preamble) = if let Some(names) = input.names.clone() {
            let (spans, mut preamble) = Spans::new(source, from, Fields::ByName(&names), &context)?;
            names.apply(&mut input, preamble.fields.take().unwrap_or_default());
            (self.plans(&name, &input)?, self.columns_of(&input), spans, preamble)
        } else {
            // What is wrong with the plans is said before a stream is waited for.
            let (plans, fields) = (self.plans(&name, &input)?, self.columns_of(&input));
            let (spans, preamble) = Spans::new(source, from, Fields::Known(&fields), &context)?;
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
        let has_number = input
            .computed
            .iter()
            .any(|(_, value)| matches!(value, ComputedValue::RecordNumber | ComputedValue::Number(_)));
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
            counter,
        })
    }

    /// A plan per output for `input`, which is called `name`.
    fn plans(&self, name: &str, input: &InputFile) -> Result<Vec<FieldPlan>, LoadError> {
        let FilesPlan { outputs, options, tuning, .. } = &self.plan;
        outputs.iter().map(|output| FieldPlan::new(name, output, input, options, tuning.kernel)).collect()
    }

    /// The column of each field of `input`.
    fn columns_of(&self, input: &InputFile) -> Vec<Option<Column>> {
        let column = |target: &FieldTarget| self.plan.schema.columns()[target.column].clone();
        input.fields.iter().map(|target| target.as_ref().map(column)).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a field is where a record lacks it, or has null.
fn missing(target: Option<&FieldTarget>, column: Option<&Column>, options: &TextOptions) -> Missing {
    let null = options.values.null_text(column.map_or("", |column| &column.name));
    let default = target.and_then(|target| target.default.as_ref());
    Missing { null: null.as_bytes().into(), default: default.map(|default| default.as_bytes().into()) }
}
