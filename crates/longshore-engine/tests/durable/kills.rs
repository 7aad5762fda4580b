//! A process that works on a durable database is killed at random moments, again and again. Whatever it had acknowledged is
//! there afterwards, and nothing is there by halves.
//!
//! The process is this test itself, which starts once more with a directory in its environment. It says on standard output
//! what has committed. `LONGSHORE_KILLS` sets how often it is killed; a usual run does it a few dozen times.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use longshore_engine::typed::Transaction;
use longshore_engine::{Database, Error, Isolation, Session, key};
use longshore_testing::Random;

use crate::described::rows;
use crate::support::{config, copy_all, open, run, runtime, value};

const DIRECTORY: &str = "LONGSHORE_KILLED_DIRECTORY";
const KILLS: &str = "LONGSHORE_KILLS";

const KILLS_USUAL: u64 = 24;
const ACCOUNTS: i32 = 20;
const BALANCE: i64 = 1000;
/// Rows of a file that is copied.
const COPIED: i64 = 400;

const SCHEMA: [&str; 6] = [
    "CREATE TABLE keyed (writer INTEGER, number BIGINT, note TEXT, PRIMARY KEY (writer, number))",
    "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL)",
    "CREATE TABLE transfers (id BIGINT PRIMARY KEY, giver INTEGER REFERENCES accounts, taker INTEGER REFERENCES accounts)",
    "CREATE TABLE copied (batch BIGINT, number BIGINT)",
    "CREATE TABLE numbered (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a INTEGER)",
    "INSERT INTO accounts SELECT g, 1000 FROM generate_series(1, 20) AS s(g)",
];

#[test]
fn what_was_acknowledged_is_there() {
    let kills = std::env::var(KILLS).map_or(KILLS_USUAL, |count| count.parse().expect("a number"));
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let path = directory.path().join("database");
    let runtime = runtime();
    runtime.block_on(async { run(&mut open(&path).session(), &SCHEMA).await });
    let mut random = Random::new(kills);
    let mut said = Said::default();
    for kill in 0..kills {
        let mut child = started(&path);
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let reader = std::thread::spawn(move || output.lines().map_while(Result::ok).collect::<Vec<String>>());
        std::thread::sleep(Duration::from_millis(random.below(450) as u64 + 50));
        let ended = child.try_wait().expect("it can be asked");
        assert!(ended.is_none(), "kill {kill}: the process has ended by itself: {ended:?}");
        child.kill().expect("it runs");
        child.wait().expect("it has ended");
        for line in reader.join().expect("the reader reads to the end") {
            said.take(&line);
        }
        runtime.block_on(check(&path, &said, kill));
    }
    assert!(said.counts.values().sum::<u64>() > kills, "almost nothing was done: {:?}", said.counts);
    println!("{kills} kills; acknowledged: {:?}", said.counts);
}

fn started(path: &Path) -> Child {
    let program = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new(program);
    command.args(["--exact", "kills::worker", "--nocapture", "--test-threads", "1"]).env(DIRECTORY, path);
    command.stdout(Stdio::piped()).spawn().expect("the process starts")
}

/// What was acknowledged, by all processes so far.
#[derive(Default)]
struct Said {
    /// How many commits of each kind.
    counts: BTreeMap<String, u64>,
    keyed: Vec<(i64, i64)>,
    transfers: Vec<i64>,
    batches: Vec<i64>,
    tables: Vec<i64>,
    /// The highest number of the identity column.
    number: i64,
}

impl Said {
    fn take(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let Some((kind @ ("keyed" | "transfer" | "batch" | "table" | "number"), numbers)) =
            words.split_first().map(|(kind, rest)| (*kind, rest))
        else {
            return;
        };
        // The last line may be cut off.
        let Ok(numbers) = numbers.iter().map(|number| number.parse::<i64>()).collect::<Result<Vec<_>, _>>() else {
            return;
        };
        match (kind, numbers.as_slice()) {
            ("keyed", [writer, number, 0]) => self.keyed.push((*writer, *number)),
            ("transfer", [id, 0]) => self.transfers.push(*id),
            ("batch", [batch, 0]) => self.batches.push(*batch),
            ("table", [number, 0]) => self.tables.push(*number),
            ("number", [number, 0]) => self.number = self.number.max(*number),
            _ => return,
        }
        *self.counts.entry(kind.to_owned()).or_default() += 1;
    }
}

async fn check(path: &Path, said: &Said, kill: u64) {
    let database = open(path);
    let mut session = database.session();
    let keyed = rows(&mut session, "SELECT writer, number FROM keyed").await;
    let keyed: BTreeSet<&str> = keyed.lines().collect();
    for (writer, number) in &said.keyed {
        assert!(keyed.contains(format!("{writer}|{number}").as_str()), "kill {kill}: row {writer}, {number} is lost");
    }
    assert_eq!(
        value(&mut session, "SELECT sum(balance) FROM accounts").await,
        i64::from(ACCOUNTS) * BALANCE,
        "kill {kill}: a transfer is there by halves"
    );
    // Each transfer moves 1: balances follow from the transfers.
    let wrong = "SELECT count(*) FROM accounts a WHERE balance <> 1000 \
                 - (SELECT count(*) FROM transfers t WHERE t.giver = a.id) + (SELECT count(*) FROM transfers t WHERE t.taker = a.id)";
    assert_eq!(value(&mut session, wrong).await, 0, "kill {kill}: transfers and balances do not fit");
    let transfers = rows(&mut session, "SELECT id FROM transfers").await;
    let transfers: BTreeSet<&str> = transfers.lines().collect();
    for id in &said.transfers {
        assert!(transfers.contains(id.to_string().as_str()), "kill {kill}: transfer {id} is lost");
    }
    let batches = rows(&mut session, "SELECT batch, count(*), count(DISTINCT number) FROM copied GROUP BY batch").await;
    let whole = format!("|{COPIED}|{COPIED}");
    for batch in batches.lines() {
        assert!(batch.ends_with(&whole), "kill {kill}: batch {batch} is there by halves");
    }
    let batches: BTreeSet<&str> = batches.lines().collect();
    for batch in &said.batches {
        assert!(batches.contains(format!("{batch}{whole}").as_str()), "kill {kill}: batch {batch} is lost");
    }
    for number in &said.tables {
        assert!(database.is_table(&format!("made_{number}")), "kill {kill}: table {number} is lost");
    }
    assert!(value(&mut session, "SELECT coalesce(max(id), 0) FROM numbered").await >= said.number, "kill {kill}");
    run(&mut session, &["INSERT INTO numbered (a) VALUES (0)"]).await;
    drop(session);
    // Every other time the next process finds a log, and every other time a checkpoint.
    if kill.is_multiple_of(2) {
        database.close().expect("it closes");
    } else {
        leave_as_a_crash_does(path, database);
    }
}

/// Leaves the directory as it is, without a last checkpoint.
fn leave_as_a_crash_does(path: &Path, database: Arc<Database>) {
    let copy = path.with_extension("copy");
    copy_all(path, &copy);
    drop(database);
    std::fs::remove_dir_all(path).expect("it can be removed");
    std::fs::rename(&copy, path).expect("it can be renamed");
}

/// The process that is killed. Without the directory in its environment it does nothing.
#[test]
fn worker() {
    let Some(path) = std::env::var_os(DIRECTORY) else { return };
    let database = Database::open_directory(Path::new(&path), config(), &longshore_engine::Durability::default());
    let database = database.expect("the database opens");
    let runtime = runtime();
    runtime.block_on(async {
        let first = next_number(&mut database.session()).await;
        let next = Arc::new(AtomicI64::new(first));
        let mut workers = Vec::new();
        for writer in 0..3 {
            workers.push(tokio::spawn(keyed(Arc::clone(&database), writer, Arc::clone(&next))));
        }
        workers.push(tokio::spawn(copies(Arc::clone(&database), Arc::clone(&next))));
        workers.push(tokio::spawn(tables(Arc::clone(&database), Arc::clone(&next))));
        workers.push(tokio::spawn(numbers(Arc::clone(&database))));
        for seed in 0..2 {
            let (database, next) = (Arc::clone(&database), Arc::clone(&next));
            workers.push(tokio::task::spawn_blocking(move || transfers(&database, seed, &next)));
        }
        for worker in workers {
            worker.await.expect("a worker works until it is killed");
        }
    });
}

/// A number that nothing has yet.
async fn next_number(session: &mut Session) -> i64 {
    let mut next = 1;
    for sql in ["SELECT max(number) FROM keyed", "SELECT max(id) FROM transfers", "SELECT max(batch) FROM copied"] {
        let most = rows(session, sql).await;
        next = next.max(most.trim().parse::<i64>().unwrap_or(0) + 1);
    }
    // What was made but not used, such as tables, is behind them by less.
    next + 100_000
}

/// Says that something has committed; the 0 at the end tells whole lines from those that were cut off.
fn say(text: &str) {
    let mut output = std::io::stdout().lock();
    let _ = output.write_all(format!("{text} 0\n").as_bytes());
    let _ = output.flush();
}

async fn keyed(database: Arc<Database>, writer: i64, next: Arc<AtomicI64>) {
    let mut session = database.session();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        run(&mut session, &[&format!("INSERT INTO keyed VALUES ({writer}, {number}, 'note {number}')")]).await;
        say(&format!("keyed {writer} {number}"));
    }
}

async fn copies(database: Arc<Database>, next: Arc<AtomicI64>) {
    let mut session = database.session();
    loop {
        let batch = next.fetch_add(1, Ordering::Relaxed);
        let lines: Vec<String> = (0..COPIED).map(|number| format!("{batch},{number}\n")).collect();
        session.set_input(std::io::Cursor::new(lines.concat()));
        run(&mut session, &["COPY copied FROM STDIN (FORMAT csv)"]).await;
        say(&format!("batch {batch}"));
    }
}

async fn tables(database: Arc<Database>, next: Arc<AtomicI64>) {
    let mut session = database.session();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        run(
            &mut session,
            &[
                &format!("CREATE TABLE made_{number} AS SELECT * FROM accounts"),
                &format!("ALTER TABLE made_{number} ADD PRIMARY KEY (id)"),
                &format!("CREATE TABLE gone_{number} (a INTEGER)"),
                &format!("DROP TABLE gone_{number}"),
            ],
        )
        .await;
        say(&format!("table {number}"));
        run(&mut session, &["CHECKPOINT"]).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn numbers(database: Arc<Database>) {
    let mut session = database.session();
    loop {
        let id = value(&mut session, "INSERT INTO numbered (a) VALUES (1) RETURNING id").await;
        say(&format!("number {id}"));
    }
}

fn transfers(database: &Arc<Database>, seed: u64, next: &AtomicI64) {
    let accounts = database.table("accounts").expect("it is there");
    let (by_id, balance) =
        (accounts.primary_key().expect("it has one"), accounts.column::<i64>("balance").expect("it has one"));
    let list = database.table("transfers").expect("it is there");
    let mut random = Random::new(seed);
    loop {
        let id = next.fetch_add(1, Ordering::Relaxed);
        let giver = random.below(ACCOUNTS as usize) as i32 + 1;
        let taker = giver % ACCOUNTS + 1;
        let transfer = |t: &mut Transaction| -> Result<(), Error> {
            for (account, by) in [(giver, -1), (taker, 1)] {
                let row = t.find(&by_id, key![account])?.expect("it is there");
                let held = t.get(&accounts, row, balance)?;
                t.set(&accounts, row, balance, held + by)?;
            }
            t.insert(&list, key![id, giver, taker]).map(|_| ())
        };
        database.retry(Isolation::Serializable, transfer).expect("it is done in the end");
        say(&format!("transfer {id}"));
    }
}
