//! Options about the directory of a durable database.

use std::time::Duration;

use longshore_engine::{Durability, Naptime, WalSize};

use super::invalid;

/// How the database in a directory is kept.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct DurabilityArgs {
    /// Only read the database in DIRECTORY, which others may have open: it shows what was safe when it was opened
    #[arg(long)]
    pub(super) read_only: bool,

    /// How long the log of the database in DIRECTORY may become, such as 256MB or 4GB, before a checkpoint has cut it
    /// [default: 1GB]
    #[arg(long, value_name = "SIZE")]
    max_wal_size: Option<WalSize>,

    /// How long it is at most from one checkpoint to the next, such as 30s or 15min [default: 5min]
    #[arg(long, value_name = "TIME")]
    checkpoint_timeout: Option<Naptime>,

    /// After how long at most a commit that nobody waits for is written, such as 50ms or 1s [default: 200ms]
    #[arg(long, value_name = "TIME", value_parser = Durability::parse_wal_writer_delay)]
    wal_writer_delay: Option<Duration>,
}

impl DurabilityArgs {
    /// How the database in a directory is kept. Nothing is said of that without one, or where it is only read.
    pub(super) fn durability(&self, has_directory: bool) -> Result<Durability, clap::Error> {
        let of_writing = [
            ("--max-wal-size", self.max_wal_size.is_some()),
            ("--checkpoint-timeout", self.checkpoint_timeout.is_some()),
            ("--wal-writer-delay", self.wal_writer_delay.is_some()),
        ];
        let mut said = [("--read-only", self.read_only)].into_iter().chain(of_writing).filter(|(_, is_said)| *is_said);
        match said.next() {
            Some((option, _)) if !has_directory => {
                return Err(invalid(&format!("{option} needs the DIRECTORY of a database")));
            }
            Some(("--read-only", _)) => {
                if let Some((option, _)) = said.next() {
                    return Err(invalid(&format!(
                        "{option} is about writing, and with --read-only nothing is written"
                    )));
                }
            }
            _ => {}
        }
        let usual = Durability::default();
        Ok(Durability {
            read_only: self.read_only,
            max_wal_size: self.max_wal_size.map_or(usual.max_wal_size, WalSize::bytes),
            checkpoint_timeout: self.checkpoint_timeout.unwrap_or(usual.checkpoint_timeout),
            wal_writer_delay: self.wal_writer_delay.unwrap_or(usual.wal_writer_delay),
        })
    }
}
