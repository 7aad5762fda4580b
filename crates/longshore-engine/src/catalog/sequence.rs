//! Sequences: numbers given out one after the other.
//!
//! As in PostgreSQL they are no part of transactions: a number that was given out is gone, whatever becomes of who took
//! it, so that nobody waits for anybody. CACHE is kept and exported, but numbers are never set aside for a session: to
//! take one costs a lock of a few instructions. Only a transaction block that alters a sequence has one of its own, and others
//! wait for its end (`hold`). Not here: the functions of SQL (`datafusion::sequences`), what a session took last (`session`).

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hold::Hold;
use longshore_storage::ColumnType;

use super::log::CatalogLog;
use super::operations::Operations;
use crate::sql::names;
use crate::sql::sequence::SequenceOptions;
use crate::{Error, ErrorKind};

mod hold;
mod image;

pub(crate) use image::SequenceImage;

/// Numbers that are logged as taken beyond those that are; as in PostgreSQL.
const LOGGED_AHEAD: u64 = 32;

/// A sequence.
pub(crate) struct Sequence {
    pub(crate) name: String,
    /// What it shares with what it was before it was altered in a block or renamed, and with nothing else.
    identity: Arc<()>,
    state: Mutex<State>,
    /// The log of its database, and its number there.
    log: OnceLock<(u64, Arc<CatalogLog>)>,
}

#[derive(Clone)]
struct State {
    definition: Definition,
    last: i64,
    /// Whether `last` was given out; otherwise it is the next one.
    is_called: bool,
    owner: Option<Owner>,
    /// What the log says it is at: `last` and `is_called`, some numbers ahead.
    said: (i64, bool),
    /// Transactions under way that have let it begin anew: until they end, nothing is logged.
    restarts: u32,
    /// Whether a transaction block goes on with another one in its place.
    hold: Hold,
}

/// The column that a sequence is dropped with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) table: String,
    pub(crate) column: String,
}

/// What a sequence is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    /// SMALLINT, INTEGER or BIGINT.
    pub(crate) column_type: ColumnType,
    pub(crate) increment: i64,
    pub(crate) min: i64,
    pub(crate) max: i64,
    pub(crate) start: i64,
    pub(crate) cache: i64,
    pub(crate) cycle: bool,
}

/// Consecutive numbers that were taken at once: `first`, `first + step`, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) first: i64,
    pub(crate) step: i64,
    /// How many there are, at least one.
    pub(crate) count: u64,
    /// What the sequence was at before.
    before: (i64, bool),
}

impl Taken {
    /// The last of them.
    pub(crate) fn last(&self) -> i64 {
        at(self.first, self.step, self.count - 1)
    }

    /// All of them.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = i64> {
        let Self { first, step, .. } = *self;
        (0..self.count).map(move |index| at(first, step, index))
    }
}

/// The number `index` steps behind `first`, which is known to exist.
fn at(first: i64, step: i64, index: u64) -> i64 {
    (i128::from(first) + i128::from(step) * i128::from(index)) as i64
}

/// The least and the greatest number of a type.
fn range(column_type: ColumnType) -> (i64, i64) {
    match column_type {
        ColumnType::SmallInt => (i16::MIN.into(), i16::MAX.into()),
        ColumnType::Integer => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    }
}

impl Definition {
    /// The definition that `options` ask for, of numbers of `column_type` unless they say otherwise.
    pub(crate) fn new(name: &str, options: &SequenceOptions, column_type: ColumnType) -> Result<Self, Error> {
        let column_type = options.column_type.unwrap_or(column_type);
        let increment = options.increment.unwrap_or(1);
        let (min, max) = defaults(column_type, increment);
        let min = options.min.flatten().unwrap_or(min);
        let max = options.max.flatten().unwrap_or(max);
        let start = options.start.unwrap_or(if increment > 0 { min } else { max });
        let (cache, cycle) = (options.cache.unwrap_or(1), options.cycle.unwrap_or(false));
        Self { column_type, increment, min, max, start, cache, cycle }.checked(name)
    }

    /// The definition with what `options` say otherwise.
    fn altered(self, name: &str, options: &SequenceOptions) -> Result<Self, Error> {
        let column_type = options.column_type.unwrap_or(self.column_type);
        let increment = options.increment.unwrap_or(self.increment);
        let own = defaults(self.column_type, self.increment);
        let new = defaults(column_type, increment);
        // Bounds that were those of the type become those of the new one.
        let min = options.min.map_or(if self.min == own.0 { new.0 } else { self.min }, |min| min.unwrap_or(new.0));
        let max = options.max.map_or(if self.max == own.1 { new.1 } else { self.max }, |max| max.unwrap_or(new.1));
        let start = options.start.unwrap_or(self.start);
        let (cache, cycle) = (options.cache.unwrap_or(self.cache), options.cycle.unwrap_or(self.cycle));
        Self { column_type, increment, min, max, start, cache, cycle }.checked(name)
    }

    fn checked(self, name: &str) -> Result<Self, Error> {
        let Self { column_type, increment, min, max, start, cache, .. } = self;
        let (least, greatest) = range(column_type);
        let problem = if increment == 0 {
            "INCREMENT must not be zero".to_owned()
        } else if min < least || max > greatest {
            format!("MINVALUE {min} and MAXVALUE {max} must lie within {column_type}, {least} to {greatest}")
        } else if min >= max {
            format!("MINVALUE ({min}) must be less than MAXVALUE ({max})")
        } else if start < min || start > max {
            format!("START ({start}) must lie between MINVALUE ({min}) and MAXVALUE ({max})")
        } else if cache < 1 {
            format!("CACHE ({cache}) must be at least 1")
        } else {
            return Ok(self);
        };
        Err(Error::invalid(format!("sequence {name}: {problem}")))
    }

    /// The options that make a sequence like this, without those that need not be said of numbers of `column_type`.
    pub(crate) fn options(&self, column_type: ColumnType) -> String {
        let (min, max) = defaults(self.column_type, self.increment);
        let start = if self.increment > 0 { self.min } else { self.max };
        let mut parts = Vec::new();
        let mut say = |differs: bool, text: String| parts.extend(differs.then_some(text));
        say(self.column_type != column_type, format!("AS {}", self.column_type));
        say(self.increment != 1, format!("INCREMENT BY {}", self.increment));
        say(self.min != min, format!("MINVALUE {}", self.min));
        say(self.max != max, format!("MAXVALUE {}", self.max));
        say(self.start != start, format!("START WITH {}", self.start));
        say(self.cache != 1, format!("CACHE {}", self.cache));
        say(self.cycle, "CYCLE".to_owned());
        parts.join(" ")
    }
}

/// The bounds of a sequence of which nothing is said, as in PostgreSQL.
fn defaults(column_type: ColumnType, increment: i64) -> (i64, i64) {
    let (least, greatest) = range(column_type);
    if increment > 0 { (1, greatest) } else { (least, -1) }
}

impl Sequence {
    /// A sequence that has not given out a number yet.
    pub(crate) fn new(name: String, definition: Definition, owner: Option<Owner>) -> Self {
        Self::at(name, definition, (definition.start, false), owner)
    }

    /// A sequence that has come so far.
    fn at(name: String, definition: Definition, value: (i64, bool), owner: Option<Owner>) -> Self {
        Self {
            name,
            identity: Arc::default(),
            state: Mutex::new(State::at(definition, value, owner)),
            log: OnceLock::new(),
        }
    }

    /// The same under another name, which is not logged yet.
    pub(crate) fn renamed(&self, name: &str) -> Self {
        self.copy(name, &self.state())
    }

    /// What goes on from this state under this name, and is not logged yet.
    fn copy(&self, name: &str, state: &State) -> Self {
        let state = State::at(state.definition, (state.last, state.is_called), state.owner.clone());
        let (name, identity) = (name.to_owned(), Arc::clone(&self.identity));
        Self { name, identity, state: Mutex::new(state), log: OnceLock::new() }
    }

    /// What tells it from other sequences, also when it is altered or renamed.
    pub(crate) fn identity(&self) -> &Arc<()> {
        &self.identity
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn definition(&self) -> Definition {
        self.state().definition
    }

    /// The column that it is dropped with.
    pub(crate) fn owner(&self) -> Option<Owner> {
        self.state().owner.clone()
    }

    /// The last number that was given out, or the first one that will be, and which of them it is.
    pub(crate) fn value(&self) -> (i64, bool) {
        let state = self.state();
        (state.last, state.is_called)
    }

    /// Whether it is as it was made.
    pub(crate) fn is_fresh(&self) -> bool {
        let state = self.state();
        (state.last, state.is_called) == (state.definition.start, false)
    }

    /// Gives out at most `count` consecutive numbers at once, at least one, and no more than are left.
    pub(crate) fn take(&self, count: u64) -> Result<Taken, Error> {
        let mut state = match self.free()? {
            Ok(state) => state,
            Err(next) => return next.take(count),
        };
        let Definition { increment: step, min, max, .. } = state.definition;
        let first = state.next(&self.name)?;
        let room = if step > 0 { max.abs_diff(first) } else { min.abs_diff(first) };
        let left = room / step.unsigned_abs();
        let count = count.max(1).min(left.saturating_add(1));
        let taken = Taken { first, step, count, before: (state.last, state.is_called) };
        if let Some((number, log)) = self.log.get() {
            let ahead = LOGGED_AHEAD.min(left - (count - 1));
            state.log_taken(&taken, at(taken.last(), step, ahead), *number, log)?;
        }
        (state.last, state.is_called) = (taken.last(), true);
        Ok(taken)
    }

    /// Gives all but the first `used` numbers back, unless somebody has taken others since.
    pub(crate) fn give_back(&self, taken: &Taken, used: u64) {
        let mut state = self.state();
        if (state.last, state.is_called) != (taken.last(), true) || used >= taken.count {
            return;
        }
        (state.last, state.is_called) = match used {
            0 => taken.before,
            used => (at(taken.first, taken.step, used - 1), true),
        };
    }

    /// Goes on from `value`, which counts as given out if `is_called`.
    pub(crate) fn set(&self, value: i64, is_called: bool) -> Result<(), Error> {
        let mut state = match self.free()? {
            Ok(state) => state,
            Err(next) => return next.set(value, is_called),
        };
        let Definition { min, max, .. } = state.definition;
        if value < min || value > max {
            return Err(Error::new(
                ErrorKind::OutOfRange,
                format!("setval: value {value} is out of bounds for sequence \"{}\" ({min}..{max})", self.name),
            ));
        }
        if let Some((number, log)) = self.log.get() {
            let mut operations = Operations::new();
            operations.sequence_state(*number, value, is_called);
            log.append(operations)?;
            state.said = (value, is_called);
        }
        (state.last, state.is_called) = (value, is_called);
        Ok(())
    }

    /// Changes it as ALTER SEQUENCE asks.
    #[expect(clippy::option_option, reason = "nothing is said of the owner, or that there is none")]
    pub(crate) fn alter(&self, options: &SequenceOptions, owner: Option<Option<Owner>>) -> Result<(), Error> {
        let mut state = match self.free()? {
            Ok(state) => state,
            Err(next) => return next.alter(options, owner),
        };
        let definition = state.definition.altered(&self.name, options)?;
        let (last, is_called) = match options.restart {
            None => (state.last, state.is_called),
            Some(value) => (value.unwrap_or(definition.start), false),
        };
        if last < definition.min || last > definition.max {
            return Err(Error::invalid(format!(
                "sequence {}: RESTART value ({last}) must lie between MINVALUE ({}) and MAXVALUE ({})",
                self.name, definition.min, definition.max
            )));
        }
        let owner = owner.unwrap_or_else(|| state.owner.clone());
        // Where a transaction under way has let it begin, the log does not say yet.
        let said = if state.restarts > 0 && options.restart.is_none() { state.said } else { (last, is_called) };
        let altered = State { definition, last, is_called, owner, said, restarts: state.restarts, hold: Hold::Free };
        if let Some((number, log)) = self.log.get() {
            let mut operations = Operations::new();
            operations.sequence_altered(&altered.image(*number));
            log.append(operations)?;
        }
        *state = altered;
        Ok(())
    }

    /// Lets it begin anew; gives the last number and whether it was taken, so that this can be undone. The transaction that
    /// does so says how it ends: by [`Sequence::undo_restart`], or by [`EndingRestart::keep`].
    pub(crate) fn restart(&self) -> Result<(i64, bool), Error> {
        let mut state = self.free()?.map_err(|_| self.replaced())?;
        let before = (state.last, state.is_called);
        (state.last, state.is_called) = (state.definition.start, false);
        state.restarts += 1;
        Ok(before)
    }

    /// Lets it go on behind the last number before it began anew, unless it has come further since.
    pub(crate) fn undo_restart(&self, before: (i64, bool)) {
        let mut state = self.state();
        state.restarts = state.restarts.saturating_sub(1);
        let is_behind = if state.definition.increment > 0 { state.last < before.0 } else { state.last > before.0 };
        if is_behind || (state.last == before.0 && !state.is_called) {
            (state.last, state.is_called) = before;
        }
    }

    /// What a transaction that let it begin anew logs with its commit. Nobody takes numbers until that is dropped.
    pub(crate) fn ending_restart(&self) -> EndingRestart<'_> {
        EndingRestart { sequence: self, state: self.state() }
    }

    /// CREATE SEQUENCE, as SQL. Whose it is, is not said.
    pub(crate) fn create_sql(&self) -> String {
        let options = self.definition().options(ColumnType::BigInt);
        let space = if options.is_empty() { "" } else { " " };
        format!("CREATE SEQUENCE {}{space}{options};", names::quoted(&self.name))
    }
}

/// A transaction that let a sequence begin anew commits.
pub(crate) struct EndingRestart<'s> {
    sequence: &'s Sequence,
    state: MutexGuard<'s, State>,
}

impl EndingRestart<'_> {
    /// Says where the sequence goes on, in a database with a log.
    pub(crate) fn describe(&self, operations: &mut Operations) {
        if let Some((number, _)) = self.sequence.log.get() {
            operations.sequence_state(*number, self.state.last, self.state.is_called);
        }
    }

    /// The transaction has committed, and had let it begin anew so many times.
    pub(crate) fn keep(mut self, times: u32) {
        self.state.restarts = self.state.restarts.saturating_sub(times);
        self.state.said = (self.state.last, self.state.is_called);
    }
}

impl State {
    fn at(definition: Definition, (last, is_called): (i64, bool), owner: Option<Owner>) -> Self {
        Self { definition, last, is_called, owner, said: (last, is_called), restarts: 0, hold: Hold::Free }
    }

    /// Logs that numbers are taken, and some ahead, up to `ahead`, unless that was logged before.
    fn log_taken(&mut self, taken: &Taken, ahead: i64, number: u64, log: &CatalogLog) -> Result<(), Error> {
        let (last, is_called) = taken.before;
        let (is_up, to) = (taken.step > 0, taken.last());
        let goes_round = is_called && if is_up { taken.first < last } else { taken.first > last };
        let (said, is_said) = self.said;
        let is_logged = is_said && if is_up { to <= said } else { to >= said };
        if self.restarts > 0 || (is_logged && !goes_round) {
            return Ok(());
        }
        let mut operations = Operations::new();
        operations.sequence_state(number, ahead, true);
        log.append(operations)?;
        self.said = (ahead, true);
        Ok(())
    }

    fn next(&self, name: &str) -> Result<i64, Error> {
        let Definition { increment, min, max, cycle, .. } = self.definition;
        if !self.is_called {
            return Ok(self.last);
        }
        match self.last.checked_add(increment) {
            Some(next) if (min..=max).contains(&next) => Ok(next),
            _ if cycle => Ok(if increment > 0 { min } else { max }),
            _ => {
                let (word, bound) = if increment > 0 { ("maximum", max) } else { ("minimum", min) };
                Err(Error::new(
                    ErrorKind::SequenceLimit,
                    format!(
                        "nextval: reached {word} value of sequence \"{name}\" ({bound}); ALTER SEQUENCE ... MAXVALUE, \
                         RESTART or CYCLE lets it go on"
                    ),
                ))
            }
        }
    }
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sequence")
            .field("name", &self.name)
            .field("definition", &self.definition())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
