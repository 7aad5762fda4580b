//! The log of a durable database as lines of text.

use std::path::Path;
use std::sync::Arc;

use longshore_storage::Described;
use longshore_storage::data_directory::{DataDirectory, LogEnd, LogEntry};
use longshore_storage::disk::{Disk, SystemDisk};
use longshore_storage::log::Lsn;

use crate::catalog::describe;
use crate::{Database, Error, ErrorKind};

/// A line about the log of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogLine {
    /// A record begins; each is a transaction that has committed.
    Record(String),
    /// A change that the record has.
    Change(String),
    /// What is to be known of the log as a whole: where the last checkpoint is, where the log ends, and why.
    Note(String),
}

impl Database {
    /// Reads the log of the durable database in a directory, which others may have open. It begins at the position `from`, as
    /// in `0/1A2B3C`, or with the oldest record that is there.
    ///
    /// # Errors
    /// When there is no database, the position is none or lies before the log, the manifest or the log is damaged (then what
    /// lies before that was read), or a file cannot be read.
    pub fn read_log(path: &Path, from: Option<&str>, take: &mut dyn FnMut(LogLine)) -> Result<(), Error> {
        let from = from.map(str::parse::<Lsn>).transpose().map_err(|error| Error::invalid(error.to_string()))?;
        let disk = Arc::new(SystemDisk) as Arc<dyn Disk>;
        let end = DataDirectory::dump_log(&disk, path, from, &mut |entry| lines(entry, take))?;
        take(LogLine::Note(match end {
            LogEnd::Clean(end) => format!("the log ends at {end}; nothing lies behind it"),
            LogEnd::Torn { position, file, offset, reason } => format!(
                "the log ends at {position}; behind it, {} has bytes at offset {offset} that are no record ({reason}): what a \
                 crash has cut short, or what an earlier use of the file has left",
                file.display()
            ),
            LogEnd::Damaged(error) => return Err(Error::new(ErrorKind::Damaged, error.to_string())),
        }));
        Ok(())
    }
}

fn lines(entry: LogEntry<'_>, take: &mut dyn FnMut(LogLine)) {
    match entry {
        LogEntry::Checkpoint(lsn) => take(LogLine::Note(format!(
            "the last checkpoint has what lies before {lsn}; the rest is done again when the database is opened"
        ))),
        LogEntry::Record { start, end, bytes } => {
            take(LogLine::Record(format!("{start} to {end}: a transaction of {bytes} bytes")));
        }
        LogEntry::Part(Described::Line(line)) => take(LogLine::Change(line.to_owned())),
        LogEntry::Part(Described::Payload(payload)) => match describe(payload) {
            Ok(lines) => {
                for line in lines {
                    take(LogLine::Change(line));
                }
            }
            Err(error) => take(LogLine::Change(format!("a change of the catalog that cannot be read: {error}"))),
        },
        LogEntry::Unread(problem) => take(LogLine::Change(format!("what follows cannot be read: {problem}"))),
        LogEntry::OtherVersion(version) => {
            take(LogLine::Change(format!("it has version {version}, which this program does not know")));
        }
    }
}
