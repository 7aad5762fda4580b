//! What options say of headers and of the columns behind them: HEADER, `UNION_BY_NAME`, TYPES.

use longshore_load::Header;
use longshore_storage::ColumnType;

use super::given::{Given, boolean};
use super::{Format, OptionValue, Use};
use crate::Error;

/// `TYPES (a INTEGER, b DATE)`, in `read_csv` `types => {a: 'INTEGER'}`.
pub(super) fn types(options: &Given<'_>) -> Result<Vec<(String, ColumnType)>, Error> {
    let Some(item) = options.item("TYPES") else {
        return Ok(Vec::new());
    };
    let problem = "columns with their types are expected, as in (a INTEGER, b DATE)";
    let OptionValue::PerColumn(columns) = &item.value else {
        return Err(options.bad("TYPES", problem));
    };
    columns
        .iter()
        .map(|(name, value)| match value {
            OptionValue::Text(text) | OptionValue::Word(text) => {
                Ok((name.clone(), crate::sql::in_text::column_type(text)?))
            }
            _ => Err(options.bad("TYPES", problem)),
        })
        .collect()
}

pub(super) fn union_by_name(options: &Given<'_>, format: Option<Format>) -> Result<bool, Error> {
    if !options.flag("UNION_BY_NAME")?.unwrap_or(false) {
        return Ok(false);
    }
    if format == Some(Format::Fixed) {
        return Err(options.bad("UNION_BY_NAME", "FORMAT fixed finds columns by their places; leave one of them out"));
    }
    match options.item("HEADER").map(|item| &item.value) {
        Some(OptionValue::Word(word) | OptionValue::Text(word))
            if boolean(&word.to_ascii_lowercase()) != Some(true) =>
        {
            Err(options.bad(
                "UNION_BY_NAME",
                &format!(
                    "columns are found by the names in a header, whatever their order; HEADER {word} says otherwise"
                ),
            ))
        }
        _ => Ok(true),
    }
}

pub(super) fn header(options: &Given<'_>, place: Use) -> Result<Header, Error> {
    let Some(item) = options.item("HEADER") else {
        // The files of an export shall speak for themselves.
        return Ok(if place == Use::Export { Header::Skip } else { Header::None });
    };
    if item.value == OptionValue::None {
        return Ok(Header::Skip);
    }
    let header = options.choice("HEADER", |name| match name {
        "match" => Some(Header::Match),
        name => boolean(name).map(|yes| if yes { Header::Skip } else { Header::None }),
    })?;
    match (header, place) {
        (Some(Header::Match), Use::CopyTo | Use::Export) => Err(options
            .bad("HEADER", "match compares the names in a file with the table's when it is read; write HEADER true")),
        (header, _) => Ok(header.unwrap_or(Header::None)),
    }
}
