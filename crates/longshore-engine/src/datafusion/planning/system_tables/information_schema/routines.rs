//! `routines` and `parameters`: the functions of the system. Users cannot make any.

use super::super::lookups::arguments_of;
use super::super::rows::{Cell, Rows};
use super::super::type_ref::TypeRef;
use super::super::types::system_type;
use super::super::{PG_CATALOG, SystemCatalog, fixed};
use super::types::{number as shown_number, told};
use super::yes;
use crate::datafusion::planning::system_tables::objects::number;
use crate::sql::names::CATALOG;

/// A function of the system.
struct Routine {
    oid: u32,
    name: String,
    result: u32,
    is_function: bool,
}

fn routines_of_the_system() -> impl Iterator<Item = Routine> {
    let place = |name| fixed::place("pg_proc", name);
    let (of_name, of_result, of_kind) = (place("proname"), place("prorettype"), place("prokind"));
    let int = |cell: &Cell| if let Cell::Int(value) = cell { u32::try_from(*value).unwrap_or(0) } else { 0 };
    let text = |cell: &Cell| if let Cell::Text(text) = cell { text.to_string() } else { String::new() };
    let rows = fixed::table("pg_proc").map_or(&[][..], |table| &table.rows);
    rows.iter().map(move |row| Routine {
        oid: int(&row[0]),
        name: text(&row[of_name]),
        result: int(&row[of_result]),
        is_function: row[of_kind] == Cell::from('f'),
    })
}

fn type_ref(oid: u32) -> TypeRef {
    TypeRef { oid, length: -1, modifier: -1, dimensions: 0 }
}

fn specific(routine: &Routine) -> [(&'static str, Cell); 3] {
    [
        ("specific_catalog", CATALOG.into()),
        ("specific_schema", PG_CATALOG.into()),
        ("specific_name", format!("{}_{}", routine.name, routine.oid).into()),
    ]
}

pub(super) fn routines(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise([
        ("routine_catalog", CATALOG.into()),
        ("routine_schema", PG_CATALOG.into()),
        ("type_udt_catalog", CATALOG.into()),
        ("type_udt_schema", PG_CATALOG.into()),
        ("dtd_identifier", "0".into()),
        ("routine_body", "EXTERNAL".into()),
        ("external_language", "INTERNAL".into()),
        ("parameter_style", "GENERAL".into()),
        ("sql_data_access", "MODIFIES".into()),
        ("schema_level_routine", yes(true)),
        ("max_dynamic_result_sets", 0.into()),
        ("security_type", "INVOKER".into()),
        ("as_locator", yes(false)),
        ("is_udt_dependent", yes(false)),
    ]);
    let objects = catalog.objects();
    for routine in routines_of_the_system() {
        let of_type = told(objects, type_ref(routine.result));
        let name = |wanted: &str| of_type.iter().find(|(known, _)| *known == wanted).map(|(_, cell)| cell.clone());
        let further = [
            ("routine_name", routine.name.clone().into()),
            ("routine_type", if routine.is_function { Some("FUNCTION") } else { None }.into()),
            ("data_type", name("data_type").unwrap_or_default()),
            ("type_udt_name", system_type(|known| known.oid == routine.result).map(|known| known.name.clone()).into()),
        ];
        rows.row(specific(&routine).into_iter().chain(further));
    }
}

pub(super) fn parameters(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise([("parameter_mode", "IN".into()), ("is_result", yes(false)), ("as_locator", yes(false))]);
    let objects = catalog.objects();
    for routine in routines_of_the_system() {
        for (at, oid) in arguments_of(routine.oid).into_iter().flatten().enumerate() {
            let data_type = told(objects, type_ref(oid)).into_iter();
            let named =
                data_type.filter(|(name, _)| ["data_type", "udt_catalog", "udt_schema", "udt_name"].contains(name));
            let further = [("ordinal_position", number(at).into()), ("dtd_identifier", shown_number(number(at)))];
            rows.row(specific(&routine).into_iter().chain(named).chain(further));
        }
    }
}
