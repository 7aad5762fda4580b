//! What lines that are no records begin with.
//!
//! Not here: which of the choices explains the text (`score`), and comments that only the table shows to be some (`refine`).

use super::given::Given;
use super::parse::{Record, Style, usual_fields};
use super::stretches::Stretches;

/// Prefixes that comments are known by.
pub(super) const COMMENTS: [&[u8]; 4] = [b"#", b"//", b"%", b"--"];

/// What comments may begin with; the first is what was given, or nothing.
pub(super) fn choices(stretches: &Stretches<'_>, given: &Given) -> Vec<Option<Vec<u8>>> {
    if let Some(comment) = &given.comment {
        return vec![Some(comment.clone()).filter(|comment| !comment.is_empty())];
    }
    let lines = stretches.parse(&Style::default()).records;
    let begins = |prefix: &&[u8]| lines.iter().any(|line| line.cells[0].content.starts_with(prefix));
    let prefixes = COMMENTS.into_iter().filter(begins);
    std::iter::once(None).chain(prefixes.map(|prefix| Some(prefix.to_vec()))).collect()
}

/// Whether most records that begin with a prefix have another number of fields than the others: data and a header may
/// begin so as well.
pub(super) fn are_odd(records: &[Record], prefix: &[u8]) -> bool {
    let fields = usual_fields(&records.iter().collect::<Vec<_>>());
    let begins = |record: &&Record| !record.cells[0].quoted && record.cells[0].content.starts_with(prefix);
    let (mut count, mut odd) = (0, 0);
    for record in records.iter().filter(begins) {
        count += 1;
        odd += usize::from(record.cells.len() != fields);
    }
    odd * 2 > count
}
