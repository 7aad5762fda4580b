//! Functions in FROM: `FROM generate_series(1, 3) AS g`, `FROM jsonb_each(j)`, `FROM unnest(a, b) WITH ORDINALITY`,
//! `FROM ROWS FROM (f(), g())`, `FROM json_to_record(j) AS r (a int)`, and `FROM now()`.
//!
//! A function that gives rows is one that gives an array here. Several arrays become rows in step, and NULL fills up those
//! that are shorter. A function that gives one value gives one row. Not here: functions that use columns of what stands
//! before them (`lateral_functions`), which are planned in the same way.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{
    Column, DFSchema, NullHandling, Result, ScalarValue, UnnestOptions, plan_datafusion_err, plan_err,
};
use datafusion::functions::core::expr_fn::get_field;
use datafusion::functions_nested::make_array::make_array;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, cast};
use sqlparser::ast::{
    self, CastKind, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
    TableAlias, TableAliasColumnDef, TableFactor,
};

use crate::datafusion::functions::arrays::{ELEMENTS, ORDINALS};
use crate::datafusion::functions::nested::text_out::is_wrapper;
use crate::sql::set_functions::{UNNEST, is_set_returning};
use crate::sql::set_returning::{ROWS_FROM, is_record_function};
use crate::sql::{build, headings};

/// What the arrays are called before their elements are rows.
const LIST: &str = "list of rows ";
/// The column that WITH ORDINALITY adds.
const ORDINALITY: &str = "ordinality";

/// Functions whose column has a name of its own, and that name.
const OF_VALUES: [&str; 4] =
    ["json_array_elements", "json_array_elements_text", "jsonb_array_elements", "jsonb_array_elements_text"];
const VALUE: &str = "value";

/// The name of the column of a function, where it does not depend on the alias.
pub(super) fn own_column(function: &str) -> Option<&'static str> {
    OF_VALUES.contains(&function).then_some(VALUE)
}

/// Plans functions in FROM.
#[derive(Debug)]
pub(in crate::datafusion) struct TableFunctions;

impl RelationPlanner for TableFunctions {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let TableFactor::Function { name, args, with_ordinality, alias, .. } = relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let calls = calls(&name, args, alias.as_ref())?;
        let series = match calls.as_slice() {
            [call] if !with_ordinality => long_series(call, alias.as_ref(), context)?,
            _ => None,
        };
        let (plan, names) = match series {
            Some(planned) => planned,
            None => rows_of(&calls, with_ordinality, alias.as_ref(), context)?,
        };
        let plan = renamed(plan, &names, alias.as_ref(), context)?;
        let name = alias.map_or_else(|| Ident::with_quote('"', calls[0].name.clone()), |alias| alias.name);
        let alias = TableAlias { explicit: true, name, columns: Vec::new(), at: None };
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, Some(alias)))))
    }
}

/// One function that is called.
struct Call {
    name: String,
    expr: ast::Expr,
}

fn calls(name: &ObjectName, args: Vec<FunctionArg>, alias: Option<&TableAlias>) -> Result<Vec<Call>> {
    let own_name = folded(name);
    if own_name == ROWS_FROM {
        let each = args.into_iter().map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(ast::Expr::Function(function))) => {
                if let FunctionArguments::List(list) = function.args {
                    calls(&function.name, list.args, None)
                } else {
                    plan_err!("ROWS FROM takes calls of functions")
                }
            }
            other => plan_err!("ROWS FROM takes calls of functions, and not {other}"),
        });
        return Ok(each.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect());
    }
    if own_name == UNNEST {
        if args.is_empty() {
            return plan_err!("unnest takes one array or several");
        }
        let each = args.into_iter().map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(array)) => {
                Ok(Call { name: UNNEST.to_owned(), expr: build::call(ELEMENTS, vec![array]) })
            }
            other => plan_err!("unnest takes arrays, and not {other}"),
        });
        return each.collect();
    }
    if is_record_function(&own_name) {
        return Ok(vec![record_call(own_name, args, alias)?]);
    }
    let list = FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() };
    let mut expr = build::call(&own_name, Vec::new());
    if let ast::Expr::Function(function) = &mut expr {
        function.name = name.clone();
        function.args = FunctionArguments::List(list);
    }
    Ok(vec![Call { name: own_name, expr }])
}

/// `json_to_record(j) AS r (a int)` as a row of the type that is told, filled from the object.
fn record_call(name: String, args: Vec<FunctionArg>, alias: Option<&TableAlias>) -> Result<Call> {
    let columns = alias.map_or(&[][..], |alias| alias.columns.as_slice());
    let mut fields = Vec::new();
    for TableAliasColumnDef { name: column, data_type } in columns {
        let Some(data_type) = data_type else {
            return plan_err!("a column definition list is required for functions returning \"record\"");
        };
        let column = if column.quote_style.is_some() { column.value.clone() } else { column.value.to_lowercase() };
        fields.push(build::value(ast::Value::SingleQuotedString(column)));
        fields.push(ast::Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(build::value(ast::Value::Null)),
            data_type: data_type.clone(),
            array: false,
            format: None,
        });
    }
    if fields.is_empty() {
        return plan_err!("a column definition list is required for functions returning \"record\"");
    }
    let mut all = vec![build::call("named_struct", fields)];
    for arg in args {
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => all.push(value),
            other => return plan_err!("{name} takes a value, and not {other}"),
        }
    }
    let expr = build::call(&name, all);
    Ok(Call { name, expr })
}

/// A series of whole numbers that is told by constants: its rows are made as they are wanted.
fn long_series(
    call: &Call,
    alias: Option<&TableAlias>,
    context: &mut dyn RelationPlannerContext,
) -> Result<Option<(LogicalPlan, Vec<String>)>> {
    if call.name != "generate_series" {
        return Ok(None);
    }
    let expr = context.sql_to_expr(call.expr.clone(), &DFSchema::empty())?;
    let Expr::ScalarFunction(ScalarFunction { args, .. }) = &expr else { return Ok(None) };
    let number = |arg: &Expr| match arg {
        Expr::Literal(ScalarValue::Int32(Some(value)), _) => Some((i64::from(*value), true)),
        Expr::Literal(ScalarValue::Int64(Some(value)), _) => Some((*value, false)),
        _ => None,
    };
    let Some(numbers) = args.iter().map(number).collect::<Option<Vec<_>>>() else { return Ok(None) };
    // What the arrays are for: a step of 0 is an error there, and numbers next to the bounds of their type.
    let is_plain = |(value, _): &(i64, bool)| value.unsigned_abs() < 1 << 62;
    if numbers.get(2).is_some_and(|(step, _)| *step == 0) || !numbers.iter().all(is_plain) {
        return Ok(None);
    }
    let args = numbers.iter().map(|(value, _)| Expr::Literal(ScalarValue::Int64(Some(*value)), None)).collect();
    let source = context.context_provider().get_table_function_source(&call.name, args)?;
    let data_type = if numbers.iter().all(|(_, is_small)| *is_small) { DataType::Int32 } else { DataType::Int64 };
    let plan = LogicalPlanBuilder::scan(call.name.as_str(), source, None)?;
    let column = plan.schema().columns().remove(0);
    let name = alias.map_or_else(|| call.name.clone(), |alias| context.normalize_ident(alias.name.clone()));
    let plan = plan.project(vec![cast(Expr::Column(column), data_type).alias(&name)])?.build()?;
    Ok(Some((plan, vec![name])))
}

/// The rows of the calls in step, and the names of their columns.
fn rows_of(
    calls: &[Call],
    with_ordinality: bool,
    alias: Option<&TableAlias>,
    context: &mut dyn RelationPlannerContext,
) -> Result<(LogicalPlan, Vec<String>)> {
    let nothing = DFSchema::empty();
    let mut lists = Vec::new();
    for call in calls {
        let expr = context.sql_to_expr(call.expr.clone(), &nothing)?;
        let gives_rows = is_set_returning(&call.name) || call.name.ends_with("_to_recordset");
        lists.push(if gives_rows { expr } else { make_array(vec![expr]) });
    }
    let mut items: Vec<FieldRef> = Vec::new();
    for list in &lists {
        match list.get_type(&nothing)? {
            DataType::List(item) => items.push(item),
            other => return plan_err!("rows are made of an array, and not of {other}"),
        }
    }
    if with_ordinality {
        let ordinals = context.context_provider().get_function_meta(ORDINALS);
        let ordinals = ordinals.ok_or_else(|| plan_datafusion_err!("no function {ORDINALS}"))?;
        lists.push(Expr::ScalarFunction(ScalarFunction::new_udf(ordinals, lists.clone())));
    }
    let names: Vec<String> = (0..lists.len()).map(|number| format!("{LIST}{number}")).collect();
    let arrays = lists.into_iter().zip(&names).map(|(list, name)| list.alias(name)).collect::<Vec<_>>();
    let columns = names.iter().map(Column::from_name).collect();
    let options = UnnestOptions::new().with_null_handling(NullHandling::Drop);
    let plan = LogicalPlanBuilder::empty(true).project(arrays)?.unnest_columns_with_options(columns, options)?;
    let is_alone = calls.len() == 1;
    let mut outputs: Vec<(Expr, String)> = Vec::new();
    for ((call, item), name) in calls.iter().zip(&items).zip(&names) {
        let column = Expr::Column(Column::from_name(name));
        match item.data_type() {
            row @ DataType::Struct(fields) if !is_wrapper(row) => {
                outputs.extend(
                    fields.iter().map(|field| (get_field(column.clone(), field.name().as_str()), field.name().clone())),
                );
            }
            _ => {
                let named = alias.filter(|_| is_alone).map(|alias| context.normalize_ident(alias.name.clone()));
                let named = own_column(&call.name).map(str::to_owned).or(named);
                outputs.push((column, named.unwrap_or_else(|| call.name.clone())));
            }
        }
    }
    if with_ordinality && let Some(name) = names.last() {
        outputs.push((Expr::Column(Column::from_name(name)), ORDINALITY.to_owned()));
    }
    let mut names: Vec<String> = Vec::new();
    for (place, (_, name)) in outputs.iter().enumerate() {
        // Two columns of one name are told apart by what is not shown.
        let is_taken = names.contains(name);
        names.push(if is_taken { headings::marked(name, &format!("row {place}")) } else { name.clone() });
    }
    let exprs = outputs.into_iter().zip(&names).map(|((expr, _), name)| expr.alias(name));
    let plan = plan.project(exprs.collect::<Vec<_>>())?.build()?;
    Ok((plan, names))
}

/// The plan with the names that the alias gives to its first columns.
fn renamed(
    plan: LogicalPlan,
    names: &[String],
    alias: Option<&TableAlias>,
    context: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let columns = alias.map_or(&[][..], |alias| alias.columns.as_slice());
    if columns.is_empty() {
        return Ok(plan);
    }
    if columns.len() > names.len() {
        return plan_err!(
            "table \"{}\" has {} columns available but {} columns specified",
            alias.map_or_else(String::new, |alias| alias.name.value.clone()),
            names.len(),
            columns.len()
        );
    }
    let LogicalPlan::Projection(projection) = plan else { return plan_err!("columns are named in a projection") };
    let mut exprs = Vec::new();
    for (place, expr) in projection.expr.into_iter().enumerate() {
        let name = columns.get(place).map(|column| context.normalize_ident(column.name.clone()));
        exprs.push(match name {
            Some(name) => expr.unalias().alias(name),
            None => expr,
        });
    }
    LogicalPlanBuilder::from(Arc::unwrap_or_clone(projection.input)).project(exprs)?.build()
}

fn folded(name: &ObjectName) -> String {
    match name.0.last().and_then(|part| part.as_ident()) {
        Some(ident) if ident.quote_style.is_some() => ident.value.clone(),
        Some(ident) => ident.value.to_lowercase(),
        None => name.to_string(),
    }
}
