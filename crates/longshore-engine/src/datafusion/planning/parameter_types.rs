//! The types of parameters, from where they stand in a plan: what they are compared or combined with, what a function takes,
//! what else CASE, COALESCE and UNION choose among, as PostgreSQL's chapter 10 has it.
//!
//! Each place tells one type or none; the first that does counts. A parameter that stands only where any type may is a text.
//! Not here: parameters that a cast is applied to (`plan_cache::placeholders`).

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::{Between, InList, InSubquery, Placeholder, ScalarFunction, WindowFunction};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{BinaryExpr, Case, Expr, LogicalPlan, Operator};

use super::function_types::wanted;
use super::kinds::type_of_operand;
use super::origin::{Known, column_of_known_type, known_type, shown_value, without_names};
use super::system_tables::signatures::signatures;
use crate::builtin_types::{BuiltinType, TypeId};
use crate::datafusion::functions::shifted::COMPUTED;
use crate::sql::arrays::{ALL_OF, ANY_OF, SLICE, SUBSCRIPT};

/// The types of the parameters of a plan that are not known yet everywhere, and of those whose type Arrow has not, by their names.
pub(in crate::datafusion) fn deduced(plan: &LogicalPlan) -> Result<BTreeMap<String, Known>> {
    let mut found = Found::default();
    plan.apply_with_subqueries(|node| {
        found.of_node(node);
        let empty = LogicalPlan::default();
        let inputs = node.inputs();
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                found.of_part(part, &Inputs(&inputs, &empty));
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    let Found { mut types, elsewhere } = found;
    for (id, known) in elsewhere {
        types.entry(id).or_insert(known);
    }
    Ok(types)
}

/// The inputs of a node.
struct Inputs<'a>(&'a [&'a LogicalPlan], &'a LogicalPlan);

impl Inputs<'_> {
    /// The type of an expression over their columns.
    fn known(&self, expr: &Expr) -> Option<Known> {
        if let Expr::Placeholder(Placeholder { field, .. }) = expr {
            return field.as_ref().and_then(|field| BuiltinType::of_oid(TypeId::of_field(field).oid));
        }
        self.each().find_map(|input| known_type(expr, input))
    }

    /// The same as Arrow has it.
    fn arrow(&self, expr: &Expr) -> Option<DataType> {
        self.each().find_map(|input| type_of_operand(expr, input.schema()))
    }

    fn each(&self) -> impl Iterator<Item = &LogicalPlan> {
        let nothing = self.0.is_empty().then_some(self.1);
        self.0.iter().copied().chain(nothing)
    }
}

#[derive(Default)]
struct Found {
    types: BTreeMap<String, Known>,
    /// What parameters are that have a type where they stand.
    elsewhere: BTreeMap<String, Known>,
}

impl Found {
    /// `expr` is of this type, if it is a parameter.
    fn is(&mut self, expr: &Expr, known: Option<Known>) {
        let (Expr::Placeholder(Placeholder { id, field }), Some(known)) = (without_names(expr), known) else { return };
        // What a cast says is so; a text may be one of the types that are texts to Arrow.
        let is_open = field.as_ref().is_none_or(|field| {
            let own = match field.data_type() {
                DataType::List(item) => item.data_type(),
                own => own,
            };
            own.is_string() && is_text_here(known)
        });
        if is_open {
            self.types.entry(id.clone()).or_insert(known);
        }
    }

    fn is_named(&mut self, expr: &Expr, name: &str) {
        self.is(expr, BuiltinType::named(name).map(|known| (known, false)));
    }

    /// All of these are of one type, which one of them tells.
    fn are_one<'a>(&mut self, exprs: impl IntoIterator<Item = &'a Expr> + Clone, inputs: &Inputs<'_>) {
        if !exprs.clone().into_iter().any(|expr| matches!(expr, Expr::Placeholder(_))) {
            return;
        }
        let known = exprs.clone().into_iter().find_map(|expr| inputs.known(expr));
        exprs.into_iter().for_each(|expr| self.is(expr, known));
    }

    fn of_node(&mut self, node: &LogicalPlan) {
        match node {
            LogicalPlan::Filter(filter) => self.is_named(&filter.predicate, "bool"),
            LogicalPlan::Limit(limit) => {
                for number in limit.skip.iter().chain(&limit.fetch) {
                    let _ = number.apply(|part| {
                        self.is_named(part, "int8");
                        Ok(TreeNodeRecursion::Continue)
                    });
                }
            }
            LogicalPlan::Union(union) => {
                for at in 0..union.schema.fields().len() {
                    let known = union.inputs.iter().find_map(|input| column_of_known_type(input, at));
                    union
                        .inputs
                        .iter()
                        .filter_map(|input| shown_value(input, at))
                        .for_each(|expr| self.is(expr, known));
                }
            }
            LogicalPlan::Values(values) => {
                let nothing = LogicalPlan::default();
                for at in 0..values.schema.fields().len() {
                    self.are_one(values.values.iter().filter_map(|row| row.get(at)), &Inputs(&[], &nothing));
                }
            }
            _ => {}
        }
    }

    fn of_part(&mut self, part: &Expr, inputs: &Inputs<'_>) {
        match part {
            Expr::Placeholder(Placeholder { id, .. }) => {
                if let Some(known) = inputs.known(part) {
                    self.elsewhere.entry(id.clone()).or_insert(known);
                }
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => self.of_operator(left, *op, right, inputs),
            Expr::Not(of)
            | Expr::IsTrue(of)
            | Expr::IsFalse(of)
            | Expr::IsUnknown(of)
            | Expr::IsNotTrue(of)
            | Expr::IsNotFalse(of)
            | Expr::IsNotUnknown(of) => self.is_named(of, "bool"),
            Expr::Negative(of) => self.is_named(of, "float8"),
            Expr::Between(Between { expr, low, high, .. }) => {
                self.are_one([expr.as_ref(), low.as_ref(), high.as_ref()], inputs);
            }
            Expr::InList(InList { expr, list, .. }) => {
                self.are_one(std::iter::once(expr.as_ref()).chain(list), inputs);
            }
            Expr::InSubquery(InSubquery { expr, subquery, .. }) => {
                self.is(expr, column_of_known_type(&subquery.subquery, 0));
            }
            Expr::Case(case) => self.of_case(case, inputs),
            Expr::ScalarFunction(call) => self.of_call(call, inputs),
            Expr::AggregateFunction(call) => match (call.func.name(), call.params.args.as_slice()) {
                ("percentile_cont" | "percentile_disc", args) => {
                    for fraction in args {
                        self.is_named(fraction, "float8");
                    }
                }
                _ => call.params.filter.iter().for_each(|filter| self.is_named(filter, "bool")),
            },
            Expr::WindowFunction(call) => self.of_window(call, inputs),
            _ => {}
        }
    }

    fn of_case(&mut self, case: &Case, inputs: &Inputs<'_>) {
        let whens = case.when_then_expr.iter().map(|(when, _)| when.as_ref());
        match &case.expr {
            Some(of) => self.are_one(std::iter::once(of.as_ref()).chain(whens), inputs),
            None => whens.for_each(|when| self.is_named(when, "bool")),
        }
        let results = case.when_then_expr.iter().map(|(_, result)| result.as_ref());
        self.are_one(results.chain(case.else_expr.as_deref()), inputs);
    }

    fn of_window(&mut self, call: &WindowFunction, inputs: &Inputs<'_>) {
        let args = call.params.args.as_slice();
        match (call.fun.name().trim_end_matches(COMPUTED), args) {
            ("ntile", [number]) | ("nth_value" | "lag" | "lead", [_, number]) => {
                self.is_named(number, "int4");
            }
            ("lag" | "lead", [value, number, default]) => {
                self.is_named(number, "int4");
                self.are_one([value, default], inputs);
            }
            _ => {}
        }
    }

    fn of_call(&mut self, call: &ScalarFunction, inputs: &Inputs<'_>) {
        let args = call.args.as_slice();
        match (call.func.name(), args) {
            ("coalesce" | "nullif" | "greatest" | "least" | "make_array", _) => self.are_one(args, inputs),
            (ANY_OF | ALL_OF, [_, value, array]) => {
                self.is(array, inputs.known(value).map(|(known, _)| (known, true)));
                self.is(value, inputs.known(array).map(|(known, _)| (known, false)));
            }
            (SUBSCRIPT | SLICE, [_, subscripts @ ..]) => {
                for subscript in subscripts {
                    self.is_named(subscript, "int4");
                }
            }
            ("+", [left, right]) => self.of_operator(left, Operator::Plus, right, inputs),
            ("-", [left, right]) => self.of_operator(left, Operator::Minus, right, inputs),
            ("*", [left, right]) => self.of_operator(left, Operator::Multiply, right, inputs),
            ("/", [left, right]) => self.of_operator(left, Operator::Divide, right, inputs),
            (name, _) => {
                let is_open = |arg: &Expr| matches!(arg, Expr::Placeholder(Placeholder { field: None, .. }));
                if args.iter().any(is_open) {
                    let types: Vec<_> = args.iter().map(|arg| inputs.arrow(arg)).collect();
                    let known: Vec<_> = args.iter().map(|arg| inputs.known(arg)).collect();
                    let is_known = !signatures(name).is_empty();
                    for (at, arg) in args.iter().enumerate().filter(|(_, arg)| is_open(arg)) {
                        let wanted = if is_known { wanted(name, &types, &known, at) } else { asked(call, &types, at) };
                        self.is(arg, wanted);
                    }
                }
            }
        }
    }

    fn of_operator(&mut self, left: &Expr, op: Operator, right: &Expr, inputs: &Inputs<'_>) {
        if matches!(op, Operator::And | Operator::Or) {
            self.is_named(left, "bool");
            self.is_named(right, "bool");
            return;
        }
        let is_parameter = |side: &Expr| matches!(side, Expr::Placeholder(_));
        if is_parameter(right)
            && let Some(known) = inputs.known(left)
        {
            self.is(right, beside(known, op));
        }
        if is_parameter(left)
            && let Some(known) = inputs.known(right)
        {
            self.is(left, beside(known, op));
        }
    }
}

/// The type that a function which PostgreSQL has not asks for, where it is no text.
fn asked(call: &ScalarFunction, types: &[Option<DataType>], at: usize) -> Option<Known> {
    let given = types.iter().map(|known| known.clone().unwrap_or(DataType::Null));
    let fields: Vec<FieldRef> = given.map(|known| Arc::new(Field::new("argument", known, true))).collect();
    let asked = fields_with_udf(&fields, call.func.as_ref()).ok()?.get(at)?.data_type().clone();
    (!asked.is_null() && !asked.is_string()).then(|| BuiltinType::of_values(&asked))
}

/// Whether a type has values that are texts here.
fn is_text_here((known, _): Known) -> bool {
    matches!(known.name, "varchar" | "bpchar" | "name" | "uuid")
}

/// The type of a parameter beside an operand of the type `known`.
fn beside(known: Known, op: Operator) -> Option<Known> {
    use Operator::{BitwiseShiftLeft, BitwiseShiftRight, Divide, Multiply, Plus, StringConcat};
    let named = |name: &str| BuiltinType::named(name).map(|known| (known, false));
    let (of, is_array) = known;
    match (op, of.name) {
        (StringConcat, "jsonb" | "bytea") => Some(known),
        (StringConcat, _) if is_array => Some(known),
        (StringConcat, _) => named("text"),
        (Plus, "timestamp" | "timestamptz" | "time" | "timetz") => named("interval"),
        (BitwiseShiftLeft | BitwiseShiftRight, _) | (Plus, "date") => named("int4"),
        (Multiply | Divide, "interval") => named("float8"),
        // It has no operators of its own.
        (_, "varchar") if !is_array => named("text"),
        _ => Some(known),
    }
}
