//! Transactions of the typed API in random histories.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use longshore_engine::typed::{Columns, Direction, Index, RowId, Savepoint, Table, Transaction};
use longshore_engine::{Database, Datum, Error, Isolation, key};
use longshore_testing::Random;

use super::actor::{Record, state};
use super::steps::{self, Step};
use super::{Answer, World};

/// An operation, or a few that belong together.
#[derive(Clone, Debug)]
pub(super) enum TypedStep {
    Get(i32),
    Insert(i32, i32, i32),
    Set(i32, i32),
    /// Gives a row another key.
    Move(i32, i32),
    Delete(i32),
    /// Keys from one to another, some of them at most.
    Range(i32, i32, usize),
    /// The same, and rows with other keys are inserted meanwhile.
    RangeInserting(i32, i32, i32),
    /// Rows with values from one on.
    ByValue(i32),
    Scan(i32),
    Child(i32, i32),
    Mark(i32),
    Savepoint,
    GoBack,
}

impl TypedStep {
    pub(super) fn only_reads(&self) -> bool {
        use TypedStep::{ByValue, Get, GoBack, Range, Savepoint, Scan};
        matches!(self, Get(_) | Range(..) | ByValue(_) | Scan(_) | Savepoint | GoBack)
    }

    fn any(random: &mut Random, has_savepoint: bool) -> Self {
        let (k, v) = (steps::key(random), steps::value(random));
        match random.below(17) {
            0..=2 => Self::Get(k),
            3 => Self::Insert(k, v, random.below(30) as i32),
            4..=6 => Self::Set(k, v),
            7 => Self::Move(k, steps::key(random)),
            8 => Self::Delete(k),
            9 => Self::Range(k, k + 5, 1 + random.below(4)),
            10 => Self::RangeInserting(k, k + 3, 60 + k),
            11 => Self::ByValue(v),
            12 => Self::Scan(v),
            13 => Self::Child(k, random.below(10) as i32),
            14 | 15 if has_savepoint => Self::GoBack,
            _ => Self::Savepoint,
        }
    }
}

/// A transaction and what it knows of its tables.
pub(super) struct Typed {
    t: Transaction,
    acc: Table,
    by_id: Index,
    by_value: Index,
    all: Columns<(i32, i32, Option<i32>)>,
    by_par: Index,
    child: Table,
    marks: Table,
    savepoint: Option<Savepoint>,
}

impl Typed {
    pub(super) fn new(database: &Arc<Database>) -> Self {
        let [acc, par, child, marks] = ["acc", "par", "chi_s", "marks"].map(|name| database.table(name).unwrap());
        Self {
            t: database.begin(Isolation::Serializable),
            by_id: acc.primary_key().unwrap(),
            by_value: acc.index("acc_v").unwrap(),
            all: acc.columns(&["k", "v", "u"]).unwrap(),
            by_par: par.primary_key().unwrap(),
            acc,
            child,
            marks,
            savepoint: None,
        }
    }

    /// What a step answers: the SQLSTATE of an error after which the transaction goes on, or that of a conflict.
    pub(super) fn answer(&mut self, step: &TypedStep) -> Result<Answer, Error> {
        match self.done(step) {
            Ok(answer) => Ok(Ok(answer)),
            Err(error) => match state(&error, "typed") {
                Some(state) => Ok(Err(state)),
                None => Err(error),
            },
        }
    }

    fn row(&mut self, k: i32) -> Result<Option<RowId>, Error> {
        self.t.find(&self.by_id, key![k])
    }

    fn shown(&mut self, row: RowId) -> Result<String, Error> {
        Ok(format!("{:?}", self.t.read(&self.all, row)?))
    }

    fn done(&mut self, step: &TypedStep) -> Result<Vec<String>, Error> {
        let mut rows = Vec::new();
        match *step {
            TypedStep::Get(k) => {
                if let Some(row) = self.row(k)? {
                    rows.push(self.shown(row)?);
                }
            }
            TypedStep::Insert(k, v, u) => {
                self.t.insert(&self.acc, &[Datum::I32(k), Datum::I32(v), Datum::I32(u), Datum::Text("t")])?;
            }
            TypedStep::Set(k, v) => {
                if let Some(row) = self.row(k)? {
                    rows.push(self.shown(row)?);
                    self.t.update(&self.acc, row, &[(1, Datum::I32(v))])?;
                }
            }
            TypedStep::Move(k, other) => {
                if let Some(row) = self.row(k)? {
                    self.t.update(&self.acc, row, &[(0, Datum::I32(other))])?;
                    rows.push("moved".to_owned());
                }
            }
            TypedStep::Delete(k) => {
                if let Some(row) = self.row(k)? {
                    self.t.delete(&self.acc, row)?;
                    rows.push("deleted".to_owned());
                }
            }
            TypedStep::Range(low, high, count) => self.range(low, high, count, None, &mut rows)?,
            TypedStep::RangeInserting(low, high, far) => self.range(low, high, 9, Some(far), &mut rows)?,
            TypedStep::ByValue(v) => {
                for row in self.t.find_all(&self.by_value, key![v])? {
                    rows.push(self.shown(row)?);
                }
            }
            TypedStep::Scan(v) => {
                let field = self.acc.column::<i32>("v")?;
                let (acc, all) = (&self.acc, &self.all);
                self.t.scan::<Error>(acc, &[field.within(v..)], |t, row| {
                    rows.push(format!("{:?}", t.read(all, row)?));
                    Ok(ControlFlow::Continue(()))
                })?;
            }
            TypedStep::Child(id, p) => {
                // It is checked in the end whether there is such a parent.
                if self.t.find(&self.by_par, key![p])?.is_some() {
                    self.t.insert(&self.child, key![id, p, 0])?;
                }
            }
            TypedStep::Mark(mark) => drop(self.t.insert(&self.marks, key![mark])?),
            TypedStep::Savepoint => self.savepoint = Some(self.t.savepoint()),
            TypedStep::GoBack => {
                if let Some(savepoint) = self.savepoint {
                    self.t.rollback_to(savepoint);
                }
            }
        }
        rows.sort_unstable();
        Ok(rows)
    }

    /// By the values, which have an order.
    fn range(
        &mut self,
        low: i32,
        high: i32,
        count: usize,
        far: Option<i32>,
        rows: &mut Vec<String>,
    ) -> Result<(), Error> {
        let (low, high) = ([Datum::I32(low)], [Datum::I32(high)]);
        let range = (Bound::Included(&low[..]), Bound::Included(&high[..]));
        let (acc, all, mut far) = (&self.acc, &self.all, far);
        let mut seen = Vec::new();
        let visited = self.t.range::<Error>(&self.by_value, range, Direction::Forward, |t, row| {
            seen.push(t.read(all, row)?);
            if let Some(far) = far.take() {
                t.insert(acc, &[Datum::I32(far), Datum::I32(1000), Datum::Null, Datum::Null])?;
            }
            Ok(ControlFlow::Continue(()))
        });
        visited?;
        // Among equal values the order is that of the rows.
        seen.sort_unstable_by_key(|&(k, v, _)| (v, k));
        rows.extend(seen.iter().take(count).map(|row| format!("{row:?}")));
        Ok(())
    }

    pub(super) fn commit(self) -> Result<(), Error> {
        self.t.commit()
    }
}

/// One in the middle.
pub(super) struct OpenTyped {
    typed: Typed,
    record: Record,
    left: usize,
}

impl OpenTyped {
    pub(super) fn new(world: &World, session: usize, start: u64, left: usize) -> Self {
        let record = Record { is_typed: true, start, end: start, ..Record::new(session) };
        Self { typed: Typed::new(&world.database), record, left }
    }

    /// What comes next, for those who watch.
    pub(super) fn next(&self) -> String {
        if self.left == 0 { "the end of a typed transaction".to_owned() } else { "a typed operation".to_owned() }
    }

    /// Goes a step further; gives the record at the end.
    pub(super) async fn go_on(&mut self, world: &World, random: &mut Random) -> Option<Record> {
        if self.left == 0 {
            return Some(self.end(world).await);
        }
        self.left -= 1;
        let step = TypedStep::any(random, self.typed.savepoint.is_some());
        match self.typed.answer(&step) {
            Ok(answer) => {
                self.record.steps.push((Step::Typed(step), answer));
                None
            }
            Err(_) => Some(self.ended()),
        }
    }

    fn ended(&mut self) -> Record {
        std::mem::replace(&mut self.record, Record::new(0))
    }

    async fn end(&mut self, world: &World) -> Record {
        let has_written = self.record.steps.iter().any(|(step, _)| !step.only_reads());
        if has_written {
            let step = TypedStep::Mark(world.next_mark.fetch_add(1, Ordering::Relaxed));
            if let Ok(answer) = self.typed.answer(&step) {
                self.record.steps.push((Step::Typed(step), answer));
            }
        }
        let typed = std::mem::replace(&mut self.typed, Typed::new(&world.database));
        let mut clock = world.clock.write().await;
        match typed.commit() {
            Ok(()) => {
                *clock += u64::from(has_written);
                self.record.end = if has_written { *clock } else { self.record.start };
                self.record.committed = true;
            }
            // A foreign key that does not hold is found out now.
            Err(error) => drop(state(&error, "COMMIT of a typed transaction")),
        }
        drop(clock);
        self.ended()
    }
}
