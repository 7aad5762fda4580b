//! A disk in memory that crashes, tears, reorders, fills up and fails as a seed says.
//!
//! It keeps what readers see (the caches of the operating system) apart from what is safe (the medium). A test numbers the
//! operations, lets the machine crash at one of them ([`SimDisk::crash_at`]) or one of them fail ([`SimDisk::fail_at`]),
//! and goes on with what has survived ([`SimDisk::restart`]). The same seed and the same operations give the same disk.
//!
//! It is as hostile as the promises of [`longshore_storage::disk`] allow:
//!
//! - A crash keeps or loses each sector of 512 bytes that was written since the file's last sync, each change of a file's
//!   length, and each name that was made, changed or removed since the directory's last sync; one independently of the
//!   other. A rename happens as a whole or not at all.
//! - A write that fails has written some of its sectors.
//! - A sync that fails has brought some sectors to the medium; the others are lost, although readers still see them and
//!   later syncs succeed. (Names stay as they are: file systems keep them in a journal and go out of service where it
//!   fails.)
//!
//! # Modules
//!
//! Lowest first; a module imports only from those before it (`cargo xtask imports` checks it).
//!
//! - `fate`: what of a change survives
//! - `file`: the bytes of a file, seen and safe
//! - `names`: the names of files and directories, seen and safe
//! - `faults`: which operation crashes or fails
//! - `state`: the disk behind its lock
//! - `sim_disk`: the disk as storage uses it

mod fate;
mod faults;
mod file;
mod names;
mod sim_disk;
mod state;

pub use faults::Fault;
pub use sim_disk::SimDisk;
