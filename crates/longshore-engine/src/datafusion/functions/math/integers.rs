//! Functions of integers.

use datafusion::arrow::array::Array;

use crate::datafusion::functions::calls::Kind::{AnyList, BigInt, Bool, Int, Presence};
use crate::datafusion::functions::calls::{Given, Overload, count, of};

pub(super) const OVERLOADS: &[Overload] = &[
    of("bitwise_not", &[Int], Int, |row| Ok((!row.int(0)).into())),
    of("bitwise_not", &[BigInt], BigInt, |row| Ok((!row.bigint(0)).into())),
    of("num_nulls", &[Presence], Int, |row| Ok(count((0..row.len()).filter(|at| row.is_null(*at)).count())))
        .called_on_null()
        .with_rest(Presence),
    of("num_nonnulls", &[Presence], Int, |row| Ok(count((0..row.len()).filter(|at| !row.is_null(*at)).count())))
        .called_on_null()
        .with_rest(Presence),
    of("num_nulls$variadic", &[AnyList], Int, |row| {
        Ok(row.list(0).map_or(Given::Null, |list| count(list.null_count())))
    }),
    of("num_nonnulls$variadic", &[AnyList], Int, |row| {
        Ok(row.list(0).map_or(Given::Null, |list| count(list.len() - list.null_count())))
    }),
    of("booleq", &[Bool, Bool], Bool, |row| Ok((row.bool(0) == row.bool(1)).into())),
    of("boolne", &[Bool, Bool], Bool, |row| Ok((row.bool(0) != row.bool(1)).into())),
];
