//! Reads whole columns of integers out of a relation, as its chunks have them: for checks that trust neither indexes
//! nor the transactions that wrote.

use longshore_storage::{Chunk, Relation, Scratch, Values};

use crate::Failure;

/// What stands for NULL; no workload stores it.
pub(super) const NULL: i64 = i64::MIN;

/// The committed values of some columns, in row order.
///
/// # Errors
///
/// When there is no such column, or it is not one of integers.
pub(super) fn integers<const N: usize>(relation: &Relation, names: [&str; N]) -> Result<Vec<[i64; N]>, Failure> {
    let mut columns = [0; N];
    for (column, name) in columns.iter_mut().zip(names) {
        *column = relation.schema().index_of(name).ok_or_else(|| format!("no column {name}"))?;
    }
    let snapshot = relation.snapshot();
    let mut rows = vec![[0; N]; snapshot.rows() as usize];
    let mut from = 0;
    for chunk in snapshot.chunks() {
        let rows = &mut rows[from..from + chunk.rows()];
        for (at, &column) in columns.iter().enumerate() {
            widen(chunk, column, rows, at)?;
        }
        from += chunk.rows();
    }
    Ok(rows)
}

fn widen<const N: usize>(chunk: &Chunk, column: usize, rows: &mut [[i64; N]], at: usize) -> Result<(), Failure> {
    match chunk.values(column, 0..chunk.rows(), &mut Scratch::default()) {
        Values::I16(values) => rows.iter_mut().zip(values).for_each(|(row, &value)| row[at] = value.into()),
        Values::I32(values) => rows.iter_mut().zip(values).for_each(|(row, &value)| row[at] = value.into()),
        Values::I64(values) => rows.iter_mut().zip(values).for_each(|(row, &value)| row[at] = value),
        _ => return Err(format!("column {column} is not one of integers").into()),
    }
    if let Some(bits) = chunk.validity(column) {
        for (row, values) in rows.iter_mut().enumerate() {
            if bits[row / 8] >> (row % 8) & 1 == 0 {
                values[at] = NULL;
            }
        }
    }
    Ok(())
}
