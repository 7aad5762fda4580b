//! `format_type` and what tells of functions and their arguments.

use super::Gives::{Bool, Text, Typed};
use super::{Entry, Takes, Value, entry};
use crate::datafusion::planning::system_tables::base_types::BASE_TYPE;
use crate::datafusion::planning::system_tables::{
    SystemCatalog, arguments_of, base_of_domain, system_rows, type_shown,
};
use crate::{Error, ErrorKind};

pub(super) const ENTRIES: &[Entry] = &[
    entry("format_type", &[Takes::Int, Takes::Int], Text, |catalog, args| {
        let modifier = if args[1] == Value::Null { None } else { i32::try_from(args[1].int()).ok() };
        match args[0] {
            Value::Null => Ok(Value::Null),
            _ => Ok(type_shown(catalog, args[0].oid(), modifier).unwrap_or_else(|| "???".to_owned()).into()),
        }
    })
    .called_on_null(),
    entry(BASE_TYPE, &[Takes::Int], Typed("oid"), |catalog, args| {
        Ok(base_of_domain(catalog, args[0].oid()).unwrap_or(0).into())
    }),
    entry("pg_get_function_arguments", &[Takes::Int], Text, |catalog, args| Ok(arguments(catalog, args[0].oid()))),
    entry("pg_get_function_identity_arguments", &[Takes::Int], Text, |catalog, args| {
        Ok(arguments(catalog, args[0].oid()))
    }),
    entry("pg_get_function_result", &[Takes::Int], Text, |catalog, args| {
        let oid = system_rows("pg_proc", "prorettype", args[0].oid()).and_then(|oid| oid.parse().ok());
        let is_set = system_rows("pg_proc", "proretset", args[0].oid()).is_some_and(|is_set| is_set == "true");
        let shown = oid.and_then(|oid| type_shown(catalog, oid, None));
        Ok(shown.map(|shown| if is_set { format!("SETOF {shown}") } else { shown }).into())
    }),
    entry("pg_get_function_sqlbody", &[Takes::Int], Text, |_, _| Ok(Value::Null)),
    entry("pg_get_functiondef", &[Takes::Int], Text, |_, args| {
        let name = system_rows("pg_proc", "proname", args[0].oid());
        Err(match name {
            Some(name) => Error::new(
                ErrorKind::Unsupported,
                format!("the function {name} is built in; it has no definition in SQL"),
            ),
            None => Error::no_object(format!("function with OID {} does not exist", args[0].int())),
        })
    }),
    entry("pg_function_is_visible", &[Takes::Int], Bool, |_, args| Ok(is_of("pg_proc", "proname", args[0].oid()))),
    entry("pg_operator_is_visible", &[Takes::Int], Bool, |_, args| Ok(is_of("pg_operator", "oprname", args[0].oid()))),
    entry("pg_opclass_is_visible", &[Takes::Int], Bool, |_, args| Ok(is_of("pg_opclass", "opcname", args[0].oid()))),
    entry("pg_opfamily_is_visible", &[Takes::Int], Bool, |_, args| Ok(is_of("pg_opfamily", "opfname", args[0].oid()))),
    entry("pg_collation_is_visible", &[Takes::Int], Bool, |_, args| {
        Ok(is_of("pg_collation", "collname", args[0].oid()))
    }),
    entry("pg_conversion_is_visible", &[Takes::Int], Bool, |_, _| Ok(Value::Null)),
    entry("pg_ts_config_is_visible", &[Takes::Int], Bool, |_, _| Ok(Value::Null)),
    entry("pg_ts_dict_is_visible", &[Takes::Int], Bool, |_, _| Ok(Value::Null)),
    entry("pg_ts_parser_is_visible", &[Takes::Int], Bool, |_, _| Ok(Value::Null)),
    entry("pg_ts_template_is_visible", &[Takes::Int], Bool, |_, _| Ok(Value::Null)),
    entry("pg_statistics_obj_is_visible", &[Takes::Int], Bool, |_, _| Ok(Value::Null)),
];

/// Whether there is such an object of the system; NULL if there is not.
fn is_of(table: &str, column: &str, oid: u32) -> Value {
    system_rows(table, column, oid).map(|_| true).into()
}

fn arguments(catalog: &SystemCatalog, oid: u32) -> Value {
    let Some(types) = arguments_of(oid) else { return Value::Null };
    let shown = types.iter().map(|oid| type_shown(catalog, *oid, None).unwrap_or_else(|| "???".to_owned()));
    shown.collect::<Vec<_>>().join(", ").into()
}
