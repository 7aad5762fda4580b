//! `pg_constraint`: keys, foreign keys and checks of tables, and checks of domains.

use longshore_storage::{ReferenceMatch, ReferenceTiming};
use sqlparser::ast::ReferentialAction;

use super::super::SystemCatalog;
use super::super::constraint_text::condition;
use super::super::objects::{Constrains, ConstraintObject, Objects, number};
use super::super::rows::{Cell, Rows, text};
use crate::catalog::Role;
use crate::sql::names;

pub(super) fn pg_constraint(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let zero = || Cell::Int(0);
    rows.otherwise([
        ("condeferrable", false.into()),
        ("condeferred", false.into()),
        ("convalidated", true.into()),
        ("conrelid", zero()),
        ("contypid", zero()),
        ("conindid", zero()),
        ("conparentid", zero()),
        ("confrelid", zero()),
        ("confupdtype", ' '.into()),
        ("confdeltype", ' '.into()),
        ("confmatchtype", ' '.into()),
        ("conislocal", true.into()),
        ("coninhcount", zero()),
        ("connoinherit", true.into()),
    ]);
    let objects = catalog.objects();
    for constraint in &objects.constraints {
        let mut cells = vec![("oid", constraint.oid.into()), ("conname", text(&constraint.name))];
        if let Some(place) = constraint.table() {
            let relation = &objects.relations[place];
            let schema = objects.schema_of(&relation.name);
            cells.extend([("conrelid", relation.oid.into()), ("connamespace", schema.into())]);
        }
        of_kind(objects, constraint, &mut cells);
        rows.row(cells);
    }
}

fn of_kind(objects: &Objects, constraint: &ConstraintObject, cells: &mut Vec<(&'static str, Cell)>) {
    let numbers = |columns: &[usize]| Cell::Ints(columns.iter().map(|at| number(*at)).collect());
    match constraint.of {
        Constrains::Key(place, at) => {
            let Some(key) = objects.table(place).and_then(|(_, rules)| rules.keys.get(at)) else { return };
            let index = names::in_schema(names::parts(&objects.relations[place].name).0, &key.name);
            cells.extend([
                ("contype", if key.role == Role::Primary { 'p' } else { 'u' }.into()),
                ("conindid", objects.relation_named(&index).map_or(0, |index| index.oid).into()),
                ("conkey", numbers(&key.columns)),
            ]);
        }
        Constrains::Check(place, at) => {
            let Some((_, check)) = objects.check(place, at) else { return };
            cells.extend([
                ("contype", 'c'.into()),
                ("convalidated", check.is_valid.into()),
                ("connoinherit", false.into()),
                ("conkey", numbers(&check.columns)),
                ("conbin", condition(objects, constraint, false).into()),
            ]);
        }
        Constrains::Reference(place, at) => {
            let Some((_, reference)) = objects.reference(place, at) else { return };
            cells.extend([
                ("contype", 'f'.into()),
                ("condeferrable", (reference.timing != ReferenceTiming::Immediate).into()),
                ("condeferred", (reference.timing == ReferenceTiming::Deferred).into()),
                ("convalidated", reference.is_valid.into()),
                ("confupdtype", action(reference.on_update).into()),
                ("confdeltype", action(reference.on_delete).into()),
                ("confmatchtype", if reference.matching == ReferenceMatch::Full { 'f' } else { 's' }.into()),
                ("conkey", numbers(&reference.columns)),
            ]);
            let Some(to) = objects.referenced(reference) else { return };
            let index = to.key.map(|key| names::in_schema(names::parts(&to.relation.name).0, &key.name));
            let index = index.and_then(|index| objects.relation_named(&index));
            cells.extend([
                ("confrelid", to.relation.oid.into()),
                ("confkey", numbers(&to.columns)),
                ("conindid", index.map_or(0, |index| index.oid).into()),
            ]);
        }
        Constrains::Domain(place, _) => {
            let Some(domain) = objects.types.get(place) else { return };
            cells.extend([
                ("contype", 'c'.into()),
                ("contypid", domain.oid.into()),
                ("connamespace", objects.schema_of(&domain.name).into()),
                ("connoinherit", false.into()),
                ("conbin", condition(objects, constraint, false).into()),
            ]);
        }
    }
}

fn action(action: ReferentialAction) -> char {
    match action {
        ReferentialAction::NoAction => 'a',
        ReferentialAction::Restrict => 'r',
        ReferentialAction::Cascade => 'c',
        ReferentialAction::SetNull => 'n',
        ReferentialAction::SetDefault => 'd',
    }
}
