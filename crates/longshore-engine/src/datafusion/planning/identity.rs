//! `current_user`, `session_user` and their like: who the session of a statement acts as.
//!
//! They are functions of one statement. A plan that is kept has their values in it, and is made anew for another role
//! (`plan_cache`).

use std::sync::Arc;

use datafusion::logical_expr::ScalarUDF;

use crate::catalog::Catalog;
use crate::datafusion::functions::information::told;
use crate::transaction::StatementTransaction;

/// The function of this name, for a statement that works in `transaction`.
pub(super) fn function(name: &str, catalog: &Catalog, transaction: &StatementTransaction) -> Option<Arc<ScalarUDF>> {
    let identity = transaction.numbers().identity();
    let (name, role) = match name {
        "current_user" => ("current_user", identity.current),
        "current_role" => ("current_role", identity.current),
        "user" => ("user", identity.current),
        "session_user" => ("session_user", identity.session),
        _ => return None,
    };
    Some(Arc::new(told(name, catalog.definitions(|definitions| definitions.roles.name(role)))))
}
