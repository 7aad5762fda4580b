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
    of("format_type", &[Int, Int], Text, |row| {
        if row.is_null(0) {
            return Ok(Given::Null);
        }
        Ok(format_type(row.int(0), if row.is_null(1) { None } else { Some(row.int(1)) }).into())
    })
    .called_on_null(),
];

/// The name of the type of this number in PostgreSQL's catalog, with its modifier.
fn format_type(number: i32, modifier: Option<i32>) -> String {
    let modifier = modifier.filter(|modifier| *modifier >= 0);
    let length = modifier.map_or_else(String::new, |modifier| format!("({})", modifier - 4));
    let name = match number {
        0 => "-",
        16 => "boolean",
        17 => "bytea",
        18 => "\"char\"",
        19 => "name",
        20 => "bigint",
        21 => "smallint",
        23 => "integer",
        25 => "text",
        26 => "oid",
        114 => "json",
        700 => "real",
        701 => "double precision",
        705 => "unknown",
        1042 if modifier.is_none() => "character",
        1042 => return format!("character{length}"),
        1043 => return format!("character varying{length}"),
        1082 => "date",
        1083 => "time without time zone",
        1114 => "timestamp without time zone",
        1184 => "timestamp with time zone",
        1186 => "interval",
        1266 => "time with time zone",
        1700 => {
            let digits = modifier.map_or_else(String::new, |modifier| {
                format!("({},{})", (modifier - 4) >> 16 & 0xffff, (modifier - 4) & 0x7ff)
            });
            return format!("numeric{digits}");
        }
        2950 => "uuid",
        3802 => "jsonb",
        _ => "???",
    };
    name.to_owned()
}
