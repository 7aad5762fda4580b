//! Random changes of tables with constraints, in blocks with savepoints and statements that fail, give the rows, codes
//! and tables that PostgreSQL gives.
//!
//! `LONGSHORE_WITNESS=20 cargo test -p longshore-witness --test witness changes::` makes twenty times as many;
//! `LONGSHORE_WITNESS_SEED=7` makes those of seed 7 only. Without PostgreSQL nothing is tested, but in CI that is a
//! failure.

use longshore_testing::share;
use longshore_witness::case::Finding;
use longshore_witness::changes::{Changes, Session};
use longshore_witness::pair::{Pair, server};
use longshore_witness::random::Random;
use longshore_witness::seeds::{self, Counts, Found};

/// Seeds, each of which makes one session.
const SEEDS: usize = 12;

#[test]
fn changes_agree_with_postgres() {
    let Some(server) = server() else { return };
    seeds::run((share(SEEDS), share(seeds::SECONDS_MAX)), |worker| Pair::new(&server, worker), run);
}

/// Makes and compares the session of a seed.
async fn run(pair: &mut Pair, seed: u64) -> Found {
    let mut random = Random::new(seed);
    let session = Changes::new(&mut random).session();
    let mut counts = Counts::new();
    let Err(finding) = compare(pair, &session, &mut counts).await else { return (counts, None) };
    let (small, finding) = reduced(pair, session, finding).await;
    let statements = small.tables.iter().chain(&small.statements).map(|sql| format!("  {sql};"));
    let text =
        format!("seed {seed}: {}\n{}\n{}", finding.kind, statements.collect::<Vec<_>>().join("\n"), finding.text);
    (counts, Some(text))
}

/// Compares a session: each statement, and the tables whenever no block is open.
async fn compare(pair: &mut Pair, session: &Session, counts: &mut Counts) -> Result<(), Finding> {
    pair.anew(&session.tables).await;
    let mut in_block = false;
    for sql in &session.statements {
        pair.compare(sql, false, counts).await?;
        match sql.split(' ').next() {
            Some("BEGIN" | "START") => in_block = true,
            Some("COMMIT" | "ROLLBACK") if !sql.contains("SAVEPOINT") => in_block = false,
            _ => {}
        }
        if !in_block {
            for table in ["p", "c", "l"] {
                let found = pair.compare(&format!("SELECT * FROM {table}"), false, &mut Counts::new()).await;
                found.map_err(|found| Finding { kind: format!("table after {}", found.kind), ..found })?;
            }
        }
    }
    Ok(())
}

/// The session without the statements that the finding does not need.
async fn reduced(pair: &mut Pair, session: Session, finding: Finding) -> (Session, Finding) {
    let (mut session, mut finding) = (session, finding);
    let mut at = session.statements.len();
    while at > 0 {
        at -= 1;
        let mut smaller = session.clone();
        smaller.statements.remove(at);
        if let Err(found) = compare(pair, &smaller, &mut Counts::new()).await
            && found.kind == finding.kind
        {
            (session, finding) = (smaller, found);
            at = at.min(session.statements.len());
        }
    }
    (session, finding)
}
