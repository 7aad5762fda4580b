//! The WHEN clauses of a MERGE: what they take, and what they do to it.

use std::collections::HashSet;

use sqlparser::ast::{
    CaseWhen, Expr, Ident, MergeAction, MergeClause, MergeClauseKind, MergeInsertExpr, MergeInsertKind, Value,
};

use crate::Error;
use crate::catalog::Origin;
use crate::sql::build;
use crate::sql::overriding::{self, Overriding};
use crate::statement::change::{Target, assignments, is_default};
use crate::statement::insert::values::given_for_identity;

/// A WHEN clause.
pub(super) struct Clause {
    kind: MergeClauseKind,
    condition: Option<Expr>,
    pub(super) action: Action,
}

/// What a clause does to a row.
pub(super) enum Action {
    Nothing,
    Delete,
    Update {
        columns: Vec<usize>,
        values: Vec<Expr>,
    },
    /// A value for each column of the table.
    Insert {
        values: Vec<Expr>,
    },
}

impl Clause {
    /// Whether it takes only what has a row in the table.
    pub(super) fn needs_row(&self) -> bool {
        matches!(self.kind, MergeClauseKind::Matched | MergeClauseKind::NotMatchedBySource)
    }

    /// Whether it takes only what has a row in the source.
    pub(super) fn needs_source(&self) -> bool {
        self.kind != MergeClauseKind::NotMatchedBySource
    }

    fn is_like(&self, other: &Self) -> bool {
        (self.needs_row(), self.needs_source()) == (other.needs_row(), other.needs_source())
    }
}

/// The clauses of a MERGE into `target`.
pub(super) fn checked(target: &Target, clauses: Vec<MergeClause>) -> Result<Vec<Clause>, Error> {
    let mut checked: Vec<Clause> = Vec::with_capacity(clauses.len());
    for MergeClause { clause_kind: kind, predicate: condition, action, .. } in clauses {
        let action = match action {
            MergeAction::Delete { .. } => Action::Delete,
            MergeAction::Update(update) if update.assignments.is_empty() => Action::Nothing,
            MergeAction::Update(update) => {
                let (columns, values) = assignments(target, update.assignments)?.into_iter().unzip();
                Action::Update { columns, values }
            }
            MergeAction::Insert(insert) => Action::Insert { values: inserted(target, insert)? },
        };
        let clause = Clause { kind, condition, action };
        if checked.iter().any(|before| before.condition.is_none() && before.is_like(&clause)) {
            return Err(Error::syntax(
                "unreachable WHEN clause specified after unconditional WHEN clause; put the unconditional one last",
            ));
        }
        checked.push(clause);
    }
    Ok(checked)
}

/// The value of each column of a row to insert.
fn inserted(target: &Target, insert: MergeInsertExpr) -> Result<Vec<Expr>, Error> {
    let described = target.table.relation.schema().columns();
    let default = || Expr::Identifier(Ident::new("DEFAULT"));
    let mut values: Vec<Expr> = described.iter().map(|_| default()).collect();
    let overriding = overriding::in_merge(&insert);
    let rules = target.table.rules();
    let MergeInsertKind::Values(given) = insert.kind else { return Ok(values) };
    let given = given.rows.into_iter().next().map(|row| row.content).unwrap_or_default();
    let columns = match insert.columns.as_slice() {
        [] => (0..described.len().min(given.len())).collect(),
        names => names.iter().map(|name| target.column(name)).collect::<Result<Vec<_>, _>>()?,
    };
    let mut seen = HashSet::with_capacity(columns.len());
    if let Some(twice) = columns.iter().find(|column| !seen.insert(**column)) {
        let name = &described[*twice].name;
        return Err(Error::invalid(format!("column {name} is named twice; keep one of the values")));
    }
    if columns.len() != given.len() {
        let more = if given.len() > columns.len() {
            "expressions than target columns"
        } else {
            "target columns than expressions"
        };
        return Err(Error::syntax(format!(
            "INSERT has more {more}: {} values for {} columns",
            given.len(),
            columns.len()
        )));
    }
    for (column, value) in columns.into_iter().zip(given) {
        let origin = rules.origin(column);
        let is_identity = matches!(origin, Origin::Identity { .. });
        if origin.is_always() && overriding.is_none() && !is_default(&value) {
            return Err(given_for_identity(&described[column].name));
        }
        if !(is_identity && overriding == Some(Overriding::User)) {
            values[column] = value;
        }
    }
    Ok(values)
}

/// The number of the first clause that takes a pair, where `row` and `source` say whether it has a row of the table and
/// one of the source.
pub(super) fn choice(clauses: &[Clause], row: &Expr, source: &Expr) -> Result<Expr, Error> {
    let mut conditions = Vec::with_capacity(clauses.len());
    for (number, clause) in clauses.iter().enumerate() {
        let row = if clause.needs_row() { row.clone() } else { not(row)? };
        let source = if clause.needs_source() { source.clone() } else { not(source)? };
        let mut condition = build::all(vec![row, source]);
        if let Some(asked) = &clause.condition {
            // Not to be computed for pairs that the clause is not about.
            let asked = CaseWhen { condition, result: Expr::Nested(Box::new(asked.clone())) };
            condition = build::case(vec![asked], Some(build::value(Value::Boolean(false))));
        }
        conditions.push(CaseWhen { condition, result: build::number(number) });
    }
    Ok(build::case(conditions, None))
}

fn not(expr: &Expr) -> Result<Expr, Error> {
    match expr {
        Expr::IsNotNull(inner) => Ok(Expr::IsNull(inner.clone())),
        other => Err(Error::internal(format!("IS NOT NULL expected, found {other}"))),
    }
}
