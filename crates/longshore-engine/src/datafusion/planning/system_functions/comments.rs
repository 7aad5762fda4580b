//! `obj_description`, `col_description` and `shobj_description`: what people have said of objects (COMMENT ON).

use super::Gives::Text;
use super::names::{relation, schema};
use super::{Entry, Takes, Value, entry};
use crate::Error;
use crate::datafusion::planning::system_tables::objects::DATABASE_OID;
use crate::datafusion::planning::system_tables::{
    PG_CLASS_CLASS, PG_DATABASE_CLASS, PG_NAMESPACE_CLASS, PG_TYPE_CLASS, SystemCatalog, system_comment,
    system_relation, type_named,
};
use crate::sql::names::CATALOG;

pub(super) const ENTRIES: &[Entry] = &[
    entry("obj_description", &[Takes::Int, Takes::Text], Text, |catalog, args| {
        let class = args.get(1).map(|name| system_relation(name.text()).unwrap_or(0));
        Ok(said(catalog, class, oid(catalog, class, &args[0])?, 0))
    })
    .least(1),
    entry("col_description", &[Takes::Int, Takes::Int], Text, |catalog, args| {
        let class = Some(PG_CLASS_CLASS);
        Ok(said(catalog, class, oid(catalog, class, &args[0])?, args[1].int()))
    }),
    entry("shobj_description", &[Takes::Int, Takes::Text], Text, |catalog, args| {
        let class = system_relation(args[1].text()).filter(|class| *class == PG_DATABASE_CLASS);
        let class = Some(class.unwrap_or(0));
        Ok(said(catalog, class, oid(catalog, class, &args[0])?, 0))
    }),
];

/// The object that a number is, or that a text names among those of a table, which is more than PostgreSQL takes.
fn oid(catalog: &SystemCatalog, class: Option<u32>, value: &Value) -> Result<u32, Error> {
    let Value::Text(text) = value else { return Ok(value.oid()) };
    if let Ok(oid) = text.trim().parse() {
        return Ok(oid);
    }
    let found = match class {
        None | Some(PG_CLASS_CLASS) => relation(catalog, text)?,
        Some(PG_NAMESPACE_CLASS) => schema(catalog.objects(), text),
        Some(PG_TYPE_CLASS) => type_named(catalog, text),
        Some(PG_DATABASE_CLASS) => (text == CATALOG).then_some(DATABASE_OID),
        Some(_) => None,
    };
    Ok(found.unwrap_or(0))
}

/// What was said of an object of a table, or of the first one of its OID.
fn said(catalog: &SystemCatalog, class: Option<u32>, oid: u32, column: i64) -> Value {
    let is_it = |(of_class, of, of_column, _): &(u32, u32, i64, String)| {
        *of == oid && *of_column == column && class.is_none_or(|class| class == *of_class)
    };
    let found = catalog.comments().iter().find(|comment| is_it(comment)).map(|(.., text)| text.clone());
    found.or_else(|| (column == 0).then(|| system_comment(class, oid)).flatten()).into()
}
