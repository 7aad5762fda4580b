//! `pg_database` and `pg_namespace`: the one database there is, and its schemas.

use super::super::objects::DATABASE_OID;
use super::super::rows::{Rows, text};
use super::super::{SystemCatalog, access};
use crate::catalog::Commented;
use crate::sql::names::CATALOG;

/// PostgreSQL's number of UTF-8 among encodings.
const UTF8: i32 = 6;
/// The tablespace that everything is in by default.
const PG_DEFAULT: u32 = 1663;

pub(super) fn pg_database(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.row([
        ("oid", DATABASE_OID.into()),
        ("datname", CATALOG.into()),
        ("datdba", access::owner(catalog, &Commented::Database)),
        ("datacl", access::acl(catalog, &Commented::Database)),
        ("encoding", UTF8.into()),
        ("datlocprovider", 'c'.into()),
        ("datistemplate", false.into()),
        ("datallowconn", true.into()),
        ("datconnlimit", (-1).into()),
        ("datfrozenxid", 0.into()),
        ("datminmxid", 0.into()),
        ("dattablespace", PG_DEFAULT.into()),
        ("datcollate", "C".into()),
        ("datctype", "C.UTF-8".into()),
    ]);
}

pub(super) fn pg_namespace(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    for (oid, name) in &catalog.objects().schemas {
        let on = Commented::Schema(name.clone());
        rows.row([
            ("oid", (*oid).into()),
            ("nspname", text(name)),
            ("nspowner", access::owner(catalog, &on)),
            ("nspacl", access::acl(catalog, &on)),
        ]);
    }
}
