//! What the users of a log share behind its lock: the frame that gathers, and who writes.

use std::time::Instant;

use super::error::LogError;
use super::frame::{self, RECORD_OVERHEAD_MAX};
use super::lsn::Lsn;
use super::segment_writer::SegmentWriter;

/// What is done when a position is safe, or when the log has failed before that. It waits for nothing.
pub type WhenSafe = Box<dyn FnOnce(Result<(), LogError>) + Send>;

/// A frame that gathers or is written.
#[derive(Debug)]
pub(super) struct Group {
    start: Lsn,
    pub(super) bytes: Vec<u8>,
}

impl Group {
    fn new(start: Lsn, mut bytes: Vec<u8>) -> Group {
        frame::begin(&mut bytes);
        Group { start, bytes }
    }

    fn payload_bytes(&self) -> usize {
        self.bytes.len() - frame::HEADER_BYTES
    }

    fn is_empty(&self) -> bool {
        self.payload_bytes() == 0
    }

    /// Where the next one begins.
    fn next(&self) -> Lsn {
        if self.is_empty() { self.start } else { self.start.behind(frame::bytes_of(self.payload_bytes())) }
    }
}

pub(super) struct State {
    gathering: Group,
    /// When the first record of it came.
    gathering_since: Option<Instant>,
    /// The other buffer, unless it is being written.
    idle: Vec<u8>,
    buffer_bytes: usize,
    /// Of the frame that gathers or, if that is written first, of those behind it.
    reserved_bytes: usize,
    pub(super) waiting_for_room: usize,
    /// Who has taken it writes.
    writer: Option<Box<SegmentWriter>>,
    durable: Lsn,
    /// The highest position that somebody waits for.
    wanted: Lsn,
    /// What is done when positions are safe.
    when_safe: Vec<(Lsn, WhenSafe)>,
    failed: Option<LogError>,
    pub(super) background: Background,
}

/// What a background writer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Background {
    /// There is none.
    Absent,
    /// It sleeps until somebody wakes it.
    Asleep,
    /// It works, or wakes up by itself.
    Awake,
    /// It is to write what there is and end.
    Ending,
}

impl State {
    pub(super) fn new(writer: Box<SegmentWriter>, buffer_bytes: usize) -> State {
        let end = writer.end();
        State {
            gathering: Group::new(end, Vec::with_capacity(buffer_bytes)),
            gathering_since: None,
            idle: Vec::with_capacity(buffer_bytes),
            buffer_bytes,
            reserved_bytes: 0,
            waiting_for_room: 0,
            writer: Some(writer),
            durable: end,
            wanted: end,
            when_safe: Vec::new(),
            failed: None,
            background: Background::Absent,
        }
    }

    /// Fails if the log has.
    pub(super) fn check(&self) -> Result<(), LogError> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    pub(super) fn durable(&self) -> Lsn {
        self.durable
    }

    pub(super) fn end(&self) -> Lsn {
        if self.gathering.is_empty() {
            self.gathering.start
        } else {
            self.gathering.start.behind(self.gathering.bytes.len())
        }
    }

    /// When the oldest record came that nobody writes.
    pub(super) fn gathering_since(&self) -> Option<Instant> {
        self.gathering_since
    }

    /// Whether somebody waits for what is not safe.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted > self.durable
    }

    /// Reserves room if there is any. The last record may be longer than what is left, so that short ones do not keep a long
    /// one waiting for ever.
    pub(super) fn reserve(&mut self, bytes: usize) -> bool {
        let has_room = self.gathering.payload_bytes() + self.reserved_bytes < self.buffer_bytes;
        if has_room {
            self.reserved_bytes += bytes;
        }
        has_room
    }

    /// Gives back what was reserved, for a record of these parts.
    pub(super) fn give_back(&mut self, bytes: usize, parts: &[&[u8]]) {
        let used: usize = parts.iter().map(|part| part.len()).sum();
        assert!(used + RECORD_OVERHEAD_MAX <= bytes, "a record of {used} bytes, for which too few were reserved");
        self.reserved_bytes -= bytes;
    }

    pub(super) fn append(&mut self, kind: u8, parts: &[&[u8]]) -> Lsn {
        if self.gathering.is_empty() && self.background != Background::Absent {
            self.gathering_since = Some(Instant::now());
        }
        frame::push(&mut self.gathering.bytes, kind, parts);
        self.end()
    }

    /// Whether a background writer sleeps who must know that a frame gathers; then it does not any more.
    pub(super) fn wakes_background(&mut self) -> bool {
        let wakes = self.background == Background::Asleep;
        if wakes {
            self.background = Background::Awake;
        }
        wakes
    }

    /// Notes that somebody waits for a position; says whether that is news.
    pub(super) fn want(&mut self, lsn: Lsn) -> bool {
        let is_news = lsn > self.wanted.max(self.durable);
        self.wanted = self.wanted.max(lsn.min(self.end()));
        is_news
    }

    /// Keeps what is to be done when a position is safe, if a background writer will see to that.
    pub(super) fn keep_when_safe(&mut self, lsn: Lsn, then: WhenSafe) -> Option<WhenSafe> {
        let is_written = matches!(self.background, Background::Asleep | Background::Awake);
        if !is_written || self.failed.is_some() || lsn <= self.durable {
            return Some(then);
        }
        self.when_safe.push((lsn, then));
        None
    }

    /// Takes what is to be done now: of positions that are safe, or of all once the log has failed.
    pub(super) fn take_when_safe(&mut self) -> WhenSafeNow {
        let (durable, failed) = (self.durable, &self.failed);
        let now = self.when_safe.extract_if(.., |(lsn, _)| failed.is_some() || *lsn <= durable);
        let result = |lsn: Lsn| failed.clone().filter(|_| lsn > durable).map_or(Ok(()), Err);
        WhenSafeNow(now.map(|(lsn, then)| (then, result(lsn))).collect())
    }

    /// Whether there is something to write and nobody writes.
    pub(super) fn can_write(&self) -> bool {
        self.writer.is_some() && self.failed.is_none() && !self.gathering.is_empty()
    }

    /// Whether the background writer should look again, now that nobody writes.
    pub(super) fn needs_background(&self) -> bool {
        match self.background {
            Background::Absent => false,
            Background::Ending => true,
            Background::Asleep | Background::Awake => !self.gathering.is_empty(),
        }
    }

    /// Whether there is nothing left to do.
    pub(super) fn is_at_rest(&self) -> bool {
        self.failed.is_some() || (self.gathering.is_empty() && self.writer.is_some())
    }

    /// Makes the caller the one who writes, and gives it what has gathered.
    pub(super) fn take_group(&mut self) -> (Box<SegmentWriter>, Group) {
        let writer = self.writer.take().expect("the caller has asked whether nobody writes");
        let next = Group::new(self.gathering.next(), std::mem::take(&mut self.idle));
        self.gathering_since = None;
        (writer, std::mem::replace(&mut self.gathering, next))
    }

    /// Ends what [`State::take_group`] has begun.
    pub(super) fn return_group(&mut self, writer: Box<SegmentWriter>, group: Group, written: Result<(), LogError>) {
        match written {
            Ok(()) => {
                debug_assert_eq!(writer.end(), self.gathering.start, "frames lie one behind the other");
                self.durable = writer.end();
            }
            Err(error) => self.failed = Some(error),
        }
        self.writer = Some(writer);
        // One that has grown for a long record goes.
        self.idle = if group.bytes.capacity() > 2 * self.buffer_bytes {
            Vec::with_capacity(self.buffer_bytes)
        } else {
            group.bytes
        };
    }

    /// Whether somebody writes what has gathered; not to be asked of a log that was closed.
    pub(super) fn is_writing(&self) -> bool {
        self.writer.is_none()
    }

    /// Takes and writes nothing more from now on; says whether that is news.
    pub(super) fn abandon(&mut self) -> bool {
        let is_news = !matches!(self.failed, Some(LogError::Closed));
        self.failed.get_or_insert(LogError::Closed);
        is_news
    }

    /// Takes nothing more from now on; the caller finishes the writer's segment.
    pub(super) fn close(&mut self) -> Option<Box<SegmentWriter>> {
        self.failed = Some(LogError::Closed);
        self.writer.take()
    }
}

/// What is to be done now, with what came of it.
#[must_use = "somebody waits for it"]
pub(super) struct WhenSafeNow(Vec<(WhenSafe, Result<(), LogError>)>);

impl WhenSafeNow {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Does it. No lock is held meanwhile.
    pub(super) fn run(self) {
        self.0.into_iter().for_each(|(then, result)| then(result));
    }
}
