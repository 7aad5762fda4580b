//! Texts one behind the other, with the end of each.
//!
//! The ends count from the beginning of a group of 256 texts, so that two bytes do for each where no group is longer than
//! 64 KiB. Value *i* is found in constant time, and its text is a view into the heap: nothing is copied.

use std::mem::MaybeUninit;
use std::ops::Range;

use arrow_buffer::Buffer;

use super::{Codes, bytes_at, copy_of, filled};
use crate::arena::Arena;
use crate::memory::OutOfMemory;
use crate::view;

/// Texts whose ends count from the same place.
const GROUP_ROWS: usize = 256;

/// Bytes behind the last text, so that the start of each can be read whole.
pub(super) const SLACK_BYTES: usize = view::INLINE_BYTES_MAX;

/// What is wrong with ends that are not those of texts.
const BEYOND: &str = "the texts do not fill their heap";

/// Where texts lie in their heap.
pub(super) struct TextEnds {
    /// Where each group begins.
    groups: Buffer,
    /// Where each text ends, from where its group begins; of two bytes or four.
    ends: Codes,
}

/// Packs the texts of views; gives their ends and their heap. `None` if they do not fit a heap.
pub(super) fn pack(views: &[u128], heap: &[u8], arena: &mut Arena) -> Result<Option<(TextEnds, Buffer)>, OutOfMemory> {
    let bytes: usize = views.iter().map(|&view| view::length(view)).sum();
    if bytes > view::HEAP_BYTES_MAX - SLACK_BYTES {
        return Ok(None);
    }
    let ends = TextEnds::of_lengths(views.len(), |row| view::length(views[row]), arena)?;
    let texts = filled(arena, bytes + SLACK_BYTES, |texts: &mut [MaybeUninit<u8>]| {
        let end = copy_texts(views, heap, texts);
        texts[end..].fill(MaybeUninit::new(0));
    })?;
    Ok(Some((ends, texts)))
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

/// Writes where each text ends, from where its group begins.
fn write_ends<E>(ends: &mut [MaybeUninit<E>], length: impl Fn(usize) -> usize, end: impl Fn(u32) -> E) {
    for (group, ends) in ends.chunks_mut(GROUP_ROWS).enumerate() {
        let mut at = 0;
        for (row, slot) in ends.iter_mut().enumerate() {
            at += length(group * GROUP_ROWS + row) as u32;
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

    /// The ends of texts of these lengths, which lie one behind the other and fit a heap.
    pub(super) fn of_lengths(
        rows: usize,
        length: impl Fn(usize) -> usize,
        arena: &mut Arena,
    ) -> Result<TextEnds, OutOfMemory> {
        let bytes_of = |start: usize| (start..rows.min(start + GROUP_ROWS)).map(&length).sum::<usize>();
        let groups: Vec<usize> = (0..rows).step_by(GROUP_ROWS).map(bytes_of).collect();
        let is_narrow = groups.iter().all(|&bytes| u16::try_from(bytes).is_ok());
        let starts = filled(arena, groups.len(), |starts: &mut [MaybeUninit<u32>]| {
            let mut at = 0;
            for (start, bytes) in starts.iter_mut().zip(&groups) {
                start.write(at);
                at += *bytes as u32;
            }
        })?;
        let ends = if is_narrow {
            Codes::U16(filled(arena, rows, |ends| write_ends(ends, length, |end| end as u16))?)
        } else {
            Codes::U32(filled(arena, rows, |ends| write_ends(ends, length, |end| end))?)
        };
        Ok(TextEnds { groups: starts, ends })
    }

    /// A copy in memory of another arena.
    pub(super) fn copied(&self, arena: &mut Arena) -> Result<TextEnds, OutOfMemory> {
        Ok(TextEnds { groups: copy_of(self.groups.as_slice(), arena)?, ends: self.ends.copied(arena)? })
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
    pub(super) fn check(&self, rows: usize, heap: &[u8], is_utf8: bool) -> Result<(), &'static str> {
        let bytes = heap.len().checked_sub(SLACK_BYTES).ok_or(BEYOND)?;
        self.check_order(bytes)?;
        if !is_utf8 || heap[..bytes].is_ascii() {
            return Ok(());
        }
        if simdutf8::basic::from_utf8(&heap[..bytes]).is_err() {
            return Err("the texts are not UTF-8");
        }
        let mut is_inside = false;
        self.each(0..rows, |start, length| is_inside |= heap[(start + length) as usize] & 0xC0 == 0x80);
        if is_inside { Err("a text begins inside a UTF-8 character") } else { Ok(()) }
    }

    /// Checks that the texts lie one behind the other and have so many bytes.
    pub(super) fn check_order(&self, bytes: usize) -> Result<(), &'static str> {
        match &self.ends {
            Codes::U8(_) => unreachable!("ends take two bytes or four"),
            Codes::U16(ends) => self.check_ends(ends.typed_data::<u16>(), bytes),
            Codes::U32(ends) => self.check_ends(ends.typed_data::<u32>(), bytes),
        }
    }

    fn check_ends<E: Copy + Into<u32>>(&self, ends: &[E], bytes: usize) -> Result<(), &'static str> {
        let mut group_start = 0;
        for (&group, ends) in self.groups.typed_data::<u32>().iter().zip(ends.chunks(GROUP_ROWS)) {
            let group_end = group_start + ends.last().map_or(0, |&end| end.into() as usize);
            let are_ascending = ends.array_windows().all(|&[one, next]| one.into() <= next.into());
            if group as usize != group_start || !are_ascending || group_end > bytes {
                return Err(BEYOND);
            }
            group_start = group_end;
        }
        if group_start == bytes { Ok(()) } else { Err(BEYOND) }
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
        let group = u32::from_ne_bytes(bytes_at(&self.groups, row / GROUP_ROWS));
        let start = if row.is_multiple_of(GROUP_ROWS) { 0 } else { self.ends.get(row - 1) };
        let end = self.ends.get(row);
        (group + start) as usize..(group + end) as usize
    }

    /// Writes views of the texts of some rows.
    pub(super) fn unpack(&self, rows: Range<usize>, heap: &[u8], views: &mut [MaybeUninit<u128>]) {
        assert_eq!(rows.len(), views.len(), "one view per row");
        let mut views = views.iter_mut();
        self.each(rows, |start, length| {
            views.next().expect("there is one for each row").write(view_at(heap, start, length));
        });
    }

    /// Says of the texts of some rows where they begin and how long they are.
    #[inline]
    pub(super) fn each(&self, rows: Range<usize>, each: impl FnMut(u32, u32)) {
        match &self.ends {
            Codes::U8(_) => unreachable!("ends take two bytes or four"),
            Codes::U16(ends) => self.each_of(ends.typed_data::<u16>(), rows, each),
            Codes::U32(ends) => self.each_of(ends.typed_data::<u32>(), rows, each),
        }
    }

    #[inline]
    fn each_of<E: Copy + Into<u32>>(&self, ends: &[E], rows: Range<usize>, mut each: impl FnMut(u32, u32)) {
        let groups = self.groups.typed_data::<u32>();
        let mut from = rows.start;
        while from < rows.end {
            let to = rows.end.min((from / GROUP_ROWS + 1) * GROUP_ROWS);
            let group = groups[from / GROUP_ROWS];
            let mut at = if from.is_multiple_of(GROUP_ROWS) { 0 } else { ends[from - 1].into() };
            for end in &ends[from..to] {
                let end: u32 = (*end).into();
                each(group + at, end - at);
                at = end;
            }
            from = to;
        }
    }
}

/// The view of a text of a heap, behind which there are as many bytes as a view holds.
#[inline]
pub(super) fn view_at(heap: &[u8], start: u32, length: u32) -> u128 {
    let first = heap[start as usize..].first_chunk().expect("there are some bytes behind every text");
    view::of_start(first, length, start)
}
