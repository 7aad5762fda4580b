//! Texts one behind the other, with the end of each.
//!
//! The ends count from the beginning of a group of 256 texts, so that two bytes do for each where no group is longer than
//! 64 KiB. Value *i* is found in constant time, and its text is a view into the heap: nothing is copied.

use std::mem::MaybeUninit;
use std::ops::Range;

use arrow_buffer::Buffer;

use super::{Codes, filled};
use crate::arena::Arena;
use crate::memory::OutOfMemory;
use crate::view;

/// Texts whose ends count from the same place.
const GROUP_ROWS: usize = 256;

/// Bytes behind the last text, so that the start of each can be read whole.
const SLACK_BYTES: usize = view::INLINE_BYTES_MAX;

/// Where texts lie in their heap.
pub(super) struct TextEnds {
    /// Where each group begins.
    groups: Buffer,
    /// Where each text ends, from where its group begins; of two bytes or four.
    ends: Codes,
}

/// Packs the texts of views; gives their ends and their heap. `None` if they do not fit a heap.
pub(super) fn pack(views: &[u128], heap: &[u8], arena: &mut Arena) -> Result<Option<(TextEnds, Buffer)>, OutOfMemory> {
    let bytes_of = |views: &[u128]| views.iter().map(|&view| view::length(view)).sum::<usize>();
    let groups: Vec<usize> = views.chunks(GROUP_ROWS).map(bytes_of).collect();
    let bytes: usize = groups.iter().sum();
    if bytes > view::HEAP_BYTES_MAX - SLACK_BYTES {
        return Ok(None);
    }
    let is_narrow = groups.iter().all(|&bytes| u16::try_from(bytes).is_ok());
    let starts = filled(arena, groups.len(), |starts: &mut [MaybeUninit<u32>]| {
        let mut at = 0;
        for (start, bytes) in starts.iter_mut().zip(&groups) {
            start.write(at);
            at += *bytes as u32;
        }
    })?;
    let ends = if is_narrow {
        Codes::U16(filled(arena, views.len(), |ends| write_ends(views, ends, |end| end as u16))?)
    } else {
        Codes::U32(filled(arena, views.len(), |ends| write_ends(views, ends, |end| end))?)
    };
    let texts = filled(arena, bytes + SLACK_BYTES, |texts: &mut [MaybeUninit<u8>]| {
        let end = copy_texts(views, heap, texts);
        texts[end..].fill(MaybeUninit::new(0));
    })?;
    Ok(Some((TextEnds { groups: starts, ends }, texts)))
}

/// Copies texts one behind the other, and whatever to up to [`SLACK_BYTES`] behind the last; says where it ends.
fn copy_texts(views: &[u128], heap: &[u8], texts: &mut [MaybeUninit<u8>]) -> usize {
    let mut end = 0;
    // Long texts that lie one behind the other in the heap too are copied together.
    let mut run = 0..0;
    for &view in views {
        let length = view::length(view);
        if length > view::INLINE_BYTES_MAX {
            let start = view::offset(view);
            if start == run.end {
                run.end += length;
                continue;
            }
            end = copy_run(&heap[run], texts, end);
            run = start..start + length;
            continue;
        }
        end = copy_run(&heap[run], texts, end);
        run = 0..0;
        let bytes = view.to_le_bytes();
        texts[end..end + view::INLINE_BYTES_MAX].write_copy_of_slice(&bytes[4..]);
        end += length;
    }
    copy_run(&heap[run], texts, end)
}

fn copy_run(run: &[u8], texts: &mut [MaybeUninit<u8>], at: usize) -> usize {
    texts[at..at + run.len()].write_copy_of_slice(run);
    at + run.len()
}

fn write_ends<E: Copy>(views: &[u128], ends: &mut [MaybeUninit<E>], end: impl Fn(u32) -> E) {
    for (views, ends) in views.chunks(GROUP_ROWS).zip(ends.chunks_mut(GROUP_ROWS)) {
        let mut at = 0;
        for (view, slot) in views.iter().zip(ends) {
            at += view::length(*view) as u32;
            slot.write(end(at));
        }
    }
}

/// Bytes of the places where the groups of so many texts begin.
pub(super) fn group_bytes(rows: usize) -> usize {
    rows.div_ceil(GROUP_ROWS) * size_of::<u32>()
}

impl TextEnds {
    /// The ends that two buffers hold; `check` says whether they are right.
    pub(super) fn new(groups: Buffer, ends: Codes) -> TextEnds {
        TextEnds { groups, ends }
    }

    /// Where each group begins.
    pub(super) fn groups(&self) -> &Buffer {
        &self.groups
    }

    /// Where each text ends, from where its group begins.
    pub(super) fn ends(&self) -> &Codes {
        &self.ends
    }

    /// Checks that the texts fill a heap, one behind the other.
    pub(super) fn check(&self, heap: &[u8], is_utf8: bool) -> Result<(), &'static str> {
        match &self.ends {
            Codes::U8(_) => unreachable!("ends take two bytes or four"),
            Codes::U16(ends) => self.check_ends(ends.typed_data::<u16>(), heap, is_utf8),
            Codes::U32(ends) => self.check_ends(ends.typed_data::<u32>(), heap, is_utf8),
        }
    }

    fn check_ends<E: Copy + Into<u32>>(&self, ends: &[E], heap: &[u8], is_utf8: bool) -> Result<(), &'static str> {
        let beyond = "the texts do not fill their heap";
        let bytes = heap.len().checked_sub(SLACK_BYTES).ok_or(beyond)?;
        let is_ascii = heap[..bytes].is_ascii();
        if is_utf8 && !is_ascii && simdutf8::basic::from_utf8(&heap[..bytes]).is_err() {
            return Err("the texts are not UTF-8");
        }
        let mut group_start = 0;
        for (&group, ends) in self.groups.typed_data::<u32>().iter().zip(ends.chunks(GROUP_ROWS)) {
            let group_end = group_start + ends.last().map_or(0, |&end| end.into() as usize);
            let are_ascending = ends.array_windows().all(|&[one, next]| one.into() <= next.into());
            if group as usize != group_start || !are_ascending || group_end > bytes {
                return Err(beyond);
            }
            let is_inside = |&end: &E| heap[group_start + end.into() as usize] & 0xC0 == 0x80;
            if is_utf8 && !is_ascii && ends.iter().any(is_inside) {
                return Err("a text begins inside a UTF-8 character");
            }
            group_start = group_end;
        }
        if group_start == bytes { Ok(()) } else { Err(beyond) }
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.groups.len() + self.ends.bytes()
    }

    /// The bytes that hold the end of a text, and where it begins in them.
    #[inline]
    pub(super) fn place(&self, row: usize) -> (&Buffer, usize) {
        self.ends.place(row)
    }

    /// Where a text lies.
    #[inline]
    pub(super) fn range(&self, row: usize) -> Range<usize> {
        let group = self.groups.typed_data::<u32>()[row / GROUP_ROWS];
        let (start, end) = match &self.ends {
            Codes::U8(_) => unreachable!("ends take two bytes or four"),
            Codes::U16(ends) => bounds(ends.typed_data::<u16>(), row),
            Codes::U32(ends) => bounds(ends.typed_data::<u32>(), row),
        };
        (group + start) as usize..(group + end) as usize
    }

    /// Writes views of the texts of some rows.
    pub(super) fn unpack(&self, rows: Range<usize>, heap: &[u8], views: &mut [MaybeUninit<u128>]) {
        assert_eq!(rows.len(), views.len(), "one view per row");
        match &self.ends {
            Codes::U8(_) => unreachable!("ends take two bytes or four"),
            Codes::U16(ends) => self.views(ends.typed_data::<u16>(), rows, heap, views),
            Codes::U32(ends) => self.views(ends.typed_data::<u32>(), rows, heap, views),
        }
    }

    fn views<E: Copy + Into<u32>>(&self, ends: &[E], rows: Range<usize>, heap: &[u8], views: &mut [MaybeUninit<u128>]) {
        let groups = self.groups.typed_data::<u32>();
        let mut from = rows.start;
        let mut views = views.iter_mut();
        while from < rows.end {
            let to = rows.end.min((from / GROUP_ROWS + 1) * GROUP_ROWS);
            let group = groups[from / GROUP_ROWS];
            let mut at = bounds(ends, from).0;
            for (end, view) in ends[from..to].iter().zip(&mut views) {
                let end: u32 = (*end).into();
                view.write(view_at(heap, group + at, end - at));
                at = end;
            }
            from = to;
        }
    }
}

/// Where a text begins and ends within its group.
#[inline]
fn bounds<E: Copy + Into<u32>>(ends: &[E], row: usize) -> (u32, u32) {
    let start = if row.is_multiple_of(GROUP_ROWS) { 0 } else { ends[row - 1].into() };
    (start, ends[row].into())
}

/// The view of a text of a heap, behind which there are as many bytes as a view holds.
#[inline]
pub(super) fn view_at(heap: &[u8], start: u32, length: u32) -> u128 {
    let first = heap[start as usize..].first_chunk().expect("there are some bytes behind every text");
    view::of_start(first, length, start)
}
