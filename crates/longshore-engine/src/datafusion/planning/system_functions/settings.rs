//! `current_setting`: settings as the statement knows them; `set_config` where it is more than a statement of its own.

use super::Gives::Text;
use super::{Entry, Takes, Value, entry};
use crate::{Error, ErrorKind};

pub(super) const ENTRIES: &[Entry] = &[
    entry("current_setting", &[Takes::Text, Takes::Bool], Text, |catalog, args| {
        let name = args[0].text();
        let settings = catalog.transaction.numbers().settings();
        let found = settings.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        match found {
            Some((_, value)) => Ok(value.as_str().into()),
            None if args.get(1) == Some(&Value::Bool(true)) => Ok(Value::Null),
            None => Err(Error::new(ErrorKind::NoObject, format!("unrecognized configuration parameter \"{name}\""))),
        }
    })
    .least(1),
    // Calls without FROM are statements (`statement::set_config`). Of others, only those that are made for no row are done.
    entry("set_config", &[Takes::Text, Takes::Text, Takes::Bool], Text, |_, _| {
        Err(Error::unsupported("set_config for rows of a table; call it for one value, without FROM"))
    })
    .called_on_null()
    .acting(),
];
