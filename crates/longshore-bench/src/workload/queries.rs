//! The 22 queries of TPC-H through SQL, as a user runs them.
//!
//! Rows are counted, not compared: `longshore-engine/tests/tpch.rs` does that against another engine's answers.

use std::fmt::{Display, Write as _};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures::TryStreamExt as _;
use longshore_engine::{Config, Database, Outcome, Session};
use tpchgen::generators::{
    CustomerGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator, RegionGenerator,
    SupplierGenerator,
};

use crate::measure::{Amount, Case, Measured, measure};
use crate::text::{Text, lineitem};
use crate::{Failure, Settings};

/// Schema and queries, shared with the demo and the tests of the engine.
const TPCH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/tpch");

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(settings.threads).enable_all().build()?;
    let database = Database::open(Config { threads: settings.threads, ..Config::default() })?;
    let mut session = database.session();
    runtime.block_on(load(&mut session, settings))?;

    let session = std::cell::RefCell::new(session);
    let mut cases = Vec::new();
    for query in queries()? {
        let sql = fs::read_to_string(&query)?;
        let name = query.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let (runtime, session) = (&runtime, &session);
        let mut right = None;
        cases.push(Case::new(name, Amount::Time, move || {
            let started = Instant::now();
            let rows = runtime.block_on(count(&mut session.borrow_mut(), &sql))?;
            let time = started.elapsed();
            if *right.get_or_insert(rows) == rows { Ok(time) } else { Err("the answer has changed".into()) }
        }));
    }
    let mut measured = measure(cases, settings)?;
    if measured.len() > 1 {
        let total = |time: fn(&Measured) -> Duration| measured.iter().map(time).sum::<Duration>();
        let (best, median) = (total(|row| row.best), total(|row| row.median));
        let rate = best.as_secs_f64() * 1e3;
        measured.push(Measured { case: "total".to_owned(), best, median, rate, unit: "ms", note: String::new() });
    }
    Ok(measured)
}

fn queries() -> Result<Vec<PathBuf>, Failure> {
    let entries: Result<Vec<_>, _> = fs::read_dir(Path::new(TPCH).join("queries"))?.collect();
    let mut paths: Vec<PathBuf> = entries?.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

async fn load(session: &mut Session, settings: &Settings) -> Result<(), Failure> {
    let schema = fs::read_to_string(Path::new(TPCH).join("schema.sql"))?;
    for statement in longshore_engine::split(&schema).statements {
        session.execute(&statement).await?;
    }
    for (table, path) in files(settings)? {
        session.execute(&format!("COPY {table} FROM '{}' (FORMAT csv, DELIMITER '|')", path.display())).await?;
    }
    Ok(())
}

/// Number of rows of a query.
async fn count(session: &mut Session, sql: &str) -> Result<usize, Failure> {
    let sql = longshore_engine::split(sql).statements.join(";");
    match session.execute(&sql).await? {
        Outcome::Rows(stream) => {
            let counted = stream.try_fold(0, async |rows, batch| Ok(rows + batch.num_rows()));
            Ok(counted.await?)
        }
        Outcome::Done { tag, .. } => Err(format!("{tag} where rows are expected").into()),
    }
}

/// The text of all eight tables, generated if it is not there.
fn files(settings: &Settings) -> Result<Vec<(&'static str, PathBuf)>, Failure> {
    let scale = settings.scale;
    let table = |name: &'static str, write: &dyn Fn(&mut String)| -> Result<(&'static str, PathBuf), Failure> {
        let path = settings.data.join(format!("{name}-sf{scale}.csv"));
        if !path.exists() {
            eprintln!("generating {}", path.display());
            let mut text = String::new();
            write(&mut text);
            // Under its own name only when it is whole.
            let partial = path.with_extension("partial");
            fs::File::create(&partial)?.write_all(text.as_bytes())?;
            fs::rename(&partial, &path)?;
        }
        Ok((name, path))
    };
    let lineitem = lineitem(&settings.data, scale, Text::Plain)?;
    Ok(vec![
        table("region", &|text| lines(RegionGenerator::new(scale, 1, 1).iter(), text))?,
        table("nation", &|text| lines(NationGenerator::new(scale, 1, 1).iter(), text))?,
        table("supplier", &|text| lines(SupplierGenerator::new(scale, 1, 1).iter(), text))?,
        table("customer", &|text| lines(CustomerGenerator::new(scale, 1, 1).iter(), text))?,
        table("part", &|text| lines(PartGenerator::new(scale, 1, 1).iter(), text))?,
        table("partsupp", &|text| lines(PartSuppGenerator::new(scale, 1, 1).iter(), text))?,
        table("orders", &|text| lines(OrderGenerator::new(scale, 1, 1).iter(), text))?,
        ("lineitem", lineitem.path),
    ])
}

fn lines<R: Display>(rows: impl Iterator<Item = R>, text: &mut String) {
    for row in rows {
        writeln!(text, "{row}").expect("a string takes any text");
    }
}
