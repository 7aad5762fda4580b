//! Random queries give the rows that PostgreSQL gives.
//!
//! `LONGSHORE_WITNESS=20 cargo test -p longshore-witness --test witness postgres::` makes twenty times as many (160,000 queries);
//! `LONGSHORE_WITNESS_SEED=7` makes the queries of seed 7 only. Without PostgreSQL nothing is tested, but in CI that is
//! a failure.

use longshore_testing::share;
use longshore_witness::case::Case;
use longshore_witness::generate::Generator;
use longshore_witness::pair::{Pair, server};
use longshore_witness::random::Random;
use longshore_witness::reduce::reduced;
use longshore_witness::schema::Schema;
use longshore_witness::seeds::{self, Counts, Found};

/// Seeds, each of which makes tables and queries over them.
const SEEDS: usize = 200;
/// Queries over the tables of one seed.
const QUERIES: usize = 40;

#[test]
fn queries_agree_with_postgres() {
    let Some(server) = server() else { return };
    seeds::run((share(SEEDS), share(seeds::SECONDS_MAX)), |worker| Pair::new(&server, worker), run);
}

/// Makes and compares the queries of a seed. Ends with the first finding, as small as it gets.
async fn run(pair: &mut Pair, seed: u64) -> Found {
    let mut random = Random::new(seed);
    let schema = Schema::generate(&mut random);
    pair.anew(&schema.statements(true)).await;
    let mut generator = Generator::new(&mut random, &schema);
    let mut counts = Counts::new();
    for _ in 0..QUERIES {
        let case = Case { schema: schema.clone(), query: generator.query(), split: None };
        let ordered = |case: &Case| !case.query.order.is_empty();
        let Err(finding) = pair.compare(&case.query.sql(), ordered(&case), &mut counts).await else { continue };
        let kind = finding.kind.clone();
        let fails = async |case: &Case| {
            pair.anew(&case.schema.statements(true)).await;
            let found = pair.compare(&case.query.sql(), ordered(case), &mut Counts::new()).await;
            found.is_err_and(|found| found.kind == kind)
        };
        let small = reduced(case, fails).await;
        pair.anew(&small.schema.statements(true)).await;
        let found = pair.compare(&small.query.sql(), ordered(&small), &mut Counts::new()).await;
        return (counts, Some(small.told(seed, &found.err().unwrap_or(finding))));
    }
    (counts, None)
}
