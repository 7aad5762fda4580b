//! Calls of functions that do not exist for the types of their arguments are refused, as PostgreSQL refuses them: `left` cuts no
//! number, and `json_typeof` takes no truth value.
//!
//! What there is is PostgreSQL's `pg_proc`, and what a value becomes by itself its `pg_cast`. Functions that PostgreSQL has not, and
//! those that take more here than there, look at their arguments themselves. Literals without a type and parameters take the
//! type that is asked for. Not here: what the functions do (`functions`).

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::ExprSchemable;
use datafusion::logical_expr::expr::ScalarFunction;

use super::kinds::{Kind, becomes, element, kind, kind_named, type_of_operand, unite};
use super::origin::Known;
use super::system_tables::signatures::{Signature, signatures};
use crate::builtin_types::BuiltinType;
use crate::datafusion::functions::no_function;

/// Functions of PostgreSQL's that take more here: as those of DuckDB with the same names do, or arguments that the planner adds.
const WIDER: [&str; 7] = [
    "array_length",
    "current_schema",
    "current_schemas",
    "json_to_record",
    "json_to_recordset",
    "jsonb_to_record",
    "jsonb_to_recordset",
];

/// Refuses a call of a function that PostgreSQL has, but not for such arguments.
pub(super) fn check_call(call: &ScalarFunction, schema: &DFSchema) -> Result<()> {
    let name = call.func.name();
    let is_cast = call.args.len() == 1 && BuiltinType::named(name).is_some();
    let known = signatures(name);
    if known.is_empty() || is_cast || WIDER.contains(&name) {
        return Ok(());
    }
    let types: Vec<Option<DataType>> = call.args.iter().map(|arg| type_of_operand(arg, schema)).collect();
    if known.iter().any(|signature| takes(signature, &types)) {
        return Ok(());
    }
    let types = call.args.iter().map(|arg| arg.get_type(schema)).collect::<Result<Vec<_>>>()?;
    Err(no_function(name, &types))
}

/// Whether a function of this signature is called for arguments of these types, of which `None` become what is asked for.
fn takes(signature: &Signature, types: &[Option<DataType>]) -> bool {
    let Signature { arguments, defaults, variadic } = signature;
    let is_as_many = (arguments.len() - defaults..=arguments.len()).contains(&types.len());
    let fit = |wanted: &mut dyn Iterator<Item = u32>| {
        let mut elements = Vec::new();
        let each = types.iter().zip(wanted);
        each.map(|(known, oid)| known.as_ref().is_none_or(|known| takes_type(oid, known, &mut elements)))
            .fold(true, |all, one| all & one)
            && elements.iter().all(|one| elements.iter().all(|other| unite(*one, *other)))
    };
    if is_as_many && fit(&mut arguments.iter().copied()) {
        return true;
    }
    let Some(rest) = variadic else { return false };
    let before = arguments.len() - 1;
    types.len() >= before && fit(&mut arguments[..before].iter().copied().chain(std::iter::repeat(*rest)))
}

/// The type of the argument at the place `at` of a call, of whose arguments some have these types: the one that PostgreSQL takes
/// for a literal that has none.
pub(super) fn wanted(name: &str, types: &[Option<DataType>], known: &[Option<Known>], at: usize) -> Option<Known> {
    let fitting = signatures(name).iter().filter(|signature| takes(signature, types));
    let argument = |signature: &Signature, at: usize| match (signature.arguments.get(at).copied(), signature.variadic) {
        (_, Some(rest)) if at + 1 >= signature.arguments.len() => Some(rest),
        (argument, _) => argument,
    };
    let exact = |signature: &Signature| {
        let is_own = |(at, known): (usize, &Option<Known>)| {
            known.is_some() && *known == argument(signature, at).and_then(BuiltinType::of_oid)
        };
        known.iter().enumerate().filter(|one| is_own(*one)).count()
    };
    let fitting: Vec<&Signature> = fitting.collect();
    let most = fitting.iter().map(|signature| exact(signature)).max()?;
    let best = fitting.into_iter().filter(|signature| exact(signature) == most);
    let oids: Vec<u32> = best.filter_map(|signature| argument(signature, at)).collect();
    // Of arrays of any elements, and of those elements, the other arguments tell.
    let polymorphic = |oid: &u32| matches!(*oid, ANY_ARRAY | ANY_ELEMENT | ANY_COMPATIBLE | ANY_COMPATIBLE_ARRAY);
    if oids.iter().any(polymorphic) {
        let is_array = oids.iter().any(|oid| matches!(*oid, ANY_ARRAY | ANY_COMPATIBLE_ARRAY));
        return known.iter().flatten().next().map(|(element, _)| (*element, is_array));
    }
    let candidates: Vec<Known> = oids.iter().filter_map(|oid| BuiltinType::of_oid(*oid)).collect();
    let is_text = |(known, is_array): &Known| known.category == 'S' && !is_array;
    let is_preferred =
        |(known, is_array): &Known| matches!(known.name, "float8" | "timestamptz" | "interval" | "bool") && !is_array;
    let found = candidates.iter().find(|known| is_text(known)).or_else(|| {
        let is_one_kind = candidates.iter().all(|(known, _)| known.category == candidates[0].0.category);
        candidates.iter().find(|known| is_preferred(known)).filter(|_| is_one_kind).or(candidates.first())
    });
    found.copied()
}

/// Whether a value of the type `known` becomes by itself one of the type of this OID; where that is a type of any elements,
/// theirs goes to `elements`.
fn takes_type(oid: u32, known: &DataType, elements: &mut Vec<Option<Kind>>) -> bool {
    let of_known = kind(known);
    let is_array = of_known == Some(Kind::Array);
    match oid {
        ANY => true,
        ANY_ELEMENT | ANY_COMPATIBLE => {
            elements.push(if is_array { element(known) } else { of_known });
            true
        }
        ANY_ARRAY | ANY_COMPATIBLE_ARRAY => {
            elements.push(element(known));
            is_array || of_known.is_none()
        }
        ANY_NON_ARRAY | ANY_COMPATIBLE_NON_ARRAY => {
            elements.push(of_known);
            !is_array
        }
        RECORD => of_known.is_none(),
        _ => match (BuiltinType::of_oid(oid), of_known) {
            (_, None) | (None, _) => true,
            (Some((wanted, true)), Some(Kind::Array)) => match (element(known), kind_named(wanted.name)) {
                (Some(own), Some(wanted)) => becomes(own, wanted),
                _ => true,
            },
            (Some((_, true)), Some(_)) => false,
            (Some((wanted, false)), Some(own)) => match kind_named(wanted.name) {
                // An object that a program gives as a parameter is JSON, and is read as the JSONB that is wanted.
                Some(Kind::Jsonb) if own == Kind::Json => true,
                Some(wanted) => becomes(own, wanted),
                // Objects are known by their numbers and by their names, and paths are written as texts.
                None => matches!(own, Kind::Integer | Kind::BigInt | Kind::Text),
            },
        },
    }
}

/// Types of `pg_type` that stand for any.
const RECORD: u32 = 2249;
const ANY: u32 = 2276;
const ANY_ARRAY: u32 = 2277;
const ANY_ELEMENT: u32 = 2283;
const ANY_NON_ARRAY: u32 = 2776;
const ANY_COMPATIBLE: u32 = 5077;
const ANY_COMPATIBLE_ARRAY: u32 = 5078;
const ANY_COMPATIBLE_NON_ARRAY: u32 = 5079;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_exist_for_types_that_postgresql_has_them_for() {
        let of = |element: DataType| DataType::new_list(element, true);
        let (int, big, text, float) = (DataType::Int32, DataType::Int64, DataType::Utf8View, DataType::Float64);
        for (name, types, expected) in [
            ("left", vec![text.clone(), int.clone()], true),
            ("left", vec![int.clone(), int.clone()], false),
            ("left", vec![text.clone(), big.clone()], false),
            ("left", vec![text.clone()], false),
            ("abs", vec![int.clone()], true),
            ("abs", vec![text.clone()], false),
            ("round", vec![DataType::Decimal128(5, 2), int.clone()], true),
            ("round", vec![float.clone(), int.clone()], false),
            ("concat", vec![int.clone(), float, of(text.clone())], true),
            ("format", vec![text.clone(), int.clone(), big.clone()], true),
            ("format", vec![int.clone()], false),
            ("array_append", vec![of(int.clone()), big], true),
            ("array_append", vec![of(int.clone()), text.clone()], false),
            ("array_append", vec![int.clone(), int.clone()], false),
            ("to_json", vec![int.clone(), int.clone()], false),
            ("row_to_json", vec![int.clone()], false),
            ("date_trunc", vec![text.clone(), DataType::Date32], true),
            ("array_to_string", vec![of(int.clone()), text.clone(), text.clone()], true),
            ("array_to_string", vec![of(int), text.clone(), text.clone(), text], false),
        ] {
            let types: Vec<_> = types.into_iter().map(Some).collect();
            let found = signatures(name).iter().any(|signature| takes(signature, &types));
            assert_eq!(found, expected, "{name} {types:?}");
        }
        assert!(signatures("left").iter().any(|signature| takes(signature, &[None, None])));
    }
}
