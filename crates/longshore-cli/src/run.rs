//! Runs statements and writes what they give: rows to standard output, everything else to standard error.
//!
//! Statements run one after the other until the first error. Not here: where statements begin and end (`script`),
//! how rows look (`output`), the prompt (`shell`).

mod describe;
mod failure;
pub(crate) mod meta;
mod out;
mod pager;
mod results;
mod scripts;
mod streams;

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use futures::TryStreamExt as _;
use longshore_engine::{Config, Database, Error, Notification, Outcome, Report, Session};

use crate::args::RunOptions;
use crate::human;
use crate::interrupt::Interrupts;
use crate::output::{Expanded, Look};
use crate::progress::Display;
use crate::script::{Lines, SharedLines, Variables, first_word};
use crate::stats::{self, Stats};

pub(crate) use failure::{Failure, Reason};
use results::Results;
use streams::InlineData;

/// How long a cancelled statement is waited for at the end.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);
/// Characters of a value that a terminal shows in the shell.
const VALUE_WIDTH_MAX: usize = 1000;

/// A session with its settings, its output and its costs.
pub(crate) struct Runner {
    session: Session,
    results: Results,
    interrupts: Interrupts,
    stats: Option<Stats>,
    /// How results look.
    pub(crate) look: Look,
    /// `\timing`
    pub(crate) timing: bool,
    /// Which results go through a pager.
    pub(crate) paging: Paging,
    /// `\set`
    pub(crate) variables: Variables,
    /// A person types the statements.
    is_interactive: bool,
    /// The script that runs; `COPY FROM STDIN` reads what follows in it.
    lines: Option<SharedLines>,
    /// Lines that statements have read of it and that were not counted yet.
    data_lines: usize,
    /// The folder of the file that runs.
    directory_of_script: Option<PathBuf>,
    /// Files that are open within each other.
    open_files: usize,
    /// The directory of the database; without, it is in memory.
    directory: Option<PathBuf>,
    /// `\errverbose`
    last_error: Option<Error>,
    /// The key that ends that meta-commands are refused, in what `pg_dump` writes.
    restricted: Option<String>,
}

/// Which results on a terminal go through a pager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paging {
    /// None.
    Off,
    /// Those that are longer than the terminal.
    Long,
    /// All.
    Always,
}

impl Runner {
    /// A session of the database that the command line names, or of one in memory; `interactive` says that a shell will run
    /// its statements.
    ///
    /// # Errors
    ///
    /// A file of `--stats`, signals or a database that cannot be opened.
    pub(crate) fn new(config: Config, options: &RunOptions, interactive: bool) -> Result<Self, Failure> {
        let stats = match &options.stats {
            None => None,
            Some(path) => Some(Stats::open(path).map_err(|error| Reason::file(path, error))?),
        };
        let interrupts = Interrupts::install(false, !interactive).map_err(Reason::Signals)?;
        let database = match &options.directory {
            Some(path) if options.skip_damaged => {
                let (database, missing) = Database::open_damaged(path, &config)?;
                for line in missing {
                    note(&format!("warning: {line}"));
                }
                database
            }
            Some(path) => Database::open_directory(path, config, &options.durability)?,
            None => Database::open(config)?,
        };
        let mut session = database.session();
        let results = Results::default();
        session.set_output(results.clone());
        let mut look = Look { format: options.format, ..Look::default() };
        if interactive && io::stdout().is_terminal() {
            look.expanded = Expanded::Auto;
            look.value_width = Some(VALUE_WIDTH_MAX);
        }
        let mut variables = Variables::default();
        for (name, value) in &options.variables {
            variables.set(name, value);
        }
        if options.quiet {
            variables.set("QUIET", "on");
        }
        Ok(Self {
            session,
            results,
            interrupts,
            stats,
            look,
            timing: false,
            paging: if interactive { Paging::Long } else { Paging::Off },
            variables,
            is_interactive: interactive,
            lines: None,
            data_lines: 0,
            directory_of_script: None,
            open_files: 0,
            directory: options.directory.clone(),
            last_error: None,
            restricted: None,
        })
    }

    /// Ends the session and closes the database.
    ///
    /// # Errors
    ///
    /// A disk that fails.
    pub(crate) fn close(self) -> Result<(), Failure> {
        let database = Arc::clone(self.database());
        drop(self);
        if !database.is_durable() {
            return Ok(());
        }
        // A statement that was cancelled may hold it for a moment. If it does for longer, the log has everything.
        let patience = Instant::now();
        while Arc::strong_count(&database) > 1 && patience.elapsed() < CLOSE_PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        if Arc::strong_count(&database) > 1 {
            return Ok(());
        }
        Ok(database.close()?)
    }

    /// The database that statements work on.
    pub(crate) fn database(&self) -> &Arc<Database> {
        self.session.database()
    }

    /// Forgets a Ctrl-C that came while no statement ran, as at a prompt.
    pub(crate) fn forget_interrupts(&self) {
        self.interrupts.forget();
    }

    /// Whether a transaction block is open, and whether it has failed.
    pub(crate) fn transaction(&self) -> Option<Result<(), ()>> {
        let is_open = self.session.is_in_transaction();
        is_open.then(|| if self.session.has_failed_transaction() { Err(()) } else { Ok(()) })
    }

    /// Whether tags and the like are left out.
    pub(crate) fn is_quiet(&self) -> bool {
        self.variables.is_on("QUIET")
    }

    /// Writes a line that `--quiet` leaves out to standard error.
    pub(crate) fn remark(&self, text: &str) {
        if !self.is_quiet() {
            note(text);
        }
    }

    /// Runs one statement and writes what it gives.
    ///
    /// # Errors
    ///
    /// The failure of the statement, or of writing its result or its costs.
    pub(crate) async fn statement(&mut self, sql: &str) -> Result<(), Failure> {
        if self.stats.is_some() {
            stats::reset_peak_memory();
            self.database().memory().reset_peak();
        }
        let started = Instant::now();
        let result = self.execute(sql).await;
        let seconds = started.elapsed().as_secs_f64();
        self.record(sql, seconds, &result)?;
        self.note_result(&result);
        let done = result?;
        if !done.tag.is_empty() {
            self.remark(&describe(&done));
        }
        if self.timing {
            note(&format!("Time: {:.3} ms", seconds * 1e3));
        }
        self.show_notifications()
    }

    /// Writes what other sessions have told by channels, once no transaction is open.
    fn show_notifications(&self) -> Result<(), Failure> {
        if self.session.is_in_transaction() {
            return Ok(());
        }
        for Notification { channel, payload, pid } in self.session.activity().inbox().take() {
            let with = if payload.is_empty() { String::new() } else { format!(" with payload \"{payload}\"") };
            let text =
                format!("Asynchronous notification \"{channel}\"{with} received from server process with PID {pid}.\n");
            self.show_text(&text)?;
        }
        Ok(())
    }

    /// Sets the variables that say what became of a statement.
    fn note_result(&mut self, result: &Result<Done, Failure>) {
        let (rows, sqlstate) = match result {
            Ok(done) => (done.report.rows, "00000"),
            Err(failure) => (0, failure.error().map_or("XX000", |error| error.kind().sqlstate())),
        };
        self.variables.set("ROW_COUNT", rows.to_string());
        self.variables.set("ERROR", if result.is_err() { "true" } else { "false" });
        self.variables.set("SQLSTATE", sqlstate);
        if let Err(failure) = result {
            self.variables.set("LAST_ERROR_MESSAGE", failure.to_string());
            self.variables.set("LAST_ERROR_SQLSTATE", sqlstate);
            self.last_error = failure.error().cloned();
        }
    }

    async fn execute(&mut self, sql: &str) -> Result<Done, Failure> {
        let word = first_word(sql);
        let data = (word == "copy").then(|| self.give_input()).flatten();
        let done = self.execute_with_input(sql, &word).await;
        if let Some(data) = data {
            self.data_lines += data.finish().map_err(|error| Reason::file(Path::new("the data of COPY"), error))?;
        }
        done
    }

    /// Gives the session what `COPY FROM STDIN` reads: the next lines of the script, or of the terminal, or standard input.
    fn give_input(&mut self) -> Option<InlineData> {
        let lines = self.lines.clone().or_else(|| self.is_interactive.then(Lines::standard));
        let Some(lines) = lines else {
            self.session.set_input(io::stdin());
            return None;
        };
        let data = InlineData::new(lines, self.lines.is_none() && io::stdin().is_terminal());
        self.session.set_input(data.clone());
        Some(data)
    }

    async fn execute_with_input(&mut self, sql: &str, word: &str) -> Result<Done, Failure> {
        let control = self.session.control();
        let interrupts = self.interrupts.clone();
        let _watch = interrupts.watch(Arc::clone(&control));
        // Where the data are typed, there is no place for it.
        let is_typed = self.is_interactive && word == "copy" && self.lines.is_none() && is_from_stdin(sql);
        let mut display = if is_typed { Display::default() } else { Display::start(word, Arc::clone(&control)) };
        if is_typed {
            note(
                "Enter data to be copied followed by a newline.\nEnd with a backslash and a period on a line by itself, or Ctrl-D.",
            );
        }
        let outcome = self.session.execute(sql).await;
        if self.results.is_broken() {
            return Err(Reason::BrokenPipe.into());
        }
        match outcome? {
            Outcome::Done { tag, report, notice } => {
                self.results.flush().map_err(Reason::output)?;
                if let Some(notice) = notice {
                    display.stop();
                    note(&notice);
                }
                Ok(Done { tag, report })
            }
            Outcome::Rows(rows) => {
                if let Some(notice) = rows.notice() {
                    display.stop();
                    note(notice);
                }
                let rows = self.print(rows, &mut display).await?;
                let report = Report { rows, bytes_read: control.progress.bytes_done(), ..Report::default() };
                Ok(Done { tag: String::new(), report })
            }
        }
    }

    /// Runs a query and keeps its rows.
    async fn fetch(&mut self, sql: &str) -> Result<RecordBatch, Failure> {
        let interrupts = self.interrupts.clone();
        let _watch = interrupts.watch(self.session.control());
        let Outcome::Rows(rows) = self.session.execute(sql).await? else {
            return Err(Reason::Message(format!("{sql} has no rows")).into());
        };
        let schema = Arc::clone(rows.schema());
        let batches: Vec<RecordBatch> = rows.try_collect().await?;
        concat_batches(&schema, &batches).map_err(|error| Reason::Message(error.to_string()).into())
    }

    /// Appends the costs of a statement, if that is asked for.
    fn record(&mut self, sql: &str, seconds: f64, result: &Result<Done, Failure>) -> Result<(), Failure> {
        let Some(stats) = &mut self.stats else {
            return Ok(());
        };
        let report = result.as_ref().map(|done| done.report).unwrap_or_default();
        let database = self.session.database();
        let tables = database.table_bytes();
        let cost = stats::Cost {
            statement: &longshore_engine::without_secrets(sql),
            rows: report.rows,
            bytes_read: report.bytes_read,
            bytes_written: report.bytes_written,
            seconds,
            threads: database.config().threads,
            peak_memory: stats::peak_memory(),
            peak_database_memory: database.memory().peak() as u64,
            table_bytes: tables.stored,
            table_bytes_if_plain: tables.if_plain,
            error: result.as_ref().err().map(ToString::to_string),
        };
        stats.append(&cost).map_err(|error| Reason::Stats(error).into())
    }
}

/// What a statement did.
struct Done {
    tag: String,
    report: Report,
}

/// The command tag; for a person also the throughput of what was read or written.
fn describe(done: &Done) -> String {
    let bytes = done.report.bytes_read + done.report.bytes_written;
    if bytes == 0 || !io::stderr().is_terminal() {
        return done.tag.clone();
    }
    format!(
        "{} ({} in {}, {})",
        done.tag,
        human::bytes(bytes),
        human::seconds(done.report.seconds),
        human::rate(bytes, done.report.seconds)
    )
}

/// Writes a line to standard error; if that is closed, nobody wants to know.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Whether a COPY reads standard input.
fn is_from_stdin(sql: &str) -> bool {
    let words: Vec<String> = sql.split_whitespace().map(str::to_ascii_lowercase).collect();
    words.windows(2).any(|pair| pair[0] == "from" && pair[1].trim_end_matches([';', '(']) == "stdin")
}
