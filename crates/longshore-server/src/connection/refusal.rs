//! Connections that end before they have begun.

use crate::errors::Told;
use crate::stream::Failure;

/// Why a connection ends before it has begun.
pub(super) enum Ended {
    Gone,
    Told(Told),
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Gone => Self::Gone,
            Failure::Violation(violation) => Self::Told(violation.into()),
        }
    }
}

pub(super) fn fatal(code: &'static str, message: impl Into<String>) -> Ended {
    Ended::Told(Told::fatal(code, message))
}
