//! The dialect that was found, for the passes over a text: as if all its records were whole, over the whole ones alone,
//! and with repairs of the others.
//!
//! Not here: what repairs do (`longshore-format`), which of them count (`fit`).

use longshore_csv::RepairKind;
use longshore_format::delimited::StrayQuotes;
use longshore_format::sniff::{Family, Found, Given, Sniffed};

use super::format;
use crate::error::LoadError;
use crate::options::{Repair, Repaired, TextFormat, TextOptions};

/// How records that are not whole are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// They are defects, all of them.
    Bad,
    /// Those of too few or too many fields are; quotes within fields are characters, so that records end where they do
    /// with [`Others::Repaired`].
    LeftOut,
    /// They are repaired.
    Repaired,
}

/// Whether records of such a text can be repaired.
pub(super) fn can_be_repaired(sniffed: &Sniffed) -> bool {
    matches!(sniffed.family.value, Family::Delimited | Family::FixedWidth)
}

/// Whether the sample shows records that are not whole.
pub(super) fn has_others(sniffed: &Sniffed) -> bool {
    let is_found = |found: &Found<bool>| found.value && !found.given;
    is_found(&sniffed.short_records) || is_found(&sniffed.stray_quotes)
}

/// The same dialect, for one kind of pass.
pub(super) fn reading(sniffed: &Sniffed, others: Others) -> Sniffed {
    let mut sniffed = sniffed.clone();
    let set = |found: &mut Found<bool>, value| {
        if !found.given {
            found.value = value;
        }
    };
    let repairs = others == Others::Repaired;
    set(&mut sniffed.short_records, repairs);
    set(&mut sniffed.long_records, repairs);
    let has_quotes = sniffed.quote.value.is_some();
    set(&mut sniffed.stray_quotes, others != Others::Bad && has_quotes);
    if others != Others::Bad && sniffed.columns.len() > 1 && sniffed.family.value == Family::Delimited {
        set(&mut sniffed.blank_lines, true);
    }
    sniffed
}

/// The options for the first pass over a text whose types are known and that is what `sniffed` says: as if all its
/// records were whole. With `repairs`, a pass that finds others ends with [`LoadError::Misshapen`]
/// ([`TextOptions::repairing`]); otherwise they are errors. All else is as in `options`.
///
/// # Errors
/// If the format is one whose columns cannot be found out.
pub fn found_options(sniffed: &Sniffed, options: &TextOptions, repairs: bool) -> Result<TextOptions, LoadError> {
    // Where bad records are rejected, none is because of what a sample told.
    let checks = options.on_error.stops();
    self::options(sniffed, &format::given(&Given::default(), options), options, repairs, checks)
}

/// The same, where `given` is what the user says; `checks` tells whether quotes are checked to be what was found.
pub(super) fn options(
    sniffed: &Sniffed,
    given: &Given,
    options: &TextOptions,
    repairs: bool,
    checks: bool,
) -> Result<TextOptions, LoadError> {
    let whole = with_bad_quotes(&reading(sniffed, Others::Bad), sniffed);
    let mut found = format::options_given(&whole, given, options, checks)?;
    if repairs
        && can_be_repaired(sniffed)
        && let TextFormat::Other(format) =
            format::options_given(&reading(sniffed, Others::Repaired), given, options, checks)?.format
    {
        found.repair = Repair::Later(format);
    }
    Ok(found)
}

/// The same dialect, where a quote that neither opens nor closes a field makes a record a bad one, if the sample has shown
/// some: the SIMD scan reads such quotes as PostgreSQL does.
fn with_bad_quotes(whole: &Sniffed, sniffed: &Sniffed) -> Sniffed {
    let mut whole = whole.clone();
    let found = &sniffed.stray_quotes;
    if whole.family.value == Family::Delimited && found.value && !found.given {
        whole.rules.stray_quotes = Some(StrayQuotes::Error);
    }
    whole
}

/// The dialect of a text of which these records were repaired.
pub(super) fn repaired(sniffed: &Sniffed, repaired: &[Repaired]) -> Sniffed {
    let mut sniffed = reading(sniffed, Others::Repaired);
    for (kind, found) in [
        (RepairKind::Short, &mut sniffed.short_records),
        (RepairKind::Long, &mut sniffed.long_records),
        (RepairKind::StrayQuote, &mut sniffed.stray_quotes),
    ] {
        if found.given {
            continue;
        }
        match repaired.iter().find(|repaired| repaired.kind == kind) {
            Some(repaired) => found.reason = repaired.to_string(),
            None => found.value = false,
        }
    }
    sniffed
}
