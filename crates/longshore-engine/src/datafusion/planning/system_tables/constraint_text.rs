//! Constraints as PostgreSQL writes them out: `FOREIGN KEY (a) REFERENCES p(id) ON DELETE CASCADE`.

use longshore_storage::{ReferenceMatch, ReferenceTiming};
use sqlparser::ast::ReferentialAction;

use super::expression_text;
use super::objects::{Constrains, ConstraintObject, Objects};
use crate::catalog::{Reference, Role, Table, UserType};
use crate::datafusion::functions::quoted_identifier;

/// The condition of a check.
pub(super) fn condition(objects: &Objects, constraint: &ConstraintObject, pretty: bool) -> Option<String> {
    match constraint.of {
        Constrains::Check(place, at) => {
            let (table, rules) = objects.table(place)?;
            Some(expression_text::of_table(objects, table, rules, &rules.checks.get(at)?.condition, pretty))
        }
        Constrains::Domain(place, at) => {
            let domain = objects.types.get(place)?;
            let UserType::Domain(of) = domain.user_type.as_ref() else { return None };
            let (_, condition) = of.checks.get(at)?;
            Some(expression_text::of_domain(objects, &domain.user_type, condition, pretty))
        }
        Constrains::Key(..) | Constrains::Reference(..) => None,
    }
}

/// What stands behind CONSTRAINT and the name.
pub(in crate::datafusion::planning) fn definition(
    objects: &Objects,
    constraint: &ConstraintObject,
    pretty: bool,
) -> Option<String> {
    match constraint.of {
        Constrains::Key(place, at) => {
            let (table, rules) = objects.table(place)?;
            let key = rules.keys.get(at)?;
            let word = match key.role {
                Role::Primary => "PRIMARY KEY",
                _ if key.nulls_are_equal => "UNIQUE NULLS NOT DISTINCT",
                _ => "UNIQUE",
            };
            Some(format!("{word} ({})", list(table, &key.columns)))
        }
        Constrains::Check(place, at) => {
            let (_, check) = objects.check(place, at)?;
            let not_valid = if check.is_valid { "" } else { " NOT VALID" };
            Some(format!("CHECK ({}){not_valid}", condition(objects, constraint, pretty)?))
        }
        Constrains::Reference(place, at) => {
            let (table, reference) = objects.reference(place, at)?;
            Some(foreign_key(objects, table, reference))
        }
        Constrains::Domain(..) => Some(format!("CHECK ({})", condition(objects, constraint, pretty)?)),
    }
}

fn list(table: &Table, columns: &[usize]) -> String {
    let schema = table.relation.schema();
    columns.iter().map(|at| quoted_identifier(&schema.columns()[*at].name)).collect::<Vec<_>>().join(", ")
}

fn foreign_key(objects: &Objects, table: &Table, reference: &Reference) -> String {
    let referenced: Vec<String> = reference.referenced.iter().map(|name| quoted_identifier(name)).collect();
    let mut text = format!(
        "FOREIGN KEY ({}) REFERENCES {}({})",
        list(table, &reference.columns),
        objects.shown_relation(&reference.table),
        referenced.join(", ")
    );
    if reference.matching == ReferenceMatch::Full {
        text.push_str(" MATCH FULL");
    }
    for (word, action) in [("UPDATE", reference.on_update), ("DELETE", reference.on_delete)] {
        if action != ReferentialAction::NoAction {
            text = format!("{text} ON {word} {action}");
        }
    }
    text.push_str(match reference.timing {
        ReferenceTiming::Immediate => "",
        ReferenceTiming::Deferred => " DEFERRABLE INITIALLY DEFERRED",
        ReferenceTiming::Deferrable => " DEFERRABLE",
    });
    if !reference.is_valid {
        text.push_str(" NOT VALID");
    }
    text
}
