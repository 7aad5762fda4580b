//! What is done with the statement that is open, or with the last one: `\g`, `\gset`, `\watch`, `\e` and others.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::super::results::Destination;
use super::arguments::Arguments;
use super::files::{finish, target};
use super::{Failure, Reason, Runner, complaint};
use crate::interrupt::EXIT_INTERRUPTED;
use crate::output::{Expanded, texts};
use crate::script::{Script, is_blank};

/// How often `\watch` looks for Ctrl-C.
const WATCH_LOOK: Duration = Duration::from_millis(50);

/// Does what one of these commands says.
pub(super) async fn run(
    runner: &mut Runner,
    script: &mut Script,
    command: &str,
    arguments: &mut Arguments<'_>,
) -> Result<(), Failure> {
    match command {
        "\\p" | "\\print" => return runner.show_text(&format!("{}\n", script.buffer())),
        "\\r" | "\\reset" => {
            script.clear_buffer();
            runner.remark("Query buffer reset (cleared).");
            return Ok(());
        }
        "\\e" | "\\edit" => return edit(runner, script, arguments),
        _ => {}
    }
    let sql = script.take_buffer();
    if is_blank(&sql) {
        return Err(complaint(&format!("{command}: there is no statement yet")));
    }
    match command {
        "\\gset" => {
            let prefix = arguments.name(runner)?.unwrap_or_default();
            set(runner, &sql, &prefix).await
        }
        "\\gexec" => execute_values(runner, &sql).await,
        "\\gdesc" => runner.statement(&format!("DESCRIBE {sql}")).await,
        "\\watch" => watch(runner, &sql, arguments).await,
        _ => go(runner, &sql, command == "\\gx", arguments).await,
    }
}

/// Runs the statement; its results go to a file or a program if one is named.
async fn go(runner: &mut Runner, sql: &str, is_expanded: bool, arguments: &mut Arguments<'_>) -> Result<(), Failure> {
    let name = target(runner, arguments)?;
    let before = if name.is_empty() {
        None
    } else {
        let opened = Destination::open(&name).map_err(|error| Reason::file(Path::new(&name), error))?;
        Some(runner.results.replace(opened))
    };
    let expanded = runner.look.expanded;
    if is_expanded {
        runner.look.expanded = Expanded::On;
    }
    let done = runner.statement(sql).await;
    runner.look.expanded = expanded;
    if let Some(before) = before {
        finish(runner.results.replace(before))?;
    }
    done
}

/// Sets variables to the values of the one row of a query.
async fn set(runner: &mut Runner, sql: &str, prefix: &str) -> Result<(), Failure> {
    let rows = runner.fetch(sql).await?;
    match rows.num_rows() {
        1 => {}
        0 => return Err(complaint("no rows returned for \\gset")),
        _ => return Err(complaint("more than one row returned for \\gset")),
    }
    let values = texts(&rows, 0).map_err(Reason::output)?;
    for (field, value) in rows.schema().fields().iter().zip(values) {
        let name = format!("{prefix}{}", field.name());
        match value {
            Some(value) => runner.variables.set(name, value),
            None => runner.variables.unset(&name),
        }
    }
    Ok(())
}

/// Runs each value of a query as a statement.
async fn execute_values(runner: &mut Runner, sql: &str) -> Result<(), Failure> {
    let rows = runner.fetch(sql).await?;
    for row in 0..rows.num_rows() {
        for statement in texts(&rows, row).map_err(Reason::output)?.into_iter().flatten() {
            runner.statement(&statement).await?;
        }
    }
    Ok(())
}

/// Runs the statement again and again, until Ctrl-C or as often as is said: `\watch [seconds] [count]`, `i=2 c=3`.
async fn watch(runner: &mut Runner, sql: &str, arguments: &mut Arguments<'_>) -> Result<(), Failure> {
    let (mut seconds, mut count) = (2.0, u64::MAX);
    let mut place = 0;
    while let Some(argument) = arguments.name(runner)? {
        let wrong = || complaint(&format!("\\watch {argument}: write \\watch [i=seconds] [c=count]"));
        match argument.split_once('=') {
            Some(("c" | "count", number)) => count = number.parse().map_err(|_| wrong())?,
            Some(("i" | "interval", number)) => seconds = number.parse().map_err(|_| wrong())?,
            None if place == 0 => seconds = argument.parse().map_err(|_| wrong())?,
            None if place == 1 => count = argument.parse().map_err(|_| wrong())?,
            _ => return Err(wrong()),
        }
        place += 1;
    }
    let pause = Duration::try_from_secs_f64(seconds).map_err(|_| complaint("\\watch: the time is out of range"))?;
    for _ in 0..count {
        match runner.statement(sql).await {
            Err(failure) if failure.exit_code() == EXIT_INTERRUPTED && runner.is_interactive => return Ok(()),
            done => done?,
        }
        let started = Instant::now();
        while started.elapsed() < pause {
            if runner.interrupts.seen() {
                return if runner.is_interactive { Ok(()) } else { Err(Reason::Interrupted.into()) };
            }
            tokio::time::sleep(WATCH_LOOK.min(pause)).await;
        }
    }
    Ok(())
}

/// Lets an editor change the statement, or a file; what it leaves is read as if it had been typed.
fn edit(runner: &Runner, script: &mut Script, arguments: &mut Arguments<'_>) -> Result<(), Failure> {
    let named = arguments.file(runner)?.map(PathBuf::from);
    let path = named
        .clone()
        .unwrap_or_else(|| std::env::temp_dir().join(format!("longshore-edit-{}.sql", std::process::id())));
    if named.is_none() {
        fs::write(&path, format!("{}\n", script.buffer())).map_err(|error| Reason::file(&path, error))?;
    }
    let edited = edited(&path);
    if named.is_none() {
        // Whatever became of it, nobody needs the file.
        let _ = fs::remove_file(&path);
    }
    script.clear_buffer();
    script.push_front(&edited?);
    Ok(())
}

fn edited(path: &Path) -> Result<String, Failure> {
    let names = ["LONGSHORE_EDITOR", "VISUAL", "EDITOR"];
    let editor = names.into_iter().find_map(|name| std::env::var(name).ok()).unwrap_or_else(|| "vi".to_owned());
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{editor} \"$1\""), "editor"]).arg(path);
    let status = command.status().map_err(|error| Reason::Message(format!("{editor}: {error}")))?;
    if !status.success() {
        return Err(complaint(&format!("{editor}: {status}")));
    }
    Ok(fs::read_to_string(path).map_err(|error| Reason::file(path, error))?)
}
