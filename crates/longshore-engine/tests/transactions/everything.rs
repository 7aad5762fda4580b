//! Random histories of everything that sessions can do, done again one after the other.
//!
//! Sessions run transactions at the same time. Their statements are any that there are: queries, changes of every form,
//! loads and unloads, SHOW, EXPLAIN, TRUNCATE, foreign keys with their actions, savepoints anywhere, prepared statements,
//! statements that fail, rows that are read late; beside them transactions of the typed API, and tables that are indexed
//! and altered. Every answer is kept, errors included. What committed is then done again serially, on a database of its
//! own: transactions in the order of their commits, those that changed nothing where they began. Every statement must
//! answer as it did, and in the end the tables must hold the same. So no model is needed, and whatever a statement tells
//! is checked.
//!
//! Two forms: sessions that take turns in one thread, which a seed repeats exactly; and sessions that are threads, for
//! races. A watchdog ends a test in which nothing moves, and says who does what (`watchdog.rs`).
//! `LONGSHORE_HISTORY=20` makes twenty times as many histories; `LONGSHORE_SEED=7` only that one.
//!
//! Not here: histories that are looked at for cycles (`history.rs`), whether single answers are right (`tests/sql`).

mod actor;
mod chores;
mod replay;
mod steps;
mod typed;
mod watchdog;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use longshore_engine::{Config, Database};
use longshore_testing::Random;
use tokio::sync::RwLock;

use super::run;
use actor::{Actor, Record};
use steps::{MAKE, Step};
use watchdog::Watchdog;

/// What a statement answered: its rows, sorted, or how many it changed; or the SQLSTATE of its error.
type Answer = Result<Vec<String>, &'static str>;

/// What all sessions of a history share.
struct World {
    database: Arc<Database>,
    /// Commits so far. Held for reading while a transaction begins, and for writing while one commits, so that it is known
    /// what each sees.
    clock: RwLock<u64>,
    next_mark: AtomicI32,
    watchdog: Watchdog,
}

/// A database with the tables.
async fn made() -> Arc<Database> {
    let database = Database::open(Config { threads: 2, ..Config::default() }).unwrap();
    let mut session = database.session();
    for sql in MAKE {
        run(&mut session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    database
}

impl World {
    async fn new(name: String) -> World {
        let next_mark = AtomicI32::new(0);
        World { database: made().await, clock: RwLock::new(0), next_mark, watchdog: Watchdog::start(name) }
    }
}

/// The seeds of some histories.
fn seeds(count: usize) -> std::ops::Range<u64> {
    let Ok(seed) = std::env::var("LONGSHORE_SEED") else { return super::history::seeds(count) };
    let seed = seed.parse().expect("LONGSHORE_SEED is a number");
    seed..seed + 1
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Checks what committed, and that it was enough to tell something.
async fn check(name: &str, world: &World, records: Vec<Record>) {
    let (all, committed) = (records.len(), records.iter().filter(|record| record.committed).count());
    let in_the_end = replay::dump(&world.database).await;
    let steps = replay::replay(name, records, &in_the_end).await;
    eprintln!("{name}: {committed} of {all} transactions committed, {steps} steps done again");
    assert!(committed * 8 > all, "{name}: too few commit");
}

#[test]
fn sessions_that_take_turns() {
    for seed in seeds(14) {
        let name = format!("turns, seed {seed}");
        runtime().block_on(async {
            let world = World::new(name.clone()).await;
            let mut random = Random::new(seed << 16);
            let mut actors: Vec<Actor<'_>> = (0..2 + random.below(3)).map(|at| Actor::new(&world, at)).collect();
            let mut records = Vec::new();
            while records.len() < 60 {
                let actor = random.below(actors.len());
                if random.below(60) == 0 {
                    chores::one(&world, &mut random).await;
                }
                records.extend(Box::pin(actors[actor].turn(&mut random)).await);
            }
            for actor in &mut actors {
                actor.give_up().await;
            }
            drop(actors);
            check(&name, &world, records).await;
        });
    }
}

#[test]
fn sessions_that_are_threads() {
    for seed in seeds(3) {
        let name = format!("threads, seed {seed}");
        let world = runtime().block_on(World::new(name.clone()));
        let is_over = AtomicBool::new(false);
        let work = |at: usize| {
            runtime().block_on(async {
                let mut random = Random::new(seed << 16 | at as u64);
                let mut actor = Actor::new(&world, at);
                let mut records = Vec::new();
                while records.len() < 60 {
                    records.extend(Box::pin(actor.turn(&mut random)).await);
                }
                actor.give_up().await;
                records
            })
        };
        let records = std::thread::scope(|scope| {
            let others: Vec<_> = (0..4).map(|at| scope.spawn(move || work(at))).collect();
            let chores = scope.spawn(|| {
                runtime().block_on(async {
                    let mut random = Random::new(seed << 16 | 0x63);
                    while !is_over.load(Ordering::Relaxed) {
                        chores::one(&world, &mut random).await;
                        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                    }
                });
            });
            let records: Vec<_> = others.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            // Before a session that panicked is noticed, or the chores would never end.
            is_over.store(true, Ordering::Relaxed);
            chores.join().unwrap();
            let records: Vec<Record> = records.into_iter().flat_map(Result::unwrap).collect();
            records
        });
        runtime().block_on(check(&name, &world, records));
    }
}

/// A checker that finds nothing may be blind: what was answered is changed a little.
#[test]
#[should_panic(expected = "answers")]
fn an_answer_that_is_another_one_is_found() {
    runtime().block_on(async {
        let step = |sql: &str| Step::Sql(sql.to_owned());
        let steps = vec![(step("SELECT count(*) FROM acc"), Ok(vec!["1".to_owned()]))];
        let record = Record { session: 0, by_itself: false, is_typed: false, start: 0, end: 0, committed: true, steps };
        replay::replay("a false answer", vec![record], "").await;
    });
}

#[test]
fn the_watchdog_says_who_does_what() {
    let watchdog = Watchdog::start("a test".to_owned());
    watchdog.begins(1, "UPDATE acc SET v = 1");
    watchdog.ends(1, false);
    watchdog.begins(1, "TRUNCATE log");
    let told = watchdog.told();
    for part in ["session 0 runs nothing", "session 1 for ", "TRUNCATE log", "what it did by: UPDATE acc", "waits in"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}
