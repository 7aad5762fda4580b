//! RETURNING: expressions over the rows that a statement inserted, changed or deleted, and over those of other tables
//! that it found them by.
//!
//! Each of these tables becomes one of rows that are there already, numbered in the order in which the statement found
//! them, under the name that the statement gives it; they are joined by these numbers, which no `*` shows. The values are
//! part of the statement: if one of them cannot be computed, nothing is changed.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::{Field, Schema};
use sqlparser::ast::{
    ExcludeSelectItem, Expr, Function, FunctionArguments, Ident, ObjectNamePart, Query, SelectItem,
    SelectItemQualifiedWildcardKind, Statement, Visitor, VisitorMut, WildcardAdditionalOptions,
};

use crate::datafusion::{NamedInputs, TARGET};
use crate::sql::visit::{Visit, VisitMut};
use crate::sql::{build, headings, names};
use crate::statement::Context;
use crate::statement::updatable::ViewPath;
use crate::{Error, Outcome};

/// The function that says what MERGE did to a row.
const MERGE_ACTION: &str = "merge_action";
/// The column of the table's rows that holds it.
const ACTION_COLUMN: &str = "action (hidden)";

/// The rows that RETURNING is about.
pub(crate) struct Returned {
    /// What the statement calls the table that it changed.
    pub(crate) alias: Ident,
    /// Its rows.
    pub(crate) images: RecordBatch,
    /// What was done to each, if that can be asked for.
    pub(crate) actions: Option<ArrayRef>,
    /// The rows of other tables, as many and in the same order, under the names that the statement gives them.
    pub(crate) others: Vec<(Ident, RecordBatch)>,
    /// Whether `*` begins with the columns of the others.
    pub(crate) others_first: bool,
}

impl Returned {
    /// Rows of one table only.
    pub(crate) fn of(alias: &Ident, images: RecordBatch) -> Self {
        Self { alias: alias.clone(), images, actions: None, others: Vec::new(), others_first: false }
    }
}

/// The values of `items` over the rows `returned` of a command, as `view` shows them.
pub(crate) async fn returning(
    context: &Context<'_>,
    command: &'static str,
    items: Vec<SelectItem>,
    returned: Returned,
    view: Option<&ViewPath>,
) -> Result<Outcome, Error> {
    let Returned { alias, images, actions, others, others_first } = returned;
    let known: Vec<&Ident> = others.iter().map(|(name, _)| name).chain([&alias]).collect();
    refuse_old_and_new(&items, &known)?;
    let mut select = build::select(Vec::new(), vec![build::alone(build::table(TARGET, Some(&alias)))]);
    let mut order_by = None;
    let mut rows_known = Vec::with_capacity(1 + others.len());
    let mut hidden = Vec::new();
    if actions.is_none() && others.is_empty() {
        rows_known.push((TARGET.to_owned(), images));
    } else {
        let mut images = numbered(&images, &number_name(0))?;
        hidden.push((alias.clone(), vec![number_name(0)]));
        if let Some(actions) = actions {
            images = with_column(&images, ACTION_COLUMN, actions)?;
            hidden[0].1.push(ACTION_COLUMN.to_owned());
        }
        rows_known.push((TARGET.to_owned(), images));
        let mut conditions = Vec::with_capacity(others.len());
        for (other, (name, rows)) in others.into_iter().enumerate() {
            let (source, number) = (format!("table {other} (hidden)"), number_name(other + 1));
            let item = build::alone(build::table(&source, Some(&name)));
            select.from.insert(if others_first { other } else { select.from.len() }, item);
            conditions.push(build::equal(build::column(&alias, &number_name(0)), build::column(&name, &number)));
            rows_known.push((source, numbered(&rows, &number)?));
            hidden.push((name, vec![number]));
        }
        select.selection = Some(build::all(conditions));
        order_by = Some(build::order_by(build::column(&alias, &number_name(0))));
    }
    if let Some(view) = view {
        let own = hidden.first().map(|(_, columns)| columns.as_slice()).unwrap_or_default();
        let beside: Vec<(String, String)> = own.iter().map(|column| (column.clone(), column.clone())).collect();
        // The table stands first, unless the others do.
        let place = if others_first { select.from.len() - 1 } else { 0 };
        select.from[place] = build::alone(view.source(&alias, &beside, false));
    }
    select.projection = asked(items, &alias, &hidden);
    let mut query = Query { with: context.with.cloned(), order_by, ..build::query_of(select) };
    headings::name(&mut query);
    let statement = Statement::Query(Box::new(query));
    let inputs = NamedInputs { rows: rows_known, ..NamedInputs::default() };
    let rows = context.database.queries.query_with(statement, inputs, &context.execution()).await?;
    // Made before the statement ends: one that cannot be made undoes the change.
    Ok(Outcome::Rows(rows.made().await?.of_command(command)))
}

/// Refuses `old` and `new`, unless tables of the statement are called so.
fn refuse_old_and_new(items: &[SelectItem], known: &[&Ident]) -> Result<(), Error> {
    let mut refuse = OldAndNew(["old", "new"].map(Ident::new).into());
    refuse.0.retain(|name| !known.iter().any(|known| is_same(known, name)));
    for item in items {
        if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item
            && let [ObjectNamePart::Identifier(table)] = name.0.as_slice()
        {
            refuse.check(table)?;
        }
        if let ControlFlow::Break(error) = item.visit(&mut refuse) {
            return Err(error);
        }
    }
    Ok(())
}

/// The names that are refused.
struct OldAndNew(Vec<Ident>);

impl OldAndNew {
    fn check(&self, table: &Ident) -> Result<(), Error> {
        if !self.0.iter().any(|name| is_same(name, table)) {
            return Ok(());
        }
        Err(Error::unsupported(format!(
            "RETURNING {table}.* is not supported: INSERT, UPDATE and MERGE return rows as they are now, DELETE as they \
             were; name columns without {table}, and read what was there with SELECT in the same transaction"
        )))
    }
}

impl Visitor for OldAndNew {
    type Break = Error;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Error> {
        match expr {
            Expr::CompoundIdentifier(parts) if parts.len() == 2 => match self.check(&parts[0]) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            },
            _ => ControlFlow::Continue(()),
        }
    }
}

fn number_name(table: usize) -> String {
    format!("number {table} (hidden)")
}

/// `rows` with their numbers in a column behind the others.
fn numbered(rows: &RecordBatch, name: &str) -> Result<RecordBatch, Error> {
    let numbers = UInt64Array::from_iter_values(0..rows.num_rows() as u64);
    with_column(rows, name, Arc::new(numbers))
}

/// `rows` with another column behind the others.
fn with_column(rows: &RecordBatch, name: &str, column: ArrayRef) -> Result<RecordBatch, Error> {
    let mut fields: Vec<_> = rows.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(name, column.data_type().clone(), false)));
    let mut columns = rows.columns().to_vec();
    columns.push(column);
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
        .map_err(|error| Error::internal(format!("rows to return: {error}")))
}

/// What is asked for, with `merge_action()` as a column and without the `hidden` columns, the first of which are those
/// of the table `alias`.
fn asked(mut items: Vec<SelectItem>, alias: &Ident, hidden: &[(Ident, Vec<String>)]) -> Vec<SelectItem> {
    let has_action = hidden.first().is_some_and(|(_, columns)| columns.len() > 1);
    let action = build::column(alias, ACTION_COLUMN);
    for item in &mut items {
        without_schema(item, alias);
        match item {
            SelectItem::Wildcard(options) => {
                leave_out(options, hidden.iter().flat_map(|(_, columns)| columns));
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                let of = hidden.iter().find(|(known, _)| {
                    name.0.last().and_then(|part| part.as_ident()).is_some_and(|last| is_same(last, known))
                });
                leave_out(options, of.iter().flat_map(|(_, columns)| columns));
            }
            SelectItem::UnnamedExpr(call) if has_action && is_merge_action(call) => {
                *item = SelectItem::ExprWithAlias { expr: action.clone(), alias: Ident::new(MERGE_ACTION) };
            }
            item if has_action => {
                // Never broken off.
                let _ = item.visit(&mut Actions(&action));
            }
            _ => {}
        }
    }
    items
}

/// `schema.table.column` and `schema.table.*` as `table.column` and `table.*`, which is what the rows are called.
fn without_schema(item: &mut SelectItem, alias: &Ident) {
    struct Shorter<'a>(&'a Ident);
    impl VisitorMut for Shorter<'_> {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::CompoundIdentifier(parts) = expr
                && let [.., table, _] = parts.as_slice()
                && parts.len() > 2
                && is_same(table, self.0)
            {
                parts.drain(..parts.len() - 2);
            }
            ControlFlow::Continue(())
        }
    }
    if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item
        && name.0.len() > 1
        && name.0.last().and_then(|part| part.as_ident()).is_some_and(|last| is_same(last, alias))
    {
        name.0.drain(..name.0.len() - 1);
    }
    // Never broken off.
    let _ = VisitMut::visit(item, &mut Shorter(alias));
}

fn is_same(left: &Ident, right: &Ident) -> bool {
    matches!((names::identifier(left), names::identifier(right)), (Ok(left), Ok(right)) if left == right)
}

fn leave_out<'a>(options: &mut WildcardAdditionalOptions, columns: impl Iterator<Item = &'a String>) {
    let columns: Vec<_> = columns.map(|column| Ident::with_quote('"', column).into()).collect();
    if !columns.is_empty() {
        options.opt_exclude = Some(ExcludeSelectItem::Multiple(columns));
    }
}

fn is_merge_action(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(Function { name, args: FunctionArguments::List(list), .. })
        if list.args.is_empty() && name.to_string().eq_ignore_ascii_case(MERGE_ACTION))
}

/// Puts a column in the place of `merge_action()`.
struct Actions<'a>(&'a Expr);

impl VisitorMut for Actions<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if is_merge_action(expr) {
            *expr = self.0.clone();
        }
        ControlFlow::Continue(())
    }
}
