//! What the operations of a payload say, in words: for people who look into a log.

use super::image::{Image, TableImage};
use super::operations::{self, Operation};
use super::wire::Reader;
use super::{Commented, Key, Role, RoleId, kind_name};
use crate::Error;
use crate::sql::names;

/// A line for each operation of a payload.
///
/// # Errors
/// When it is none; what lies before that is lost.
pub(crate) fn describe(payload: &[u8]) -> Result<Vec<String>, Error> {
    let mut reader = Reader::new(payload);
    operations::take_version(&mut reader)?;
    let mut lines = Vec::new();
    while !reader.is_at_end() {
        let operation = Operation::take(&mut reader)?;
        let mut of_operation = reader.clone();
        // Nothing but this operation is in it.
        let mut image = Image::default();
        image.apply_one(operation, &mut reader)?;
        lines.push(match operation {
            Operation::Table => {
                image.tables.iter().map(|(name, table)| table_line(name, table)).collect::<Vec<_>>().join("; ")
            }
            Operation::View => {
                let view = |view: &super::View| format!("view {} is {}", names::quoted(&view.name), view.sql);
                image.views.values().map(view).collect::<Vec<_>>().join("; ")
            }
            Operation::Sequence => {
                let sequences = image.sequences.iter();
                let line = |(name, sequence): (&String, &super::sequence::SequenceImage)| {
                    format!("sequence {} (number {}) is at {}", names::quoted(name), sequence.number, sequence.last)
                };
                sequences.map(line).collect::<Vec<_>>().join("; ")
            }
            Operation::Ledger => format!("relation {} is the ledger of loads", of_operation.number()?),
            Operation::Schema => format!("there is the schema {}", names::quoted(&of_operation.text()?)),
            Operation::SchemaGone => format!("schema {} goes", names::quoted(&of_operation.text()?)),
            Operation::Comment => {
                let comment = |(on, text): (&Commented, &String)| format!("comment on {}: {text}", commented(on));
                let comments: Vec<String> = image.definitions.comments.iter().map(comment).collect();
                if comments.is_empty() { "a comment goes".to_owned() } else { comments.join("; ") }
            }
            Operation::Type => format!("there is the type {}", names::quoted(&of_operation.text()?)),
            Operation::TypeGone => format!("type {} goes", names::quoted(&of_operation.text()?)),
            Operation::Role => {
                let id = of_operation.number()?;
                let role = u32::try_from(id).ok().and_then(|id| image.definitions.roles.get(RoleId(id)));
                match role {
                    Some(role) => format!("role {id} is {}", names::quoted(&role.name)),
                    None => format!("role {id} goes"),
                }
            }
            Operation::Membership => {
                let (role, member) = (of_operation.number()?, of_operation.number()?);
                let verb = if of_operation.flag()? { "is" } else { "is not" };
                format!("role {member} {verb} a member of role {role}")
            }
            Operation::RoleSettings => match of_operation.optional(Reader::number)? {
                Some(role) => format!("sessions of role {role} begin with other settings"),
                None => "sessions begin with other settings".to_owned(),
            },
            Operation::DefaultPrivileges => {
                format!("what role {} makes grants other privileges", of_operation.number()?)
            }
            Operation::Access => {
                let on = super::image::take_commented(&mut of_operation)?;
                format!("{} has another owner or other privileges", commented(&on))
            }
            Operation::NameFree => format!("no table and no view is called {}", names::quoted(&of_operation.text()?)),
            Operation::SequenceGone => format!("sequence number {} goes", of_operation.number()?),
            Operation::SequenceState => {
                let (number, last) = (of_operation.number()?, of_operation.signed()?);
                format!("sequence number {number} has given out numbers up to {last}")
            }
            Operation::SequenceAltered => {
                let altered = super::sequence::SequenceImage::take(&mut of_operation)?;
                format!("sequence number {} is altered, and is at {}", altered.number, altered.last)
            }
        });
    }
    Ok(lines)
}

fn table_line(name: &str, table: &TableImage) -> String {
    let rules = &table.rules;
    let key = |key: &Key| {
        let role = match key.role {
            Role::Primary => "primary key",
            Role::Unique => "unique constraint",
            Role::UniqueIndex => "unique index",
            Role::Index => "index",
        };
        format!("{role} {} ({})", names::quoted(&key.name), kind_name(key.index))
    };
    let keys = rules.keys.iter().map(key);
    let checks = rules.checks.iter().map(|check| format!("check {}", names::quoted(&check.name)));
    let references = rules.references.iter();
    let references = references.map(|reference| {
        format!("foreign key {} to {}", names::quoted(&reference.name), names::quoted(&reference.table))
    });
    let rules: Vec<String> = keys.chain(checks).chain(references).collect();
    let with = if rules.is_empty() { String::new() } else { format!(" with {}", rules.join(", ")) };
    format!("table {} is relation {}{with}", names::quoted(name), table.relation)
}

fn commented(on: &Commented) -> String {
    let part = |kind: &str, of: &str, name: &str| format!("{kind} {} of {}", names::quoted(name), names::quoted(of));
    match on {
        Commented::Database => "the database".to_owned(),
        Commented::Schema(name) => format!("schema {}", names::quoted(name)),
        Commented::Relation(name) => names::quoted(name),
        Commented::Index(of, name) => part("index", of, name),
        Commented::Column(of, name) => part("column", of, name),
        Commented::Constraint(of, name) => part("constraint", of, name),
        Commented::Type(name) => format!("type {}", names::quoted(name)),
    }
}
