//! The 22 queries of TPC-H through SQL, as a user runs them, on tables with packed storage and on plain ones.
//!
//! Both must give the same rows, in every run. Whether these are right, `longshore-engine/tests/engine/tpch.rs` says, which compares
//! them with another engine's answers.

use std::cell::RefCell;
use std::fmt::{Display, Write as _};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use arrow::util::display::{ArrayFormatter, FormatOptions};
use arrow_array::RecordBatch;
use futures::TryStreamExt as _;
use longshore_engine::{Config, Database, Outcome, Session};
use tokio::runtime::Runtime;
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
    let mut sessions = Vec::new();
    for storage in ["plain", "packed"] {
        let database = Database::open(Config { threads: settings.threads, ..Config::default() })?;
        let mut session = database.session();
        runtime.block_on(load(&mut session, storage, settings))?;
        sessions.push((storage, RefCell::new(session)));
    }
    let mut cases = Vec::new();
    for query in queries()? {
        let sql = longshore_engine::split(&fs::read_to_string(&query)?).statements.join(";");
        let name = query.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let right = Rc::new(RefCell::new(None));
        for (storage, session) in &sessions {
            let (runtime, sql, right) = (&runtime, sql.clone(), Rc::clone(&right));
            cases.push(Case::new(format!("{name} {storage}"), Amount::Time, move || {
                let (rows, time) = timed(runtime, &mut session.borrow_mut(), &sql)?;
                let mut right = right.borrow_mut();
                if *right.get_or_insert_with(|| rows.clone()) == rows { Ok(time) } else { Err("another answer".into()) }
            }));
        }
    }
    let mut measured = measure(cases, settings)?;
    compare(&mut measured);
    Ok(measured)
}

/// Notes what share of the plain one's time each packed case takes, and adds the totals.
fn compare(measured: &mut Vec<Measured>) {
    let of = |storage: &str| -> Vec<usize> {
        (0..measured.len()).filter(|&at| measured[at].case.ends_with(storage)).collect()
    };
    let (plain, packed) = (of(" plain"), of(" packed"));
    // `--only` may have left out the half of one.
    if plain.len() != packed.len() || plain.is_empty() {
        return;
    }
    let mut logarithms = 0.0;
    for (&plain, &packed) in plain.iter().zip(&packed) {
        let ratio = measured[packed].best.as_secs_f64() / measured[plain].best.as_secs_f64();
        measured[packed].note = format!("{ratio:.2} x plain");
        logarithms += ratio.ln();
    }
    let mean = (logarithms / plain.len() as f64).exp();
    let total = |storage: &str, cases: &[usize], note: String| {
        let sum = |time: fn(&Measured) -> Duration| cases.iter().map(|&at| time(&measured[at])).sum::<Duration>();
        let (best, median) = (sum(|row| row.best), sum(|row| row.median));
        Measured { case: format!("total {storage}"), best, median, rate: best.as_secs_f64() * 1e3, unit: "ms", note }
    };
    let totals = [
        total("plain", &plain, String::new()),
        total("packed", &packed, format!("{mean:.2} x plain by geometric mean")),
    ];
    measured.extend(totals);
}

fn queries() -> Result<Vec<PathBuf>, Failure> {
    let entries: Result<Vec<_>, _> = fs::read_dir(Path::new(TPCH).join("queries"))?.collect();
    let mut paths: Vec<PathBuf> = entries?.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

async fn load(session: &mut Session, storage: &str, settings: &Settings) -> Result<(), Failure> {
    let schema = fs::read_to_string(Path::new(TPCH).join("schema.sql"))?;
    for statement in longshore_engine::split(&schema).statements {
        session.execute(&format!("{statement} WITH (storage = {storage})")).await?;
    }
    for (table, path) in files(settings)? {
        session.execute(&format!("COPY {table} FROM '{}' (FORMAT csv, DELIMITER '|')", path.display())).await?;
    }
    Ok(())
}

/// The rows of a query as text, sorted, and how long it took to have all of them.
fn timed(runtime: &Runtime, session: &mut Session, sql: &str) -> Result<(Vec<String>, Duration), Failure> {
    let started = Instant::now();
    let batches: Vec<RecordBatch> = runtime.block_on(async {
        match session.execute(sql).await? {
            Outcome::Rows(stream) => Ok(stream.try_collect().await?),
            Outcome::Done { tag, .. } => Err(Failure::from(format!("{tag} where rows are expected"))),
        }
    })?;
    let time = started.elapsed();
    let mut rows = Vec::new();
    for batch in &batches {
        let options = FormatOptions::default();
        let columns: Result<Vec<_>, _> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options)).collect();
        let columns = columns?;
        for row in 0..batch.num_rows() {
            let mut text = String::new();
            for column in &columns {
                write!(text, "{}|", column.value(row))?;
            }
            rows.push(text);
        }
    }
    rows.sort_unstable();
    Ok((rows, time))
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
