//! `current_setting`: settings as the statement knows them.

use super::Gives::Text;
use super::{Entry, Takes, Value, entry};
use crate::{Error, ErrorKind};

pub(super) const ENTRIES: &[Entry] = &[entry("current_setting", &[Takes::Text, Takes::Bool], Text, |catalog, args| {
    let name = args[0].text();
    let settings = catalog.transaction.numbers().settings();
    let found = settings.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    match found {
        Some((_, value)) => Ok(value.as_str().into()),
        None if args.get(1) == Some(&Value::Bool(true)) => Ok(Value::Null),
        None => Err(Error::new(ErrorKind::NoObject, format!("unrecognized configuration parameter \"{name}\""))),
    }
})
.least(1)];
