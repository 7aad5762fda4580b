//! Options of `longshore serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use longshore_engine::Durability;
use longshore_server::ServerConfig;

use super::durability::DurabilityArgs;
use super::invalid;
use crate::logging::{LogFormat, LogLevel};

pub(super) const EXAMPLES: &str = "\
Examples:
  longshore serve shop --trust          serve the database in the directory shop to this machine
  psql -h 127.0.0.1 -U longshore longshore
  longshore serve shop --trust --listen 127.0.0.1:5433 --socket /tmp

SIGTERM ends it when no transaction is open any more, SIGINT at once.";

/// Options of `serve`.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct ServeArgs {
    /// Directory of a durable database, which is made if there is none; without, the database is in memory and is gone when
    /// the server ends
    #[arg(value_name = "DIRECTORY")]
    directory: Option<PathBuf>,

    /// Address and port to listen on; may be repeated [default: 127.0.0.1:5432]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Vec<SocketAddr>,

    /// Directory in which to make a Unix socket
    #[arg(long, value_name = "DIR")]
    socket: Option<PathBuf>,

    /// What clients call the database
    #[arg(long, value_name = "NAME", default_value = "longshore")]
    name: String,

    /// Let clients on this machine in without a password
    #[arg(long)]
    trust: bool,

    /// Connections at a time, at most
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_connections: usize,

    /// Address and port of /metrics for Prometheus, and of /health/live and /health/ready
    #[arg(long, value_name = "ADDR:PORT")]
    monitor: Option<SocketAddr>,

    /// What lines of the log on standard error look like
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    log_format: LogFormat,

    /// How much is logged
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t)]
    log_level: LogLevel,

    /// How many statements pg_stat_statements tells apart, at most; 0 measures none
    #[arg(long, value_name = "N", default_value_t = 5000)]
    track_statements: usize,

    /// How many of these are kept free for superusers
    #[arg(long, value_name = "N", default_value_t = 3)]
    superuser_reserved_connections: usize,

    #[command(flatten)]
    durability: DurabilityArgs,
}

/// A server, and the database that it serves.
#[derive(Clone, Debug)]
pub(crate) struct ServeOptions {
    /// The directory of the database; without, it is in memory.
    pub(crate) directory: Option<PathBuf>,
    /// How that is kept.
    pub(crate) durability: Durability,
    pub(crate) server: ServerConfig,
    /// Where metrics and health are told.
    pub(crate) monitor: Option<SocketAddr>,
    pub(crate) log_format: LogFormat,
    pub(crate) log_level: LogLevel,
    /// How many statements are measured, at most.
    pub(crate) statements_max: usize,
}

impl ServeArgs {
    /// The server that the options ask for.
    pub(super) fn options(self) -> Result<ServeOptions, clap::Error> {
        let durability = self.durability.durability(self.directory.is_some())?;
        if self.superuser_reserved_connections >= self.max_connections {
            return Err(invalid("--superuser-reserved-connections must be less than --max-connections"));
        }
        if self.name.is_empty() {
            return Err(invalid("--name: a database has a name"));
        }
        let usual = ServerConfig::default();
        let server = ServerConfig {
            name: self.name,
            listen: if self.listen.is_empty() { usual.listen } else { self.listen },
            socket: self.socket,
            trust: self.trust,
            connections_max: self.max_connections,
            connections_reserved: self.superuser_reserved_connections,
        };
        Ok(ServeOptions {
            directory: self.directory,
            durability,
            server,
            monitor: self.monitor,
            log_format: self.log_format,
            log_level: self.log_level,
            statements_max: self.track_statements,
        })
    }
}
