//! Relations with a column for each encoding, plain and packed.

use std::sync::Arc;

use longshore_storage::{Column, ColumnType, Datum, Isolation, Memory, Relation, Schema, Storage, Transactions};

use super::fill::Fill;
use crate::Failure;

/// A column of integers, and what it is packed as.
pub(super) struct Integers {
    pub(super) name: &'static str,
    pub(super) value: fn(i64) -> i64,
    pub(super) packed_as: &'static str,
}

/// The same of texts.
pub(super) struct Texts {
    pub(super) name: &'static str,
    pub(super) value: fn(i64) -> String,
    pub(super) packed_as: &'static str,
    /// The same once it is frozen.
    pub(super) frozen_as: &'static str,
}

pub(super) const INTEGERS: [Integers; 6] = [
    Integers { name: "one_value", value: |_| 7, packed_as: "Constant" },
    Integers { name: "of_a_byte", value: |row| mixed(row) % 256, packed_as: "Offset(1)" },
    Integers { name: "of_two_bytes", value: |row| 1_000_000 + mixed(row) % 30_000, packed_as: "Offset(2)" },
    Integers { name: "of_four_bytes", value: |row| mixed(row) % 1_000_000_000, packed_as: "Offset(4)" },
    Integers { name: "few_wide_ones", value: |row| (mixed(row) % 200 + 1).pow(7), packed_as: "Dictionary(1)" },
    Integers { name: "any", value: |row| mixed(row) << 32 ^ mixed(row + 1), packed_as: "Plain" },
];

pub(super) const TEXTS: [Texts; 3] = [
    Texts {
        name: "few_short",
        value: |row| format!("state {}", mixed(row) % 40),
        packed_as: "Dictionary(1)",
        frozen_as: "Dictionary(1)",
    },
    Texts {
        name: "few_long",
        value: |row| format!("the state with number {}", mixed(row) % 40),
        packed_as: "Dictionary(1)",
        frozen_as: "Dictionary(1)",
    },
    Texts { name: "many", value: |row| format!("a text of row {row}"), packed_as: "Texts", frozen_as: "Fsst" },
];

/// A number below 2^31 that looks like any other.
fn mixed(row: i64) -> i64 {
    ((row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as i64
}

/// A relation of so many rows, and the transactions that see it.
///
/// # Errors
///
/// When memory is short, or a column is not packed as it should be.
pub(super) fn relation(rows: usize, storage: Storage) -> Result<(Arc<Transactions>, Arc<Relation>), Failure> {
    let transactions = Transactions::new();
    let integers = INTEGERS.iter().map(|column| Column::new(column.name, ColumnType::BigInt, false));
    let texts = TEXTS.iter().map(|column| Column::new(column.name, ColumnType::Varchar(40), false));
    let schema = Arc::new(Schema::new(integers.chain(texts).collect()));
    let relation = Arc::new(Relation::in_database(schema, Memory::new(None), &transactions));
    relation.set_storage(storage);
    let mut fill = Fill::new(&relation)?;
    for row in 0..rows as i64 {
        let texts = TEXTS.map(|column| (column.value)(row));
        let integers = INTEGERS.iter().map(|column| Datum::I64((column.value)(row)));
        let row: Vec<Datum<'_>> = integers.chain(texts.iter().map(|text| Datum::Text(text))).collect();
        fill.push(&row)?;
    }
    fill.finish()?;
    if storage == Storage::Packed {
        check_packed(&transactions, &relation, false)?;
    }
    Ok((transactions, relation))
}

/// Whether all columns of all chunks are packed as they should be after a load, or when they are frozen.
///
/// # Errors
///
/// When one is not.
pub(super) fn check_packed(
    transactions: &Arc<Transactions>,
    relation: &Relation,
    is_frozen: bool,
) -> Result<(), Failure> {
    let expected = INTEGERS.iter().map(|column| (column.name, column.packed_as));
    let of_texts = |column: &Texts| if is_frozen { column.frozen_as } else { column.packed_as };
    let expected = expected.chain(TEXTS.iter().map(|column| (column.name, of_texts(column))));
    let transaction = transactions.begin_read_only(Isolation::Snapshot);
    let snapshot = transaction.snapshot(relation);
    for (column, (name, packed_as)) in expected.enumerate() {
        for piece in snapshot.pieces() {
            let found = piece.chunk().packed(column).map(|packed| format!("{:?}", packed.packed_as()));
            if found.as_deref() != Some(packed_as) {
                return Err(format!("{name} is packed as {found:?}, not as {packed_as}").into());
            }
        }
    }
    Ok(())
}
