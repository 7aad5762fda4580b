//! Loads a file while another task watches the progress; `Control::cancel` would stop the load.

use std::error::Error;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use longshore_engine::{Config, Control, Database, Outcome};

fn main() -> Result<(), Box<dyn Error>> {
    tokio::runtime::Runtime::new()?.block_on(run())
}

pub(crate) async fn run() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("numbers.csv");
    let mut text = String::new();
    for number in 0..200_000 {
        writeln!(text, "{number},{}", number % 7)?;
    }
    text.push_str("many,3\n");
    std::fs::write(&file, text)?;

    let database = Database::open(Config::default())?;
    let mut session = database.session();
    session.execute("CREATE TABLE numbers (n INTEGER PRIMARY KEY, rest SMALLINT)").await?;

    // Each statement has a control of its own: take it before the statement starts.
    let watcher = tokio::spawn(watch(session.control()));
    let load = format!("COPY numbers FROM '{}' (ON_ERROR table 'bad')", file.display());
    let outcome = session.execute(&load).await;
    watcher.abort();

    let Outcome::Done { report, notice, .. } = outcome? else {
        return Err("COPY returns no rows".into());
    };
    println!("{} rows, {} bytes in {:.3} s", report.rows, report.bytes_read, report.seconds);
    println!("{}", notice.as_deref().unwrap_or("no record was rejected"));
    assert_eq!(report.rows, 200_000);
    Ok(())
}

/// Prints how far a statement is, until it is aborted.
async fn watch(control: Arc<Control>) {
    loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let progress = &control.progress;
        println!("{} of {} bytes, {} rows", progress.bytes_done(), progress.bytes_total(), progress.rows());
    }
}
