//! The messages of PostgreSQL's protocol 3 as bytes (PostgreSQL's manual, chapter "Frontend/Backend Protocol").
//!
//! Not here: what is done about a message (`connection`), values of rows and parameters (`values`).

pub(crate) mod backend;
pub(crate) mod frontend;
pub(crate) mod sasl;

use std::fmt;

/// A message that breaks the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation(pub(crate) String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The version of the protocol, above which a client is told that there is none.
pub(crate) const MAJOR: u16 = 3;
/// The newest minor version: with keys for cancellation of any length.
pub(crate) const MINOR: u16 = 2;
