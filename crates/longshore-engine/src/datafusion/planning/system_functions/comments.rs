//! `obj_description`, `col_description` and `shobj_description`: what people have said of objects (COMMENT ON).

use super::Gives::Text;
use super::{Entry, Takes, Value, entry};
use crate::datafusion::planning::system_tables::{
    PG_CLASS_CLASS, PG_DATABASE_CLASS, SystemCatalog, system_comment, system_relation,
};

pub(super) const ENTRIES: &[Entry] = &[
    entry("obj_description", &[Takes::Int, Takes::Text], Text, |catalog, args| {
        let class = args.get(1).map(|name| system_relation(name.text()).unwrap_or(0));
        Ok(said(catalog, class, args[0].oid(), 0))
    })
    .least(1),
    entry("col_description", &[Takes::Int, Takes::Int], Text, |catalog, args| {
        Ok(said(catalog, Some(PG_CLASS_CLASS), args[0].oid(), args[1].int()))
    }),
    entry("shobj_description", &[Takes::Int, Takes::Text], Text, |catalog, args| {
        let class = system_relation(args[1].text()).filter(|class| *class == PG_DATABASE_CLASS);
        Ok(said(catalog, Some(class.unwrap_or(0)), args[0].oid(), 0))
    }),
];

/// What was said of an object of a table, or of the first one of its OID.
fn said(catalog: &SystemCatalog, class: Option<u32>, oid: u32, column: i64) -> Value {
    let is_it = |(of_class, of, of_column, _): &(u32, u32, i64, String)| {
        *of == oid && *of_column == column && class.is_none_or(|class| class == *of_class)
    };
    let found = catalog.comments().iter().find(|comment| is_it(comment)).map(|(.., text)| text.clone());
    found.or_else(|| (column == 0).then(|| system_comment(class, oid)).flatten()).into()
}
