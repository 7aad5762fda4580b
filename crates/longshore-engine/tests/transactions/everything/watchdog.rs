//! Ends a test in which nothing moves any more, and says who does what and who holds what.
//!
//! A statement that waits for ever cannot be brought back, nor can the thread that it runs on; so the whole process ends.

use std::fmt::Write as _;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long nothing may move.
const PATIENCE: Duration = Duration::from_mins(1);

/// Who watches.
pub(super) struct Watchdog {
    watched: Arc<Watched>,
}

struct Watched {
    name: String,
    moves: AtomicU64,
    is_over: AtomicBool,
    sessions: Mutex<Vec<Session>>,
}

/// What a session is at.
#[derive(Clone, Default)]
struct Session {
    /// The statement that runs, and since when.
    now: Option<(String, Instant)>,
    /// What its open transaction has done, and so holds.
    done: Vec<String>,
}

impl Watchdog {
    /// Watches the test of this name until it is dropped.
    pub(super) fn start(name: String) -> Self {
        let (moves, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        let watched = Arc::new(Watched { name, moves, is_over, sessions: Mutex::default() });
        let watching = Arc::clone(&watched);
        std::thread::spawn(move || watching.watch());
        Self { watched }
    }

    /// A session begins with a statement.
    pub(super) fn begins(&self, session: usize, statement: &str) {
        self.of(session, |session| session.now = Some((statement.to_owned(), Instant::now())));
    }

    /// It is done with it; `is_end` says that no transaction is open any more.
    pub(super) fn ends(&self, session: usize, is_end: bool) {
        self.of(session, |session| {
            let statement = session.now.take().map(|(statement, _)| statement);
            session.done.extend(statement);
            if is_end {
                session.done.clear();
            }
        });
    }

    /// Who does what, and who holds what.
    pub(super) fn told(&self) -> String {
        self.watched.told()
    }

    fn of(&self, session: usize, act: impl FnOnce(&mut Session)) {
        self.watched.moves.fetch_add(1, Ordering::Relaxed);
        let mut sessions = self.watched.sessions.lock().unwrap();
        if sessions.len() <= session {
            sessions.resize(session + 1, Session::default());
        }
        act(&mut sessions[session]);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.watched.is_over.store(true, Ordering::Relaxed);
    }
}

impl Watched {
    fn watch(&self) {
        let (mut moves, mut since) = (0, Instant::now());
        while !self.is_over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(100));
            let now = self.moves.load(Ordering::Relaxed);
            if now != moves {
                (moves, since) = (now, Instant::now());
            } else if since.elapsed() > PATIENCE && self.is_at_work() {
                eprintln!("{}", self.told());
                // A panic would end this thread only.
                std::process::exit(101);
            }
        }
    }

    /// Whether somebody runs a statement: while what was committed is done again, nobody does.
    fn is_at_work(&self) -> bool {
        self.sessions.lock().unwrap().iter().any(|session| session.now.is_some())
    }

    fn told(&self) -> String {
        let mut told = format!("{}: nothing has moved for {} s\n", self.name, PATIENCE.as_secs());
        for (at, Session { now, done }) in self.sessions.lock().unwrap().iter().enumerate() {
            let _ = match now {
                Some((statement, since)) => {
                    writeln!(told, "session {at} for {:.1} s: {statement}", since.elapsed().as_secs_f64())
                }
                None => writeln!(told, "session {at} runs nothing"),
            };
            for statement in done {
                let _ = writeln!(told, "    its transaction holds what it did by: {statement}");
            }
        }
        told + &threads()
    }
}

/// What the threads of the process are called, and where in the system they wait.
fn threads() -> String {
    let mut told = String::new();
    for thread in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let read = |file: &str| fs::read_to_string(thread.path().join(file)).unwrap_or_default().trim().to_owned();
        let _ = writeln!(told, "thread {} {}: waits in {}", thread.file_name().display(), read("comm"), read("wchan"));
    }
    told
}
