//! The SQL shell: a prompt with line editing, history and completion, over the same runner as scripts.
//!
//! An entry may span lines; the prompt says what is open, and in which state the transaction is, as psql's does. Ctrl-C at the
//! prompt drops the entry, during a statement it cancels the statement; Ctrl-D on an empty line leaves.

mod complete;
mod place;

use std::io::IsTerminal as _;
use std::path::PathBuf;

use longshore_engine::Kernel;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Behavior, CompletionType, Config, Editor};
use rustyline::{Completer, Helper, Highlighter, Hinter, Validator};

use crate::args::RunOptions;
use crate::human;
use crate::run::meta::Flow;
use crate::run::{Failure, Reason, Runner, note};
use crate::script::Script;
use complete::Names;

/// What prompts begin with, as long as the name of psql's database.
const NAME: &str = "longshore";
const HISTORY_ENTRIES_MAX: usize = 10_000;

const HELP: &str = "\
This is the shell of Longshore, a database that speaks PostgreSQL's SQL.
Statements end with a semicolon. \\? lists the commands of the shell, \\q leaves.";

/// Reads and runs entries until the user leaves.
///
/// # Errors
///
/// A terminal or an output that fails; failures of statements are shown and forgotten.
pub(crate) async fn run(runner: &mut Runner, options: &RunOptions) -> Result<(), Failure> {
    if std::io::stderr().is_terminal() {
        greet(runner, options);
    }
    if !options.no_init
        && let Some(path) = init_file()
        && path.exists()
        && let Err(failure) = runner.file(&path).await
    {
        note(&format!("error: {failure}"));
    }
    let mut editor = editor(runner).map_err(|error| terminal(&error))?;
    let history = history_path();
    if let Some(path) = &history {
        // No history yet, or none that may be read: the shell works without.
        let _ = editor.load_history(path);
    }
    let mut script = Script::default();
    let mut entry = String::new();
    loop {
        if let Some(assistant) = editor.helper_mut() {
            assistant.names.set_before(&entry);
        }
        let line = match editor.readline(&prompt(runner, &script)) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                script.clear();
                entry.clear();
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(terminal(&error)),
        };
        if script.is_blank() {
            match line.trim().trim_end_matches(';').trim_end().to_ascii_lowercase().as_str() {
                "" => continue,
                "exit" | "quit" => break,
                "help" => {
                    note(HELP);
                    continue;
                }
                _ => {}
            }
        }
        entry.push_str(&line);
        entry.push('\n');
        script.push(&line);
        let flow = lines_are_done(runner, &mut script).await?;
        if script.is_blank() {
            remember(&mut editor, &entry, history.as_ref());
            entry.clear();
        }
        if flow == Flow::Leave {
            break;
        }
    }
    take_leave(runner);
    Ok(())
}

fn greet(runner: &Runner, options: &RunOptions) {
    let config = runner.database().config();
    runner.remark(&format!(
        "Longshore {}, {}, {} kernel. \\? shows help, \\q leaves.",
        env!("CARGO_PKG_VERSION"),
        human::count(config.threads as u64, "thread"),
        config.kernel.unwrap_or_else(Kernel::best),
    ));
    runner.remark(&match &options.directory {
        None => {
            "The database is in memory and is gone when you leave; longshore DIRECTORY keeps one on disk.".to_owned()
        }
        Some(path) if runner.database().is_read_only() => {
            format!("The database in {} is only read: it is as it was when it was opened.", path.display())
        }
        Some(path) => format!("The database is in {}; what is committed is safe on disk.", path.display()),
    });
}

/// Says what is gone with the shell, if anything is.
fn take_leave(runner: &Runner) {
    let tables = runner.database().table_names().len() as u64;
    if !runner.database().is_durable() && !runner.database().is_read_only() && tables > 0 {
        let tables = human::count(tables, "table");
        runner.remark(&format!("The database was in memory: {tables} gone with the shell."));
    }
}

/// The state of the transaction behind the name: `*` is open, `!` has failed; then what the next line continues.
fn prompt(runner: &Runner, script: &Script) -> String {
    let transaction = match runner.transaction() {
        None => "",
        Some(Ok(())) => "*",
        Some(Err(())) => "!",
    };
    let condition = if script.conditions.is_active() { script.continues() } else { '@' };
    format!("{NAME}{condition}{transaction}> ")
}

/// Runs what is complete, up to its first failure, which is shown.
async fn lines_are_done(runner: &mut Runner, script: &mut Script) -> Result<Flow, Failure> {
    runner.forget_interrupts();
    match runner.items(script, None).await {
        Err(failure) if failure.is_fatal() => Err(failure),
        Err(failure) => {
            note(&format!("error: {failure}"));
            script.clear();
            Ok(Flow::Stay)
        }
        done => done,
    }
}

/// Adds an entry to the history and to its file, if there is one that may be written; secrets are left out.
fn remember(editor: &mut Editor<Assistant, FileHistory>, entry: &str, path: Option<&PathBuf>) {
    let added = editor.add_history_entry(longshore_engine::without_secrets(entry.trim_end()).as_ref());
    if let (Ok(true), Some(path)) = (added, path) {
        if let Some(directory) = path.parent() {
            let _ = std::fs::create_dir_all(directory);
        }
        let _ = editor.append_history(path);
    }
}

/// What helps while an entry is typed.
#[derive(Helper, Completer, Hinter, Highlighter, Validator)]
struct Assistant {
    #[rustyline(Completer)]
    names: Names,
}

fn editor(runner: &Runner) -> rustyline::Result<Editor<Assistant, FileHistory>> {
    // Results may go elsewhere; the prompt then still belongs on the terminal.
    let behavior = if std::io::stdout().is_terminal() { Behavior::Stdio } else { Behavior::PreferTerm };
    let config = Config::builder()
        .behavior(behavior)
        .completion_type(CompletionType::List)
        .max_history_size(HISTORY_ENTRIES_MAX)?
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(Assistant { names: Names::new(runner.database()) }));
    Ok(editor)
}

fn terminal(error: &ReadlineError) -> Failure {
    Reason::Terminal(format!("the terminal cannot be read: {error}")).into()
}

/// `longshore/history` in the user's directory for state, by the XDG base directory rules.
fn history_path() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .map(|state| state.join("longshore/history"))
}

/// The script that a shell runs first: `LONGSHORERC`, or `.longshorerc` in the user's directory.
fn init_file() -> Option<PathBuf> {
    std::env::var_os("LONGSHORERC")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".longshorerc")))
}
