//! What can be read only once, kept as far as it was read, so that it can be read again.
//!
//! Several passes may be needed to find out what a text is. The text counts against the memory limit. Not here: which
//! sources cannot be opened twice (the engine).

use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Source;
use crate::byte_counter::ByteCounter;
use crate::error::SourceError;
use crate::memory::{MemoryPool, MemoryReservation};

/// Bytes that are kept in one part.
const PART_BYTES: usize = 1 << 20;

/// Opens the source itself.
type Open = Box<dyn FnOnce() -> Result<Source, SourceError> + Send>;

/// The text of a source that can be read only once.
#[derive(Clone)]
pub struct KeptText(Arc<Mutex<State>>);

struct State {
    /// Until it is opened.
    open: Option<Open>,
    opened: Option<Opened>,
}

/// The source, and what was read of it.
struct Opened {
    name: String,
    /// `None` at its end.
    reader: Option<Box<dyn Read + Send>>,
    measure: Option<(Option<u64>, Arc<ByteCounter>)>,
    count: Option<super::Count>,
    /// All of [`PART_BYTES`] but the last.
    parts: Vec<Vec<u8>>,
    /// What the parts take.
    reserved: Option<Box<dyn MemoryReservation>>,
    /// Whether nothing more is to be kept.
    reads_on: bool,
}

impl KeptText {
    /// Of the source that `open` opens.
    #[must_use]
    pub fn new(open: impl FnOnce() -> Result<Source, SourceError> + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(State { open: Some(Box::new(open)), opened: None })))
    }

    /// The text from its beginning, for one of any number of readers.
    ///
    /// # Errors
    /// When the source cannot be opened.
    pub fn open(&self) -> Result<Source, SourceError> {
        let mut state = self.state();
        if let Some(open) = state.open.take() {
            let mut source = open()?;
            let count = source.count.take();
            let measure = source.measure.take().map(|measure| (measure.bytes_total, measure.counter));
            let name = source.name.clone();
            let reader = Some(source.into_stream());
            state.opened =
                Some(Opened { name, reader, measure, count, parts: Vec::new(), reserved: None, reads_on: false });
        }
        let Some(opened) = &mut state.opened else {
            return Err(SourceError::Unopened);
        };
        let source = Source::from_reader(&opened.name, Box::new(Reader { text: self.clone(), position: 0 }));
        let source = match opened.measure.take() {
            Some((bytes_total, counter)) => source.measured(bytes_total, counter),
            None => source,
        };
        let text = self.clone();
        Ok(source.counted(move |pool| text.count(pool)))
    }

    /// Keeps nothing more than what was read: there is one more reader, and it reads on from the source.
    pub fn read_on(&self) {
        if let Some(opened) = &mut self.state().opened {
            opened.reads_on = true;
        }
    }

    /// Counts what is kept, from now on, against `pool`.
    fn count(&self, pool: &Arc<dyn MemoryPool>) {
        let mut state = self.state();
        let Some(opened) = &mut state.opened else { return };
        if let Some(count) = opened.count.take() {
            count(pool);
        }
        opened.reserved.get_or_insert_with(|| pool.reservation());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opened {
    /// Bytes that were read.
    fn bytes(&self) -> usize {
        self.parts.last().map_or(0, |last| (self.parts.len() - 1) * PART_BYTES + last.len())
    }

    /// Reads on, if there is more.
    fn read_on(&mut self) -> io::Result<()> {
        let Some(reader) = &mut self.reader else { return Ok(()) };
        if self.parts.last().is_none_or(|last| last.len() == PART_BYTES) {
            if let Some(reserved) = &mut self.reserved {
                reserved.grow(PART_BYTES).map_err(io::Error::other)?;
            }
            self.parts.push(Vec::with_capacity(PART_BYTES));
        }
        let Some(last) = self.parts.last_mut() else { return Ok(()) };
        let filled = last.len();
        last.resize(PART_BYTES, 0);
        let read = reader.read(&mut last[filled..]);
        last.truncate(filled + *read.as_ref().unwrap_or(&0));
        if read? == 0 {
            self.reader = None;
        }
        Ok(())
    }
}

/// Reads the text from its beginning.
struct Reader {
    text: KeptText,
    position: usize,
}

impl Read for Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut state = self.text.state();
        let Some(opened) = &mut state.opened else { return Ok(0) };
        if self.position == opened.bytes() {
            if opened.reads_on {
                return opened.reader.as_mut().map_or(Ok(0), |reader| reader.read(into));
            }
            opened.read_on()?;
        }
        let Some(part) = opened.parts.get(self.position / PART_BYTES) else { return Ok(0) };
        let read = (&part[self.position % PART_BYTES..]).read(into)?;
        self.position += read;
        Ok(read)
    }
}
