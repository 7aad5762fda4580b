//! A database of ours and one of PostgreSQL, which get the same statements.

use longshore_engine::Config;

use crate::case::Finding;
use crate::differences::reason;
use crate::engine::Engine;
use crate::rows::{Answer, are_same, sorted};
use crate::seeds::Counts;
use crate::server::{Client, Server};

/// Both databases.
#[derive(Debug)]
pub struct Pair {
    client: Client,
    /// Its schema in the server, which others have theirs in.
    name: String,
    engine: Engine,
}

/// A private server; `None`, with a line that says so, where PostgreSQL is not installed.
///
/// # Panics
/// In CI where PostgreSQL is not installed, and when it does not start.
#[must_use]
pub fn server() -> Option<Server> {
    let Some(programs) = Server::programs() else {
        assert!(std::env::var_os("CI").is_none(), "CI needs PostgreSQL (the Debian package postgresql)");
        println!("SKIPPED: PostgreSQL is not installed (the Debian package postgresql)");
        return None;
    };
    Some(Server::start(&programs).expect("a private PostgreSQL server starts"))
}

impl Pair {
    /// A database of ours, and one of the server for the thread `worker`.
    ///
    /// # Panics
    /// When the server does not answer.
    #[must_use]
    pub fn new(server: &Server, worker: usize) -> Self {
        let client = server.connect().expect("the server answers");
        Self { client, name: format!("w{worker}"), engine: engine() }
    }

    /// Makes both databases anew, with what `statements` make.
    ///
    /// # Panics
    /// When a statement fails.
    pub async fn anew(&mut self, statements: &[String]) {
        let name = &self.name;
        // A block may be open.
        let _ = self.client.run("ROLLBACK");
        for sql in [
            format!("DROP SCHEMA IF EXISTS {name} CASCADE"),
            format!("CREATE SCHEMA {name}"),
            format!("SET search_path = {name}"),
        ] {
            self.client.run(&sql).unwrap_or_else(|refusal| panic!("{sql}: {refusal}"));
        }
        self.engine = engine();
        for sql in statements {
            self.client.run(sql).unwrap_or_else(|refusal| panic!("PostgreSQL: {sql}: {refusal}"));
            self.engine.run(sql).await.unwrap_or_else(|refusal| panic!("{sql}: {refusal}"));
        }
    }

    /// Compares the answers to `sql`, and counts what came of it.
    ///
    /// # Errors
    /// A difference that is not meant.
    pub async fn compare(&mut self, sql: &str, ordered: bool, counts: &mut Counts) -> Result<(), Finding> {
        let ours = self.engine.run(sql).await;
        let theirs = self.client.run(sql);
        let beginning = |text: &str| text.chars().filter(|char| !char.is_ascii_digit()).take(50).collect::<String>();
        let what = if agree(&ours, &theirs, ordered) {
            match &ours {
                Ok(rows) if rows.is_empty() => "no rows".to_owned(),
                Ok(_) => "same rows".to_owned(),
                Err(refusal) => format!("same error {}", refusal.sqlstate),
            }
        } else if let Some(reason) = reason(sql, &ours, &theirs) {
            show(sql, &ours);
            match &ours {
                Err(refusal) => format!("known: {reason}: {}", beginning(&refusal.message)),
                Ok(_) => format!("known: {reason}"),
            }
        } else {
            let kind = match (&ours, &theirs) {
                (Ok(_), Ok(_)) => "other rows".to_owned(),
                (Err(ours), Ok(_)) => format!("refused: {}", beginning(&ours.message)),
                (Ok(_), Err(theirs)) => format!("accepted: {}", theirs.sqlstate),
                (Err(ours), Err(theirs)) => format!("other error: {} for {}", ours.sqlstate, theirs.sqlstate),
            };
            return Err(Finding::differs(&kind, (sql, &ours), ("PostgreSQL", &theirs)));
        };
        *counts.entry(what).or_default() += 1;
        Ok(())
    }
}

/// Prints a statement that is refused with a message which contains `LONGSHORE_WITNESS_SHOW`.
fn show(sql: &str, ours: &Answer) {
    if let (Ok(wanted), Err(refusal)) = (std::env::var("LONGSHORE_WITNESS_SHOW"), ours)
        && refusal.message.contains(&wanted)
    {
        eprintln!("{sql}\n  {}", refusal.message);
    }
}

fn agree(ours: &Answer, theirs: &Answer, ordered: bool) -> bool {
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) if ordered => are_same(ours, theirs),
        (Ok(ours), Ok(theirs)) => are_same(&sorted(ours.clone()), &sorted(theirs.clone())),
        (Err(ours), Err(theirs)) => ours.sqlstate == theirs.sqlstate && !ours.is_internal(),
        _ => false,
    }
}

fn engine() -> Engine {
    let engine = Engine::open(Config { threads: 2, ..Config::default() });
    engine.watch();
    engine
}
