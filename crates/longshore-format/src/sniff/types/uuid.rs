//! UUIDs: which of their spellings a column of UUIDs keeps.

use longshore_csv::decode::exact;

/// A field without the blanks and tabs around it.
pub(super) fn unpadded(mut field: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = field {
        field = rest;
    }
    field
}

/// Whether `text` is a UUID that differs from the stored one in case and braces at most. Hyphens in other places, or
/// none, would be lost: such a text may be another identifier, or a hash.
pub(super) fn is_kept(text: &[u8]) -> bool {
    let bare = match text {
        [b'{', inner @ .., b'}'] => inner,
        _ => text,
    };
    has_usual_hyphens(bare) && exact::uuid(text).is_ok()
}

/// Whether hyphens stand where a stored UUID has them.
pub(super) fn has_usual_hyphens(text: &[u8]) -> bool {
    text.len() == 36 && [8, 13, 18, 23].iter().all(|&at| text[at] == b'-')
}
