//! The items of a record, one behind the other: each with its kind and its length.

use super::error::ReplayProblem;
use super::wire::{NUMBER_BYTES_MAX, Reader, put_number};

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// Changes of a relation's rows.
    Rows = 1,
    /// A relation joins.
    Created = 2,
    /// A relation goes.
    Dropped = 3,
    /// Another relation takes the place of one.
    Altered = 4,
    /// Bytes of the layer above.
    Payload = 5,
    /// A relation joins whose rows are not logged.
    CreatedUnlogged = 6,
}

impl ItemKind {
    fn of(byte: u8) -> Option<ItemKind> {
        let all = [
            ItemKind::Rows,
            ItemKind::Created,
            ItemKind::Dropped,
            ItemKind::Altered,
            ItemKind::Payload,
            ItemKind::CreatedUnlogged,
        ];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// An item that is being written; its length is known in the end.
pub(super) struct OpenItem {
    /// Where what it holds begins.
    start: usize,
}

impl OpenItem {
    pub(super) fn begin(record: &mut Vec<u8>, kind: ItemKind) -> OpenItem {
        // Most have a length of one byte.
        record.extend_from_slice(&[kind as u8, 0]);
        OpenItem { start: record.len() }
    }

    pub(super) fn end(self, record: &mut Vec<u8>) {
        let (start, end) = (self.start, record.len());
        // The length is written behind, which makes room for it in front.
        put_number(record, (end - start) as u64);
        let mut length = [0; NUMBER_BYTES_MAX];
        let length_bytes = record.len() - end;
        length[..length_bytes].copy_from_slice(&record[end..]);
        if length_bytes > 1 {
            record.copy_within(start..end, start + length_bytes - 1);
        }
        record.truncate(end + length_bytes - 1);
        record[start - 1..][..length_bytes].copy_from_slice(&length[..length_bytes]);
    }
}

/// Appends an item of these bytes.
pub(super) fn put_item(record: &mut Vec<u8>, kind: ItemKind, bytes: &[u8]) {
    record.push(kind as u8);
    put_number(record, bytes.len() as u64);
    record.extend_from_slice(bytes);
}

/// The next item of a record, if there is one.
pub(super) fn next_item<'a>(record: &mut Reader<'a>) -> Result<Option<(ItemKind, Reader<'a>)>, ReplayProblem> {
    if record.is_empty() {
        return Ok(None);
    }
    let kind = record.byte()?;
    let kind = ItemKind::of(kind).ok_or_else(|| ReplayProblem::Malformed(format!("{kind} is not a kind of item")))?;
    Ok(Some((kind, Reader::new(record.bytes()?))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_any_length_come_back() {
        for length in [0, 1, 127, 128, 16_383, 16_384, 70_000] {
            let bytes: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let mut record = Vec::new();
            put_item(&mut record, ItemKind::Payload, &bytes);
            let once = record.clone();
            let item = OpenItem::begin(&mut record, ItemKind::Payload);
            record.extend_from_slice(&bytes);
            item.end(&mut record);
            assert!(record == [&once[..], &once[..]].concat());
            let mut reader = Reader::new(&record);
            for _ in 0..2 {
                let (kind, mut item) = next_item(&mut reader).unwrap().expect("an item");
                assert_eq!((kind, item.take(length).unwrap()), (ItemKind::Payload, &bytes[..]));
                assert!(item.is_empty());
            }
            assert!(next_item(&mut reader).unwrap().is_none());
            assert!(next_item(&mut Reader::new(&once[..once.len() - 1])).is_err());
        }
        assert!(next_item(&mut Reader::new(&[9, 0])).is_err());
    }
}
