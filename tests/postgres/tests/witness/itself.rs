//! Random queries give the same rows however they are planned, prepared or split.
//!
//! `LONGSHORE_WITNESS=20 cargo test -p longshore-witness --test witness itself::` makes twenty times as many, 80,000;
//! `LONGSHORE_WITNESS_SEED=7` makes the queries of seed 7 only.

use longshore_testing::share;
use longshore_witness::case::Case;
use longshore_witness::generate::Generator;
use longshore_witness::itself::Twins;
use longshore_witness::random::Random;
use longshore_witness::reduce::reduced;
use longshore_witness::schema::Schema;
use longshore_witness::seeds::{self, Counts, Found};

/// Seeds, each of which makes tables and queries over them.
const SEEDS: usize = 200;
/// Queries over the tables of one seed.
const QUERIES: usize = 20;

#[test]
fn queries_agree_with_themselves() {
    seeds::run((share(SEEDS), share(seeds::SECONDS_MAX)), |_| (), async |(), seed| run(seed).await);
}

/// Makes and compares the queries of a seed. Ends with the first finding, as small as it gets.
async fn run(seed: u64) -> Found {
    let mut random = Random::new(seed);
    let schema = Schema::generate(&mut random);
    let mut twins = Twins::open(&schema).await;
    let mut counts = Counts::new();
    let mut generator = Generator::new(&mut random, &schema);
    for _ in 0..QUERIES {
        let query = generator.query();
        let split = generator.condition(&query);
        let case = Case { schema: schema.clone(), query, split };
        let Err(finding) = twins.check(&case, &mut counts).await else { continue };
        let kind = finding.kind.clone();
        let fails = async |case: &Case| {
            let found = Twins::open(&case.schema).await.check(case, &mut Counts::new()).await;
            found.is_err_and(|found| found.kind == kind)
        };
        let small = reduced(case, fails).await;
        let finding = Twins::open(&small.schema).await.check(&small, &mut Counts::new()).await.err().unwrap_or(finding);
        return (counts, Some(small.told(seed, &finding)));
    }
    (counts, None)
}
