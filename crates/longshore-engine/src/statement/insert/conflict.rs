//! ON CONFLICT: what becomes of a row whose key is there already.

use std::collections::HashSet;

use arrow_array::RecordBatch;
use longshore_storage::RowId;
use sqlparser::ast::{Assignment, ConflictTarget, Expr, Ident, OnConflictAction, OnInsert};

use crate::datafusion::{ROW_COLUMN, TARGET, rows_with_numbers};
use crate::sql::{build, names};
use crate::statement::Context;
use crate::statement::change::{Search, Setting, Target};
use crate::{Error, ErrorKind};

/// The name of the rows that were proposed.
const EXCLUDED: &str = "excluded";

/// What to do about keys that are there already.
pub(super) struct OnConflict {
    /// The index of the key; `None` for any.
    index: Option<String>,
    pub(super) action: Action,
}

pub(super) enum Action {
    Nothing,
    Update(Box<Update>),
}

/// `DO UPDATE SET ... [WHERE ...]`
pub(super) struct Update {
    assignments: Vec<Assignment>,
    selection: Option<Expr>,
}

impl OnConflict {
    pub(super) fn new(target: &Target, on: Option<OnInsert>) -> Result<Option<Self>, Error> {
        let sqlparser::ast::OnConflict { conflict_target, action } = match on {
            None => return Ok(None),
            Some(OnInsert::OnConflict(on)) => on,
            Some(_) => {
                return Err(Error::unsupported("INSERT ... ON DUPLICATE KEY is not supported; write ON CONFLICT"));
            }
        };
        let index = match &conflict_target {
            None => None,
            Some(found) => Some(index_of(target, found)?),
        };
        let action = match action {
            OnConflictAction::DoNothing => Action::Nothing,
            OnConflictAction::DoUpdate(_) if index.is_none() => {
                return Err(Error::invalid(
                    "ON CONFLICT DO UPDATE needs the columns of the key, as in ON CONFLICT (id) DO UPDATE",
                ));
            }
            OnConflictAction::DoUpdate(update) => {
                Action::Update(Box::new(Update { assignments: update.assignments, selection: update.selection }))
            }
        };
        Ok(Some(Self { index, action }))
    }

    /// Whether it says what to do about the key of this index.
    pub(super) fn is_about(&self, index: &str) -> bool {
        self.index.as_deref().is_none_or(|about| about == index)
    }
}

/// The name of the unique index that a conflict target means.
fn index_of(target: &Target, conflict: &ConflictTarget) -> Result<String, Error> {
    let rules = target.table.rules();
    let mut unique = rules.keys.iter().filter(|key| key.role.is_unique());
    match conflict {
        ConflictTarget::OnConstraint(name) => {
            let name = names::relation(name)?;
            let found = unique.find(|key| key.name == name).map(|key| key.name.clone());
            found
                .ok_or_else(|| Error::no_object(format!("table {} has no unique constraint {name}", target.table.name)))
        }
        ConflictTarget::Columns(columns) => {
            let mut wanted = Vec::with_capacity(columns.len());
            for column in columns {
                wanted.push(target.column(&vec![column.clone()].into())?);
            }
            wanted.sort_unstable();
            let is_wanted = |columns: &[usize]| {
                let mut columns = columns.to_vec();
                columns.sort_unstable();
                columns == wanted
            };
            unique.find(|key| is_wanted(&key.columns)).map(|key| key.name.clone()).ok_or_else(|| {
                let shown: Vec<String> = columns.iter().map(ToString::to_string).collect();
                let message = format!(
                    "ON CONFLICT ({0}): table {1} has no PRIMARY KEY or UNIQUE of just these columns",
                    shown.join(", "),
                    target.table.name
                );
                Error::new(ErrorKind::ConflictTarget, message)
            })
        }
    }
}

impl Update {
    /// Changes the rows that were in the way of some of `rows`; says which ones were changed. `inserted` are those that the
    /// statement has inserted.
    pub(super) async fn run(
        self,
        context: &Context<'_>,
        target: &Target,
        rows: &RecordBatch,
        conflicts: &[(usize, RowId)],
        inserted: &[RowId],
    ) -> Result<Vec<RowId>, Error> {
        if conflicts.is_empty() {
            return Ok(Vec::new());
        }
        let inserted: HashSet<&RowId> = inserted.iter().collect();
        if let Some((row, _)) = conflicts.iter().find(|(_, existing)| inserted.contains(existing)) {
            return Err(second_time(*row));
        }
        // The conflicts are numbered: several of them may be about one row.
        let numbered = |(number, (row, _)): (usize, &(usize, RowId))| (*row, RowId(number as u64));
        let excluded: Vec<(usize, RowId)> = conflicts.iter().enumerate().map(numbered).collect();
        let excluded = rows_with_numbers(rows, &excluded)?;
        let in_the_way: Vec<RowId> = conflicts.iter().map(|(_, row)| *row).collect();
        let existing = target.rows_in_order(context, &in_the_way)?;
        let [row, excluded_row] = [&target.alias, &Ident::new(EXCLUDED)].map(|table| build::column(table, ROW_COLUMN));
        let same = build::equal(row, excluded_row);
        let selection = match self.selection {
            None => same,
            Some(condition) => build::all(vec![same, Expr::Nested(Box::new(condition))]),
        };
        let setting = Setting::new(context, target, self.assignments)?;
        let search = Search {
            from: vec![build::alone(build::table(EXCLUDED, None))],
            selection: Some(selection),
            named: vec![(TARGET.to_owned(), existing), (EXCLUDED.to_owned(), excluded)],
            ..Search::default()
        };
        let found = setting.find(context, target, search).await?;
        check_once(conflicts, &found.row_ids())?;
        let found = found.renumbered(|number| in_the_way[number.0 as usize])?;
        setting.update(context, target, &found).await
    }
}

/// Refuses to change a row for the sake of one conflict, and then to look at it for the sake of a later one. `taken` are
/// the numbers of those that change a row, in any order.
fn check_once(conflicts: &[(usize, RowId)], taken: &[RowId]) -> Result<(), Error> {
    let mut taken: Vec<usize> = taken.iter().map(|number| number.0 as usize).collect();
    taken.sort_unstable();
    let mut taken = taken.into_iter().peekable();
    let mut changed = HashSet::new();
    for (number, (row, existing)) in conflicts.iter().enumerate() {
        if changed.contains(existing) {
            return Err(second_time(*row));
        }
        if taken.next_if_eq(&number).is_some() {
            changed.insert(*existing);
        }
    }
    Ok(())
}

fn second_time(row: usize) -> Error {
    Error::new(
        ErrorKind::Cardinality,
        format!(
            "ON CONFLICT DO UPDATE command cannot affect row a second time: row {} of those to insert has the key of an \
             earlier one; leave one of them out",
            row + 1
        ),
    )
}
