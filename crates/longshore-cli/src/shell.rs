//! The SQL shell: a prompt with line editing, history and completion, over the same runner as scripts.
//!
//! An entry may span lines: Enter ends it only where no statement is open. Ctrl-C at the prompt drops the entry,
//! during a statement it cancels the statement; Ctrl-D on an empty entry leaves.

mod complete;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use longshore_engine::Kernel;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult};
use rustyline::{Behavior, CompletionType, Config, Editor};
use rustyline::{Completer, Helper, Highlighter, Hinter, Validator};

use crate::human;
use crate::run::meta::Flow;
use crate::run::{Failure, Reason, Runner, note};
use crate::script::Script;
use complete::Names;

const PROMPT: &str = "longshore> ";
const HISTORY_ENTRIES_MAX: usize = 10_000;

/// Reads and runs entries until the user leaves. `directory` is that of the database; without, it is in memory.
///
/// # Errors
///
/// A terminal or an output that fails; failures of statements are shown and forgotten.
pub(crate) async fn run(runner: &mut Runner, directory: Option<&Path>) -> Result<(), Failure> {
    if std::io::stderr().is_terminal() {
        let config = runner.database().config();
        note(&format!(
            "Longshore {}, {}, {} kernel. \\? shows help, \\q leaves.",
            env!("CARGO_PKG_VERSION"),
            human::count(config.threads as u64, "thread"),
            config.kernel.unwrap_or_else(Kernel::best),
        ));
        note(&match directory {
            None => "The database is in memory and is gone when you leave; longshore DIRECTORY keeps one on disk."
                .to_owned(),
            Some(path) if runner.database().is_read_only() => {
                format!("The database in {} is only read: it is as it was when it was opened.", path.display())
            }
            Some(path) => format!("The database is in {}; what is committed is safe on disk.", path.display()),
        });
    }
    let mut editor = editor(runner).map_err(|error| terminal(&error))?;
    let history = history_path();
    if let Some(path) = &history {
        // No history yet, or none that may be read: the shell works without.
        let _ = editor.load_history(path);
    }
    loop {
        let entry = match editor.readline(PROMPT) {
            Ok(entry) => entry,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(terminal(&error)),
        };
        if entry.trim().is_empty() {
            continue;
        }
        remember(&mut editor, &entry, history.as_ref());
        if entry_is_done(runner, &entry).await? == Flow::Leave {
            return Ok(());
        }
    }
}

/// Runs what an entry holds, up to its first failure, which is shown.
async fn entry_is_done(runner: &mut Runner, entry: &str) -> Result<Flow, Failure> {
    let mut script = Script::default();
    let mut items = Vec::new();
    for line in entry.split_inclusive('\n') {
        items.extend(script.line(line));
    }
    items.extend(script.end());
    runner.forget_interrupts();
    for item in items {
        match runner.item(item).await {
            Ok(Flow::Stay) => {}
            Ok(Flow::Leave) => return Ok(Flow::Leave),
            Err(failure) if failure.is_fatal() => return Err(failure),
            Err(failure) => {
                note(&format!("error: {failure}"));
                break;
            }
        }
    }
    Ok(Flow::Stay)
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
    #[rustyline(Validator)]
    open: OpenStatements,
}

/// Lets Enter continue an entry as long as a statement is open.
struct OpenStatements;

impl rustyline::validate::Validator for OpenStatements {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let mut script = Script::default();
        for line in context.input().split_inclusive('\n') {
            script.line(line);
        }
        Ok(if script.is_blank() { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
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
    editor.set_helper(Some(Assistant { names: Names::new(runner.database()), open: OpenStatements }));
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
