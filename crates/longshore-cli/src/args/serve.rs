//! Options of `longshore serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use longshore_engine::Durability;
use longshore_server::{Certificate, ServerConfig, TlsConfig};

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

    /// How many different statements are measured, at most; 0 measures none
    #[arg(long, value_name = "N", default_value_t = 5000)]
    track_statements: usize,

    /// How many of these are kept free for superusers
    #[arg(long, value_name = "N", default_value_t = 3)]
    superuser_reserved_connections: usize,

    #[command(flatten)]
    tls: TlsArgs,

    #[command(flatten)]
    durability: DurabilityArgs,
}

/// Options of TLS.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "TLS")]
struct TlsArgs {
    /// Offer TLS, with the certificate in this PEM file, followed by those between it and its authority
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The certificate's private key, in a PEM file that nobody else may read
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Offer TLS, with a certificate that the server makes and keeps in its directory
    #[arg(long, conflicts_with = "tls_cert")]
    tls_self_signed: bool,

    /// Let clients in without a password whose certificate names their role and is signed by an authority in this PEM file
    #[arg(long, value_name = "FILE")]
    tls_client_ca: Option<PathBuf>,

    /// Refuse connections over TCP without TLS
    #[arg(long)]
    require_tls: bool,
}

impl TlsArgs {
    /// TLS as the options ask for it; a certificate that the server makes is kept in `directory`.
    fn config(self, directory: Option<PathBuf>) -> Result<Option<TlsConfig>, clap::Error> {
        let certificate = match (self.tls_cert, self.tls_key) {
            (Some(chain), Some(key)) => Certificate::Files { chain, key },
            _ if self.tls_self_signed => Certificate::SelfSigned { directory },
            _ if self.tls_client_ca.is_some() || self.require_tls => {
                return Err(invalid("--tls-client-ca and --require-tls need --tls-cert or --tls-self-signed"));
            }
            _ => return Ok(None),
        };
        Ok(Some(TlsConfig { certificate, client_authorities: self.tls_client_ca, is_required: self.require_tls }))
    }
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
            sign_in_time_max: usual.sign_in_time_max,
            trust: self.trust,
            connections_max: self.max_connections,
            connections_reserved: self.superuser_reserved_connections,
            // A directory that is only read keeps nothing.
            tls: self.tls.config(self.directory.clone().filter(|_| !durability.read_only))?,
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
