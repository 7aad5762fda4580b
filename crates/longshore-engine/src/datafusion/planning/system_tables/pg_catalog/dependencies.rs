//! `pg_depend`: the schemas that objects are in, sequences that columns own, defaults of columns, indexes of constraints, and
//! what views read.

use super::super::SystemCatalog;
use super::super::objects::{Body, Constrains, Objects, number};
use super::super::rows::Rows;
use super::columns::default_oid;
use super::comments::{PG_CLASS_CLASS, PG_CONSTRAINT_CLASS, PG_NAMESPACE_CLASS, PG_TYPE_CLASS};
use super::relations::rule_oid;
use crate::catalog::Origin;
use crate::sql::names;

/// The OIDs of the tables of defaults and of rules.
const PG_ATTRDEF_CLASS: u32 = 2604;
const PG_REWRITE_CLASS: u32 = 2618;

/// An object, and for a column its number.
type Place = (u32, u32, i64);

pub(super) fn pg_depend(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let mut add = |(class, oid, column): Place, (of_class, of_oid, of_column): Place, kind: char| {
        rows.row([
            ("classid", class.into()),
            ("objid", oid.into()),
            ("objsubid", column.into()),
            ("refclassid", of_class.into()),
            ("refobjid", of_oid.into()),
            ("refobjsubid", of_column.into()),
            ("deptype", kind.into()),
        ]);
    };
    let objects = catalog.objects();
    of_relations(catalog, objects, &mut add);
    for relation in objects.relations.iter().filter(|relation| !matches!(relation.body, Body::Index(..))) {
        let schema = (PG_NAMESPACE_CLASS, objects.schema_of(&relation.name), 0);
        add((PG_CLASS_CLASS, relation.oid, 0), schema, 'n');
    }
    for known in &objects.types {
        let schema = (PG_NAMESPACE_CLASS, objects.schema_of(&known.name), 0);
        add((PG_TYPE_CLASS, known.oid, 0), schema, 'n');
        add((PG_TYPE_CLASS, known.array_oid, 0), (PG_TYPE_CLASS, known.oid, 0), 'i');
    }
    for constraint in &objects.constraints {
        let Some(table) = constraint.table().map(|place| &objects.relations[place]) else { continue };
        let own = (PG_CONSTRAINT_CLASS, constraint.oid, 0);
        let mut of_columns = |columns: &[usize]| {
            for at in columns {
                add(own, (PG_CLASS_CLASS, table.oid, number(*at)), 'a');
            }
        };
        match constraint.of {
            Constrains::Key(place, at) => {
                let Some(key) = objects.table(place).and_then(|(_, rules)| rules.keys.get(at)) else { continue };
                of_columns(&key.columns);
                let index = names::in_schema(names::parts(&table.name).0, &key.name);
                if let Some(index) = objects.relation_named(&index) {
                    add((PG_CLASS_CLASS, index.oid, 0), own, 'i');
                }
            }
            Constrains::Check(place, at) => {
                if let Some((_, check)) = objects.check(place, at) {
                    of_columns(&check.columns);
                }
            }
            Constrains::Reference(place, at) => {
                if let Some((_, reference)) = objects.reference(place, at) {
                    of_columns(&reference.columns);
                    if let Some(to) = objects.referenced(reference) {
                        let columns = to.columns.iter();
                        columns.for_each(|at| add(own, (PG_CLASS_CLASS, to.relation.oid, number(*at)), 'n'));
                    }
                }
            }
            Constrains::Domain(..) => {}
        }
    }
}

fn of_relations(catalog: &SystemCatalog, objects: &Objects, add: &mut impl FnMut(Place, Place, char)) {
    for relation in &objects.relations {
        match &relation.body {
            Body::Table(table, rules) => {
                for (at, column) in table.relation.schema().columns().iter().enumerate() {
                    let origin = rules.origin(at);
                    if matches!(origin, Origin::Default(_) | Origin::Generated(_)) {
                        let own = (PG_ATTRDEF_CLASS, default_oid(catalog, table, &column.name), 0);
                        add(own, (PG_CLASS_CLASS, relation.oid, number(at)), 'a');
                        for sequence in origin.sequences() {
                            if let Some(sequence) = objects.relation_named(&sequence) {
                                add(own, (PG_CLASS_CLASS, sequence.oid, 0), 'n');
                            }
                        }
                    }
                }
            }
            Body::Sequence(sequence) => {
                let Some(owner) = sequence.owner() else { continue };
                let Some(table) = objects.relation_named(&owner.table) else { continue };
                let Body::Table(of, rules) = &table.body else { continue };
                let Some(at) = of.relation.schema().index_of(&owner.column) else { continue };
                let kind = if matches!(rules.origin(at), Origin::Identity { .. }) { 'i' } else { 'a' };
                add((PG_CLASS_CLASS, relation.oid, 0), (PG_CLASS_CLASS, table.oid, number(at)), kind);
            }
            Body::View(view) => {
                let rule = (PG_REWRITE_CLASS, rule_oid(catalog, &view.name), 0);
                add(rule, (PG_CLASS_CLASS, relation.oid, 0), 'i');
                for read in view.reads.iter().filter_map(|name| objects.relation_named(name)) {
                    add(rule, (PG_CLASS_CLASS, read.oid, 0), 'n');
                }
            }
            Body::Index(place, _) => {
                let Some((_, _, key)) = objects.index(&relation.body) else { continue };
                if !super::super::objects::is_constraint(key) {
                    let own = (PG_CLASS_CLASS, relation.oid, 0);
                    let table = objects.relations[*place].oid;
                    key.columns.iter().for_each(|at| add(own, (PG_CLASS_CLASS, table, number(*at)), 'a'));
                }
            }
        }
    }
}
