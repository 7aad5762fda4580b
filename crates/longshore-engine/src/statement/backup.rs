//! BACKUP DATABASE. Not here: what is copied (`database::Durable`, `longshore-storage`).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crate::sql::backup::BackupStatement;
use crate::statement::Context;
use crate::{Error, ErrorKind, Outcome, Report, blocking};

/// Writes a backup, beside everything that goes on.
pub(crate) async fn backup(context: &Context<'_>, statement: BackupStatement) -> Result<Outcome, Error> {
    let Some(durable) = context.database.durable().map(Arc::clone) else {
        return Err(if context.database.is_read_only() {
            Error::new(
                ErrorKind::ReadOnly,
                "the database was opened to be read only, so BACKUP DATABASE cannot make a checkpoint; open it for writing, or \
                 use EXPORT DATABASE",
            )
        } else {
            Error::unsupported(
                "BACKUP DATABASE copies the directory of a durable database, and this one is in memory; use EXPORT DATABASE",
            )
        });
    };
    let started = Instant::now();
    let (directory, previous) = (PathBuf::from(statement.directory), statement.previous.map(PathBuf::from));
    let written = blocking::run(context.control, move |control| {
        durable.backup(&directory, previous.as_deref(), &|bytes| {
            control.progress.add(bytes, 0);
            !control.is_cancelled()
        })
    })
    .await?;
    let files = |count| if count == 1 { "file" } else { "files" };
    let copied =
        format!("copied {} {} ({} bytes)", written.files_copied, files(written.files_copied), written.bytes_copied);
    let shared = match written.files_shared {
        0 => String::new(),
        count => {
            format!(", shared {count} {} ({} bytes) with the backup before", files(count), written.bytes_shared)
        }
    };
    let report =
        Report { bytes_written: written.bytes_copied, seconds: started.elapsed().as_secs_f64(), ..Report::default() };
    Ok(Outcome::Done { tag: "BACKUP DATABASE".to_owned(), report, notice: Some(copied + &shared) })
}
