//! `COPY` of `pg_dump` and `pg_restore`, which say no format and mean PostgreSQL's: they write and send what `COPY` gives and
//! takes as it is.

use crate::sql::Parsed;
use crate::sql::copy::{CopySource, CopyTarget};
use crate::sql::options::OptionItem;

/// What these programs call themselves (`application_name`).
const PROGRAMS: [&str; 3] = ["pg_dump", "pg_dumpall", "pg_restore"];

/// Gives a `COPY` of such a program the format that it means.
pub(super) fn tell_format<'a>(parsed: &mut Parsed, application: impl FnOnce() -> Option<&'a str>) {
    let options = match parsed {
        Parsed::CopyTo(copy) if copy.target == CopyTarget::Stdout => &mut copy.options,
        Parsed::CopyFrom(copy) if matches!(copy.source, CopySource::Stdin) => &mut copy.options,
        _ => return,
    };
    let says_one = options.iter().any(|option| option.name == "FORMAT");
    if !says_one && application().is_some_and(|application| PROGRAMS.contains(&application)) {
        options.push(OptionItem::format("text"));
    }
}
