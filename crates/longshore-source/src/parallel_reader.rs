//! Blocks that several threads decompress and one reader takes in order, in bounded memory.
//!
//! One thread, the *cutter*, walks the compressed bytes. What can be decompressed alone it hands to workers as units;
//! what cannot, it decompresses itself. Either way the output goes to a *slot*, and slots are read in the order in
//! which they were opened. A slot that is not being read yet may only use what is left of the memory for blocks; the
//! one that is being read always gets a block, so that the whole never stands still.
//!
//! Dropping the reader ends all threads at their next block; it does not wait for them, since the cutter may wait for
//! a pipe. Blocks and units count against the memory limit ([`Budget`]); where it is near, fewer lie ahead. Not here: any format (`container`).

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::budget::{Budget, Reserved};
use crate::fault::Stop;

mod sink;

use sink::Content;
pub(crate) use sink::{Expected, Sink};

/// Bytes of a block.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;
/// Threads beyond this find no work: the reader takes the blocks one after the other.
const THREADS_MAX: usize = 16;
/// Decompressed bytes that may wait per thread.
const WAITING_BYTES: usize = 8 << 20;
/// Compressed bytes of a unit: what is larger is decompressed by the cutter.
const UNIT_BYTES_MAX: usize = 16 << 20;
/// Compressed bytes that small units are gathered to.
pub(crate) const UNIT_BYTES_MIN: usize = 256 << 10;

/// The parts of the memory that is left, one in so many, that waiting blocks and one unit may take.
const WAITING_SHARE: usize = 16;
const UNIT_SHARE: usize = 64;

/// How long a reader waits before it asks whether it shall go on.
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);

type UnitTask = Box<dyn FnOnce(&mut Sink) -> Result<(), Stop> + Send>;

struct Shared {
    state: Mutex<State>,
    /// Signalled when a block can be read.
    readable: Condvar,
    /// Signalled when a block was read, a unit taken or all ended.
    writable: Condvar,
    threads: usize,
    budget: Budget,
    /// Decompressed bytes that may wait.
    waiting_bytes_max: usize,
    unit_bytes_max: usize,
    /// Set when nobody reads any more; changed under the lock of `state`.
    cancelled: Arc<AtomicBool>,
}

struct State {
    slots: VecDeque<Slot>,
    /// Number of the front slot.
    first: u64,
    units: VecDeque<(u64, UnitTask, Reserved)>,
    workers: usize,
    workers_idle: usize,
    /// Bytes of blocks that are being filled or wait to be read.
    held_bytes: usize,
    spare: Vec<Block>,
    /// No slot will be opened any more.
    ended: bool,
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

/// Decompressed bytes: the first `filled` of an allocation that is used again and again.
struct Block {
    bytes: Vec<u8>,
    filled: usize,
    _counted: Reserved,
}

impl Shared {
    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(condvar: &Condvar, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        condvar.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Also ends after some time: others may have given memory back.
    fn wait_a_little<'a>(condvar: &Condvar, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        condvar.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0
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

    /// Whether nobody reads any more.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.shared.is_cancelled()
    }

    /// Set when nobody reads any more.
    pub(crate) fn cancelled(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shared.cancelled)
    }

    /// What is held counts against this.
    pub(crate) fn budget(&self) -> Budget {
        self.shared.budget.clone()
    }

    /// Compressed bytes of a unit: what is larger is decompressed by the cutter.
    pub(crate) fn unit_bytes_max(&self) -> usize {
        self.shared.unit_bytes_max
    }

    /// The next slot, to be filled by the caller.
    pub(crate) fn sink(&self) -> Sink {
        let number = self.shared.lock().open_slot();
        Sink { shared: Arc::clone(&self.shared), number, block: None, ended: false }
    }

    /// The next slot, to be filled by a worker with what `task` makes of the `bytes` that it holds. Waits while all are
    /// busy and have enough to do.
    pub(crate) fn submit(
        &self,
        bytes: usize,
        task: impl FnOnce(&mut Sink) -> Result<(), Stop> + Send + 'static,
    ) -> Result<(), Stop> {
        let mut state = self.shared.lock();
        let counted = loop {
            if self.shared.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            if state.units.len() <= self.shared.threads {
                let counted = self.shared.budget.reserve(bytes).or_else(|_| {
                    state.spare.clear();
                    self.shared.budget.reserve(bytes)
                });
                match counted {
                    Ok(counted) => break counted,
                    // Nobody will give memory back: no unit is in work, and no block waits to be read.
                    Err(error)
                        if state.units.is_empty() && state.workers_idle == state.workers && state.held_bytes == 0 =>
                    {
                        return Err(error.into());
                    }
                    Err(_) => {}
                }
            }
            state = Shared::wait_a_little(&self.shared.writable, state);
        };
        let number = state.open_slot();
        state.units.push_back((number, Box::new(task), counted));
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
        let (number, task, counted) = loop {
            if shared.is_cancelled() {
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
        let result = task(&mut sink);
        drop(counted);
        match result {
            Ok(()) => sink.finish(),
            Err(stop) => sink.fail(stop),
        }
    }
}

/// Reads the blocks in order.
pub(crate) struct ParallelReader {
    shared: Arc<Shared>,
    block: Option<Block>,
    /// Bytes of `block` that were read.
    position: usize,
    content: Option<Content>,
    /// What went wrong: said again at every further read, so that nobody takes it for the end.
    failed: Option<(io::ErrorKind, String)>,
}

impl ParallelReader {
    /// Starts `cut` on a thread of its own; `threads` workers may help it. Called at the first read.
    pub(crate) fn start(
        threads: usize,
        budget: &Budget,
        cut: impl FnOnce(&Output) -> Result<(), Stop> + Send + 'static,
    ) -> io::Result<Self> {
        budget.fix();
        let threads = threads.clamp(1, THREADS_MAX);
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
            }),
            readable: Condvar::new(),
            writable: Condvar::new(),
            threads,
            waiting_bytes_max: budget.share(WAITING_SHARE, 2 * BLOCK_BYTES, (threads + 1) * WAITING_BYTES),
            unit_bytes_max: budget.share(UNIT_SHARE, UNIT_BYTES_MIN, UNIT_BYTES_MAX),
            budget: budget.clone(),
            cancelled: Arc::default(),
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

    /// Takes the next part; `None` at the end. Fails when nothing comes for a while, so that the caller can see
    /// whether anybody still wants it.
    fn next(&mut self) -> io::Result<Option<Part>> {
        let mut state = self.shared.lock();
        loop {
            if let Some(slot) = state.slots.front_mut() {
                if let Some(part) = slot.parts.pop_front() {
                    drop(state);
                    // The slot may fill another block ahead.
                    self.shared.writable.notify_all();
                    return Ok(Some(part));
                }
                if slot.finished {
                    state.slots.pop_front();
                    state.first += 1;
                    self.shared.writable.notify_all();
                    continue;
                }
            } else if state.ended {
                return Ok(None);
            }
            let waited = self.shared.readable.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner);
            if waited.1.timed_out() {
                return Err(io::Error::from(io::ErrorKind::WouldBlock));
            }
            state = waited.0;
        }
    }

    fn give_back(&mut self, block: Block) {
        let mut state = self.shared.lock();
        state.held_bytes -= block.bytes.len();
        let spare_bytes: usize = state.spare.iter().map(|spare| spare.bytes.len()).sum();
        if state.held_bytes + spare_bytes + block.bytes.len() <= self.shared.waiting_bytes_max {
            state.spare.push(Block { filled: 0, ..block });
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
            let error = io::Error::other("a thread that reads ahead panicked; this is a bug, please report it");
            self.0.sink().fail(Stop::Failed(error));
        }
    }
}

impl Read for ParallelReader {
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
            match self.next()? {
                None => return Ok(0),
                Some(Part::Block(block)) => {
                    if let Some(content) = &mut self.content {
                        content.add(&block.bytes[..block.filled]);
                    }
                    self.block = Some(block);
                    self.position = 0;
                }
                Some(Part::ContentBegins) => self.content = Some(Content::new()),
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

impl Drop for ParallelReader {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        self.shared.cancelled.store(true, Ordering::Relaxed);
        state.units.clear();
        drop(state);
        self.shared.writable.notify_all();
    }
}
