//! `pg_index`: what the indexes of tables are about.

use super::super::fixed;
use super::super::objects::Body;
use super::super::rows::{Cell, Rows};
use super::super::type_ref::TypeRef;
use super::super::types::Layout;
use super::super::{SystemCatalog, index_text};
use super::relations::access_method;
use crate::builtin_types::BuiltinType;
use crate::catalog::Role;

pub(super) fn pg_index(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise([
        ("indisexclusion", false.into()),
        ("indimmediate", true.into()),
        ("indisclustered", false.into()),
        ("indisvalid", true.into()),
        ("indcheckxmin", false.into()),
        ("indisready", true.into()),
        ("indislive", true.into()),
        ("indisreplident", false.into()),
    ]);
    let objects = catalog.objects();
    for relation in &objects.relations {
        let Body::Index(..) = relation.body else { continue };
        let Some((table, _, key)) = objects.index(&relation.body) else { continue };
        let columns = index_text::columns(objects, relation);
        let of_key = columns.len() - key.definition.as_ref().map_or(0, |definition| definition.include.len());
        let classes = columns[..of_key].iter().map(|(_, of)| operator_class(access_method(key.index), *of));
        let collations = columns[..of_key].iter().map(|(_, of)| Layout::of(objects, of.oid).collation);
        let collations: Vec<i64> = collations.collect();
        let texts = index_text::expressions(objects, relation);
        rows.row([
            ("indexrelid", relation.oid.into()),
            ("indrelid", table.oid.into()),
            ("indnatts", columns.len().into()),
            ("indnkeyatts", of_key.into()),
            ("indisunique", key.role.is_unique().into()),
            ("indnullsnotdistinct", key.nulls_are_equal.into()),
            ("indisprimary", (key.role == Role::Primary).into()),
            ("indkey", index_text::numbers(objects, relation).into()),
            ("indcollation", collations.into()),
            ("indclass", classes.collect::<Vec<_>>().into()),
            ("indoption", vec![0_i64; of_key].into()),
            ("indexprs", texts.into()),
            ("indpred", index_text::predicate(objects, relation, false).into()),
        ]);
    }
}

/// The operator class by which a type is in an index, or 0.
fn operator_class(method: u32, of: TypeRef) -> i64 {
    let Some(table) = fixed::table("pg_opclass") else { return 0 };
    let place = |name| fixed::place("pg_opclass", name);
    let (of_method, of_type, is_default) = (place("opcmethod"), place("opcintype"), place("opcdefault"));
    let name = match BuiltinType::of_oid(of.oid) {
        Some((_, true)) => "anyarray",
        Some((known, false)) if known.name == "varchar" => "text",
        Some((known, false)) => known.name,
        None => "anyenum",
    };
    let oid = super::super::types::system_type(|known| known.name == name).map_or(0, |known| known.oid);
    let is_it = |row: &&Vec<Cell>| {
        row[of_method] == Cell::from(method) && row[of_type] == Cell::from(oid) && row[is_default] == Cell::Bool(true)
    };
    match table.rows.iter().find(is_it).map(|row| &row[place("oid")]) {
        Some(Cell::Int(oid)) => *oid,
        _ => 0,
    }
}
