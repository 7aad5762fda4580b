//! Every function and operator of PostgreSQL's chapter 9 that the book lists is called with edge values, and gives what
//! PostgreSQL gives where the book says so.
//!
//! `LONGSHORE_CALLS=regexp` calls only those whose text contains this. `LONGSHORE_PAGE=write` writes into the page what is
//! found. Without PostgreSQL nothing is tested, but in CI
//! that is a failure.

use std::fmt::Write;
use std::path::Path;

use longshore_engine::Config;
use longshore_witness::calls::{Call, State, listed, with_states};
use longshore_witness::engine::Engine;
use longshore_witness::pair::server;
use longshore_witness::rows::{Answer, are_same, shown, sorted};
use longshore_witness::server::Client;

/// The page that lists them.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/reference/postgresql-functions.md");
/// Differences of a call that are shown, at most.
const SHOWN_MAX: usize = 3;

#[tokio::test]
async fn functions_give_what_the_book_says() {
    let Some(server) = server() else { return };
    let mut client = server.connect().expect("the server answers");
    let mut engine = Engine::open(Config { threads: 1, ..Config::default() });
    engine.watch();
    let page = std::fs::read_to_string(Path::new(PAGE)).expect("the book has the page");
    let only = std::env::var("LONGSHORE_CALLS").unwrap_or_default();
    let calls = listed(&page);
    assert!(calls.len() > 200, "the page lists {} calls only", calls.len());
    let mut findings = String::new();
    let mut states = Vec::new();
    for call in calls.iter().filter(|call| call.text.contains(&only)) {
        let tried = tried(call, &mut client, &mut engine).await;
        if let Some(finding) = tried.finding(call) {
            let _ = writeln!(findings, "{}: {finding}", call.text);
        }
        states.push(tried.state());
    }
    if std::env::var("LONGSHORE_PAGE").is_ok_and(|what| what == "write") && only.is_empty() {
        std::fs::write(PAGE, with_states(&page, &states)).expect("the page can be written");
    }
    assert!(findings.is_empty(), "the page of the book is not right:\n{findings}");
}

/// What the cases of a call gave.
#[derive(Default)]
struct Tried {
    cases: usize,
    /// Cases that PostgreSQL does.
    known: usize,
    /// Cases that both do.
    done: usize,
    /// Cases that give something else, with both answers.
    different: Vec<String>,
}

/// Calls it with all its cases.
async fn tried(call: &Call, client: &mut Client, engine: &mut Engine) -> Tried {
    let mut tried = Tried::default();
    for sql in call.cases() {
        let (theirs, ours) = (client.run(&sql), engine.run(&sql).await);
        tried.cases += 1;
        tried.known += usize::from(theirs.is_ok());
        tried.done += usize::from(theirs.is_ok() && ours.is_ok());
        if let Err(refusal) = &ours {
            assert!(!refusal.message.starts_with("panic"), "{sql}: {}", refusal.message);
        }
        if !is_same(&theirs, &ours) {
            tried.different.push(format!("{sql}\n  PostgreSQL: {}\n  Longshore: {}", shown(&theirs), shown(&ours)));
        }
    }
    tried
}

impl Tried {
    fn state(&self) -> State {
        if self.different.is_empty() {
            State::Same
        } else if self.done == 0 {
            State::Missing
        } else {
            State::Differs
        }
    }

    /// What is not as the book says.
    fn finding(&self, call: &Call) -> Option<String> {
        if self.known == 0 {
            return Some(format!("PostgreSQL refuses all of its {} cases", self.cases));
        }
        if call.state == State::Differs && call.remark.is_empty() {
            return Some("it is not said how it differs".to_owned());
        }
        let found = self.state();
        (found != call.state).then(|| {
            let few = self.different[..self.different.len().min(SHOWN_MAX)].join("\n");
            format!("{found:?}, {} of {} cases differ\n{few}", self.different.len(), self.cases)
        })
    }
}

/// Whether both fail, or give the same rows.
fn is_same(theirs: &Answer, ours: &Answer) -> bool {
    match (theirs, ours) {
        (Ok(theirs), Ok(ours)) => are_same(&sorted(theirs.clone()), &sorted(ours.clone())),
        (Err(_), Err(ours)) => !ours.is_internal(),
        _ => false,
    }
}
