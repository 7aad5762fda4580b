//! A session of a history: begins transactions, runs random steps, keeps what was answered.

use std::io::{Cursor, Write};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use longshore_engine::{Database, Datum, Error, ErrorKind, Outcome, Prepared, RowStream, Session};
use longshore_testing::Random;

use super::super::shown;
use super::steps::{PREPARED, Step, TABLES};
use super::typed::OpenTyped;
use super::{Answer, World};

/// A transaction and what its steps answered.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) session: usize,
    /// One statement outside of a block.
    pub(super) by_itself: bool,
    pub(super) is_typed: bool,
    /// Commits that it sees.
    pub(super) start: u64,
    /// The number of its own; that of its start if it changed nothing.
    pub(super) end: u64,
    pub(super) committed: bool,
    pub(super) steps: Vec<(Step, Answer)>,
}

impl Record {
    pub(super) fn new(session: usize) -> Self {
        Self { session, by_itself: false, is_typed: false, start: 0, end: 0, committed: false, steps: Vec::new() }
    }
}

/// A session that answers steps.
pub(super) struct Answerer {
    pub(super) session: Session,
    output: Arc<Mutex<Vec<u8>>>,
    prepared: Vec<Prepared>,
}

/// Where COPY writes.
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Answerer {
    pub(super) fn new(database: &Arc<Database>) -> Self {
        let mut session = database.session();
        let output = Arc::default();
        session.set_output(Output(Arc::clone(&output)));
        let prepared = PREPARED.iter().map(|sql| session.prepare(sql).unwrap()).collect();
        Self { session, output, prepared }
    }

    /// What a step answers, or rows that are still to be read.
    pub(super) async fn answer(&mut self, step: &Step) -> Result<Result<Vec<String>, RowStream>, Error> {
        let outcome = match step {
            Step::Sql(sql) | Step::Unseen(sql) | Step::Unload(sql) | Step::Late(sql) | Step::Savepoint(sql) => {
                self.session.execute(sql).await?
            }
            Step::Load(sql, text) => {
                self.session.set_input(Cursor::new(text.clone()));
                self.session.execute(sql).await?
            }
            Step::Prepared(number, values) => {
                let values: Vec<Datum<'_>> = values.iter().map(|value| Datum::I32(*value)).collect();
                self.session.execute_prepared(&self.prepared[*number], &values).await?
            }
            Step::Export => return self.exported().await.map(Ok),
            Step::Typed(_) => unreachable!("it is none of a session"),
        };
        Ok(Ok(match (step, outcome) {
            (Step::Late(_), Outcome::Rows(rows)) => return Ok(Err(rows)),
            (Step::Unload(_), outcome) => {
                shown(outcome).await?;
                let text = String::from_utf8(std::mem::take(&mut *self.output.lock().unwrap())).unwrap();
                sorted(text.lines())
            }
            (Step::Unseen(_), outcome) => {
                shown(outcome).await?;
                Vec::new()
            }
            (Step::Sql(sql), outcome) if sql == "SHOW TABLES" => {
                // How many bytes they take is a matter of how it came about.
                let all = shown(outcome).await?;
                let without_bytes = all.split(", ").map(|row| row.rsplit_once(' ').map_or(row, |(row, _)| row));
                sorted(without_bytes)
            }
            (_, outcome) => sorted(shown(outcome).await?.split(", ")),
        }))
    }

    /// What EXPORT DATABASE writes of the tables; of those to which columns are added beside, how many rows.
    async fn exported(&mut self) -> Result<Vec<String>, Error> {
        let folder = tempfile::tempdir().unwrap();
        let export = format!("EXPORT DATABASE '{}' (FORMAT csv)", folder.path().display());
        shown(self.session.execute(&export).await?).await?;
        let mut answer = Vec::new();
        for (table, _) in TABLES {
            let text = std::fs::read_to_string(folder.path().join(format!("{table}.csv"))).unwrap();
            if matches!(table, "log" | "par") {
                answer.push(format!("{table}: {}", text.lines().count()));
            } else {
                answer.extend(sorted(text.lines()).into_iter().map(|row| format!("{table}: {row}")));
            }
        }
        Ok(answer)
    }
}

fn sorted<'a>(rows: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut rows: Vec<String> = rows.map(str::to_owned).collect();
    rows.sort_unstable();
    rows
}

/// Rows that were to be read late.
pub(super) async fn read(mut rows: RowStream) -> Result<Vec<String>, Error> {
    let mut all = Vec::new();
    let schema = Arc::clone(rows.schema());
    while let Some(batch) = rows.next().await {
        all.push(batch?);
    }
    let batch = arrow::compute::concat_batches(&schema, &all).unwrap();
    Ok(sorted(super::super::rows_of(&batch).iter().map(String::as_str)))
}

/// The SQLSTATE of an error that a history may have; `None` is a conflict.
pub(super) fn state(error: &Error, what: &str) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::Conflict => None,
        ErrorKind::Duplicate
        | ErrorKind::ForeignKey
        | ErrorKind::Check
        | ErrorKind::NotNull
        | ErrorKind::DivisionByZero
        | ErrorKind::Cardinality
        | ErrorKind::TooLong
        | ErrorKind::InvalidText
        | ErrorKind::Data => Some(error.kind().sqlstate()),
        other => panic!("{what}: {other:?}: {error}"),
    }
}

/// One of the sessions.
pub(super) struct Actor<'w> {
    world: &'w World,
    at: usize,
    sql: Answerer,
    open: Option<Open>,
}

/// The transaction that it is in the middle of.
enum Open {
    Sql(OpenBlock),
    Typed(Box<OpenTyped>),
}

struct OpenBlock {
    record: Record,
    left: usize,
    has_begun: bool,
    is_read_only: bool,
    savepoints: usize,
    /// Rows to read, and the step that they are the answer of.
    late: Vec<(usize, RowStream)>,
}

impl<'w> Actor<'w> {
    pub(super) fn new(world: &'w World, at: usize) -> Self {
        Self { world, at, sql: Answerer::new(&world.database), open: None }
    }

    /// Does the next thing; gives a transaction that has ended by it.
    pub(super) async fn turn(&mut self, random: &mut Random) -> Option<Record> {
        match self.open.take() {
            None => self.begin(random).await,
            Some(Open::Sql(block)) => self.go_on(block, random).await,
            Some(Open::Typed(mut open)) => {
                self.world.watchdog.begins(self.at, &open.next());
                let ended = open.go_on(self.world, random).await;
                self.world.watchdog.ends(self.at, ended.is_some());
                if ended.is_none() {
                    self.open = Some(Open::Typed(open));
                }
                ended
            }
        }
    }

    /// Rolls an open transaction back.
    pub(super) async fn give_up(&mut self) {
        if let Some(Open::Sql(_)) = self.open.take() {
            self.control("ROLLBACK").await.unwrap();
        }
    }

    /// A statement that answers nothing; gives its tag.
    async fn control(&mut self, sql: &str) -> Result<String, Error> {
        self.world.watchdog.begins(self.at, sql);
        let done = self.sql.session.execute(sql).await;
        self.world.watchdog.ends(self.at, sql.starts_with("COMMIT") || sql == "ROLLBACK");
        match done? {
            Outcome::Done { tag, .. } => Ok(tag),
            Outcome::Rows(_) => panic!("{sql} gives rows"),
        }
    }

    async fn begin(&mut self, random: &mut Random) -> Option<Record> {
        let mut record = Record::new(self.at);
        match random.below(12) {
            0 | 1 => {
                let step = if random.below(6) == 0 { Step::Export } else { Step::any(random, true) };
                return Some(self.by_itself(record, step).await);
            }
            2 | 3 => {
                let clock = self.world.clock.read().await;
                self.open =
                    Some(Open::Typed(Box::new(OpenTyped::new(self.world, self.at, *clock, 1 + random.below(5)))));
                return None;
            }
            _ => {}
        }
        let is_read_only = random.below(8) == 0;
        self.control(if is_read_only { "BEGIN READ ONLY" } else { "BEGIN" }).await.unwrap();
        let mut savepoints = 0;
        if random.below(5) == 0 {
            self.control("SAVEPOINT s0").await.unwrap();
            record.steps.push((Step::Savepoint("SAVEPOINT s0".to_owned()), Ok(vec!["0".to_owned()])));
            savepoints = 1;
        }
        let left = 1 + random.below(6);
        self.open =
            Some(Open::Sql(OpenBlock { record, left, has_begun: false, is_read_only, savepoints, late: Vec::new() }));
        None
    }

    /// Runs a statement outside of a block.
    async fn by_itself(&mut self, mut record: Record, step: Step) -> Record {
        record.by_itself = true;
        // Alone at its end, which is that of the statement.
        let mut clock = self.world.clock.write().await;
        (record.start, record.end) = (*clock, *clock);
        let answer = self.answered(&step).await;
        if answer.is_ok() && !step.only_reads() {
            *clock += 1;
            record.end = *clock;
        }
        drop(clock);
        let answer = match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(rows)) => Ok(read(rows).await.unwrap()),
            Err(error) => match state(&error, &step.shown()) {
                Some(state) => Err(state),
                None => return record,
            },
        };
        record.committed = true;
        record.steps.push((step, answer));
        record
    }

    async fn answered(&mut self, step: &Step) -> Result<Result<Vec<String>, RowStream>, Error> {
        self.world.watchdog.begins(self.at, &step.shown());
        let answer = self.sql.answer(step).await;
        self.world.watchdog.ends(self.at, false);
        answer
    }

    async fn go_on(&mut self, mut block: OpenBlock, random: &mut Random) -> Option<Record> {
        if block.left == 0 {
            return Some(self.end(block, random).await);
        }
        block.left -= 1;
        if random.below(5) == 0 {
            self.savepoint(&mut block, random).await;
            self.open = Some(Open::Sql(block));
            return None;
        }
        let step = Step::any(random, !block.is_read_only);
        let answer = if block.has_begun {
            self.answered(&step).await
        } else {
            let clock = self.world.clock.read().await;
            (block.has_begun, block.record.start) = (true, *clock);
            self.answered(&step).await
        };
        let failed = match answer {
            Ok(Ok(answer)) => {
                block.record.steps.push((step, Ok(answer)));
                false
            }
            Ok(Err(rows)) => {
                block.late.push((block.record.steps.len(), rows));
                block.record.steps.push((step, Ok(Vec::new())));
                false
            }
            Err(error) => {
                // What a conflict tells is not in the tables.
                if let Some(state) = state(&error, &step.shown()) {
                    block.record.steps.push((step, Err(state)));
                }
                true
            }
        };
        if failed && (block.savepoints == 0 || random.below(4) == 0) {
            self.control("ROLLBACK").await.unwrap();
            return Some(block.record);
        }
        if failed {
            self.go_back(&mut block, random).await;
        }
        self.open = Some(Open::Sql(block));
        None
    }

    /// A statement about savepoints.
    async fn savepoint(&mut self, block: &mut OpenBlock, random: &mut Random) {
        match random.below(4) {
            0 if block.savepoints > 0 => self.go_back(block, random).await,
            1 if block.savepoints > 0 => {
                let to = random.below(block.savepoints);
                self.noted(block, format!("RELEASE SAVEPOINT s{to}")).await;
                block.savepoints = to;
            }
            _ => {
                self.noted(block, format!("SAVEPOINT s{}", block.savepoints)).await;
                block.savepoints += 1;
            }
        }
    }

    async fn go_back(&mut self, block: &mut OpenBlock, random: &mut Random) {
        let to = random.below(block.savepoints);
        self.noted(block, format!("ROLLBACK TO SAVEPOINT s{to}")).await;
        block.savepoints = to + 1;
    }

    async fn noted(&mut self, block: &mut OpenBlock, sql: String) {
        self.control(&sql).await.unwrap();
        block.record.steps.push((Step::Savepoint(sql), Ok(vec!["0".to_owned()])));
    }

    /// Ends a block.
    async fn end(&mut self, mut block: OpenBlock, random: &mut Random) -> Record {
        if random.below(15) == 0 {
            self.control("ROLLBACK").await.unwrap();
            return block.record;
        }
        let has_written = block.record.steps.iter().any(|(step, _)| !step.only_reads());
        if has_written {
            // So that there is no doubt that it has changed something.
            let mark = self.world.next_mark.fetch_add(1, Ordering::Relaxed);
            let step = Step::Sql(format!("INSERT INTO marks VALUES ({mark})"));
            match self.answered(&step).await {
                Ok(Ok(answer)) => block.record.steps.push((step, Ok(answer))),
                Ok(Err(_)) => unreachable!("it gives no rows"),
                Err(error) => panic!("{}: {error}", step.shown()),
            }
        }
        let at_the_end = random.below(2);
        let mut late = std::mem::take(&mut block.late);
        let behind = if at_the_end == 0 { Vec::new() } else { std::mem::take(&mut late) };
        for (at, rows) in late {
            block.record.steps[at].1 = Ok(read(rows).await.unwrap());
        }
        let mut clock = self.world.clock.write().await;
        match self.control("COMMIT").await {
            Ok(tag) => {
                assert_eq!(tag, "COMMIT");
                if has_written {
                    *clock += 1;
                }
                if !block.has_begun {
                    block.record.start = *clock;
                }
                block.record.end = if has_written { *clock } else { block.record.start };
                block.record.committed = true;
            }
            Err(error) => assert_eq!(state(&error, "COMMIT"), None, "{error}"),
        }
        drop(clock);
        for (at, rows) in behind {
            block.record.steps[at].1 = Ok(read(rows).await.unwrap());
        }
        block.record
    }
}
