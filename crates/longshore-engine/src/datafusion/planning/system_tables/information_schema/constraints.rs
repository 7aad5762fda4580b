//! `table_constraints`, `key_column_usage`, `referential_constraints` and their like. NOT NULL counts as a check there.

use longshore_storage::{ReferenceMatch, ReferenceTiming};

use super::super::SystemCatalog;
use super::super::constraint_text::condition;
use super::super::objects::{Body, Constrains, ConstraintObject, Objects, number};
use super::super::rows::{Cell, Rows, text};
use super::{CONSTRAINT, TABLE, beside, place, yes};
use crate::catalog::{Role, Table};

/// The name of the NOT NULL of a column, as PostgreSQL makes it of OIDs.
fn not_null_name(objects: &Objects, oid: u32, table: &Table, at: usize) -> String {
    beside(&table.name, &format!("{}_{oid}_{}_not_null", objects.schema_of(&table.name), number(at)))
}

/// The columns of tables that are never NULL: the name of that constraint, the table and the column.
fn not_nulls(objects: &Objects) -> Vec<(String, &Table, &str)> {
    let mut found = Vec::new();
    for relation in &objects.relations {
        let Body::Table(table, _) = &relation.body else { continue };
        for (at, column) in table.relation.schema().columns().iter().enumerate().filter(|(_, column)| !column.nullable)
        {
            found.push((not_null_name(objects, relation.oid, table, at), table.as_ref(), column.name.as_str()));
        }
    }
    found
}

/// The constraints of tables, each with its table and its name beside it.
fn of_tables(objects: &Objects) -> impl Iterator<Item = (&ConstraintObject, &Table, String)> {
    objects.constraints.iter().filter_map(|constraint| {
        let (table, _) = objects.table(constraint.table()?)?;
        Some((constraint, table.as_ref(), beside(&table.name, &constraint.name)))
    })
}

/// The columns of a constraint.
fn columns_of(objects: &Objects, constraint: &ConstraintObject) -> Vec<usize> {
    let columns = match constraint.of {
        Constrains::Key(place, at) => {
            objects.table(place).and_then(|(_, rules)| Some(rules.keys.get(at)?.columns.clone()))
        }
        Constrains::Check(place, at) => objects.check(place, at).map(|(_, check)| check.columns.clone()),
        Constrains::Reference(place, at) => objects.reference(place, at).map(|(_, of)| of.columns.clone()),
        Constrains::Domain(..) => None,
    };
    columns.unwrap_or_default()
}

fn column(table: &Table, at: usize) -> Cell {
    text(&table.relation.schema().columns()[at].name)
}

pub(super) fn table_constraints(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise([("is_deferrable", yes(false)), ("initially_deferred", yes(false)), ("enforced", yes(true))]);
    let objects = catalog.objects();
    for (constraint, table, name) in of_tables(objects) {
        let mut further = Vec::new();
        match constraint.of {
            Constrains::Key(place, at) => {
                let key = objects.table(place).and_then(|(_, rules)| rules.keys.get(at));
                if key.is_some_and(|key| key.role == Role::Primary) {
                    further.push(("constraint_type", "PRIMARY KEY".into()));
                } else {
                    let nulls_differ = key.is_none_or(|key| !key.nulls_are_equal);
                    further.extend([("constraint_type", "UNIQUE".into()), ("nulls_distinct", yes(nulls_differ))]);
                }
            }
            Constrains::Check(..) | Constrains::Domain(..) => further.push(("constraint_type", "CHECK".into())),
            Constrains::Reference(place, at) => {
                let timing = objects.reference(place, at).map_or(ReferenceTiming::Immediate, |(_, of)| of.timing);
                further.extend([
                    ("constraint_type", "FOREIGN KEY".into()),
                    ("is_deferrable", yes(timing != ReferenceTiming::Immediate)),
                    ("initially_deferred", yes(timing == ReferenceTiming::Deferred)),
                ]);
            }
        }
        rows.row(place(CONSTRAINT, &name).into_iter().chain(place(TABLE, &table.name)).chain(further));
    }
    for (name, table, _) in not_nulls(objects) {
        let further = [("constraint_type", "CHECK".into())];
        rows.row(place(CONSTRAINT, &name).into_iter().chain(place(TABLE, &table.name)).chain(further));
    }
}

pub(super) fn key_column_usage(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let objects = catalog.objects();
    for (constraint, table, name) in of_tables(objects) {
        let in_unique = |at: usize| -> Option<i64> {
            let Constrains::Reference(place, of) = constraint.of else { return None };
            let (_, reference) = objects.reference(place, of)?;
            let to = objects.referenced(reference)?;
            let column = to.columns.get(at)?;
            to.key?.columns.iter().position(|of| of == column).map(number)
        };
        if matches!(constraint.of, Constrains::Check(..)) {
            continue;
        }
        for (at, of) in columns_of(objects, constraint).into_iter().enumerate() {
            let further = [
                ("column_name", column(table, of)),
                ("ordinal_position", number(at).into()),
                ("position_in_unique_constraint", in_unique(at).into()),
            ];
            rows.row(place(CONSTRAINT, &name).into_iter().chain(place(TABLE, &table.name)).chain(further));
        }
    }
}

pub(super) fn referential_constraints(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    const UNIQUE: [&str; 3] = ["unique_constraint_catalog", "unique_constraint_schema", "unique_constraint_name"];
    let objects = catalog.objects();
    for (constraint, _, name) in of_tables(objects) {
        let Constrains::Reference(of_table, at) = constraint.of else { continue };
        let Some((_, reference)) = objects.reference(of_table, at) else { continue };
        let key = objects.referenced(reference).and_then(|to| Some(beside(&to.relation.name, &to.key?.name)));
        let unique = key.map(|key| place(UNIQUE, &key));
        let matching = if reference.matching == ReferenceMatch::Full { "FULL" } else { "NONE" };
        let further = [
            ("match_option", matching.into()),
            ("update_rule", reference.on_update.to_string().into()),
            ("delete_rule", reference.on_delete.to_string().into()),
        ];
        rows.row(place(CONSTRAINT, &name).into_iter().chain(unique.into_iter().flatten()).chain(further));
    }
}

pub(super) fn check_constraints(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let objects = catalog.objects();
    for constraint in &objects.constraints {
        let beside_what = match constraint.of {
            Constrains::Check(place, _) => &objects.relations[place].name,
            Constrains::Domain(at, _) => &objects.types[at].name,
            Constrains::Key(..) | Constrains::Reference(..) => continue,
        };
        let clause = condition(objects, constraint, false).map(|clause| format!("({clause})"));
        let name = place(CONSTRAINT, &beside(beside_what, &constraint.name));
        rows.row(name.into_iter().chain([("check_clause", clause.into())]));
    }
    for (name, _, column) in not_nulls(objects) {
        rows.row(
            place(CONSTRAINT, &name).into_iter().chain([("check_clause", format!("{column} IS NOT NULL").into())]),
        );
    }
}

/// The table and the columns that a constraint depends on: of a foreign key, those that it refers to.
fn used<'a>(objects: &'a Objects, constraint: &ConstraintObject, table: &'a Table) -> Option<(&'a Table, Vec<usize>)> {
    let Constrains::Reference(place, at) = constraint.of else {
        return Some((table, columns_of(objects, constraint)));
    };
    let (_, reference) = objects.reference(place, at)?;
    let to = objects.referenced(reference)?;
    match &to.relation.body {
        Body::Table(table, _) => Some((table.as_ref(), to.columns)),
        _ => None,
    }
}

pub(super) fn constraint_column_usage(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let objects = catalog.objects();
    for (constraint, table, name) in of_tables(objects) {
        let Some((table, columns)) = used(objects, constraint, table) else { continue };
        for at in columns {
            let further = [("column_name", column(table, at))];
            rows.row(place(TABLE, &table.name).into_iter().chain(place(CONSTRAINT, &name)).chain(further));
        }
    }
}

pub(super) fn constraint_table_usage(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let objects = catalog.objects();
    for (constraint, table, name) in of_tables(objects) {
        if matches!(constraint.of, Constrains::Check(..)) {
            continue;
        }
        let Some((table, _)) = used(objects, constraint, table) else { continue };
        rows.row(place(TABLE, &table.name).into_iter().chain(place(CONSTRAINT, &name)));
    }
}
