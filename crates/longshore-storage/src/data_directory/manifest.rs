//! The manifest: what the last checkpoint left. `docs/format.md` describes every byte.
//!
//! It is read before anything is trusted: nothing is allocated by a number from it before the number has been compared with
//! the length of the file.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::block_file::{BLOCK_REF_BYTES, read_block_ref, write_block_ref};
use super::error::DirectoryError;
use super::header::{HEADER_BYTES, Header, Kind};
use crate::block_ref::BlockRef;
use crate::disk::DiskFile;
use crate::log::Lsn;
use crate::native::embedded::{ChunkError, schema_of_bytes, schema_to_bytes};
use crate::native::wire::{Malformed, Reader, Writer};
use crate::table::RelationId;
use crate::types::Schema;

const KIND: Kind = Kind { magic: [0x8C, b'L', b'S', b'M', b'A', b'N', b'\r', b'\n'], version: 2, name: "manifest" };

/// The length of the body, and its checksum.
const BODY_HEADER_BYTES: usize = 16;

/// What a checkpoint left.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Manifest {
    /// What tells the database from all others.
    pub(super) identity: u64,
    /// How many checkpoints there were before.
    pub(super) number: u64,
    /// From where the log is to be done again.
    pub(super) lsn: Lsn,
    /// What the next relation is called that joins.
    pub(super) next_relation: RelationId,
    /// The number of the next block file.
    pub(super) next_file: u64,
    /// In the order of their numbers.
    pub(super) relations: Vec<StoredRelation>,
    /// What the layer above gave.
    pub(super) catalog: Vec<u8>,
}

/// A relation as a checkpoint left it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StoredRelation {
    pub(super) id: RelationId,
    /// For messages.
    pub(super) name: String,
    /// Whether its rows are durable. Of one whose rows are not, the slots are there only if the database was closed behind this
    /// manifest.
    pub(super) is_logged: bool,
    pub(super) schema: Schema,
    /// Its slots that have rows, in the order of the rows: their places, and where they are.
    pub(super) slots: Vec<(u32, BlockRef)>,
}

/// The first version whose relations say whether their rows are durable.
const UNLOGGED_SINCE: u32 = 2;

/// The fewest bytes of a relation: its number, an empty name, columns, slots.
const RELATION_BYTES_MIN: usize = 4 + 4 + 4 + 4;

/// Bytes of a slot: its place, and where it is.
const SLOT_BYTES: usize = 4 + BLOCK_REF_BYTES;

impl Manifest {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut body = Writer::default();
        body.u64(self.lsn.get());
        body.u32(self.next_relation.0);
        body.u64(self.next_file);
        body.u32(self.relations.len() as u32);
        for relation in &self.relations {
            body.u32(relation.id.0);
            body.u8(u8::from(!relation.is_logged));
            body.bytes(relation.name.as_bytes());
            body.bytes(&schema_to_bytes(&relation.schema));
            body.u32(relation.slots.len() as u32);
            for (place, block) in &relation.slots {
                body.u32(*place);
                write_block_ref(block, &mut body);
            }
        }
        let mut body = body.into_bytes();
        // Its length is what is left.
        body.extend_from_slice(&self.catalog);
        let header = Header { version: KIND.version, identity: self.identity, number: self.number }.bytes(KIND);
        let mut bytes = Vec::with_capacity(HEADER_BYTES + BODY_HEADER_BYTES + body.len());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&xxh3_64(&body).to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    /// Whether it names a block file.
    pub(super) fn names_file(&self, number: u64) -> bool {
        self.relations.iter().flat_map(|relation| &relation.slots).any(|(_, block)| block.file == number)
    }

    /// Whether it has rows that are not durable.
    pub(super) fn has_unlogged_rows(&self) -> bool {
        self.relations.iter().any(|relation| !relation.is_logged && !relation.slots.is_empty())
    }

    /// The next manifest, which says the same without rows that are not durable: from here on, the database is in use.
    pub(super) fn in_use(&self) -> Manifest {
        let mut next = Manifest { number: self.number + 1, ..self.clone() };
        next.relations.iter_mut().filter(|relation| !relation.is_logged).for_each(|relation| relation.slots.clear());
        next
    }

    /// Reads and checks a manifest.
    pub(super) fn read(file: &dyn DiskFile, path: &Path) -> Result<Manifest, DirectoryError> {
        let header = Header::read(file, path, KIND)?;
        let damaged = |offset: usize, reason: String| DirectoryError::damaged(path, offset as u64, reason);
        let mut body_header = [0; BODY_HEADER_BYTES];
        if file.read_at(&mut body_header, HEADER_BYTES as u64)? < BODY_HEADER_BYTES {
            return Err(damaged(HEADER_BYTES, "the file ends within its header".to_owned()));
        }
        let [l0, l1, l2, l3, l4, l5, l6, l7, checksum @ ..] = body_header;
        let body_bytes = u64::from_le_bytes([l0, l1, l2, l3, l4, l5, l6, l7]);
        let start = HEADER_BYTES + BODY_HEADER_BYTES;
        let file_bytes = file.length()?;
        if body_bytes != file_bytes.saturating_sub(start as u64) {
            let reason = format!("a body of {body_bytes} bytes does not end a file of {file_bytes} bytes");
            return Err(damaged(HEADER_BYTES, reason));
        }
        let mut body = vec![0; body_bytes as usize];
        if file.read_at(&mut body, start as u64)? < body.len() {
            return Err(damaged(start, "the file ends within its body".to_owned()));
        }
        if xxh3_64(&body).to_le_bytes() != checksum {
            return Err(damaged(start, "the checksum of the body does not fit it".to_owned()));
        }
        let mut reader = Reader::new(&body);
        Manifest::parse(header, &mut reader)
            .map_err(|Malformed(reason)| damaged(start + body.len() - reader.remaining(), reason))
    }

    fn parse(header: Header, body: &mut Reader<'_>) -> Result<Manifest, Malformed> {
        let lsn = Lsn::new(body.u64()?);
        let (next_relation, next_file) = (RelationId(body.u32()?), body.u64()?);
        let count = body.u32()? as usize;
        let mut relations: Vec<StoredRelation> = body.vec(count, RELATION_BYTES_MIN, "relations")?;
        for _ in 0..count {
            let relation = StoredRelation::parse(body, header.version)?;
            let is_next = relations.last().is_none_or(|last| last.id < relation.id);
            if relation.id.0 == 0 || !is_next || relation.id >= next_relation {
                return Err(Malformed::new(format!("relation {} is out of order", relation.id)));
            }
            relations.push(relation);
        }
        let files = relations.iter().flat_map(|relation| &relation.slots).map(|(_, block)| block.file);
        if let Some(file) = files.max().filter(|file| *file >= next_file) {
            return Err(Malformed::new(format!("block file {file} is not there yet")));
        }
        let catalog = body.take(body.remaining())?.to_vec();
        let Header { identity, number, .. } = header;
        Ok(Manifest { identity, number, lsn, next_relation, next_file, relations, catalog })
    }
}

impl StoredRelation {
    fn parse(body: &mut Reader<'_>, version: u32) -> Result<StoredRelation, Malformed> {
        let id = RelationId(body.u32()?);
        let is_logged = match if version < UNLOGGED_SINCE { 0 } else { body.u8()? } {
            0 => true,
            1 => false,
            other => return Err(Malformed::new(format!("relation {id} is logged in the way {other}"))),
        };
        let name = String::from_utf8(body.bytes()?.to_vec());
        let name = name.map_err(|_| Malformed::new("the name of a relation is not UTF-8"))?;
        let schema = schema_of_bytes(body.bytes()?).map_err(|error| match error {
            ChunkError::Malformed(reason) => Malformed(reason),
            ChunkError::OutOfMemory(error) => Malformed(error.to_string()),
        })?;
        let count = body.u32()? as usize;
        let mut slots = body.vec(count, SLOT_BYTES, "chunks")?;
        for _ in 0..count {
            slots.push((body.u32()?, read_block_ref(body)?));
        }
        Ok(StoredRelation { id, name, is_logged, schema, slots })
    }
}
