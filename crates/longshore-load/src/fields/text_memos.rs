//! What is remembered of the columns of text of a partition buffer while it is filled, where it asks for their codes.

use longshore_csv::decode::TextMemo;
use longshore_storage::SpareColumn;

/// What a worker remembers of the columns of the buffer that it fills.
#[derive(Default)]
pub(crate) struct TextMemos(Vec<Option<TextMemo>>);

impl TextMemos {
    /// Forgets all, for another buffer.
    pub(crate) fn clear(&mut self) {
        self.0.iter_mut().flatten().for_each(TextMemo::clear);
    }

    /// What is remembered of a column, if its codes are asked for.
    pub(super) fn of(&mut self, spare: &SpareColumn<'_>, column: usize) -> Option<&mut TextMemo> {
        spare.codes.as_ref()?;
        if self.0.len() <= column {
            self.0.resize_with(column + 1, || None);
        }
        Some(self.0[column].get_or_insert_default())
    }
}

/// Tells a column what the codes stand for that were written of some rows, if all of them were.
pub(super) fn note_codes(spare: &mut SpareColumn<'_>, memo: Option<&mut TextMemo>, rows: usize) {
    if let (Some(codes), Some(texts)) = (&mut spare.codes, memo.and_then(|memo| memo.views(rows))) {
        codes.stand_for(texts);
    }
}
