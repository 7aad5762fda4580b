//! ON CONFLICT: what becomes of a row whose key is there already.

use std::collections::HashSet;

use arrow_array::RecordBatch;
use longshore_storage::RowId;
use sqlparser::ast::{self, Assignment, ConflictTarget, Expr, OnConflictAction, OnInsert};

use crate::Error;
use crate::datafusion::{ROW_COLUMN, TARGET, rows_with_numbers};
use crate::sql::names;
use crate::statement::Context;
use crate::statement::change::{Search, Target, expression, from_item, set_columns};

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
        let ast::OnConflict { conflict_target, action } = match on {
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
                .ok_or_else(|| Error::not_found(format!("table {} has no unique constraint {name}", target.table.name)))
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
                Error::invalid(format!(
                    "ON CONFLICT ({0}): table {1} has no PRIMARY KEY or UNIQUE of just these columns",
                    shown.join(", "),
                    target.table.name
                ))
            })
        }
    }
}

impl Update {
    /// Changes the rows that were in the way of some of `rows`; says which ones were changed.
    pub(super) async fn run(
        self,
        context: &Context<'_>,
        target: &Target,
        rows: &RecordBatch,
        conflicts: &[(usize, RowId)],
    ) -> Result<Vec<RowId>, Error> {
        if conflicts.is_empty() {
            return Ok(Vec::new());
        }
        let mut seen = HashSet::with_capacity(conflicts.len());
        if let Some((row, _)) = conflicts.iter().find(|(_, existing)| !seen.insert(*existing)) {
            return Err(Error::invalid(format!(
                "ON CONFLICT DO UPDATE would change a row twice: row {} of those to insert has the key of an earlier one; \
                 leave one of them out",
                row + 1
            )));
        }
        let excluded = rows_with_numbers(rows, conflicts)?;
        let existing: Vec<RowId> = conflicts.iter().map(|(_, row)| *row).collect();
        let existing = target.rows(context, &existing)?;
        let row_column = names::quoted(ROW_COLUMN);
        let same = expression(&format!("{}.{row_column} = {EXCLUDED}.{row_column}", target.alias))?;
        let selection = match self.selection {
            None => same,
            Some(condition) => Expr::BinaryOp {
                left: Box::new(same),
                op: ast::BinaryOperator::And,
                right: Box::new(Expr::Nested(Box::new(condition))),
            },
        };
        let search = Search {
            from: vec![from_item(EXCLUDED)?],
            selection: Some(selection),
            named: vec![(TARGET.to_owned(), existing), (EXCLUDED.to_owned(), excluded)],
            ..Search::default()
        };
        Ok(set_columns(context, target, self.assignments, search).await?.0)
    }
}
