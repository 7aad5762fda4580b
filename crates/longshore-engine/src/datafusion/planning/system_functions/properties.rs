//! What clients ask of indexes, of columns that can be changed, and of the widths of types:
//! `pg_index_column_has_property`, `pg_column_is_updatable`, `information_schema._pg_char_max_length` and their like.

use longshore_storage::IndexKind;

use super::Gives::{Bool, Int, Text, Typed};
use super::{Entry, Takes, Value, entry};
use crate::datafusion::planning::system_tables::objects::Body;
use crate::datafusion::planning::system_tables::{SystemCatalog, index_text, type_shown, view_text};

/// The OIDs of the access methods of indexes.
const BTREE: u32 = 403;
const HASH: u32 = 405;
/// Types of texts and of exact numbers.
const CHARACTERS: [i64; 2] = [1042, 1043];
const NUMERIC: i64 = 1700;
const INTERVAL: i64 = 1186;
/// What a modifier of a text or a number is more than its length or digits.
const HEADER: i64 = 4;

const TYPE_AND_MODIFIER: &[Takes] = &[Takes::Int, Takes::Int];

pub(super) const ENTRIES: &[Entry] = &[
    entry("pg_indexam_has_property", &[Takes::Int, Takes::Text], Bool, |_, args| {
        Ok(of_method(args[0].oid(), args[1].text()).into())
    }),
    entry("pg_index_has_property", &[Takes::Int, Takes::Text], Bool, |catalog, args| {
        let is_ordered = kind(catalog, args[0].oid()).map(|kind| kind == IndexKind::Art);
        Ok(is_ordered.and_then(|is_ordered| of_index(is_ordered, args[1].text())).into())
    }),
    entry("pg_index_column_has_property", &[Takes::Int, Takes::Int, Takes::Text], Bool, |catalog, args| {
        let objects = catalog.objects();
        let index = args[0].oid();
        let Some(kind) = kind(catalog, index) else { return Ok(Value::Null) };
        let columns = objects.relation(index).map_or(0, |relation| index_text::keys(objects, relation));
        let is_key = usize::try_from(args[1].int()).is_ok_and(|number| (1..=columns).contains(&number));
        Ok(is_key.then(|| of_column(kind == IndexKind::Art, args[2].text())).flatten().into())
    }),
    entry("pg_column_is_updatable", &[Takes::Int, Takes::Int, Takes::Bool], Bool, |catalog, args| {
        let relation = catalog.objects().relation(args[0].oid());
        Ok(match relation.map(|relation| &relation.body) {
            Some(Body::Table(..)) => args[1].int() > 0,
            Some(Body::View(view)) => args[1].int() > 0 && view_text::is_simple(view),
            _ => false,
        }
        .into())
    }),
    entry("pg_relation_is_updatable", &[Takes::Int, Takes::Bool], Int, |catalog, args| {
        // UPDATE, INSERT and DELETE.
        const ALL: i64 = (1 << 2) | (1 << 3) | (1 << 4);
        let relation = catalog.objects().relation(args[0].oid());
        Ok(match relation.map(|relation| &relation.body) {
            Some(Body::Table(..)) => ALL,
            Some(Body::View(view)) if view_text::is_simple(view) => ALL,
            _ => 0,
        }
        .into())
    }),
    entry("oidvectortypes", &[Takes::Ints], Text, |catalog, args| {
        let Value::Ints(oids) = &args[0] else { return Ok(Value::Null) };
        let shown = |oid: &i64| {
            let oid = u32::try_from(*oid).unwrap_or(0);
            type_shown(catalog, oid, None).unwrap_or_else(|| "???".to_owned())
        };
        Ok(oids.iter().map(shown).collect::<Vec<_>>().join(", ").into())
    }),
    entry("_pg_char_max_length", TYPE_AND_MODIFIER, Int, |_, args| {
        Ok(characters(args).map(|modifier| modifier - HEADER).into())
    }),
    entry("_pg_char_octet_length", TYPE_AND_MODIFIER, Int, |_, args| {
        const TEXT: i64 = 25;
        const OCTETS_MAX: i64 = 1 << 30;
        if args[0].int() == TEXT || (CHARACTERS.contains(&args[0].int()) && args[1].int() == -1) {
            return Ok(OCTETS_MAX.into());
        }
        Ok(characters(args).map(|modifier| (modifier - HEADER) * 4).into())
    }),
    entry("_pg_numeric_precision", TYPE_AND_MODIFIER, Int, |_, args| Ok(precision(args).into())),
    entry("_pg_numeric_precision_radix", TYPE_AND_MODIFIER, Int, |_, args| {
        Ok(match args[0].int() {
            20 | 21 | 23 | 700 | 701 => Some(2_i64),
            NUMERIC => Some(10),
            _ => None,
        }
        .into())
    }),
    entry("_pg_numeric_scale", TYPE_AND_MODIFIER, Int, |_, args| {
        Ok(match (args[0].int(), args[1].int()) {
            (20 | 21 | 23, _) => Some(0_i64),
            (NUMERIC, modifier) if modifier != -1 => Some((modifier - HEADER) & 0xffff),
            _ => None,
        }
        .into())
    }),
    entry("_pg_datetime_precision", TYPE_AND_MODIFIER, Int, |_, args| {
        const DIGITS_MAX: i64 = 6;
        let modifier = args[1].int();
        Ok(match args[0].int() {
            1082 => Some(0),
            1083 | 1114 | 1184 | 1266 => Some(if modifier < 0 { DIGITS_MAX } else { modifier }),
            INTERVAL if modifier < 0 || modifier & 0xffff == 0xffff => Some(DIGITS_MAX),
            INTERVAL => Some(modifier & 0xffff),
            _ => None,
        }
        .into())
    }),
    entry("_pg_index_position", &[Takes::Int, Takes::Int], Int, |catalog, args| {
        let objects = catalog.objects();
        let numbers = objects.relation(args[0].oid()).map(|relation| index_text::numbers(objects, relation));
        let place = numbers.and_then(|numbers| numbers.iter().position(|number| *number == args[1].int()));
        Ok(place.and_then(|place| i64::try_from(place + 1).ok()).into())
    }),
    // No standby, and no log that others read.
    entry("pg_last_xact_replay_timestamp", &[], super::Gives::Moment, |_, _| Ok(Value::Null)),
    entry("pg_last_wal_receive_lsn", &[], Typed("pg_lsn"), |_, _| Ok(Value::Null)),
    entry("pg_last_wal_replay_lsn", &[], Typed("pg_lsn"), |_, _| Ok(Value::Null)),
];

/// What an access method can do; NULL for what is not asked of one.
fn of_method(method: u32, property: &str) -> Option<bool> {
    let is_tree = match method {
        BTREE => true,
        HASH => false,
        _ => return None,
    };
    match property.to_ascii_lowercase().as_str() {
        "can_order" | "can_unique" | "can_multi_col" | "can_include" => Some(is_tree),
        "can_exclude" => Some(true),
        _ => None,
    }
}

fn of_index(is_tree: bool, property: &str) -> Option<bool> {
    match property.to_ascii_lowercase().as_str() {
        "clusterable" => Some(is_tree),
        "index_scan" | "bitmap_scan" | "backward_scan" => Some(true),
        _ => None,
    }
}

/// Columns are in ascending order, with NULL behind all values.
fn of_column(is_tree: bool, property: &str) -> Option<bool> {
    match property.to_ascii_lowercase().as_str() {
        "asc" | "nulls_last" | "orderable" | "returnable" | "search_array" | "search_nulls" => Some(is_tree),
        "desc" | "nulls_first" | "distance_orderable" => Some(false),
        _ => None,
    }
}

fn kind(catalog: &SystemCatalog, oid: u32) -> Option<IndexKind> {
    let objects = catalog.objects();
    let (.., key) = objects.index(&objects.relation(oid)?.body)?;
    Some(key.index)
}

/// The modifier of a type of texts that has one.
fn characters(args: &[Value]) -> Option<i64> {
    let modifier = args[1].int();
    (CHARACTERS.contains(&args[0].int()) && modifier != -1).then_some(modifier)
}

fn precision(args: &[Value]) -> Option<i64> {
    Some(match (args[0].int(), args[1].int()) {
        (21, _) => 16,
        (23, _) => 32,
        (20, _) => 64,
        (700, _) => 24,
        (701, _) => 53,
        (NUMERIC, modifier) if modifier != -1 => ((modifier - HEADER) >> 16) & 0xffff,
        _ => return None,
    })
}
