//! What a load or a scan reads: files, and what each of their fields is to the columns.
//!
//! Not here: finding files (`longshore-source`), opening them in time (`files`).

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use longshore_source::{KeptText, Source, SourceError};
use longshore_storage::Memory;

use crate::error::LoadError;
use crate::memory::memory_pool;

mod field_names;

pub(crate) use field_names::match_names;
pub use field_names::{FieldNames, OtherFields};

type Opener = Arc<dyn Fn() -> Result<Source, SourceError> + Send + Sync>;

/// One file of a load or a scan.
pub struct InputFile {
    name: String,
    open: Opener,
    /// What is open already, for the next who opens it.
    opened: Mutex<Option<Source>>,
    /// Whether it cannot be opened a second time.
    pub reads_once: bool,
    /// Whether it can be because its text is kept.
    pub is_kept: bool,
    /// What becomes of each field, in the order of the file; `None` reads over it, unchecked.
    pub fields: Vec<Option<FieldTarget>>,
    /// How the header decides it; then `fields` does not count. Of texts that have a header.
    pub names: Option<Arc<FieldNames>>,
    /// What goes into columns that no field goes to; where nothing is said, NULL.
    pub computed: Vec<(usize, ComputedValue)>,
    /// Bytes to read, if they are known before it is opened; for the progress display.
    pub bytes: Option<u64>,
    /// The text, if it is kept for an inference alone.
    own_text: Option<KeptText>,
    /// Where the text ends for whoever reads it, if not with the file: what follows is a footer.
    pub text_end: Option<u64>,
    /// Where the records begin that are read, at the begin of one; what stands before, header and all, is known already. Of
    /// mapped text.
    pub text_start: Option<u64>,
    /// What is counted of it while it is loaded.
    pub counts: Option<Arc<FileCounts>>,
    /// Places that were looked at to guess types.
    pub(crate) sampled: Vec<Range<u64>>,
    /// Its number among the files of an inference.
    pub(crate) number: usize,
}

/// What a load takes from one file.
#[derive(Debug, Default)]
pub struct FileCounts {
    rows: AtomicU64,
    rejects: AtomicU64,
}

impl FileCounts {
    /// Records that were taken, those included whose key is there already and that the load leaves out.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Records that could not be taken.
    #[must_use]
    pub fn rejects(&self) -> u64 {
        self.rejects.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, rows: u64, rejects: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.rejects.fetch_add(rejects, Ordering::Relaxed);
    }
}

/// Where a field goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldTarget {
    /// The column of the relation, or of the scan's schema.
    pub column: usize,
    /// The text of the value that the column takes where a record lacks the field; otherwise it is NULL there.
    /// Formats that allow such records only.
    pub default: Option<String>,
}

impl FieldTarget {
    /// The column, NULL where the field is lacking.
    #[must_use]
    pub fn new(column: usize) -> Self {
        Self { column, default: None }
    }
}

/// What goes into a column that no field of a file goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComputedValue {
    /// NULL in every row.
    Null,
    /// The value of this text in every row.
    Text(String),
    /// The number of the record in its file, from 1; header and skipped lines do not count, rejected records do. Of BIGINT
    /// columns.
    RecordNumber,
    /// The next number of one of [`crate::TextOptions::numbers`], by its place there: each record takes one, in the order
    /// of the files, rejected ones included. Of SMALLINT, INTEGER and BIGINT columns.
    Number(usize),
}

impl InputFile {
    /// A file that `open` opens, as often as it is read; its i-th field goes to column `fields[i]`.
    #[must_use]
    pub fn new(
        name: &str,
        open: impl Fn() -> Result<Source, SourceError> + Send + Sync + 'static,
        fields: &[usize],
    ) -> Self {
        let fields = fields.iter().map(|&column| Some(FieldTarget::new(column))).collect();
        Self {
            name: name.to_owned(),
            open: Arc::new(open),
            opened: Mutex::default(),
            reads_once: false,
            is_kept: false,
            fields,
            names: None,
            computed: Vec::new(),
            bytes: None,
            own_text: None,
            text_end: None,
            text_start: None,
            counts: None,
            sampled: Vec::new(),
            number: 0,
        }
    }

    /// A source that is open already and can be read once; its i-th field goes to column `fields[i]`.
    #[must_use]
    pub fn opened(source: Source, fields: &[usize]) -> Self {
        let name = source.name().to_owned();
        let bytes = source.bytes_total();
        let problem = "it can be read only once; save it to a file first";
        let open = {
            let name = name.clone();
            move || Err(SourceError::Unfit { file: name.clone(), problem: problem.to_owned() })
        };
        let file = Self { bytes, reads_once: true, ..Self::new(&name, open, fields) };
        file.already_opened(source)
    }

    /// The same file, whose text is kept as far as it is read if it can be read only once.
    pub(crate) fn kept(mut self) -> Self {
        if !self.reads_once {
            return self;
        }
        let (opened, open) =
            (self.opened.lock().unwrap_or_else(PoisonError::into_inner).take(), Arc::clone(&self.open));
        let text = KeptText::new(move || opened.map_or_else(|| open(), Ok));
        self.own_text = Some(text.clone());
        self.open = Arc::new(move || text.open());
        self.is_kept = true;
        self.reads_once = false;
        self
    }

    /// The same file for one pass of several; what is open already is handed to the first one.
    pub(crate) fn for_pass(&self) -> Self {
        let opened = Mutex::new(self.opened.lock().unwrap_or_else(PoisonError::into_inner).take());
        Self { opened, sampled: self.sampled.clone(), ..self.again() }
    }

    /// Keeps no more of the text than was read: it is read once from now on.
    pub(crate) fn read_on(&self) {
        if let Some(text) = &self.own_text {
            text.read_on();
        }
    }

    /// The same file, where `source` was opened from it already and is what the next one gets who opens it.
    pub(crate) fn already_opened(self, source: Source) -> Self {
        Self { opened: Mutex::new(Some(source)), ..self }
    }

    /// The same file, to be opened another time. What can be read only once is lost when it was read.
    pub(crate) fn again(&self) -> Self {
        Self {
            name: self.name.clone(),
            open: Arc::clone(&self.open),
            opened: Mutex::default(),
            reads_once: self.reads_once,
            is_kept: self.is_kept,
            own_text: self.own_text.clone(),
            fields: self.fields.clone(),
            names: self.names.clone(),
            computed: self.computed.clone(),
            bytes: self.bytes,
            text_end: self.text_end,
            text_start: self.text_start,
            counts: self.counts.clone(),
            sampled: Vec::new(),
            number: self.number,
        }
    }

    /// As the user named it; stands in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Opens the file.
    ///
    /// # Errors
    /// When that fails, or it is open already and was read.
    pub fn open(&self) -> Result<Source, LoadError> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).take();
        let source = opened.map_or_else(|| (self.open)(), Ok)?;
        Ok(match self.text_end {
            Some(end) => source.cut(end),
            None => source,
        })
    }

    /// As [`InputFile::open`]; what the source takes for itself counts against `memory`.
    pub(crate) fn open_counted(&self, memory: &Arc<Memory>) -> Result<Source, LoadError> {
        let mut source = self.open()?;
        source.count_against(&memory_pool(memory));
        Ok(source)
    }
}

impl fmt::Debug for InputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputFile").field("name", &self.name).field("fields", &self.fields).finish_non_exhaustive()
    }
}
