//! The workloads, by name.

mod churn;
mod columns;
mod decode;
mod durable;
mod encodings;
mod fill;
mod formats;
mod freeze;
mod in_situ;
mod index;
mod infer;
mod json;
mod keyed;
mod load;
mod memory;
mod pack;
mod point;
#[cfg(feature = "queries")]
mod prepared;
#[cfg(feature = "queries")]
mod queries;
mod random;
mod recover;
mod rejects;
mod scan;
mod scan_packed;
mod sources;
mod table;
mod tatp;
mod threads;
mod tpcc;
mod unload;
mod versions;
mod wide;

use std::path::PathBuf;

use crate::measure::Measured;
use crate::{Failure, Settings};

/// What to measure.
#[derive(clap::Subcommand, Clone, Debug)]
pub(crate) enum Workload {
    /// Marks and quote survey per kernel, in the cache and from memory (GB/s)
    Scan,
    /// Values per type, fast decoder against exact twin (ns per value)
    Decode,
    /// Records of formats beside plain CSV, found and rewritten as plain rows (GB/s)
    Formats,
    /// Lineitem into a relation: by merge kind, threads, piece size, dialect and decimal width (GB/s)
    Load,
    /// Lineitem with one record in a hundred rejected, against clean loads (GB/s)
    Rejects,
    /// Lineitem into a table with its key, against one without (GB/s)
    Keyed,
    /// Lineitem as JSON into a relation: lines and one array, by threads (GB/s)
    Json,
    /// Types found over the whole of a file while it is loaded, against given ones (GB/s)
    Infer,
    /// Lineitem compressed and encoded, against the libraries alone (GB/s)
    Sources,
    /// Lineitem read in place by an aggregate that touches every column (GB/s)
    InSitu,
    /// The relation as CSV and in the native format (GB/s of what is written)
    Unload,
    /// The native copy loaded again, against the CSV load
    Reload,
    /// Peak memory of a load, in a process of its own
    Memory,
    /// Columns of lineitem packed and unpacked, by instruction set (GB/s of plain values)
    Pack,
    /// Rows that predicates find on packed columns and plain ones (millions of rows a second)
    ScanPacked,
    /// Single values read by typed handles, packed ones by encoding against plain ones (ns per value)
    Point,
    /// Chunks that were changed and are packed again (millions of rows a second)
    Freeze,
    /// The same number of values in ever more columns (ns per value)
    Wide,
    /// TPC-C over the typed API, serializable and snapshot (thousands of transactions a second)
    Tpcc {
        /// Warehouses.
        #[arg(long, default_value_t = tpcc::WAREHOUSES, value_parser = clap::value_parser!(u16).range(1..))]
        warehouses: u16,
    },
    /// TPC-C with its changes logged to memory, and done again from there (thousands of transactions a second)
    Replay {
        /// Warehouses.
        #[arg(long, default_value_t = tpcc::WAREHOUSES, value_parser = clap::value_parser!(u16).range(1..))]
        warehouses: u16,
    },
    /// TPC-C in a durable database: what waiting for the disk and checkpoints cost (thousands of transactions a second)
    TpccDurable {
        /// Warehouses.
        #[arg(long, default_value_t = tpcc::WAREHOUSES, value_parser = clap::value_parser!(u16).range(1..))]
        warehouses: u16,
    },
    /// TPC-C in processes that are killed: whether all that was acknowledged is there (ms to open)
    TpccKills {
        /// Warehouses.
        #[arg(long, default_value_t = tpcc::KILLED_WAREHOUSES, value_parser = clap::value_parser!(u16).range(1..))]
        warehouses: u16,
        /// Kills.
        #[arg(long, default_value_t = 300)]
        kills: usize,
    },
    /// TPC-C over prepared SQL, serializable and snapshot (thousands of transactions a second)
    #[cfg(feature = "queries")]
    TpccPrepared {
        /// Warehouses.
        #[arg(long, default_value_t = tpcc::PREPARED_WAREHOUSES, value_parser = clap::value_parser!(u16).range(1..))]
        warehouses: u16,
    },
    /// TATP over the typed API, serializable and snapshot (thousands of transactions a second)
    Tatp,
    /// Inserts, updates, deletes and scans with versions (millions a second)
    Versions,
    /// Rows that come and go, alone and beside an old reader: whether the last round costs more than the first (thousands
    /// of rounds a second)
    Churn,
    /// The redo log: commits that wait for the disk, and long records, against the disk alone (thousands a second, GB/s)
    Durable,
    /// Lineitem in a durable database: loaded, and there again when it is opened (GB/s of the text)
    Recover,
    /// Radix trees and hash tables: built, merged, filled and read (millions of rows a second)
    Index,
    /// Prepared statements by key through a session, one thread (thousands a second)
    #[cfg(feature = "queries")]
    Prepared,
    /// The 22 queries of TPC-H on packed tables and plain ones (ms)
    #[cfg(feature = "queries")]
    Queries,
    /// All of them
    All,
    /// A process to be killed, for `tpcc-kills`
    #[command(hide = true)]
    TpccKillsChild(tpcc::kills::Child),
    /// One load, for `memory`
    #[command(hide = true)]
    LoadChild {
        /// The file to load.
        path: PathBuf,
    },
}

/// Takes the name of a workload, the title of a table, and its rows.
pub(crate) type Report<'a> = dyn FnMut(&'static str, &str, &[Measured]) -> Result<(), Failure> + 'a;

impl Workload {
    /// Runs the workload and reports its tables.
    ///
    /// # Errors
    ///
    /// A wrong answer, or whatever kept the workload from running.
    pub(crate) fn run(&self, settings: &Settings, report: &mut Report<'_>) -> Result<(), Failure> {
        match self {
            Workload::Scan => report("scan", "Scan", &scan::run(settings)?),
            Workload::Decode => report("decode", "Decode", &decode::run(settings)?),
            Workload::Formats => report("formats", "Formats", &formats::run(settings)?),
            Workload::Load => load::run(settings, report),
            Workload::Rejects => report("rejects", "Load with rejects", &rejects::run(settings)?),
            Workload::Keyed => report("keyed", "Load into a table with a key", &keyed::run(settings)?),
            Workload::Json => report("json", "Load of JSON", &json::run(settings)?),
            Workload::Infer => report("infer", "Load with types found", &infer::run(settings)?),
            Workload::Sources => report("sources", "Load of compressed and encoded text", &sources::run(settings)?),
            Workload::InSitu => report("in-situ", "In-situ aggregate over every column", &in_situ::run(settings)?),
            Workload::Unload => report("unload", "Unload", &unload::unload(settings)?),
            Workload::Reload => report("reload", "Reload", &unload::reload(settings)?),
            Workload::Memory => report("memory", "Peak memory of a load", &memory::run(settings)?),
            Workload::Pack => report("pack", "Columns packed and unpacked", &pack::run(settings)?),
            Workload::ScanPacked => report("scan-packed", "Rows that predicates find", &scan_packed::run(settings)?),
            Workload::Point => report("point", "Single values", &point::run(settings)?),
            Workload::Freeze => report("freeze", "Chunks packed again", &freeze::run(settings)?),
            Workload::Wide => report("wide", "Load by number of columns", &wide::run(settings)?),
            Workload::Tpcc { warehouses } => tpcc::run(settings, *warehouses, report),
            Workload::Replay { warehouses } => {
                report("replay", "TPC-C from its log", &tpcc::replay(settings, *warehouses)?)
            }
            Workload::TpccDurable { warehouses } => {
                report("tpcc-durable", "TPC-C in a durable database", &tpcc::durable(settings, *warehouses)?)
            }
            Workload::TpccKills { warehouses, kills } => {
                report("tpcc-kills", "TPC-C in processes that are killed", &tpcc::kills(settings, *warehouses, *kills)?)
            }
            Workload::TpccKillsChild(child) => tpcc::kills::child(settings, child),
            #[cfg(feature = "queries")]
            Workload::TpccPrepared { warehouses } => {
                report("tpcc-prepared", "TPC-C over prepared SQL", &tpcc::prepared::run(settings, *warehouses)?)
            }
            Workload::Tatp => report("tatp", "TATP", &tatp::run(settings)?),
            Workload::Versions => versions::run(settings, report),
            Workload::Churn => report("churn", "Rows that come and go", &churn::run(settings)?),
            Workload::Durable => report("durable", "Redo log", &durable::run(settings)?),
            Workload::Recover => report("recover", "Durable lineitem", &recover::run(settings)?),
            Workload::Index => report("index", "Indexes", &index::run(settings)?),
            #[cfg(feature = "queries")]
            Workload::Prepared => report("prepared", "Prepared statements", &prepared::run(settings)?),
            #[cfg(feature = "queries")]
            Workload::Queries => report("queries", "TPC-H", &queries::run(settings)?),
            Workload::LoadChild { path } => memory::child(settings, path),
            Workload::All => {
                let all = [
                    Workload::Scan,
                    Workload::Decode,
                    Workload::Formats,
                    Workload::Load,
                    Workload::Rejects,
                    Workload::Keyed,
                    Workload::Json,
                    Workload::Infer,
                    Workload::Sources,
                    Workload::InSitu,
                    Workload::Unload,
                    Workload::Reload,
                    Workload::Memory,
                    Workload::Pack,
                    Workload::ScanPacked,
                    Workload::Point,
                    Workload::Freeze,
                    Workload::Wide,
                    Workload::Tpcc { warehouses: tpcc::WAREHOUSES },
                    Workload::Replay { warehouses: tpcc::WAREHOUSES },
                    Workload::TpccDurable { warehouses: tpcc::WAREHOUSES },
                    #[cfg(feature = "queries")]
                    Workload::TpccPrepared { warehouses: tpcc::PREPARED_WAREHOUSES },
                    Workload::Tatp,
                    Workload::Versions,
                    Workload::Churn,
                    Workload::Durable,
                    Workload::Recover,
                    Workload::Index,
                    #[cfg(feature = "queries")]
                    Workload::Prepared,
                    #[cfg(feature = "queries")]
                    Workload::Queries,
                ];
                all.iter().try_for_each(|workload| workload.run(settings, report))
            }
        }
    }
}
