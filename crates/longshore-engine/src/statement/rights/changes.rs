//! What INSERT, UPDATE, DELETE and MERGE need: the privilege to change, and SELECT on what they read of the table.

use sqlparser::ast::{
    Assignment, AssignmentTarget, ConflictTarget, Delete, FromTable, Ident, Insert, Merge, MergeAction,
    MergeInsertKind, ObjectName, ObjectNamePart, OnConflictAction, OnInsert, OutputClause, SetExpr, TableFactor,
    TableObject, Update, UpdateTableFromKind,
};

use super::Rights;
use super::uses::Uses;
use crate::Error;
use crate::catalog::{Entry, Privileges};
use crate::sql::{conflict_target, names};

/// The last part of a name.
fn last(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(ObjectNamePart::as_ident).and_then(|name| names::identifier(name).ok())
}

/// The columns that assignments change.
fn assigned(assignments: &[Assignment]) -> Vec<String> {
    let targets = assignments.iter().flat_map(|assignment| match &assignment.target {
        AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
        AssignmentTarget::Tuple(names) => names.as_slice(),
    });
    // Of a name with several parts the first may be the column: `c.field`, `c[1]`.
    targets
        .filter_map(|name| name.0.first().and_then(ObjectNamePart::as_ident))
        .filter_map(|name| names::identifier(name).ok())
        .collect()
}

impl Rights<'_> {
    /// Whether a table, or the one behind a view, may be changed in these columns.
    pub(super) fn write(self, name: &str, wanted: Privileges, columns: Option<&[String]>) -> Result<(), Error> {
        if self.catalog.class_of(name).is_none() {
            return Ok(());
        }
        self.look_into(name)?;
        let may = if Privileges::OF_COLUMN.has(wanted) {
            self.may_on_columns(name, wanted, columns)
        } else {
            self.may(name, wanted)
        };
        if !may {
            return Err(self.denied_on(name));
        }
        match self.catalog.get(name) {
            Some(Entry::View(view)) => self.through_view(&view, |owner| {
                view.reads.iter().try_for_each(|read| owner.write(read, wanted, Some(&[])))
            }),
            _ => Ok(()),
        }
    }

    /// Whether what a change reads of its table may be read.
    fn read_target(self, name: &str, uses: &Uses) -> Result<(), Error> {
        let reads_none = uses.columns_of(self.catalog, name).is_some_and(|columns| columns.is_empty());
        if reads_none || self.catalog.class_of(name).is_none() { Ok(()) } else { self.read(name, uses) }
    }

    pub(super) fn insert(self, insert: &Insert, defined: &[String]) -> Result<(), Error> {
        if let Some(source) = &insert.source {
            self.query(source, defined)?;
        }
        let TableObject::TableName(name) = &insert.table else { return Ok(()) };
        let name = names::relation(name)?;
        let is_of_defaults = insert.source.is_none() && insert.assignments.is_empty();
        let columns: Vec<String> = insert.columns.iter().filter_map(last).collect();
        let columns = match (columns.is_empty(), is_of_defaults) {
            (false, _) => Some(columns),
            (true, true) => Some(Vec::new()),
            (true, false) => self.given(&name, insert),
        };
        self.write(&name, Privileges::INSERT, columns.as_deref())?;
        let mut uses = Uses::within(defined);
        match &insert.table_alias {
            Some(alias) => uses.add_target_as(&name, &alias.alias),
            None => uses.add_target(&name, None),
        }
        // What was to be inserted is read as the table itself.
        uses.add_target_as(&name, &Ident::new("excluded"));
        if let Some(OnInsert::OnConflict(conflict)) = &insert.on {
            if let Some(ConflictTarget::Columns(columns)) = &conflict.conflict_target {
                columns.iter().filter_map(|column| names::identifier(column).ok()).for_each(|column| {
                    uses.add_column(&column);
                });
            }
            conflict_target::expressions(insert).for_each(|expr| uses.look_at(expr));
            if let OnConflictAction::DoUpdate(update) = &conflict.action {
                self.write(&name, Privileges::UPDATE, Some(&assigned(&update.assignments)))?;
                uses.look_at(&update.assignments);
                uses.look_at(&update.selection);
            }
        }
        uses.look_at_items(insert.returning.as_deref().unwrap_or_default());
        self.reads(&uses)?;
        self.read_target(&name, &uses)
    }

    /// The columns that rows of VALUES give values to; `None` for all.
    fn given(self, name: &str, insert: &Insert) -> Option<Vec<String>> {
        let SetExpr::Values(values) = insert.source.as_ref()?.body.as_ref() else { return None };
        let count = values.rows.first().map(|row| row.content.len())?;
        let all = super::uses::all_columns(self.catalog, name)?;
        Some(all.into_iter().take(count).collect())
    }

    pub(super) fn update(self, update: &Update, defined: &[String]) -> Result<(), Error> {
        let TableFactor::Table { name, alias, .. } = &update.table.relation else { return Ok(()) };
        let name = names::relation(name)?;
        self.write(&name, Privileges::UPDATE, Some(&assigned(&update.assignments)))?;
        let mut uses = Uses::within(defined);
        uses.add_target(&name, alias.as_ref());
        if let Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) = &update.from {
            uses.look_at(from);
        }
        uses.look_at(&update.assignments);
        uses.look_at(&update.selection);
        uses.look_at_items(update.returning.as_deref().unwrap_or_default());
        self.reads(&uses)?;
        self.read_target(&name, &uses)
    }

    pub(super) fn delete(self, delete: &Delete, defined: &[String]) -> Result<(), Error> {
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let Some(TableFactor::Table { name, alias, .. }) = from.first().map(|from| &from.relation) else {
            return Ok(());
        };
        let name = names::relation(name)?;
        self.write(&name, Privileges::DELETE, None)?;
        let mut uses = Uses::within(defined);
        uses.add_target(&name, alias.as_ref());
        uses.look_at(&delete.using);
        uses.look_at(&delete.selection);
        uses.look_at_items(delete.returning.as_deref().unwrap_or_default());
        self.reads(&uses)?;
        self.read_target(&name, &uses)
    }

    pub(super) fn merge(self, merge: &Merge, defined: &[String]) -> Result<(), Error> {
        let TableFactor::Table { name, alias, .. } = &merge.table else { return Ok(()) };
        let name = names::relation(name)?;
        let mut uses = Uses::within(defined);
        uses.add_target(&name, alias.as_ref());
        uses.look_at(&merge.source);
        uses.look_at(merge.on.as_ref());
        for clause in &merge.clauses {
            uses.look_at(&clause.predicate);
            match &clause.action {
                MergeAction::Insert(insert) => {
                    let columns: Vec<String> = insert.columns.iter().filter_map(last).collect();
                    let columns = (!columns.is_empty()).then_some(columns.as_slice());
                    self.write(&name, Privileges::INSERT, columns)?;
                    if let MergeInsertKind::Values(values) = &insert.kind {
                        uses.look_at(values);
                    }
                }
                MergeAction::Update(update) => {
                    self.write(&name, Privileges::UPDATE, Some(&assigned(&update.assignments)))?;
                    uses.look_at(&update.assignments);
                }
                MergeAction::Delete { .. } => self.write(&name, Privileges::DELETE, None)?,
            }
        }
        if let Some(OutputClause::Output { select_items, .. } | OutputClause::Returning { select_items, .. }) =
            &merge.output
        {
            uses.look_at_items(select_items);
        }
        self.reads(&uses)?;
        self.read_target(&name, &uses)
    }
}
