//! Step 6: what types the columns of the sample can have.

use super::family::Family;
use super::given::Given;
use super::parse::Table;
use super::sniffed::Sniffed;
use super::types::{TypeSet, classify};

/// Meets the types of every column's values.
pub(super) fn guess(sniffed: &mut Sniffed, table: &Table, given: &Given) {
    let reading = sniffed.reading(given);
    let is_null = |content: &[u8], quoted: bool| match &given.null_texts {
        Some(texts) => !quoted && texts.iter().any(|text| text == content),
        None => !quoted && content.is_empty(),
    };
    let escapes = sniffed.family.value == Family::PgText;
    for (index, column) in sniffed.columns.iter_mut().enumerate() {
        let mut set = if given.all_text { TypeSet::TEXT } else { TypeSet::EVERY };
        for cell in table.iter().filter_map(|cells| cells.get(index)) {
            if set.is_text() {
                break;
            }
            if !is_null(&cell.content, cell.quoted) {
                // Escapes of PostgreSQL's format stand in text only.
                let text = escapes && cell.content.contains(&b'\\');
                set = set.join(if text { TypeSet::TEXT } else { classify(&cell.content, cell.quoted, &reading) });
            }
        }
        column.types = set;
        column.decision = set.decide(&reading);
        if given.all_text {
            "every column is text, as given".clone_into(&mut column.decision.reason);
        }
    }
}
