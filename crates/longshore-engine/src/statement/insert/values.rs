//! What an INSERT gives, and what it leaves to the table: DEFAULT, columns without a value, identity columns.
//!
//! Columns that the statement does not name are filled where its rows are planned (`datafusion::table`); what stands in
//! VALUES is put in place here, in the tree of the statement.

use std::ops::ControlFlow;

use longshore_storage::ColumnType;
use sqlparser::ast::{
    Expr, Ident, Insert, ObjectName, ObjectNamePart, Query, SelectItem, SetExpr, Value, VisitorMut,
    WildcardAdditionalOptions,
};

use crate::catalog::{Origin, Rules};
use crate::sql::assigned::{assigned, is_number};
use crate::sql::build;
use crate::sql::overriding::{self, Overriding};
use crate::sql::visit::VisitMut;
use crate::statement::change::{Target, is_default};
use crate::{Error, ErrorKind};

/// Digits of a decimal of Arrow.
const DIGITS_MAX: usize = 38;

/// Makes an INSERT one without DEFAULT and OVERRIDING, whose source is a query.
pub(super) fn complete(insert: &mut Insert, target: &Target) -> Result<(), Error> {
    let overriding = overriding::of(insert);
    if let Some(source) = insert.source.as_deref_mut() {
        // Never broken off.
        let _ = source.visit(&mut ValuesWithin { depth: 0 });
    }
    insert.settings = None;
    let columns = target.table.relation.schema().columns();
    let rules = target.table.rules();
    if insert.source.is_none() {
        insert.source = Some(default_values(columns.len()));
    }
    let mut targets =
        if insert.columns.is_empty() { (0..columns.len()).collect() } else { target.named_columns(&insert.columns)? };
    let Some(rows) = insert.source.as_deref_mut().and_then(values) else {
        return refuse_identity(target, &rules, &targets, overriding);
    };
    let given = rows.first().map_or(0, |row| row.content.len());
    if rows.iter().any(|row| row.content.len() != given) {
        return Err(Error::syntax("VALUES lists must all be the same length"));
    }
    if given > targets.len() {
        return Err(Error::syntax("INSERT has more expressions than target columns"));
    }
    if given < targets.len() && !insert.columns.is_empty() {
        return Err(Error::syntax("INSERT has more target columns than expressions"));
    }
    if insert.columns.is_empty() && given < targets.len() {
        // As in PostgreSQL: the first columns take the values, the others their defaults.
        targets.truncate(given);
        let named = columns[..given].iter().map(|column| Ident::with_quote('"', &column.name));
        insert.columns = named.map(|name| ObjectName(vec![ObjectNamePart::Identifier(name)])).collect();
    }
    for row in rows {
        for (value, column) in row.content.iter_mut().zip(&targets) {
            let (described, origin) = (&columns[*column], rules.origin(*column));
            let is_identity = matches!(origin, Origin::Identity { .. });
            if is_default(value) || (is_identity && overriding == Some(Overriding::User)) {
                *value = origin.value(described.column_type);
            } else if matches!(origin, Origin::Generated(_)) {
                return Err(given_for_generated(&described.name));
            } else if origin.is_always() && overriding.is_none() {
                return Err(given_for_identity(&described.name));
            }
            // Arrow makes no values of a type that it has not, and no others of them.
            let to = described.column_type;
            let is_rounded = matches!(to, ColumnType::Rounded(..));
            let is_cast = is_rounded || is_number_text_or_time(to) && is_computed(value);
            let given = assigned(std::mem::replace(value, build::number(0)), described);
            *value = if is_cast || to.unwrapped().is_some() { build::cast(given, to) } else { given };
        }
    }
    Ok(())
}

fn is_number_text_or_time(column_type: ColumnType) -> bool {
    use ColumnType::{Char, Text, Time, Varchar};
    is_number(column_type) || matches!(column_type, Char(_) | Varchar(_) | Text | Time)
}

/// Whether a value is something else than a literal of a type that Arrow has, which may have a sign.
fn is_computed(value: &Expr) -> bool {
    match value {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => is_long(number),
            // It may have a type of its own.
            Value::Placeholder(_) => true,
            _ => false,
        },
        Expr::UnaryOp { expr, .. } => is_computed(expr),
        _ => true,
    }
}

/// Whether a number may have more digits than a decimal of Arrow, so that it is a NUMERIC.
fn is_long(number: &str) -> bool {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent = exponent.parse::<i32>().map_or(usize::MAX, |exponent| exponent.unsigned_abs() as usize);
    exponent.saturating_add(mantissa.len()) > DIGITS_MAX
}

/// Puts VALUES that stand within the source, in WITH or beside other queries, behind FROM, where they are planned as rows
/// of as many values as they have (`datafusion::values`).
struct ValuesWithin {
    /// Queries around.
    depth: usize,
}

impl VisitorMut for ValuesWithin {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        if self.depth > 0 || query.with.is_some() || !matches!(*query.body, SetExpr::Values(_)) {
            behind_from(&mut query.body);
        }
        ControlFlow::Continue(())
    }
}

fn behind_from(body: &mut Box<SetExpr>) {
    match body.as_mut() {
        SetExpr::SetOperation { left, right, .. } => {
            behind_from(left);
            behind_from(right);
        }
        SetExpr::Values(_) => {
            let everything = SelectItem::Wildcard(WildcardAdditionalOptions::default());
            let rows = std::mem::replace(
                body.as_mut(),
                SetExpr::Select(Box::new(build::select(vec![everything], Vec::new()))),
            );
            if let SetExpr::Select(select) = body.as_mut() {
                select.from.push(build::alone(build::derived(build::query(rows), &Ident::new("v"))));
            }
        }
        _ => {}
    }
}

/// The rows of values that a query consists of.
fn values(query: &mut Query) -> Option<&mut Vec<sqlparser::ast::Parens<Vec<Expr>>>> {
    match query.body.as_mut() {
        SetExpr::Values(values) if query.with.is_none() => Some(&mut values.rows),
        _ => None,
    }
}

/// Refuses what a query gives for identity columns where it is not to be taken.
fn refuse_identity(
    target: &Target,
    rules: &Rules,
    targets: &[usize],
    overriding: Option<Overriding>,
) -> Result<(), Error> {
    let columns = target.table.relation.schema().columns();
    for column in targets {
        let name = &columns[*column].name;
        match (rules.origin(*column), overriding) {
            (Origin::Generated(_), _) => return Err(given_for_generated(name)),
            (Origin::Identity { always: true, .. }, None) => return Err(given_for_identity(name)),
            (Origin::Identity { .. }, Some(Overriding::User)) => {
                return Err(Error::unsupported(format!(
                    "OVERRIDING USER VALUE takes the rows of VALUES, not those of a query; leave column {name} out"
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

pub(in crate::statement) fn given_for_generated(column: &str) -> Error {
    Error::new(
        ErrorKind::Generated,
        format!("cannot insert a non-DEFAULT value into column \"{column}\": it is a generated column"),
    )
}

pub(in crate::statement) fn given_for_identity(column: &str) -> Error {
    Error::new(
        ErrorKind::Generated,
        format!(
            "cannot insert a non-DEFAULT value into column \"{column}\": it is GENERATED ALWAYS AS IDENTITY; use \
             OVERRIDING SYSTEM VALUE to override"
        ),
    )
}

/// The query of a row whose columns all have their default.
fn default_values(columns: usize) -> Box<Query> {
    Box::new(build::one_row(vec![Expr::Identifier(Ident::new("DEFAULT")); columns]))
}
