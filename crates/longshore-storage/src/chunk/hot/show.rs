//! What a slot shows to a reader who takes all of it: a chunk that shares the slot's memory, and what of it a view sees
//! otherwise.

use std::sync::Arc;

use arrow_buffer::BooleanBuffer;

use super::HotChunk;
use crate::chunk::visible::Overlay;
use crate::chunk::{Chunk, VisibleChunk};
use crate::version::{Change, Image, Version};
use crate::visibility::{Stamps, Time, View};

impl HotChunk {
    /// As [`super::Slot::show`].
    pub(super) fn show(&mut self, slot: u32, view: View, stamps: &Stamps) -> Option<VisibleChunk> {
        if self.rows == 0 || self.is_dead_for(view, stamps) {
            return None;
        }
        let overlay = match &self.seen {
            // Later commits are none that this view sees.
            Some((seen_by, overlay)) if *seen_by == view => Some(Arc::clone(overlay)),
            _ => self.overlay(view, stamps).map(Arc::new),
        };
        if let Some(overlay) = &overlay {
            self.seen = Some((view, Arc::clone(overlay)));
        }
        if overlay.as_ref().is_some_and(|overlay| overlay.hidden_rows() == self.rows) {
            return None;
        }
        Some(VisibleChunk::new(self.chunk(), slot, overlay))
    }

    /// All rows, whoever sees them.
    pub(crate) fn chunk(&mut self) -> Arc<Chunk> {
        if let Some(shown) = &self.shown {
            return Arc::clone(shown);
        }
        let rows = self.rows;
        let columns = self.columns.iter_mut().map(|column| column.show(rows)).collect();
        // SAFETY: booleans are written from booleans only; views are made of texts, UTF-8 for columns of text, that
        // were put into the heap, or restored.
        let chunk = Arc::new(unsafe { Chunk::from_parts(Arc::clone(&self.schema), rows, columns, self.heap.show()) });
        self.shown = Some(Arc::clone(&chunk));
        chunk
    }

    /// The rows that are alive, whoever sees them; `None` if all are.
    pub(crate) fn alive(&self) -> Option<BooleanBuffer> {
        (!self.dead.is_empty()).then(|| BooleanBuffer::collect_bool(self.rows, |row| !self.dead.contains(row)))
    }

    /// The rows that are dead, and that somebody may see nevertheless.
    pub(crate) fn ghosts(&self) -> impl Iterator<Item = usize> {
        let changed = self.versions.iter().flat_map(|versions| versions.rows()).map(usize::from);
        changed.filter(|&row| self.dead.contains(row))
    }

    /// All changes that somebody may not see.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (usize, &Version)> {
        let versions = self.versions.iter();
        versions.flat_map(|versions| {
            let rows = versions.rows().into_iter().map(usize::from);
            rows.flat_map(|row| versions.chain(row).map(move |version| (row, version)))
        })
    }

    /// What a view sees otherwise than it is; `None` if that is nothing.
    fn overlay(&mut self, view: View, stamps: &Stamps) -> Option<Overlay> {
        let unseen_insert = self.inserts.iter().any(|range| !view.sees(stamps.get(range.stamp)));
        let changed = self.unseen_changes(view, stamps);
        if self.dead.is_empty() && !unseen_insert && changed.is_empty() {
            return None;
        }
        let mut overlay = Overlay::new(self.rows, self.columns.len(), self.dead.words(), changed.len());
        for range in self.inserts.iter().filter(|range| !view.sees(stamps.get(range.stamp))) {
            (range.from..range.to).for_each(|row| overlay.hide(row, true));
        }
        let versions = self.versions.as_deref();
        for (row, head) in changed.into_iter().map(|(row, head)| (usize::from(row), head)) {
            let mut hidden = overlay.hides(row);
            let unseen = versions.into_iter().flat_map(|versions| versions.chain_from(head));
            for version in unseen.take_while(|version| !view.sees(stamps.get(version.stamp))) {
                match version.change {
                    Change::Insert => hidden = true,
                    // What was inserted and deleted unseen ends with the insert.
                    Change::Delete => hidden = !self.is_inserted(row, view, stamps),
                    Change::Update(column, image) => overlay.patch(column.into(), row, image.bits()),
                    Change::Free => {}
                }
            }
            overlay.hide(row, hidden);
        }
        overlay.finish()
    }

    /// The rows whose newest version is not seen, with that version; all others are seen as they are. If it turns out
    /// that all versions are committed, whoever sees the last of these commits need not look before another version is
    /// made.
    fn unseen_changes(&mut self, view: View, stamps: &Stamps) -> Vec<(u16, u32)> {
        let Some(versions) = self.versions.as_ref().filter(|versions| !versions.is_empty()) else { return Vec::new() };
        if self.settled.is_some_and(|settled| settled <= view.start()) {
            return Vec::new();
        }
        let mut newest = 0;
        let mut changed = versions.heads();
        changed.retain(|&(_, head)| {
            let stamp = versions.chain_from(head).next().map_or(0, |version| stamps.get(version.stamp));
            newest = newest.max(stamp);
            !view.sees(stamp)
        });
        self.settled = Stamps::is_committed(newest).then_some(Time(newest));
        changed
    }
}

const _: () = assert!(size_of::<Image>() <= 24);
