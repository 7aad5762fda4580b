//! Small functions about the system that applications call first (PostgreSQL's chapter 9.26 and 9.27).

mod sizes;

use super::calls::Kind::{Bool, Int, Text};
use super::calls::{Given, Overload, of};

/// The functions of this chapter.
pub(super) fn overloads() -> impl Iterator<Item = Overload> {
    OVERLOADS.iter().chain(sizes::OVERLOADS).copied()
}

/// PostgreSQL's number of UTF-8 among its encodings.
const UTF8: i32 = 6;

const OVERLOADS: &[Overload] = &[
    of("inet_client_addr", &[], Text, |_| Ok(Given::Null)),
    of("inet_client_port", &[], Int, |_| Ok(Given::Null)),
    of("inet_server_addr", &[], Text, |_| Ok(Given::Null)),
    of("inet_server_port", &[], Int, |_| Ok(Given::Null)),
    of("pg_is_in_recovery", &[], Bool, |_| Ok(false.into())),
    of("pg_encoding_to_char", &[Int], Text, |row| Ok(if row.int(0) == UTF8 { "UTF8" } else { "" }.into())),
    of("getdatabaseencoding", &[], Text, |_| Ok("UTF8".into())),
];
