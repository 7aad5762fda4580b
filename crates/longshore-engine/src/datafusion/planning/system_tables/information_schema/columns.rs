//! `columns`.

use super::super::definition::relations;
use super::super::expression_text::of_column_default;
use super::super::objects::{Body, Objects, number};
use super::super::rows::{Cell, Rows, text};
use super::super::type_ref::TypeRef;
use super::super::types::system_type;
use super::super::{SystemCatalog, view_text};
use super::types::{named_domain, number as shown_number, told};
use super::{TABLE, place, yes};
use crate::catalog::{Origin, Rules, Table};
use crate::sql::names;

pub(super) fn columns(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise([
        ("is_nullable", yes(true)),
        ("is_self_referencing", yes(false)),
        ("is_identity", yes(false)),
        ("identity_cycle", yes(false)),
        ("is_generated", "NEVER".into()),
        ("is_updatable", yes(true)),
    ]);
    let objects = catalog.objects();
    for known in relations() {
        let name = names::in_schema(known.schema, known.name);
        for (at, column) in known.columns.iter().enumerate() {
            let oid = system_type(|of| of.name == column.type_name).map_or(0, |of| of.oid);
            let of = TypeRef { oid, length: -1, modifier: -1, dimensions: 0 };
            let further = [("is_nullable", yes(!column.not_null)), ("is_updatable", yes(!known.is_view))];
            add(objects, rows, &name, (column.name, at, of), further);
        }
    }
    for relation in &objects.relations {
        match &relation.body {
            Body::Table(table, rules) => of_table(catalog, rows, table, rules),
            Body::View(view) => {
                let is_updatable = view_text::is_simple(view);
                for (at, column) in catalog.view_columns(view).into_iter().flatten().enumerate() {
                    let further = [("is_updatable", yes(is_updatable))];
                    add(objects, rows, &view.name, (&column.name, at, column.of), further);
                }
            }
            Body::Sequence(_) | Body::Index(..) => {}
        }
    }
}

fn add(
    objects: &Objects,
    rows: &mut Rows<'_>,
    table: &str,
    (name, at, of): (&str, usize, TypeRef),
    further: impl IntoIterator<Item = (&'static str, Cell)>,
) {
    let own = [
        ("column_name", text(name)),
        ("ordinal_position", number(at).into()),
        ("dtd_identifier", shown_number(number(at))),
    ];
    let of_type = told(objects, of).into_iter().chain(named_domain(objects, of));
    rows.row(place(TABLE, table).into_iter().chain(own).chain(of_type).chain(further));
}

fn of_table(catalog: &SystemCatalog, rows: &mut Rows<'_>, table: &Table, rules: &Rules) {
    let objects = catalog.objects();
    for (at, column) in table.relation.schema().columns().iter().enumerate() {
        let mut further = vec![("is_nullable", yes(column.nullable))];
        match rules.origin(at) {
            Origin::Null => {}
            Origin::Default(expr) => {
                further.push(("column_default", of_column_default(objects, (table, rules), at, expr, false).into()));
            }
            Origin::Generated(expr) => {
                let text = of_column_default(objects, (table, rules), at, expr, false);
                further.extend([("is_generated", "ALWAYS".into()), ("generation_expression", text.into())]);
            }
            Origin::Identity { always, sequence } => {
                further.extend([
                    ("is_identity", yes(true)),
                    ("identity_generation", if *always { "ALWAYS" } else { "BY DEFAULT" }.into()),
                ]);
                if let Some(of) = catalog.catalog.sequence(sequence).map(|sequence| sequence.definition()) {
                    further.extend([
                        ("identity_start", shown_number(of.start)),
                        ("identity_increment", shown_number(of.increment)),
                        ("identity_maximum", shown_number(of.max)),
                        ("identity_minimum", shown_number(of.min)),
                        ("identity_cycle", yes(of.cycle)),
                    ]);
                }
            }
        }
        add(objects, rows, &table.name, (&column.name, at, objects.type_of(table, rules, at)), further);
    }
}
