//! `pg_tables`, `pg_views` and `pg_indexes`.

use super::super::definition::relations;
use super::super::objects::Body;
use super::super::rows::{Rows, text};
use super::super::{SystemCatalog, access, index_text, view_text};
use crate::catalog::Commented;
use crate::sql::names::{self, USER};

pub(super) fn pg_tables(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise([
        ("tableowner", USER.into()),
        ("hasindexes", false.into()),
        ("hasrules", false.into()),
        ("hastriggers", false.into()),
        ("rowsecurity", false.into()),
    ]);
    for known in relations().filter(|known| !known.is_view) {
        rows.row([("schemaname", known.schema.into()), ("tablename", known.name.into())]);
    }
    for relation in &catalog.objects().relations {
        let Body::Table(_, rules) = &relation.body else { continue };
        let (schema, own) = names::parts(&relation.name);
        rows.row([
            ("schemaname", text(schema)),
            ("tablename", text(own)),
            ("tableowner", access::owner_name(catalog, &Commented::Relation(relation.name.clone()))),
            ("hasindexes", (!rules.keys.is_empty()).into()),
        ]);
    }
}

pub(super) fn pg_views(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise([("viewowner", USER.into())]);
    for known in relations().filter(|known| known.is_view) {
        rows.row([("schemaname", known.schema.into()), ("viewname", known.name.into())]);
    }
    for relation in &catalog.objects().relations {
        let Body::View(view) = &relation.body else { continue };
        let (schema, own) = names::parts(&relation.name);
        rows.row([
            ("schemaname", text(schema)),
            ("viewname", text(own)),
            ("viewowner", access::owner_name(catalog, &Commented::Relation(relation.name.clone()))),
            ("definition", view_text::definition(catalog.objects(), view, false).into()),
        ]);
    }
}

pub(super) fn pg_indexes(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let objects = catalog.objects();
    for relation in &objects.relations {
        let Some((table, _, key)) = objects.index(&relation.body) else { continue };
        let (schema, own) = names::parts(&table.name);
        rows.row([
            ("schemaname", text(schema)),
            ("tablename", text(own)),
            ("indexname", text(&key.name)),
            ("indexdef", index_text::definition(objects, relation, false).into()),
        ]);
    }
}
