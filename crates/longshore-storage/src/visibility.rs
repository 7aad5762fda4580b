//! Decides what a transaction sees: times, the stamps of what was written, views of them.
//!
//! Source: the thesis, 2.2.1 to 2.2.3. Whatever is written bears the number of a stamp, which says who writes it until
//! the commit, and from then on when that was. A view compares that with the time at which it was taken.
//!
//! Not here: what the versions of a row are (`version`), which rows a view sees (`chunk/hot/read.rs`), who is active and
//! when a commit is (`manager`).

mod clock;
mod conflict;
mod stamp;
mod time;

pub(crate) use clock::Clock;
pub use conflict::ConflictKind;
pub(crate) use stamp::{StampId, Stamps};
pub(crate) use time::TRANSACTION_ID_MIN;
pub use time::{Owner, Time, View};
