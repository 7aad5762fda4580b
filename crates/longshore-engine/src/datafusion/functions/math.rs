//! Functions of integers and doubles (PostgreSQL's chapter 9.3). Those of decimals are elsewhere, as are rounding, powers and
//! logarithms, which both have.

mod buckets;
mod integers;
mod trigonometry;

use super::calls::Kind::Double;
use super::calls::{Overload, of};

/// The functions of this chapter.
pub(super) fn overloads() -> impl Iterator<Item = Overload> {
    OVERLOADS.iter().chain(integers::OVERLOADS).chain(trigonometry::OVERLOADS).chain(buckets::OVERLOADS).copied()
}

const OVERLOADS: &[Overload] = &[
    of("cbrt", &[Double], Double, |row| Ok(row.double(0).cbrt().into())),
    of("pi", &[], Double, |_| Ok(std::f64::consts::PI.into())),
];
