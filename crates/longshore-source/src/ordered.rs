//! Blocks that several threads decompress and one reader takes in order, in bounded memory.
//!
//! One thread, the *cutter*, walks the compressed bytes. What can be decompressed alone it hands to workers as units;
//! what cannot, it decompresses itself. Either way the output goes to a *slot*, and slots are read in the order in
//! which they were opened. A slot that is not being read yet may only use what is left of the memory for blocks; the
//! one that is being read always gets a block, so that the whole never stands still.
//!
//! Dropping the reader ends all threads at their next block; it does not wait for them, since the cutter may wait for
//! a pipe. Memory: [`memory_bytes_max`]. Not here: any format (`container`).

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use xxhash_rust::xxh32::Xxh32;

use crate::fault::{Stop, damaged};

/// Bytes of a block.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;
/// Threads beyond this find no work: the reader takes the blocks one after the other.
pub(crate) const THREADS_MAX: usize = 16;
/// Decompressed bytes that may wait per thread.
const WAITING_BYTES: usize = 8 << 20;
/// Compressed bytes of a unit: what is larger is decompressed by the cutter.
pub(crate) const UNIT_BYTES_MAX: usize = 16 << 20;
/// Compressed bytes that small units are gathered to.
pub(crate) const UNIT_BYTES_MIN: usize = 256 << 10;

/// Bytes that a container opened with `threads` threads may hold: decompressed blocks, and the units being worked on.
#[must_use]
pub fn memory_bytes_max(threads: usize) -> usize {
    let threads = threads.clamp(1, THREADS_MAX);
    waiting_bytes_max(threads) + (2 * threads + 2) * UNIT_BYTES_MAX
}

fn waiting_bytes_max(threads: usize) -> usize {
    (threads + 1) * WAITING_BYTES
}

type Work = Box<dyn FnOnce(&mut Sink) -> Result<(), Stop> + Send>;

struct Shared {
    state: Mutex<State>,
    /// Signalled when a block can be read.
    readable: Condvar,
    /// Signalled when a block was read, a unit taken or all ended.
    writable: Condvar,
    threads: usize,
}

struct State {
    slots: VecDeque<Slot>,
    /// Number of the front slot.
    first: u64,
    units: VecDeque<(u64, Work)>,
    workers: usize,
    workers_idle: usize,
    /// Bytes of blocks that are being filled or wait to be read.
    held_bytes: usize,
    spare: Vec<Vec<u8>>,
    /// No slot will be opened any more.
    ended: bool,
    cancelled: bool,
}

#[derive(Default)]
struct Slot {
    parts: VecDeque<Part>,
    finished: bool,
}

enum Part {
    Block(Block),
    /// The content that [`Expected`] speaks of begins here.
    ContentBegins,
    ContentIs(Expected),
    Failed(io::Error),
}

/// What the content since [`Sink::begin_content`] must be, in the words of the file.
pub(crate) struct Expected {
    /// Its XXH32.
    pub(crate) sum: Option<u32>,
    /// Its length.
    pub(crate) bytes: Option<u64>,
    /// The format that says so.
    pub(crate) format: &'static str,
    /// Offset of the checksum in the file.
    pub(crate) offset: u64,
}

/// Decompressed bytes: the first `filled` of an allocation that is used again and again.
struct Block {
    bytes: Vec<u8>,
    filled: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(condvar: &Condvar, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        condvar.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn open_slot(&mut self) -> u64 {
        self.slots.push_back(Slot::default());
        self.first + self.slots.len() as u64 - 1
    }

    fn slot(&mut self, number: u64) -> &mut Slot {
        let index = (number - self.first) as usize;
        &mut self.slots[index]
    }
}

/// Where the cutter puts what it finds.
pub(crate) struct Output {
    shared: Arc<Shared>,
}

impl Output {
    /// Whether units are worth cutting: a single thread decompresses as it reads.
    pub(crate) fn is_parallel(&self) -> bool {
        self.shared.threads > 1
    }

    /// Threads that may work at a time.
    pub(crate) fn threads(&self) -> usize {
        self.shared.threads
    }

    /// The next slot, to be filled by the caller.
    pub(crate) fn sink(&self) -> Sink {
        let number = self.shared.lock().open_slot();
        Sink { shared: Arc::clone(&self.shared), number, block: None, ended: false }
    }

    /// The next slot, to be filled by a worker. Waits while all are busy and have enough to do.
    pub(crate) fn submit(&self, work: impl FnOnce(&mut Sink) -> Result<(), Stop> + Send + 'static) -> Result<(), Stop> {
        let mut state = self.shared.lock();
        while !state.cancelled && state.units.len() > self.shared.threads {
            state = Shared::wait(&self.shared.writable, state);
        }
        if state.cancelled {
            return Err(Stop::Cancelled);
        }
        let number = state.open_slot();
        state.units.push_back((number, Box::new(work)));
        if state.workers_idle < state.units.len() && state.workers < self.shared.threads {
            let shared = Arc::clone(&self.shared);
            let spawned = thread::Builder::new().name(String::from("decompress")).spawn(move || work_units(&shared));
            match spawned {
                Ok(_) => state.workers += 1,
                Err(error) if state.workers == 0 => return Err(Stop::Failed(error)),
                // Fewer workers than wished for do the same.
                Err(_) => {}
            }
        }
        drop(state);
        self.shared.writable.notify_all();
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.ended = true;
        drop(state);
        self.shared.writable.notify_all();
        self.shared.readable.notify_all();
    }
}

/// Does units until there will be none.
fn work_units(shared: &Arc<Shared>) {
    loop {
        let mut state = shared.lock();
        let (number, work) = loop {
            if state.cancelled {
                return;
            }
            if let Some(unit) = state.units.pop_front() {
                break unit;
            }
            if state.ended {
                return;
            }
            state.workers_idle += 1;
            state = Shared::wait(&shared.writable, state);
            state.workers_idle -= 1;
        };
        drop(state);
        shared.writable.notify_all();
        let mut sink = Sink { shared: Arc::clone(shared), number, block: None, ended: false };
        match work(&mut sink) {
            Ok(()) => sink.finish(),
            Err(stop) => sink.fail(stop),
        }
    }
}

/// Fills one slot.
pub(crate) struct Sink {
    shared: Arc<Shared>,
    number: u64,
    block: Option<Block>,
    ended: bool,
}

impl Sink {
    /// Room for the next bytes, at least one. Waits until the reader is near.
    pub(crate) fn free(&mut self) -> Result<&mut [u8], Stop> {
        self.free_for(1)
    }

    /// Room for the next `wanted` bytes at least, in one piece.
    pub(crate) fn free_for(&mut self, wanted: usize) -> Result<&mut [u8], Stop> {
        if self.block.as_ref().is_none_or(|block| block.bytes.len() - block.filled < wanted) {
            self.flush();
            self.block = Some(self.obtain(wanted.next_multiple_of(BLOCK_BYTES))?);
        }
        let block = self.block.as_mut().expect("set above");
        Ok(&mut block.bytes[block.filled..])
    }

    /// The first `bytes` of the room are filled.
    pub(crate) fn advance(&mut self, bytes: usize) {
        if let Some(block) = &mut self.block {
            block.filled += bytes;
            debug_assert!(block.filled <= block.bytes.len());
        }
    }

    /// Content that is checked as a whole begins here.
    pub(crate) fn begin_content(&mut self) {
        self.flush();
        self.push(Part::ContentBegins);
    }

    /// The content ends here, and must be what is expected. It may have begun in an earlier slot.
    pub(crate) fn expect_content(&mut self, expected: Expected) {
        self.flush();
        self.push(Part::ContentIs(expected));
    }

    /// All is filled.
    pub(crate) fn finish(mut self) {
        self.end(None);
    }

    /// The rest cannot be filled.
    pub(crate) fn fail(mut self, stop: Stop) {
        match stop {
            Stop::Cancelled => self.end(None),
            Stop::Failed(error) => self.end(Some(error)),
        }
    }

    fn end(&mut self, error: Option<io::Error>) {
        self.flush();
        self.ended = true;
        let mut state = self.shared.lock();
        let slot = state.slot(self.number);
        slot.parts.extend(error.map(Part::Failed));
        slot.finished = true;
        drop(state);
        self.shared.readable.notify_all();
    }

    fn flush(&mut self) {
        if let Some(block) = self.block.take() {
            self.push(Part::Block(block));
        }
    }

    fn push(&self, part: Part) {
        let mut state = self.shared.lock();
        state.slot(self.number).parts.push_back(part);
        drop(state);
        self.shared.readable.notify_all();
    }

    fn obtain(&self, bytes: usize) -> Result<Block, Stop> {
        let mut state = self.shared.lock();
        loop {
            if state.cancelled {
                return Err(Stop::Cancelled);
            }
            let fits = state.held_bytes + bytes <= waiting_bytes_max(self.shared.threads);
            let is_first = state.first == self.number;
            if fits || is_first && state.slot(self.number).parts.is_empty() {
                break;
            }
            state = Shared::wait(&self.shared.writable, state);
        }
        state.held_bytes += bytes;
        let spare = state.spare.iter().position(|spare| spare.len() == bytes);
        let spare = spare.map(|index| state.spare.swap_remove(index));
        drop(state);
        Ok(Block { bytes: spare.unwrap_or_else(|| vec![0; bytes]), filled: 0 })
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if !self.ended {
            let error = thread::panicking().then(|| io::Error::other("the decompressor panicked; this is a bug"));
            self.end(error);
        }
    }
}

/// Content that is checked as a whole.
struct Content {
    sum: Xxh32,
    bytes: u64,
}

impl Content {
    fn check(self, expected: &Expected) -> Result<(), Stop> {
        let Expected { sum, bytes, format, offset } = *expected;
        let found = self.sum.digest();
        if let Some(sum) = sum.filter(|&sum| sum != found) {
            let problem = format!("the checksum of the content is {found:08x}, not {sum:08x} as stored");
            return Err(damaged(format, offset, problem));
        }
        if let Some(bytes) = bytes.filter(|&bytes| bytes != self.bytes) {
            let problem = format!("the content has {} bytes, not {bytes} as stored", self.bytes);
            return Err(damaged(format, offset, problem));
        }
        Ok(())
    }
}

/// Reads the blocks in order.
pub(crate) struct Ordered {
    shared: Arc<Shared>,
    block: Option<Block>,
    /// Bytes of `block` that were read.
    position: usize,
    content: Option<Content>,
    /// What went wrong: said again at every further read, so that nobody takes it for the end.
    failed: Option<(io::ErrorKind, String)>,
}

impl Ordered {
    /// Starts `cut` on a thread of its own; `threads` workers may help it.
    pub(crate) fn start(
        threads: usize,
        cut: impl FnOnce(&Output) -> Result<(), Stop> + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                slots: VecDeque::new(),
                first: 0,
                units: VecDeque::new(),
                workers: 0,
                workers_idle: 0,
                held_bytes: 0,
                spare: Vec::new(),
                ended: false,
                cancelled: false,
            }),
            readable: Condvar::new(),
            writable: Condvar::new(),
            threads: threads.clamp(1, THREADS_MAX),
        });
        let output = Output { shared: Arc::clone(&shared) };
        thread::Builder::new().name(String::from("cut")).spawn(move || {
            let guard = output.sink_on_panic();
            let result = cut(&output);
            drop(guard);
            if let Err(stop) = result {
                output.sink().fail(stop);
            }
        })?;
        Ok(Self { shared, block: None, position: 0, content: None, failed: None })
    }

    /// Takes the next part; `None` at the end.
    fn next(&mut self) -> Option<Part> {
        let mut state = self.shared.lock();
        loop {
            if let Some(slot) = state.slots.front_mut() {
                if let Some(part) = slot.parts.pop_front() {
                    drop(state);
                    // The slot may fill another block ahead.
                    self.shared.writable.notify_all();
                    return Some(part);
                }
                if slot.finished {
                    state.slots.pop_front();
                    state.first += 1;
                    self.shared.writable.notify_all();
                    continue;
                }
            } else if state.ended {
                return None;
            }
            state = Shared::wait(&self.shared.readable, state);
        }
    }

    fn give_back(&mut self, block: Block) {
        let mut state = self.shared.lock();
        state.held_bytes -= block.bytes.len();
        let spare_bytes: usize = state.spare.iter().map(Vec::len).sum();
        if state.held_bytes + spare_bytes + block.bytes.len() <= waiting_bytes_max(self.shared.threads) {
            state.spare.push(block.bytes);
        }
        drop(state);
        self.shared.writable.notify_all();
    }

    fn fail(&mut self, error: io::Error) -> io::Error {
        self.failed = Some((error.kind(), error.to_string()));
        error
    }
}

impl Output {
    /// Something that ends with an error if the cutter panics.
    fn sink_on_panic(&self) -> PanicGuard<'_> {
        PanicGuard(self)
    }
}

struct PanicGuard<'a>(&'a Output);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let error = io::Error::other("the decompressor panicked; this is a bug");
            self.0.sink().fail(Stop::Failed(error));
        }
    }
}

impl Read for Ordered {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some((kind, message)) = &self.failed {
            return Err(io::Error::new(*kind, message.clone()));
        }
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(block) = &self.block {
                let rest = &block.bytes[self.position..block.filled];
                if !rest.is_empty() {
                    let bytes = rest.len().min(into.len());
                    into[..bytes].copy_from_slice(&rest[..bytes]);
                    self.position += bytes;
                    return Ok(bytes);
                }
            }
            if let Some(block) = self.block.take() {
                self.give_back(block);
            }
            match self.next() {
                None => return Ok(0),
                Some(Part::Block(block)) => {
                    if let Some(content) = &mut self.content {
                        content.sum.update(&block.bytes[..block.filled]);
                        content.bytes += block.filled as u64;
                    }
                    self.block = Some(block);
                    self.position = 0;
                }
                Some(Part::ContentBegins) => self.content = Some(Content { sum: Xxh32::new(0), bytes: 0 }),
                Some(Part::ContentIs(expected)) => {
                    let checked = self.content.take().map_or(Ok(()), |content| content.check(&expected));
                    if let Err(Stop::Failed(error)) = checked {
                        return Err(self.fail(error));
                    }
                }
                Some(Part::Failed(error)) => return Err(self.fail(error)),
            }
        }
    }
}

impl Drop for Ordered {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.cancelled = true;
        state.units.clear();
        drop(state);
        self.shared.writable.notify_all();
    }
}
