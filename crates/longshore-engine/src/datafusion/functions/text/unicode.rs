//! Normal forms and escapes of Unicode.

use unicode_normalization::UnicodeNormalization;

use crate::Error;
use crate::datafusion::functions::calls::Kind::{Bool, Text};
use crate::datafusion::functions::calls::{Given, Overload, Row, of};
use crate::sql::unicode_escapes::unescaped;

pub(super) const OVERLOADS: &[Overload] = &[
    of("normalize", &[Text], Text, |row| normalized(row.text(0), "NFC").map(Given::from)),
    of("normalize", &[Text, Text], Text, |row| normalized(row.text(0), row.text(1)).map(Given::from)),
    of("is_normalized", &[Text], Bool, |row| Ok((normalized(row.text(0), "NFC")? == row.text(0)).into())),
    of("is_normalized", &[Text, Text], Bool, |row| Ok((normalized(row.text(0), row.text(1))? == row.text(0)).into())),
    of("unistr", &[Text], Text, |row: &Row<'_>| unescaped(row.text(0), '\\', true, no_code_point).map(Given::from)),
];

fn normalized(text: &str, form: &str) -> Result<String, Error> {
    Ok(match form.to_ascii_uppercase().as_str() {
        "NFC" => text.nfc().collect(),
        "NFD" => text.nfd().collect(),
        "NFKC" => text.nfkc().collect(),
        "NFKD" => text.nfkd().collect(),
        _ => return Err(Error::invalid(format!("invalid normalization form: {form}"))),
    })
}

fn no_code_point(code: u32) -> Error {
    Error::invalid(format!("invalid Unicode code point: {code:04X}"))
}
