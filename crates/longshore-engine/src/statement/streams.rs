//! What COPY reads as STDIN and writes as STDOUT.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

use crate::datafusion::RowsOnce;
use crate::sql::options::OptionItem;

/// The streams of a session.
#[derive(Default)]
pub(crate) struct Streams {
    pub(crate) input: Option<Box<dyn Read + Send>>,
    pub(crate) output: Option<SharedWriter>,
    /// Rows that COPY reads as STDIN in the place of `input`.
    pub(crate) rows: Option<RowsOnce>,
    /// Whether they have PostgreSQL's text format where no other is named.
    pub(crate) are_postgres_text: bool,
    /// Is told when a COPY begins to use one of them.
    pub(crate) watcher: Option<Box<dyn FnMut(CopyBegin) + Send>>,
}

/// A COPY that begins to use a stream of its session: it is right, as far as that can be known before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyBegin {
    /// It is about to read STDIN.
    In {
        /// Into how many columns.
        columns: usize,
        /// Whether it is in PostgreSQL's binary format.
        is_binary: bool,
    },
    /// It is about to write to STDOUT.
    Out {
        /// How many columns.
        columns: usize,
        /// Whether it is in PostgreSQL's binary format.
        is_binary: bool,
    },
}

impl Streams {
    /// Tells who watches that a COPY begins.
    pub(crate) fn begin(&mut self, begin: CopyBegin) {
        if let Some(watcher) = &mut self.watcher {
            watcher(begin);
        }
    }

    /// `options` of a COPY, with the format of the streams if they name none.
    pub(crate) fn with_format(&self, mut options: Vec<OptionItem>) -> Vec<OptionItem> {
        if self.are_postgres_text && !options.iter().any(|option| option.name == "FORMAT") {
            options.push(OptionItem::format("text"));
        }
        options
    }
}

/// A writer that each `COPY ... TO STDOUT` borrows in turn.
#[derive(Clone)]
pub(crate) struct SharedWriter(Arc<Mutex<Box<dyn Write + Send>>>);

impl SharedWriter {
    /// A writer to `output`.
    pub(crate) fn new(output: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Box::new(output))))
    }

    fn with<R>(&self, act: impl FnOnce(&mut dyn Write) -> R) -> R {
        let mut writer = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        act(&mut **writer)
    }
}

impl Write for SharedWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.with(|writer| writer.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.with(|writer| writer.flush())
    }
}
