//! What the options of a statement say of a text whose rest is found out.

use longshore_format::json::{Layout, detect_layout};
use longshore_format::sniff::{Family, Given};

use crate::Error;
use crate::sql::options::{Format, Options};

/// What `options` say to whoever finds out the rest of a text that begins with `head`.
pub(super) fn sniffing(options: &Options, head: &[u8]) -> Result<Given, Error> {
    let mut given = options.sniffing()?;
    if options.format == Some(Format::Json) {
        given.family = Some(match options.layout().or_else(|| detect_layout(head)) {
            Some(Layout::Lines) => Family::JsonLines,
            Some(Layout::Values) => Family::JsonValues,
            _ => Family::JsonArray,
        });
    }
    Ok(given)
}
