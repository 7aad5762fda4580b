//! Runs statements and writes what they give: rows to standard output, everything else to standard error.
//!
//! Statements run one after the other until the first error. Not here: where statements begin and end (`script`),
//! how rows look (`output`), the prompt (`shell`).

mod describe;
mod failure;
pub(crate) mod meta;
mod streams;

use std::io::{self, BufWriter, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use console::Term;
use futures::{StreamExt as _, TryStreamExt as _};
use longshore_engine::{Config, Database, Outcome, Report, RowStream, Session};

use crate::args::{RunOptions, Step};
use crate::human;
use crate::interrupt::Interrupts;
use crate::output::{Expanded, Format, Printer};
use crate::progress::Display;
use crate::script::{Item, Script, first_word};
use crate::stats::{self, Stats};

pub(crate) use failure::{Failure, Reason};
use meta::Flow;
use streams::{DUMP_LINES, FileData, FileText, InlineData, PipedOutput};

/// Bytes of results that are gathered before they are written.
const OUTPUT_BUFFER_BYTES: usize = 256 << 10;
/// Width of a terminal that does not tell.
const TERMINAL_WIDTH_DEFAULT: usize = 80;
/// How long a cancelled statement is waited for at the end.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);
/// Files that are open within each other at most, so that one that includes itself ends.
const OPEN_FILES_MAX: usize = 64;

/// A session with its settings, its output and its costs.
pub(crate) struct Runner {
    session: Session,
    output: PipedOutput,
    interrupts: Interrupts,
    stats: Option<Stats>,
    format: Format,
    /// `\x`
    pub(crate) expanded: Expanded,
    /// `\timing`
    pub(crate) timing: bool,
    /// Standard input gives the statements, so `COPY FROM STDIN` reads what follows them.
    input_is_script: bool,
    /// Files that are open within each other.
    open_files: usize,
    /// What the next COPY FROM STDIN reads, where a file has that behind the statement.
    data: Option<FileData>,
    /// The key that ends that meta-commands are refused, in what pg_dump writes.
    pub(crate) restricted: Option<String>,
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
        let output = PipedOutput::default();
        session.set_output(output.clone());
        Ok(Self {
            session,
            output,
            interrupts,
            stats,
            format: options.format,
            expanded: Expanded::default(),
            timing: false,
            input_is_script: options.steps.is_empty(),
            open_files: 0,
            data: None,
            restricted: None,
        })
    }

    /// Runs the steps of the command line, or standard input if there are none.
    ///
    /// # Errors
    ///
    /// The first failure of a statement, a file or the output.
    pub(crate) async fn steps(&mut self, steps: Vec<Step>) -> Result<(), Failure> {
        if steps.is_empty() {
            return self.standard_input().await;
        }
        for step in steps {
            match step {
                Step::Sql(sql) => self.text(&sql).await?,
                Step::File(path) if path.as_os_str() == "-" => self.standard_input().await?,
                Step::File(path) => {
                    if self.file(&path).await? == Flow::Leave {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
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

    /// Runs the statements of `-c`.
    async fn text(&mut self, sql: &str) -> Result<(), Failure> {
        let mut script = Script::default();
        let mut items: Vec<Item> = sql.split_inclusive('\n').flat_map(|line| script.line(line)).collect();
        items.extend(script.end());
        for item in items {
            if self.item(item).await? == Flow::Leave {
                break;
            }
        }
        Ok(())
    }

    /// Runs the statements of a file; a failure names its line.
    ///
    /// # Errors
    ///
    /// The first failure, or a file that cannot be read.
    pub(crate) async fn file(&mut self, path: &Path) -> Result<Flow, Failure> {
        if self.open_files == OPEN_FILES_MAX {
            return Err(Reason::Message(format!(
                "{}: files include each other more than {OPEN_FILES_MAX} deep; one of them seems to include itself",
                path.display()
            ))
            .into());
        }
        self.open_files += 1;
        let flow = self.statements_of(path).await;
        self.open_files -= 1;
        flow
    }

    async fn statements_of(&mut self, path: &Path) -> Result<Flow, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| Reason::file(path, error))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut text = FileText::new(text);
        let is_dump = text.is_dump();
        let mut script = Script::default();
        while let Some(line) = text.line() {
            for item in script.line(&line) {
                let item = match item {
                    Item::Statement { sql, line } if copies_standard_input(&sql) => {
                        if let Some((data, lines)) = text.data() {
                            script.skip(lines);
                            self.data = Some(data);
                        }
                        Item::Statement { sql: if is_dump { in_text_format(sql) } else { sql }, line }
                    }
                    item => item,
                };
                if self.item_of(item, &path.display().to_string()).await? == Flow::Leave {
                    return Ok(Flow::Leave);
                }
            }
        }
        match script.end() {
            Some(item) => self.item_of(item, &path.display().to_string()).await,
            None => Ok(Flow::Stay),
        }
    }

    /// Runs the statements of standard input as they come.
    async fn standard_input(&mut self) -> Result<(), Failure> {
        const NAME: &str = "standard input";
        let script_before = std::mem::replace(&mut self.input_is_script, true);
        let mut script = Script::default();
        let mut line = String::new();
        let (mut head, mut is_dump) = (0..DUMP_LINES, false);
        loop {
            line.clear();
            let length = io::stdin().read_line(&mut line).map_err(|error| Reason::file(Path::new(NAME), error))?;
            if length == 0 {
                break;
            }
            is_dump |= head.next().is_some() && FileText::new(&line).is_dump();
            for item in script.line(&line) {
                let item = match item {
                    Item::Statement { sql, line } if is_dump && copies_standard_input(&sql) => {
                        Item::Statement { sql: in_text_format(sql), line }
                    }
                    item => item,
                };
                if self.item_of(item, NAME).await? == Flow::Leave {
                    return Ok(());
                }
            }
        }
        if let Some(item) = script.end() {
            self.item_of(item, NAME).await?;
        }
        self.input_is_script = script_before;
        Ok(())
    }

    async fn item_of(&mut self, item: Item, name: &str) -> Result<Flow, Failure> {
        let (Item::Statement { line, .. } | Item::Meta { line, .. }) = item;
        self.item(item).await.map_err(|failure| failure.at(name, line))
    }

    /// Runs a statement or a meta-command.
    ///
    /// # Errors
    ///
    /// The failure of either.
    pub(crate) async fn item(&mut self, item: Item) -> Result<Flow, Failure> {
        match item {
            Item::Statement { sql, .. } => {
                self.statement(&sql).await?;
                Ok(Flow::Stay)
            }
            // A file may name files: the future would contain itself.
            Item::Meta { text, .. } => Box::pin(meta::run(self, &text)).await,
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
        let done = result?;
        if !done.tag.is_empty() {
            note(&describe(&done));
        }
        if self.timing {
            note(&format!("Time: {:.3} ms", seconds * 1e3));
        }
        Ok(())
    }

    async fn execute(&mut self, sql: &str) -> Result<Done, Failure> {
        if first_word(sql) == "copy" {
            if let Some(data) = self.data.take() {
                self.session.set_input(data);
            } else if self.input_is_script {
                self.session.set_input(InlineData::default());
            } else {
                self.session.set_input(io::stdin());
            }
        }
        let control = self.session.control();
        let interrupts = self.interrupts.clone();
        let _watch = interrupts.watch(Arc::clone(&control));
        let mut display = Display::start(&first_word(sql), Arc::clone(&control));
        let outcome = self.session.execute(sql).await;
        if self.output.is_broken() {
            return Err(Reason::BrokenPipe.into());
        }
        match outcome? {
            Outcome::Done { tag, report, notice } => {
                self.output.flush().map_err(Reason::output)?;
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

    /// Writes rows to standard output.
    fn show(&self, rows: &RecordBatch) -> Result<(), Failure> {
        let mut printer = self.printer(rows.schema());
        let mut out = io::stdout().lock();
        printer
            .batch(rows, &mut out)
            .and_then(|()| printer.finish(&mut out))
            .map_err(|error| Reason::output(error).into())
    }

    fn printer(&self, schema: SchemaRef) -> Printer {
        Printer::new(self.format, self.expanded, terminal_width(), schema)
    }

    /// Writes the rows to standard output as they come; returns their number.
    async fn print(&self, mut rows: RowStream, display: &mut Display) -> Result<u64, Failure> {
        let mut printer = self.printer(Arc::clone(rows.schema()));
        let mut out = BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, io::stdout());
        let mut count = 0;
        while let Some(batch) = rows.next().await {
            let batch = batch?;
            if batch.num_rows() == 0 {
                continue;
            }
            display.stop();
            count += batch.num_rows() as u64;
            printer.batch(&batch, &mut out).map_err(Reason::output)?;
        }
        display.stop();
        printer.finish(&mut out).map_err(Reason::output)?;
        out.flush().map_err(Reason::output)?;
        Ok(count)
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

/// Whether a statement is COPY ... FROM STDIN.
fn copies_standard_input(sql: &str) -> bool {
    let mut words = sql.split_ascii_whitespace().map(|word| word.trim_end_matches(['(', ';']));
    first_word(sql) == "copy"
        && words.any(|word| word.eq_ignore_ascii_case("from"))
        && words.next().is_some_and(|word| word.eq_ignore_ascii_case("stdin"))
}

/// The statement with the format that the data of a dump have, unless it says one.
fn in_text_format(sql: String) -> String {
    let says_nothing = sql.split_ascii_whitespace().next_back().is_some_and(|word| word.eq_ignore_ascii_case("stdin"));
    if says_nothing { sql + " WITH (FORMAT text)" } else { sql }
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

/// Width of the terminal on standard output, in character cells.
fn terminal_width() -> usize {
    match Term::stdout().size_checked() {
        Some((_, width)) if width > 0 => usize::from(width),
        _ => TERMINAL_WIDTH_DEFAULT,
    }
}
