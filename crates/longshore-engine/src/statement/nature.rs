//! What statements do to transaction blocks.

use sqlparser::ast::{ObjectType, Statement};

use crate::catalog::Catalog;
use crate::sql::domain::DomainVerb;
use crate::sql::objects::{AlterObject, ObjectChange, ObjectStatement, Upkeep};
use crate::sql::sequence::{SequenceStatement, Verb};
use crate::sql::{self, Parsed};
use crate::statement::with_changes;
use crate::transaction::Nature;

/// What a statement does to a transaction block.
pub(super) fn nature(parsed: &Parsed, catalog: &Catalog) -> Nature {
    match parsed {
        Parsed::Empty
        | Parsed::SetConstraints(_)
        | Parsed::Notification(_)
        | Parsed::CopyTo(_)
        | Parsed::Checkpoint
        | Parsed::Identity(_)
        | Parsed::Cursor(_)
        | Parsed::Summarize(_)
        | Parsed::Pivot(_) => Nature::Reads,
        Parsed::CopyFrom(copy)
            if catalog.get(&copy.table).is_none() && copy.options.iter().any(|option| option.name == "AUTO") =>
        {
            Nature::NonTransactionalDdl("COPY with AUTO into a table that does not exist")
        }
        Parsed::CopyFrom(_) => Nature::Writes,
        Parsed::CreateFrom(_) => Nature::NonTransactionalDdl("CREATE TABLE"),
        Parsed::Export(_) => Nature::Export("EXPORT DATABASE"),
        Parsed::Backup(_) => Nature::Export("BACKUP DATABASE"),
        Parsed::Import(_) => Nature::NonTransactionalDdl("IMPORT DATABASE"),
        Parsed::Role(_) | Parsed::Privilege(_) => Nature::Ddl,
        Parsed::SchemaElements(_) | Parsed::Sequence(SequenceStatement { verb: Verb::Create { .. }, .. }) => {
            Nature::Ddl
        }
        Parsed::AlterTable(alter) if alter.changes_owner_only() => Nature::Ddl,
        Parsed::Sequence(_) | Parsed::AlterTable(_) => Nature::Alters,
        Parsed::Domain(statement) => match statement.verb {
            DomainVerb::Create { .. } => Nature::Ddl,
            _ => Nature::Alters,
        },
        Parsed::Object(statement) => match statement.as_ref() {
            ObjectStatement::Comment(_)
            | ObjectStatement::Alter(AlterObject { change: ObjectChange::Owner(_), .. }) => Nature::Ddl,
            ObjectStatement::Alter(_) => Nature::Alters,
            ObjectStatement::Upkeep(Upkeep { is_vacuum: true, .. }) => Nature::NonTransactionalDdl("VACUUM"),
            ObjectStatement::Upkeep(_) => Nature::Reads,
        },
        Parsed::Sql(statement) => match statement.as_ref() {
            Statement::Drop { object_type: ObjectType::Index, .. }
            | Statement::AlterIndex { .. }
            | Statement::AlterType(_) => Nature::Alters,
            Statement::CreateTable(_)
            | Statement::CreateView(_)
            | Statement::CreateIndex(_)
            | Statement::CreateType { .. }
            | Statement::CreateSchema { .. }
            | Statement::DropDomain(_)
            | Statement::Drop { .. } => Nature::Ddl,
            Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_)
            | Statement::Truncate(_) => Nature::Writes,
            Statement::Query(query) if sql::is_change(query) || with_changes::has_changes(query) => Nature::Writes,
            Statement::Lock(_) => Nature::Locks,
            // Who locks rows is going to change them.
            Statement::Query(_) if sql::row_locks::are_in(statement) => Nature::Writes,
            _ => Nature::Reads,
        },
    }
}
