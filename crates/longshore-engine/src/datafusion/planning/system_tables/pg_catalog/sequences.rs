//! `pg_sequence` and `pg_sequences`.

use longshore_storage::ColumnType;

use super::super::objects::Body;
use super::super::rows::{Rows, text};
use super::super::{SystemCatalog, access};
use crate::builtin_types::TypeId;
use crate::catalog::Commented;
use crate::sql::names;

fn type_oid(column_type: ColumnType) -> u32 {
    TypeId::of_column(column_type).oid
}

pub(super) fn pg_sequence(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    for relation in &catalog.objects().relations {
        let Body::Sequence(sequence) = &relation.body else { continue };
        let definition = sequence.definition();
        rows.row([
            ("seqrelid", relation.oid.into()),
            ("seqtypid", type_oid(definition.column_type).into()),
            ("seqstart", definition.start.into()),
            ("seqincrement", definition.increment.into()),
            ("seqmax", definition.max.into()),
            ("seqmin", definition.min.into()),
            ("seqcache", definition.cache.into()),
            ("seqcycle", definition.cycle.into()),
        ]);
    }
}

pub(super) fn pg_sequences(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    for relation in &catalog.objects().relations {
        let Body::Sequence(sequence) = &relation.body else { continue };
        let definition = sequence.definition();
        let (schema, own) = names::parts(&relation.name);
        let (last, is_called) = sequence.value();
        rows.row([
            ("schemaname", text(schema)),
            ("sequencename", text(own)),
            ("sequenceowner", access::owner_name(catalog, &Commented::Relation(relation.name.clone()))),
            ("data_type", type_oid(definition.column_type).into()),
            ("start_value", definition.start.into()),
            ("min_value", definition.min.into()),
            ("max_value", definition.max.into()),
            ("increment_by", definition.increment.into()),
            ("cycle", definition.cycle.into()),
            ("cache_size", definition.cache.into()),
            ("last_value", is_called.then_some(last).into()),
        ]);
    }
}
