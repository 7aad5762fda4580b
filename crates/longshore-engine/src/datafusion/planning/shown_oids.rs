//! OIDs in a plan that have names: a `regclass` is compared as a number, and is its name wherever a text is wanted.
//!
//! The metadata of a field tells such a type (`system_tables::kind`). So casts to text, texts that are compared with one, and
//! the columns of the whole result get the functions that read and show names. And an `int2vector` is shown as its numbers, and
//! counted from 0. Not here: the casts that make them (`sql::oid_casts`), the functions (`system_functions`).

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue, plan_datafusion_err};
use datafusion::logical_expr::expr::{InList, ScalarFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, RecursiveQuery, Union, lit,
};

use super::planner::Planner;
use super::system_functions::{SHOWN_VECTOR, UNTOLD, VECTOR_SUBSCRIPTS, shown};
use super::system_tables::kind_of;
use crate::sql::arrays::SUBSCRIPT;

/// The function whose subscripts begin at 0 for a vector.
const SUBSCRIPTS: &str = "generate_subscripts";

/// The plan with such functions.
pub(in crate::datafusion) fn with_names(planner: &Planner, plan: LogicalPlan) -> Result<LogicalPlan> {
    if !planner.asks_the_system() {
        return Ok(plan);
    }
    plan.transform_up_with_subqueries(|node| of_node(planner, node)).map(|plan| plan.data)
}

/// The plan of a query whose columns are shown by names.
pub(in crate::datafusion) fn with_shown_columns(planner: &Planner, plan: LogicalPlan) -> Result<LogicalPlan> {
    let is_query = !matches!(
        plan,
        LogicalPlan::Dml(_)
            | LogicalPlan::Ddl(_)
            | LogicalPlan::Explain(_)
            | LogicalPlan::Analyze(_)
            | LogicalPlan::Statement(_)
    );
    if !planner.asks_the_system() || !is_query {
        return Ok(plan);
    }
    let schema = Arc::clone(plan.schema());
    let function = |field: &DataType, told: Option<&str>| told.and_then(shown).filter(|_| !field.is_string());
    let fields = schema.fields().iter().map(|field| function(field.data_type(), kind_of(field)));
    let functions: Vec<Option<&str>> = fields.collect();
    if functions.iter().all(Option::is_none) {
        return Ok(plan);
    }
    let columns = schema.columns().into_iter().zip(functions);
    let exprs = columns.map(|(column, function)| {
        let name = column.name.clone();
        match function {
            Some(function) => Ok(call(planner, function, Expr::Column(column))?.alias(name)),
            None => Ok(Expr::Column(column)),
        }
    });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    LogicalPlanBuilder::from(plan).project(exprs)?.build()
}

fn of_node(planner: &Planner, node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match node {
        LogicalPlan::RecursiveQuery(query) => with_same_types(planner, query).map(Transformed::yes),
        LogicalPlan::Union(union) => as_the_first(planner, &union).map(Transformed::yes),
        node => of_expressions(planner, node),
    }
}

fn of_expressions(planner: &Planner, node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let inputs = node.inputs();
    let mut schema = inputs.first().map_or_else(DFSchema::empty, |input| input.schema().as_ref().clone());
    inputs.iter().skip(1).for_each(|input| schema.merge(input.schema()));
    let names = NamePreserver::new(&node);
    node.map_expressions(|expr| {
        let name = names.save(&expr);
        let expr = expr.transform_up(|part| named(planner, part, &schema))?;
        Ok(expr.update_data(|expr| name.restore(expr)))
    })?
    .map_data(LogicalPlan::recompute_schema)
}

/// A query that goes on from its own rows, which tell the same types at every step.
fn with_same_types(planner: &Planner, mut query: RecursiveQuery) -> Result<LogicalPlan> {
    let (first, next) = (query.static_term.schema(), query.recursive_term.schema());
    if first.fields().iter().zip(next.fields()).any(|(first, next)| first.metadata() != next.metadata()) {
        query.recursive_term = told_as(planner, &query.recursive_term, &Arc::clone(first))?;
    }
    Ok(LogicalPlan::RecursiveQuery(query))
}

/// A UNION whose columns are of the types that its first query tells.
fn as_the_first(planner: &Planner, union: &Union) -> Result<LogicalPlan> {
    let first = Arc::clone(union.inputs[0].schema());
    let is_same = |input: &LogicalPlan| {
        let fields = input.schema().fields().iter().zip(first.fields());
        fields.into_iter().all(|(own, first)| kind_of(own) == kind_of(first))
    };
    let inputs = union
        .inputs
        .iter()
        .map(|input| if is_same(input) { Ok(Arc::clone(input)) } else { told_as(planner, input, &first) });
    Union::try_new_with_loose_types(inputs.collect::<Result<_>>()?).map(LogicalPlan::Union)
}

/// A plan whose columns tell the types of those of `wanted`.
fn told_as(planner: &Planner, plan: &LogicalPlan, wanted: &DFSchema) -> Result<Arc<LogicalPlan>> {
    let fields = wanted.fields().iter().zip(plan.schema().fields());
    let exprs = plan.schema().columns().into_iter().zip(fields).map(|(column, (wanted, own))| {
        let name = column.name.clone();
        let column = Expr::Column(column);
        if wanted.metadata() == own.metadata() {
            return Ok(column);
        }
        let metadata = (!wanted.metadata().is_empty()).then(|| FieldMetadata::from(wanted.metadata()));
        Ok(call(planner, UNTOLD, column)?.alias_with_metadata(name, metadata))
    });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(LogicalPlanBuilder::from(plan.clone()).project(exprs)?.build()?))
}

/// The name in `pg_type` of the type of an expression, if metadata tell it.
fn told(expr: &Expr, schema: &DFSchema) -> Option<String> {
    let (_, field) = expr.to_field(schema).ok()?;
    kind_of(&field).map(str::to_owned)
}

/// The function by which an expression becomes a text; `None` if it does as it is.
fn shown_by(expr: &Expr, schema: &DFSchema) -> Option<&'static str> {
    told(expr, schema).and_then(|told| shown(&told))
}

fn call(planner: &Planner, name: &str, argument: Expr) -> Result<Expr> {
    let function = planner.function(name).ok_or_else(|| plan_datafusion_err!("no function {name}"))?;
    Ok(Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![argument])))
}

/// Whether it is a text that was written without a type.
fn is_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Utf8(Some(_)) | ScalarValue::Utf8View(Some(_)), _))
}

fn named(planner: &Planner, part: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match part {
        Expr::Cast(Cast { expr, field }) if field.data_type().is_string() => match shown_by(&expr, schema) {
            Some(function) => {
                let expr = Box::new(call(planner, function, *expr)?);
                Ok(Transformed::yes(Expr::Cast(Cast { expr, field })))
            }
            None => Ok(Transformed::no(Expr::Cast(Cast { expr, field }))),
        },
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::StringConcat, right }) => {
            let text = |side: Box<Expr>| match shown_by(&side, schema) {
                Some(function) => call(planner, function, *side).map(Box::new),
                None => Ok(side),
            };
            let (left, right) = (text(left)?, text(right)?);
            Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op: Operator::StringConcat, right })))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if op.supports_propagation() || op == Operator::NotEq => {
            let (left, right) = if is_text(&right) {
                let right = read_as(planner, told(&left, schema), *right)?;
                (left, Box::new(right))
            } else if is_text(&left) {
                let left = read_as(planner, told(&right, schema), *left)?;
                (Box::new(left), right)
            } else {
                (left, right)
            };
            Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right })))
        }
        Expr::InList(InList { expr, list, negated }) if list.iter().any(is_text) => {
            let of = told(&expr, schema);
            let list = list
                .into_iter()
                .map(|element| if is_text(&element) { read_as(planner, of.clone(), element) } else { Ok(element) });
            let list = list.collect::<Result<Vec<_>>>()?;
            Ok(Transformed::yes(Expr::InList(InList { expr, list, negated })))
        }
        Expr::ScalarFunction(mut function) => {
            let is_vector = |function: &ScalarFunction| {
                function.args.first().and_then(|array| shown_by(array, schema)) == Some(SHOWN_VECTOR)
            };
            match function.name() {
                SUBSCRIPT if function.args.len() == 2 && is_vector(&function) => {
                    let place = function.args.remove(1);
                    function.args.push(Expr::BinaryExpr(BinaryExpr {
                        left: Box::new(place),
                        op: Operator::Plus,
                        right: Box::new(lit(1_i64)),
                    }));
                    Ok(Transformed::yes(Expr::ScalarFunction(function)))
                }
                // A name is an array of characters.
                SUBSCRIPT if function.args.len() == 2 && told(&function.args[0], schema).as_deref() == Some("name") => {
                    let place = function.args.remove(1);
                    let first = Expr::BinaryExpr(BinaryExpr {
                        left: Box::new(place),
                        op: Operator::Plus,
                        right: Box::new(lit(1_i64)),
                    });
                    let name = function.args.remove(0);
                    let substr =
                        planner.function("substr").ok_or_else(|| plan_datafusion_err!("no function substr"))?;
                    let args = vec![name, first, lit(1_i64)];
                    Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(substr, args))))
                }
                SUBSCRIPTS if is_vector(&function) => {
                    let vector = function.args.remove(0);
                    Ok(Transformed::yes(call(planner, VECTOR_SUBSCRIPTS, vector)?))
                }
                _ => Ok(Transformed::no(Expr::ScalarFunction(function))),
            }
        }
        other => Ok(Transformed::no(other)),
    }
}

/// A text beside a value of a type: what the type reads it as.
fn read_as(planner: &Planner, told: Option<String>, text: Expr) -> Result<Expr> {
    match told.filter(|told| told.starts_with("reg") || told == "oid" || told == "xid") {
        Some(told) => match planner.function(&told) {
            Some(_) => call(planner, &told, text),
            None => Ok(text),
        },
        None => Ok(text),
    }
}
