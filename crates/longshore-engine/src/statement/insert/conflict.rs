//! ON CONFLICT: what becomes of a row whose key is there already.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::RecordBatch;
use longshore_storage::RowId;
use sqlparser::ast::{
    Assignment, ConflictTarget, Expr, Ident, Insert, ObjectName, OnConflictAction, OnInsert, VisitorMut,
};

use crate::catalog::{Key, Rules};
use crate::datafusion::{ROW_COLUMN, TARGET, TableExpr, rows_with_numbers};
use crate::sql::conflict_target::{self, InferredIndex};
use crate::sql::visit::VisitMut;
use crate::sql::{build, names};
use crate::statement::Context;
use crate::statement::change::{Search, Setting, Target};
use crate::{Error, ErrorKind};

/// The name of the rows that were proposed.
const EXCLUDED: &str = "excluded";

/// What to do about keys that are there already.
pub(super) struct OnConflict {
    /// The indexes of the keys; `None` for any.
    indexes: Option<Vec<String>>,
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
    /// Takes it out of an INSERT.
    pub(super) fn take(context: &Context<'_>, target: &Target, insert: &mut Insert) -> Result<Option<Self>, Error> {
        let inferred = conflict_target::take(insert);
        let sqlparser::ast::OnConflict { conflict_target, action } = match insert.on.take() {
            None => return Ok(None),
            Some(OnInsert::OnConflict(on)) => on,
            Some(_) => {
                return Err(Error::unsupported("INSERT ... ON DUPLICATE KEY is not supported; write ON CONFLICT"));
            }
        };
        let indexes = match conflict_target {
            None => None,
            Some(ConflictTarget::OnConstraint(name)) => Some(vec![constraint(target, &name)?]),
            Some(ConflictTarget::Columns(columns)) => {
                let of_columns =
                    || InferredIndex { parts: columns.into_iter().map(Expr::Identifier).collect(), predicate: None };
                Some(Inference::new(context, target, inferred.unwrap_or_else(of_columns))?.indexes()?)
            }
        };
        let action = match action {
            OnConflictAction::DoNothing => Action::Nothing,
            OnConflictAction::DoUpdate(_) if indexes.is_none() => {
                return Err(Error::invalid(
                    "ON CONFLICT DO UPDATE needs the columns of the key, as in ON CONFLICT (id) DO UPDATE",
                ));
            }
            OnConflictAction::DoUpdate(update) => {
                Action::Update(Box::new(Update { assignments: update.assignments, selection: update.selection }))
            }
        };
        Ok(Some(Self { indexes, action }))
    }

    /// Whether it says what to do about the key of this index.
    pub(super) fn is_about(&self, index: &str) -> bool {
        self.indexes.as_ref().is_none_or(|about| about.iter().any(|name| name == index))
    }
}

/// The name of the unique index that ON CONSTRAINT means.
fn constraint(target: &Target, name: &ObjectName) -> Result<String, Error> {
    let name = names::relation(name)?;
    let rules = target.table.rules();
    let found = rules.keys.iter().find(|key| key.role.is_unique() && key.name == name).map(|key| key.name.clone());
    found.ok_or_else(|| Error::no_object(format!("table {} has no unique constraint {name}", target.table.name)))
}

/// Which unique indexes ON CONFLICT means by what they are about, as PostgreSQL infers them: those of just these columns and
/// expressions, about all rows or about those for which the condition tells that they are among them.
struct Inference<'a> {
    context: &'a Context<'a>,
    target: &'a Target,
    rules: Arc<Rules>,
    /// Ascending.
    columns: Vec<usize>,
    expressions: Vec<TableExpr>,
    predicate: Option<TableExpr>,
    /// As the statement has it.
    shown: String,
}

impl<'a> Inference<'a> {
    fn new(context: &'a Context<'_>, target: &'a Target, inferred: InferredIndex) -> Result<Self, Error> {
        let shown: Vec<String> = inferred.parts.iter().map(ToString::to_string).collect();
        let rules = target.table.rules();
        let mut inference = Self {
            context,
            target,
            rules,
            columns: Vec::new(),
            expressions: Vec::new(),
            predicate: None,
            shown: shown.join(", "),
        };
        for mut part in inferred.parts {
            while let Expr::Nested(inner) = part {
                part = *inner;
            }
            match part {
                Expr::Identifier(name) => inference.columns.push(target.column(&vec![name].into())?),
                other => {
                    let planned = inference.planned(&over_table(target, other)?)?;
                    inference.expressions.push(planned);
                }
            }
        }
        inference.columns.sort_unstable();
        inference.columns.dedup();
        if let Some(predicate) = inferred.predicate {
            inference.predicate = Some(inference.planned(&over_table(target, predicate)?)?);
        }
        Ok(inference)
    }

    fn planned(&self, expr: &Expr) -> Result<TableExpr, Error> {
        let queries = &self.context.database.queries;
        queries.table_expr(&self.target.table, &self.rules, expr, &self.context.execution())
    }

    /// The names of the indexes; there is one at least.
    fn indexes(&self) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        for key in self.rules.keys.iter().filter(|key| key.role.is_unique()) {
            if self.means(key)? {
                found.push(key.name.clone());
            }
        }
        if !found.is_empty() {
            return Ok(found);
        }
        let message = if self.expressions.is_empty() && self.predicate.is_none() {
            format!(
                "ON CONFLICT ({}): table {} has no PRIMARY KEY or UNIQUE of just these columns",
                self.shown, self.target.table.name
            )
        } else {
            "there is no unique or exclusion constraint matching the ON CONFLICT specification".to_owned()
        };
        Err(Error::new(ErrorKind::ConflictTarget, message))
    }

    fn means(&self, key: &Key) -> Result<bool, Error> {
        let Some(definition) = &key.definition else {
            return Ok(self.expressions.is_empty() && self.is_of(key.columns.clone()));
        };
        let (mut columns, mut others) = (Vec::new(), Vec::new());
        for part in &definition.parts {
            match part {
                Expr::Identifier(name) => columns.push(self.target.table_column(&names::identifier(name)?)?),
                other => others.push(other),
            }
        }
        if others.is_empty() != self.expressions.is_empty() || !self.is_of(columns) {
            return Ok(false);
        }
        let others = others.into_iter().map(|expr| self.planned(expr)).collect::<Result<Vec<_>, Error>>()?;
        let are_same = others.iter().all(|expr| self.expressions.contains(expr))
            && self.expressions.iter().all(|expr| others.contains(expr));
        match (&definition.predicate, &self.predicate) {
            _ if !are_same => Ok(false),
            (None, _) => Ok(true),
            (Some(_), None) => Ok(false),
            (Some(predicate), Some(given)) => Ok(given.implies(&self.planned(predicate)?)),
        }
    }

    /// Whether these are the columns.
    fn is_of(&self, mut columns: Vec<usize>) -> bool {
        columns.sort_unstable();
        columns == self.columns
    }
}

/// An expression of ON CONFLICT over the columns of the table itself, by their names alone.
fn over_table(target: &Target, mut expr: Expr) -> Result<Expr, Error> {
    struct Columns<'a>(&'a Target);
    impl VisitorMut for Columns<'_> {
        type Break = Error;

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
            let name = match expr {
                Expr::Identifier(name) => name.clone(),
                Expr::CompoundIdentifier(parts) if parts.len() == 2 => parts.swap_remove(1),
                _ => return ControlFlow::Continue(()),
            };
            match self.0.column(&vec![name].into()) {
                Ok(at) => {
                    let columns = self.0.table.relation.schema().columns();
                    *expr = Expr::Identifier(build::quoted(&columns[at].name));
                    ControlFlow::Continue(())
                }
                Err(error) => ControlFlow::Break(error),
            }
        }
    }
    match expr.visit(&mut Columns(target)) {
        ControlFlow::Continue(()) => Ok(expr),
        ControlFlow::Break(error) => Err(error),
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
