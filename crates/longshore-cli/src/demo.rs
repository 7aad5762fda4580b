//! Shows the whole way on TPC-H: generate, load, work, unload, reload, and the proof that nothing was lost.
//!
//! Every step is an SQL statement that a user could type; what it moved and how long it took comes from the
//! statement's own report. Results go to standard output, progress to standard error.
//!
//! Not here: the text (`generate`), the directory (`demo::place`), tables of numbers (`demo::report`).

mod place;
mod report;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use futures::StreamExt as _;
use longshore_engine::{Checksum, Config, Database, Kernel, Outcome, Progress, Report, Session, split};

use crate::args::DemoArgs;
use crate::generate::{self, Request, Table, TextFormat};
use crate::human;
use crate::interrupt::Interrupts;
use crate::progress::Display;
use crate::run::{Failure, Reason};
use place::Place;
use report::{Summary, line, say};

/// The schema, shared with the tests of the engine.
const SCHEMA: &str = include_str!("../../../tests/tpch/schema.sql");

/// The queries with the parameters of the validation run, shared with the tests of the engine.
const QUERIES: [&str; 22] = [
    include_str!("../../../tests/tpch/queries/q01.sql"),
    include_str!("../../../tests/tpch/queries/q02.sql"),
    include_str!("../../../tests/tpch/queries/q03.sql"),
    include_str!("../../../tests/tpch/queries/q04.sql"),
    include_str!("../../../tests/tpch/queries/q05.sql"),
    include_str!("../../../tests/tpch/queries/q06.sql"),
    include_str!("../../../tests/tpch/queries/q07.sql"),
    include_str!("../../../tests/tpch/queries/q08.sql"),
    include_str!("../../../tests/tpch/queries/q09.sql"),
    include_str!("../../../tests/tpch/queries/q10.sql"),
    include_str!("../../../tests/tpch/queries/q11.sql"),
    include_str!("../../../tests/tpch/queries/q12.sql"),
    include_str!("../../../tests/tpch/queries/q13.sql"),
    include_str!("../../../tests/tpch/queries/q14.sql"),
    include_str!("../../../tests/tpch/queries/q15.sql"),
    include_str!("../../../tests/tpch/queries/q16.sql"),
    include_str!("../../../tests/tpch/queries/q17.sql"),
    include_str!("../../../tests/tpch/queries/q18.sql"),
    include_str!("../../../tests/tpch/queries/q19.sql"),
    include_str!("../../../tests/tpch/queries/q20.sql"),
    include_str!("../../../tests/tpch/queries/q21.sql"),
    include_str!("../../../tests/tpch/queries/q22.sql"),
];

/// Runs the demonstration.
///
/// # Errors
///
/// A full disk, a statement that fails, data that did not come back, or the user's interruption. The directory is
/// then left as after a success: removed if it was temporary.
pub(crate) async fn run(config: Config, args: &DemoArgs) -> Result<(), Failure> {
    let interrupts = Interrupts::install(true, true).map_err(Reason::Signals)?;
    let place = Place::prepare(args)?;
    let mut demo = Demo::new(config, place, interrupts)?;
    let result = demo.all_steps(args.scale).await;
    if demo.interrupts.seen() && result.is_err() {
        return Err(Reason::Interrupted.into());
    }
    result
}

struct Demo {
    session: Session,
    place: Place,
    interrupts: Interrupts,
    summary: Summary,
    /// Bytes of text that each table was loaded from, in the order of [`Table::ALL`].
    text_bytes: Vec<u64>,
}

/// What a statement gave.
struct Done {
    report: Report,
    /// Wall time with the reading of all rows.
    seconds: f64,
}

impl Demo {
    fn new(config: Config, place: Place, interrupts: Interrupts) -> Result<Self, Failure> {
        Ok(Self {
            session: Database::open(config)?.session(),
            place,
            interrupts,
            summary: Summary::default(),
            text_bytes: Vec::new(),
        })
    }

    async fn all_steps(&mut self, scale: f64) -> Result<(), Failure> {
        let config = self.database().config();
        say(&format!(
            "Longshore {}: TPC-H at scale factor {scale}, {}, {} kernel, in {}",
            env!("CARGO_PKG_VERSION"),
            human::count(config.threads as u64, "thread"),
            config.kernel.unwrap_or_else(Kernel::best),
            self.place.directory().display(),
        ))?;
        let request = self.generate(scale).await?;
        self.load(&request).await?;
        self.work().await?;
        let before = self.checksums("Checksums before unloading")?;
        self.unload().await?;
        self.load_again(&request).await?;
        self.reload().await?;
        let after = self.checksums("Checksums after reloading")?;
        prove(&before, &after)?;
        self.summary.show()
    }

    fn database(&self) -> &Arc<Database> {
        self.session.database()
    }

    /// Makes the text unless it is there.
    async fn generate(&self, scale: f64) -> Result<Request, Failure> {
        let request = Request {
            scale,
            directory: self.place.directory().to_owned(),
            format: TextFormat::Tbl,
            threads: self.database().config().threads,
        };
        if place::is_generated(&request) {
            say("\nGenerate\n  the text is there already")?;
            return Ok(request);
        }
        place::check_room(&request)?;
        let progress = Arc::new(Progress::default());
        let mut display = Display::start("generate", Arc::clone(&progress));
        let generated = {
            let (request, interrupts) = (request.clone(), self.interrupts.clone());
            tokio::task::spawn_blocking(move || generate::tpch(&request, &progress, interrupts.flag())).await
        };
        display.stop();
        let generated = generated.map_err(|error| Reason::Message(format!("the generator failed: {error}")))??;
        say(&format!(
            "\nGenerate\n  {} of text in {}",
            human::bytes(generated.bytes),
            human::seconds(generated.seconds)
        ))?;
        Ok(request)
    }

    async fn load(&mut self, request: &Request) -> Result<(), Failure> {
        for statement in split(SCHEMA).statements {
            self.execute("create", &statement).await?;
        }
        say("\nLoad")?;
        let total = self.copy_all(request).await?;
        say(&report::memory(self.database(), total.bytes_read))?;
        self.summary.add("load", total.bytes_read, total.seconds);
        Ok(())
    }

    /// Loads the text once more. The first load had to find its memory; from now on there is that of the tables.
    async fn load_again(&mut self, request: &Request) -> Result<(), Failure> {
        for table in Table::ALL {
            self.execute("truncate", &format!("TRUNCATE {}", table.name())).await?;
        }
        say("\nLoad again, into the memory that the tables had")?;
        let total = self.copy_all(request).await?;
        self.summary.add("load again", total.bytes_read, total.seconds);
        Ok(())
    }

    /// Loads all tables, which are empty, and shows each.
    async fn copy_all(&mut self, request: &Request) -> Result<Report, Failure> {
        line(&["table", "rows", "bytes", "time", "GB/s", "rows/s"])?;
        let mut total = Report::default();
        self.text_bytes.clear();
        for table in Table::ALL {
            let path = sql_text(&request.path(table));
            let sql = format!("COPY {} FROM {path} (DELIMITER '|')", table.name());
            let done = self.execute(table.name(), &sql).await?;
            line(&moved(table.name(), &done.report))?;
            self.text_bytes.push(done.report.bytes_read);
            total.rows += done.report.rows;
            total.bytes_read += done.report.bytes_read;
            total.seconds += done.report.seconds;
        }
        line(&moved("all", &total))?;
        Ok(total)
    }

    async fn work(&mut self) -> Result<(), Failure> {
        say("\nWork: the 22 queries")?;
        let (mut bytes, mut seconds) = (0, 0.0);
        for (index, sql) in QUERIES.iter().enumerate() {
            let number = format!("Q{}", index + 1);
            let done = self.execute(&number, sql).await?;
            bytes += self.text_bytes_of(sql);
            seconds += done.seconds;
            say(&format!(
                "  {number:<4}{:>10}{:>14}  {}",
                human::seconds(done.seconds),
                human::count(done.report.rows, "row"),
                report::title(sql)
            ))?;
        }
        say(&format!("  all {:>10}", human::seconds(seconds)))?;
        self.summary.add("work", bytes, seconds);
        Ok(())
    }

    /// Bytes of the text of the tables that a query names: the files it would have to read without a database.
    fn text_bytes_of(&self, sql: &str) -> u64 {
        let words: Vec<&str> = sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
        Table::ALL
            .iter()
            .zip(&self.text_bytes)
            .filter(|(table, _)| words.contains(&table.name()))
            .map(|(_, bytes)| bytes)
            .sum()
    }

    async fn unload(&mut self) -> Result<(), Failure> {
        say("\nUnload")?;
        line(&["format", "rows", "bytes", "time", "GB/s", "rows/s"])?;
        for (format, name) in [("native", "unload native"), ("csv", "unload CSV")] {
            let directory = sql_text(&self.place.copy(format));
            let sql = format!("EXPORT DATABASE {directory} (FORMAT {format})");
            let done = self.execute(format, &sql).await?;
            line(&moved(format, &done.report))?;
            self.summary.add(name, done.report.bytes_written, done.report.seconds);
        }
        Ok(())
    }

    async fn reload(&mut self) -> Result<(), Failure> {
        for table in Table::ALL {
            self.execute("drop", &format!("DROP TABLE {}", table.name())).await?;
        }
        say("\nReload the native copy into an empty database, in the memory that its tables had")?;
        line(&["format", "rows", "bytes", "time", "GB/s", "rows/s"])?;
        let directory = sql_text(&self.place.copy("native"));
        let done = self.execute("reload", &format!("IMPORT DATABASE {directory}")).await?;
        line(&moved("native", &done.report))?;
        self.summary.add("reload native", done.report.bytes_read, done.report.seconds);
        Ok(())
    }

    fn checksums(&self, title: &str) -> Result<Vec<Checksum>, Failure> {
        say(&format!("\n{title}"))?;
        let started = Instant::now();
        let mut checksums = Vec::with_capacity(Table::ALL.len());
        for table in Table::ALL {
            if self.interrupts.seen() {
                return Err(Reason::Interrupted.into());
            }
            let checksum = self.database().checksum(table.name())?;
            say(&format!("  {:<9}{:>14} rows  {checksum}", table.name(), human::grouped(checksum.rows)))?;
            checksums.push(checksum);
        }
        say(&format!("  in {}", human::seconds(started.elapsed().as_secs_f64())))?;
        Ok(checksums)
    }

    /// Executes a statement and reads all its rows.
    async fn execute(&mut self, label: &str, sql: &str) -> Result<Done, Failure> {
        if self.interrupts.seen() {
            return Err(Reason::Interrupted.into());
        }
        let control = self.session.control();
        let interrupts = self.interrupts.clone();
        let _watch = interrupts.watch(Arc::clone(&control));
        let _display = Display::start(label, Arc::clone(&control));
        let started = Instant::now();
        let mut report = Report::default();
        match self.session.execute(sql.trim().trim_end_matches(';')).await? {
            Outcome::Done { report: done, .. } => report = done,
            Outcome::Rows(mut rows) => {
                while let Some(batch) = rows.next().await {
                    report.rows += batch?.num_rows() as u64;
                }
            }
        }
        Ok(Done { report, seconds: started.elapsed().as_secs_f64() })
    }
}

/// Compares what was unloaded with what came back.
fn prove(before: &[Checksum], after: &[Checksum]) -> Result<(), Failure> {
    let different: Vec<&str> = Table::ALL
        .iter()
        .zip(before.iter().zip(after))
        .filter(|(_, (before, after))| before != after)
        .map(|(table, _)| table.name())
        .collect();
    if different.is_empty() {
        let rows = before.iter().map(|checksum| checksum.rows).sum();
        return say(&format!("  proved: all 8 tables came back as they went out, {} rows", human::grouped(rows)));
    }
    Err(Reason::Message(format!(
        "the reloaded database differs from the unloaded one in: {}; this is a bug of Longshore",
        different.join(", ")
    ))
    .into())
}

/// A line of the tables for load and unload.
fn moved(name: &str, report: &Report) -> [String; 6] {
    let bytes = report.bytes_read + report.bytes_written;
    [
        name.to_owned(),
        human::grouped(report.rows),
        human::bytes(bytes),
        human::seconds(report.seconds),
        human::rate(bytes, report.seconds),
        human::row_rate(report.rows, report.seconds),
    ]
}

/// A path as an SQL text.
fn sql_text(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "''"))
}
