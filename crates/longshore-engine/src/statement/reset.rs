//! RESET of settings.

use sqlparser::ast::{Expr, Ident, ObjectName, Reset, Set, Statement};

use super::{SessionContext, follow_path, time_settings, transaction};
use crate::{Error, Outcome};

/// RESET: what it names becomes what it was at first; of all, what sessions have for themselves.
pub(super) fn reset_settings(session: &mut SessionContext<'_>, reset: &Reset) -> Result<Outcome, Error> {
    let name = match reset {
        Reset::ALL => {
            session.settings.reset(session.block.is_open());
            for name in transaction::SESSION_SETTINGS.into_iter().chain(time_settings::NAMES) {
                reset_setting(session, &ObjectName::from(vec![Ident::new(name)]))?;
            }
            return follow_path(session, Outcome::done("RESET"));
        }
        Reset::ConfigurationParameter(name) => name,
    };
    reset_setting(session, name)?;
    follow_path(session, Outcome::done("RESET"))
}

fn reset_setting(session: &mut SessionContext<'_>, name: &ObjectName) -> Result<(), Error> {
    let values = vec![Expr::Identifier(Ident::new("DEFAULT"))];
    let set = Statement::Set(Set::SingleAssignment { scope: None, hivevar: false, variable: name.clone(), values });
    let done = super::set(session, &set);
    done.unwrap_or_else(|| Err(Error::no_object(format!("setting {name} does not exist, or cannot be changed"))))
        .map(|_| ())
}
