//! How plans are run: their memory, their threads, what they spill, and how large they may be.

pub(super) mod compact;
pub(super) mod complexity;
pub(super) mod distinct_keys;
pub(super) mod interruptible;
pub(super) mod limits;
pub(super) mod memory;
pub(super) mod one_row;
pub(super) mod shared;
mod shares;
pub(super) mod sizes;
pub(super) mod spill;
pub(super) mod spilling_joins;
pub(super) mod windows;
pub(super) mod workers;
