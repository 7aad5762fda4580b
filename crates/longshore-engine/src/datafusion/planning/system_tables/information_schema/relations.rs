//! `tables`, `views`, `sequences` and `schemata`.

use super::super::definition::relations;
use super::super::objects::Body;
use super::super::rows::{Cell, Rows, text};
use super::super::{SystemCatalog, access, view_text};
use super::{TABLE, place, yes};
use crate::builtin_types::TypeId;
use crate::catalog::{Commented, Origin, Sequence, is_temporary};
use crate::sql::names::{self, CATALOG};

pub(super) fn catalog_name(_: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.row([("catalog_name", CATALOG.into())]);
}

pub(super) fn schemata(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    for (_, name) in &catalog.objects().schemas {
        let owner = access::owner_name(catalog, &Commented::Schema(name.clone()));
        rows.row([("catalog_name", CATALOG.into()), ("schema_name", text(name)), ("schema_owner", owner)]);
    }
}

pub(super) fn tables(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise([("is_typed", yes(false))]);
    for known in relations() {
        let name = names::in_schema(known.schema, known.name);
        let further = [
            ("table_type", if known.is_view { "VIEW" } else { "BASE TABLE" }.into()),
            ("is_insertable_into", yes(!known.is_view)),
        ];
        rows.row(place(TABLE, &name).into_iter().chain(further));
    }
    for relation in &catalog.objects().relations {
        let (kind, is_insertable) = match &relation.body {
            Body::Table(..) if is_temporary(&relation.name) => ("LOCAL TEMPORARY", true),
            Body::Table(..) => ("BASE TABLE", true),
            Body::View(view) => ("VIEW", view_text::is_simple(view)),
            Body::Sequence(_) | Body::Index(..) => continue,
        };
        let further = [("table_type", kind.into()), ("is_insertable_into", yes(is_insertable))];
        rows.row(place(TABLE, &relation.name).into_iter().chain(further));
    }
}

pub(super) fn views(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise([
        ("check_option", "NONE".into()),
        ("is_updatable", yes(false)),
        ("is_insertable_into", yes(false)),
        ("is_trigger_updatable", yes(false)),
        ("is_trigger_deletable", yes(false)),
        ("is_trigger_insertable_into", yes(false)),
    ]);
    for known in relations().filter(|known| known.is_view) {
        rows.row(place(TABLE, &names::in_schema(known.schema, known.name)));
    }
    for relation in &catalog.objects().relations {
        let Body::View(view) = &relation.body else { continue };
        let is_simple = yes(view_text::is_simple(view));
        let further = [
            ("view_definition", view_text::definition(catalog.objects(), view, false).into()),
            ("is_updatable", is_simple.clone()),
            ("is_insertable_into", is_simple),
        ];
        rows.row(place(TABLE, &relation.name).into_iter().chain(further));
    }
}

pub(super) fn view_table_usage(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let objects = catalog.objects();
    for relation in &objects.relations {
        let Body::View(view) = &relation.body else { continue };
        for read in view.reads.iter().filter(|name| objects.relation_named(name).is_some()) {
            let of_view = place(["view_catalog", "view_schema", "view_name"], &relation.name);
            rows.row(of_view.into_iter().chain(place(TABLE, read)));
        }
    }
}

pub(super) fn sequences(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    for relation in &catalog.objects().relations {
        let Body::Sequence(sequence) = &relation.body else { continue };
        if is_of_identity(catalog, sequence) {
            continue;
        }
        let definition = sequence.definition();
        let (name, bits) = match TypeId::of_column(definition.column_type).length {
            2 => ("smallint", 16),
            4 => ("integer", 32),
            _ => ("bigint", 64),
        };
        let number = |number: i64| Cell::from(number.to_string());
        let further = [
            ("data_type", name.into()),
            ("numeric_precision", bits.into()),
            ("numeric_precision_radix", 2.into()),
            ("numeric_scale", 0.into()),
            ("start_value", number(definition.start)),
            ("minimum_value", number(definition.min)),
            ("maximum_value", number(definition.max)),
            ("increment", number(definition.increment)),
            ("cycle_option", yes(definition.cycle)),
        ];
        let of_sequence = place(["sequence_catalog", "sequence_schema", "sequence_name"], &relation.name);
        rows.row(of_sequence.into_iter().chain(further));
    }
}

/// Whether a sequence is a part of its column, and nothing by itself.
fn is_of_identity(catalog: &SystemCatalog, sequence: &Sequence) -> bool {
    let Some(owner) = sequence.owner() else { return false };
    let Some(Body::Table(table, rules)) = catalog.objects().relation_named(&owner.table).map(|of| &of.body) else {
        return false;
    };
    let at = table.relation.schema().index_of(&owner.column);
    at.is_some_and(|at| matches!(rules.origin(at), Origin::Identity { .. }))
}
