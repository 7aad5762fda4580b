//! Which column of a table a column of a plan comes from, and so its type in SQL: Arrow has one type for CHAR, VARCHAR, TEXT
//! and UUID.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::utils::grouping_set_to_exprlist;
use datafusion::logical_expr::{Aggregate, Distinct, Expr, ExprSchemable, JoinType, LogicalPlan, TableScan};
use longshore_storage::ColumnType;

use super::multisets::{is_set_operation, sides};
use super::names::name_of;
use crate::builtin_types::{BuiltinType, MODIFIER_OFFSET, PG_MODIFIER, PG_TYPE, TypeId, modifier};
use crate::catalog::{Catalog, Entry, ObjectId};
use crate::datafusion::functions::arrays::ELEMENTS;
use crate::datafusion::functions::shifted::COMPUTED;
use crate::datafusion::scan::table::RelationTable;

/// A type, and whether it is that of arrays of it.
pub(in crate::datafusion) type Known = (&'static BuiltinType, bool);

/// The types of the columns of a plan, whose rows have this `schema`, and which columns of tables and views of `catalog` they
/// show. The schema of the plan itself may not have the types that values get when they meet others.
pub(in crate::datafusion) fn types(plan: &LogicalPlan, schema: &Schema, catalog: &Catalog) -> Arc<[TypeId]> {
    let fields = schema.fields().iter().enumerate();
    fields
        .map(|(at, field)| {
            let of_type = match column_type(plan, at) {
                // What was computed of columns of DECIMAL may have another precision.
                Some(column_type) if column_type.arrow() == *field.data_type() => TypeId::of_column(column_type),
                _ => match told(plan, at) {
                    Some(Told { name, modifier }) => TypeId::told(&name, modifier, field.data_type()),
                    None => TypeId::of_values(field.data_type()),
                },
            };
            match table_column(plan, at, catalog) {
                Some((table, column)) => of_type.shown_of(table, column),
                None => of_type,
            }
        })
        .collect()
}

/// The OID of the table or view whose column a column of a plan shows as it is, and the place of the column in it.
fn table_column(plan: &LogicalPlan, at: usize, catalog: &Catalog) -> Option<(u32, usize)> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let at = scanned(scan, at)?;
            let provider = source_as_provider(&scan.source).ok()?;
            let table = provider.downcast_ref::<RelationTable>()?;
            (at < table.relation().schema().columns().len())
                .then(|| (catalog.oid(ObjectId::Table(table.identity())), at))
        }
        LogicalPlan::SubqueryAlias(alias) => match catalog.get(&name_of(&alias.alias)) {
            // A view is planned as its query under its name.
            Some(Entry::View(view)) => Some((catalog.oid(ObjectId::View(view.name.clone())), at)),
            _ => table_column(&alias.input, at, catalog),
        },
        LogicalPlan::Union(_) => None,
        other => below(other, at).and_then(|(input, at)| table_column(input, at, catalog)),
    }
}

/// The place in its table of a column that is scanned.
fn scanned(scan: &TableScan, at: usize) -> Option<usize> {
    scan.projection.as_ref().map_or(Some(at), |columns| columns.get(at).copied())
}

/// A type as it is told where Arrow's does not tell it.
struct Told {
    /// Its name in `pg_type`.
    name: String,
    modifier: i32,
}

impl Told {
    fn by(field: &Field) -> Option<Self> {
        let modifier = field.metadata().get(PG_MODIFIER).and_then(|modifier| modifier.parse().ok()).unwrap_or(-1);
        field.metadata().get(PG_TYPE).map(|name| Self { name: name.clone(), modifier })
    }

    /// The same in the length that holds the values of the others, too.
    fn beside(self, others: impl Iterator<Item = Option<Self>>) -> Self {
        others.fold(self, |known, other| {
            let lengths = (known.char_length(), other.as_ref().and_then(Self::char_length));
            let modifier = match other {
                Some(other) if other.name == known.name && other.modifier == known.modifier => known.modifier,
                Some(other) if matches!(lengths, (Some(_), Some(_))) => known.modifier.max(other.modifier),
                _ => -1,
            };
            Self { modifier, ..known }
        })
    }

    /// The length of values of CHAR(n).
    fn char_length(&self) -> Option<i32> {
        let length = self.modifier - MODIFIER_OFFSET;
        (self.name == "bpchar" && length > 0).then_some(length)
    }
}

/// What is told of the type of a column of a plan.
fn told(plan: &LogicalPlan, at: usize) -> Option<Told> {
    if let Some(column_type) = column_type(plan, at) {
        let (known, is_array) = BuiltinType::of_column(column_type);
        let name = if is_array { format!("_{}", known.name) } else { known.name.to_owned() };
        return Some(Told { name, modifier: modifier(column_type) });
    }
    match plan {
        LogicalPlan::Projection(projection) => return told_of(projection.expr.get(at)?, &projection.input),
        LogicalPlan::Aggregate(aggregate) => {
            let behind = at.checked_sub(aggregate.group_expr_len().ok()?);
            let expr = behind.map_or_else(|| group(aggregate, at), |behind| aggregate.aggr_expr.get(behind))?;
            return told_of(expr, &aggregate.input);
        }
        LogicalPlan::Window(window) => {
            let input = &window.input;
            let behind = at.checked_sub(input.schema().fields().len());
            return behind.map_or_else(|| told(input, at), |behind| told_of(window.window_expr.get(behind)?, input));
        }
        LogicalPlan::Distinct(Distinct::On(on)) => return told_of(on.select_expr.get(at)?, &on.input),
        LogicalPlan::RecursiveQuery(query) => return told(&query.static_term, at),
        LogicalPlan::Unnest(unnest) => {
            let below = *unnest.dependency_indices.get(at)?;
            let of_input = told(&unnest.input, below)?;
            return Some(match of_input.name.strip_prefix('_') {
                Some(element) if unnest.list_type_columns.iter().any(|(list, _)| *list == below) => {
                    Told { name: element.to_owned(), ..of_input }
                }
                _ => of_input,
            });
        }
        LogicalPlan::Union(union) => {
            let typed = union.inputs.iter().filter(|input| !shows_unknown(input, at));
            let mut all = typed.map(|input| told(input, at));
            return Some(all.next()??.beside(all));
        }
        _ => {}
    }
    match below(plan, at) {
        Some((input, at)) => told(input, at),
        None => Told::by(plan.schema().fields().get(at)?),
    }
}

/// The type that is told of an expression over the columns of `input`, and whether it is of arrays of it; `None` if Arrow's type
/// says it.
pub(super) fn told_type(expr: &Expr, input: &LogicalPlan) -> Option<Known> {
    BuiltinType::told(&told_of(expr, input)?.name, &expr.get_type(input.schema()).ok()?)
}

/// The type of an expression over the columns of `input`, and whether it is of arrays of it; `None` where it takes the type of
/// what it meets.
pub(super) fn known_type(expr: &Expr, input: &LogicalPlan) -> Option<Known> {
    if is_unknown(expr) {
        return None;
    }
    known(told_of(expr, input), &expr.get_type(input.schema()).ok()?)
}

/// The same of a column of a plan.
pub(super) fn column_of_known_type(plan: &LogicalPlan, at: usize) -> Option<Known> {
    if shows_unknown(plan, at) {
        return None;
    }
    if let LogicalPlan::Join(join) = plan
        && is_set_operation(join)
        && let [left, right] = sides(join)
        && shows_unknown(left, at)
    {
        return column_of_known_type(right, at);
    }
    known(told(plan, at), plan.schema().fields().get(at)?.data_type())
}

fn known(told: Option<Told>, data_type: &DataType) -> Option<Known> {
    if data_type.is_null() {
        return None;
    }
    let told = told.and_then(|told| BuiltinType::told(&told.name, data_type));
    Some(told.unwrap_or_else(|| BuiltinType::of_values(data_type)))
}

/// The length of values of CHAR(n).
pub(super) fn char_length(expr: &Expr, input: &LogicalPlan) -> Option<i32> {
    told_of(expr, input)?.char_length()
}

/// The same of a column of a plan.
pub(super) fn char_length_of_column(plan: &LogicalPlan, at: usize) -> Option<i32> {
    told(plan, at)?.char_length()
}

/// The same of an expression over the columns of `input`.
fn told_of(expr: &Expr, input: &LogicalPlan) -> Option<Told> {
    match without_names(expr) {
        Expr::Column(column) => told(input, input.schema().maybe_index_of_column(column)?),
        // The metadata of its column may be those of what was cast.
        Expr::Cast(cast) => Told::by(&cast.field),
        Expr::Case(case) => {
            let values = case.when_then_expr.iter().map(|(_, value)| value.as_ref()).chain(case.else_expr.as_deref());
            of_values(values, input)
        }
        Expr::ScalarSubquery(query) => told(&query.subquery, 0),
        Expr::AggregateFunction(call) => {
            let Told { name, .. } = told_of(call.params.args.first()?, input)?;
            let name = match call.func.name() {
                "array_agg" if !name.starts_with('_') => format!("_{name}"),
                // There is none of VARCHAR itself.
                "min" | "max" if name == "varchar" => "text".to_owned(),
                "min" | "max" | "first_value" | "last_value" | "any_value" => name,
                _ => return None,
            };
            Some(Told { name, modifier: -1 })
        }
        of_uuid @ Expr::ScalarFunction(call) if gives_uuid(call.func.name()) => {
            let is_array = of_uuid.get_type(input.schema()).is_ok_and(|given| given.is_nested());
            Some(Told { name: if is_array { "_uuid" } else { "uuid" }.to_owned(), modifier: -1 })
        }
        Expr::ScalarFunction(call) if ["coalesce", "greatest", "least"].contains(&call.func.name()) => {
            of_values(&call.args, input)
        }
        Expr::ScalarFunction(call) if ["nullif", ELEMENTS].contains(&call.func.name()) => {
            told_of(call.args.first()?, input)
        }
        Expr::ScalarFunction(call) if call.func.name() == "make_array" => {
            let Told { name, .. } = of_values(&call.args, input)?;
            let name = if name.starts_with('_') { name } else { format!("_{name}") };
            Some(Told { name, modifier: -1 })
        }
        Expr::WindowFunction(call) => {
            let gives_value = ["lag", "lead", "first_value", "last_value", "nth_value"];
            let name = call.fun.name().trim_end_matches(COMPUTED);
            if gives_value.contains(&name) { told_of(call.params.args.first()?, input) } else { None }
        }
        other => Told::by(&other.to_field(input.schema()).ok()?.1),
    }
}

/// What is told of the values that CASE and COALESCE choose among.
fn of_values<'a>(values: impl IntoIterator<Item = &'a Expr>, input: &LogicalPlan) -> Option<Told> {
    let mut all = values.into_iter().filter(|value| !is_unknown(value)).map(|value| told_of(value, input));
    Some(all.find_map(|told| told)?.beside(all))
}

/// Whether a column of a plan shows a value of unknown type.
pub(super) fn shows_unknown(plan: &LogicalPlan, at: usize) -> bool {
    shown_value(plan, at).is_some_and(is_unknown)
}

/// The expression that a column of a plan shows, where it is one of a list.
pub(super) fn shown_value(plan: &LogicalPlan, at: usize) -> Option<&Expr> {
    match plan {
        LogicalPlan::Projection(projection) => projection.expr.get(at),
        _ => None,
    }
}

/// Whether an expression is of PostgreSQL's type `unknown`, so that it takes the type of what it meets.
fn is_unknown(expr: &Expr) -> bool {
    match without_names(expr) {
        Expr::Literal(value, _) => value.is_null() || value.try_as_str().is_some(),
        Expr::Placeholder(_) => true,
        _ => false,
    }
}

/// An expression without the names that it is given.
pub(super) fn without_names(mut expr: &Expr) -> &Expr {
    while let Expr::Alias(alias) = expr {
        expr = &alias.expr;
    }
    expr
}

/// What the column `at` of an aggregate is grouped by.
fn group(aggregate: &Aggregate, at: usize) -> Option<&Expr> {
    grouping_set_to_exprlist(&aggregate.group_expr).ok()?.get(at).copied()
}

/// The input of a node, and the column of it, that a column of the node shows as it is.
fn below(plan: &LogicalPlan, at: usize) -> Option<(&LogicalPlan, usize)> {
    let shown = |expr: &Expr, input: &'_ LogicalPlan| match without_names(expr) {
        Expr::Column(column) => input.schema().maybe_index_of_column(column),
        _ => None,
    };
    Some(match plan {
        LogicalPlan::SubqueryAlias(alias) => (&alias.input, at),
        LogicalPlan::Filter(filter) => (&filter.input, at),
        LogicalPlan::Sort(sort) => (&sort.input, at),
        LogicalPlan::Limit(limit) => (&limit.input, at),
        LogicalPlan::Distinct(Distinct::All(input)) => (input, at),
        LogicalPlan::Distinct(Distinct::On(on)) => (&on.input, shown(on.select_expr.get(at)?, &on.input)?),
        LogicalPlan::Projection(projection) => (&projection.input, shown(projection.expr.get(at)?, &projection.input)?),
        LogicalPlan::Aggregate(aggregate) => (&aggregate.input, shown(group(aggregate, at)?, &aggregate.input)?),
        LogicalPlan::Window(window) if at < window.input.schema().fields().len() => (&window.input, at),
        LogicalPlan::Join(join) => {
            let left = join.left.schema().fields().len();
            match join.join_type {
                JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full if at >= left => {
                    (&join.right, at - left)
                }
                JoinType::RightSemi | JoinType::RightAnti => (&join.right, at),
                _ => (&join.left, at),
            }
        }
        _ => return None,
    })
}

/// The type of the column of a table that a column of a plan shows as it is; `None` if it is computed.
pub(in crate::datafusion) fn column_type(plan: &LogicalPlan, at: usize) -> Option<ColumnType> {
    let uuid = |expr: &Expr, input: &LogicalPlan| {
        let call = without_names(expr);
        let is_uuid = matches!(call, Expr::ScalarFunction(function) if gives_uuid(function.func.name()));
        let is_array = || call.get_type(input.schema()).is_ok_and(|given| given.is_nested());
        is_uuid.then(|| if is_array() { ColumnType::Uuid.array() } else { Some(ColumnType::Uuid) }).flatten()
    };
    let computed = match plan {
        LogicalPlan::TableScan(scan) => {
            let at = scanned(scan, at)?;
            let provider = source_as_provider(&scan.source).ok()?;
            let table = provider.downcast_ref::<RelationTable>()?;
            return Some(table.relation().schema().columns().get(at)?.column_type);
        }
        LogicalPlan::Union(union) => {
            let mut types = union.inputs.iter().map(|input| column_type(input, at));
            let first = types.next()??;
            return types.try_fold(first, |known, next| common(known, next?));
        }
        LogicalPlan::Projection(projection) => uuid(projection.expr.get(at)?, &projection.input),
        LogicalPlan::Aggregate(aggregate) => group(aggregate, at).and_then(|expr| uuid(expr, &aggregate.input)),
        _ => None,
    };
    computed.or_else(|| below(plan, at).and_then(|(input, at)| column_type(input, at)))
}

/// Whether a function gives UUIDs.
pub(in crate::datafusion) fn gives_uuid(function: &str) -> bool {
    matches!(function, "uuid_in" | "uuid")
}

/// The type of both columns: of texts of several lengths the longest.
fn common(left: ColumnType, right: ColumnType) -> Option<ColumnType> {
    match (left, right) {
        (ColumnType::Char(left), ColumnType::Char(right)) => Some(ColumnType::Char(left.max(right))),
        (left, right) => (left == right).then_some(left),
    }
}
