//! Step 5: whether the first record names the columns.
//!
//! It does if it differs from what stands below it: text above typed values, or another shape of text. Where nothing
//! tells, it is data, since a header taken for data is seen at once and a record taken for a header is lost.

use super::given::Given;
use super::parse::{Cell, Table};
use super::sniffed::{Found, Sniffed};
use super::types::{InferredType, OpenQuestion, Reading, TypeSet, classify};

/// Words that name columns more often than they are values.
const USUAL_NAMES: [&str; 48] = [
    "id",
    "name",
    "key",
    "value",
    "val",
    "date",
    "time",
    "timestamp",
    "type",
    "code",
    "title",
    "description",
    "city",
    "country",
    "state",
    "address",
    "street",
    "zip",
    "email",
    "phone",
    "first",
    "last",
    "first_name",
    "last_name",
    "age",
    "gender",
    "sex",
    "price",
    "amount",
    "quantity",
    "status",
    "category",
    "url",
    "text",
    "label",
    "class",
    "comment",
    "notes",
    "year",
    "month",
    "day",
    "lat",
    "lon",
    "latitude",
    "longitude",
    "count",
    "total",
    "user",
];

/// Decides whether there is a header.
pub(super) fn detect(sniffed: &mut Sniffed, table: &Table, given: &Given) {
    if given.header.is_some() {
        sniffed.columns = Vec::new();
        resize(sniffed, table, given);
        return;
    }
    let (header, reason) = is_header(table, &sniffed.reading(given));
    sniffed.header = Found::detected(header, reason);
    resize(sniffed, table, given);
}

/// Makes as many columns as the table has.
fn resize(sniffed: &mut Sniffed, table: &Table, given: &Given) {
    let reading = sniffed.reading(given);
    let count = table.first().map_or(0, Vec::len);
    let column = || super::sniffed::Column {
        name: String::new(),
        types: TypeSet::EVERY,
        decision: TypeSet::EVERY.decide(&reading),
    };
    sniffed.columns = std::iter::repeat_with(column).take(count).collect();
}

/// Whether the first record of a table names its columns, and why.
pub(super) fn is_header(table: &[Vec<Cell>], reading: &Reading) -> (bool, String) {
    let Some((first, rest)) = table.split_first() else { return (false, "there is no record".to_owned()) };
    let no = |reason: &str| (false, reason.to_owned());
    let text = |cell: &Cell| String::from_utf8_lossy(cell.content.trim_ascii()).into_owned();
    let filled: Vec<&Cell> = first.iter().filter(|cell| !cell.content.trim_ascii().is_empty()).collect();
    if filled.is_empty() {
        return no("the first record is empty");
    }
    let value_like = |cell: &Cell| is_value(cell, reading);
    let mut names: Vec<String> = filled.iter().map(|cell| text(cell)).collect();
    let values = filled.iter().filter(|cell| value_like(cell)).count();
    names.sort();
    let repeated = names.windows(2).filter(|pair| pair[0] == pair[1]).count();
    if rest.is_empty() {
        let named = values == 0 && repeated == 0 && filled.len() == first.len() && first.iter().all(is_name_like);
        let reason =
            if named { "it is the only record, and its fields could be names" } else { "it is the only record" };
        return (named, reason.to_owned());
    }
    let mut evidence = 0_i32;
    let mut against = 0_i32;
    for (column, cell) in first.iter().enumerate() {
        let below: Vec<&Cell> =
            rest.iter().map(|cells| &cells[column]).filter(|cell| !cell.content.is_empty()).collect();
        if below.is_empty() || cell.content.trim_ascii().is_empty() {
            continue;
        }
        let types =
            below.iter().fold(TypeSet::EVERY, |set, cell| set.join(classify(&cell.content, cell.quoted, reading)));
        let decision = types.decide(reading);
        let has_type = decision.value_type != InferredType::Text || decision.open == Some(OpenQuestion::DateOrder);
        let fits = types.join(classify(&cell.content, cell.quoted, reading)).decide(reading);
        if has_type && !value_like(cell) {
            evidence += 4;
        } else if has_type && fits.value_type == decision.value_type {
            against += 6;
        } else if !has_type {
            let (for_header, for_data) = compare_texts(cell, &below);
            evidence += for_header;
            against += for_data;
        }
    }
    let most_are_values = values * 3 > filled.len();
    if most_are_values && !years_above_numbers(&filled) {
        return no("the first record has values like those below it");
    }
    if repeated > 0 {
        against += repeated as i32;
    }
    let usual = filled.iter().filter(|cell| USUAL_NAMES.contains(&text(cell).to_lowercase().as_str())).count();
    evidence += 3 * usual.min(4) as i32;
    if evidence > against {
        (true, "the first record differs from those below it".to_owned())
    } else {
        no("the first record is like those below it")
    }
}

/// Whether a cell is what columns hold rather than what they are called.
fn is_value(cell: &Cell, reading: &Reading) -> bool {
    let decision = classify(&cell.content, false, reading).decide(reading);
    decision.value_type != InferredType::Text || !decision.is_settled() || has_digits_only(&cell.content)
}

/// Whether a text is of digits with points and commas, as numbers are in some other spelling.
fn has_digits_only(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    text.iter().any(u8::is_ascii_digit) && text.iter().all(|byte| byte.is_ascii_digit() || b",.".contains(byte))
}

/// Whether values in a header are years, as in pivoted tables.
fn years_above_numbers(filled: &[&Cell]) -> bool {
    let year = |cell: &&&Cell| cell.content.len() == 4 && matches!(&cell.content[..2], b"19" | b"20");
    let others = filled.iter().filter(|cell| !cell.content.iter().all(u8::is_ascii_digit)).count();
    others > 0 && filled.iter().filter(year).count() + others == filled.len()
}

/// Whether a cell could be a name: short, with a letter, of letters, digits, blanks and a few signs.
fn is_name_like(cell: &Cell) -> bool {
    let text = String::from_utf8_lossy(&cell.content);
    let sign = |c: char| c.is_alphanumeric() || " _-./()#%$:".contains(c);
    text.chars().count() <= 40 && text.chars().all(sign) && text.chars().any(char::is_alphabetic)
}

/// How much a text above texts looks like their name, and how much like one of them.
fn compare_texts(cell: &Cell, below: &[&Cell]) -> (i32, i32) {
    if below.iter().any(|other| other.content == cell.content) {
        return (0, 4);
    }
    let shape = Shape::of(cell);
    let shapes: Vec<Shape> = below.iter().map(|other| Shape::of(other)).collect();
    let uniform = shapes.iter().all(|other| *other == shapes[0]);
    let like_any = shapes.contains(&shape);
    if !is_name_like(cell) {
        return (0, 2);
    }
    match (uniform, like_any) {
        (true, false) => (2, 0),
        (false, false) => (1, 0),
        (true, true) => (0, 2),
        (false, true) => (0, 1),
    }
}

/// The kinds of characters in a text: lower case, upper case, upper case at its start, digits, blanks, signs.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shape([bool; 6]);

impl Shape {
    fn of(cell: &Cell) -> Shape {
        let text = String::from_utf8_lossy(&cell.content);
        let any = |test: fn(char) -> bool| text.chars().any(test);
        Shape([
            any(char::is_lowercase),
            any(char::is_uppercase),
            text.starts_with(char::is_uppercase),
            any(|c| c.is_ascii_digit()),
            any(char::is_whitespace),
            any(|c| !c.is_alphanumeric() && !c.is_whitespace() && c != '_'),
        ])
    }
}
