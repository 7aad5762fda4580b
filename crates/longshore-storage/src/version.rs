//! Decides how the versions of rows are kept: the values of a slot are the newest ones, in place, and what they were
//! before is kept in chains of before-images, newest to oldest.
//!
//! Source: the thesis, 2.2.1 and 2.2.6. It keeps before-images in the undo buffers of transactions; here they lie in one
//! slab per slot, under the slot's latch, linked by numbers in both directions. So no reader holds on to an undo buffer,
//! none needs a tombstone, and a version is taken out of the middle of a chain without a search.
//!
//! Invariants.
//! 1. A chain belongs to a row. Its first version is that of the newest change; versions of one transaction are
//!    adjacent, since nobody changes a row whose newest version he does not see.
//! 2. Undoing the versions from the newest one on, up to the first that a view sees, gives the row as the view sees it.
//! 3. The positions of a range (1,024 rows) cover every row that has a chain; a range without chains has no array of heads.
//!
//! Not here: stamps (`visibility`), what becomes of rows when versions go (`chunk/hot`).

mod chain;
mod heads;
mod positions;

pub(crate) use chain::{Change, Image, Version, Versions};

/// No version.
pub(crate) const NONE: u32 = u32::MAX;
