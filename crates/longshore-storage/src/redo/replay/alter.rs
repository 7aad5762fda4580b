//! What an alteration does to a relation that is restored: the same that it did to the relation.

use std::sync::Arc;

use super::restored::{Problem, Restored, ends};
use crate::chunk::hot::{HotChunk, Source};
use crate::datum::Datum;
use crate::native::embedded::schema_of_bytes;
use crate::redo::altered::{COMPUTED, FILLED, KEPT};
use crate::redo::error::ReplayProblem;
use crate::redo::row::{ChangeKind, NextRow, ReadNullBits, stored, text};
use crate::redo::wire::Reader;
use crate::row_id::RowId;
use crate::types::{Column, Schema};
use crate::values::TextRoom;

impl Restored {
    /// Gives the rows other columns.
    pub(super) fn alter(&mut self, mut item: Reader<'_>) -> Result<(), Problem> {
        item.bytes()?;
        let schema = Arc::new(schema_of_bytes(item.bytes()?).map_err(ReplayProblem::from)?);
        let mut sources = Vec::with_capacity(schema.all_columns().len());
        let (mut computed, mut retyped) = (Vec::new(), Vec::new());
        for (at, column) in schema.all_columns().iter().enumerate() {
            sources.push(match item.byte()? {
                KEPT => {
                    let from = self.kept(item.count()?, column)?;
                    if self.schema.all_columns()[from].column_type != column.column_type {
                        retyped.push((at, from));
                    }
                    Source::kept(from)
                }
                FILLED => {
                    let mut nulls = ReadNullBits::begin(&mut item, usize::from(column.nullable))?;
                    Source::filled(nulls.read(&mut item, column)?)
                }
                COMPUTED => {
                    computed.push(at);
                    Source::computed()
                }
                other => {
                    return Err(ReplayProblem::Malformed(format!("{other} is not where a column comes from")).into());
                }
            });
        }
        for at in 0..self.slots.len() {
            let Some(slot) = &mut self.slots[at] else { continue };
            for &(column, from) in &retyped {
                check_kept(slot, from, &schema.all_columns()[column])
                    .map_err(|(row, problem)| Problem { row: Some(RowId::new(at, row)), problem })?;
            }
            if let Some((column, row)) = slot.missing(&schema, &sources) {
                let column = schema.all_columns()[column].name.clone();
                let problem = ReplayProblem::Value { column, reason: "NULL is not allowed".to_owned() };
                return Err(Problem { row: Some(RowId::new(at, row)), problem });
            }
            let reshaped = slot.reshaped(&schema, &mut sources, &self.memory).map_err(ReplayProblem::from)?;
            **slot = reshaped;
        }
        if !computed.is_empty() {
            self.compute(&schema, &computed, &mut item)?;
        }
        ends(&item)?;
        self.set_schema(schema);
        Ok(())
    }

    /// The number of a column that one is made of.
    fn kept(&self, from: usize, column: &Column) -> Result<usize, ReplayProblem> {
        let before = self.schema.all_columns().get(from);
        let is_alike = before.is_some_and(|before| before.column_type.is_stored_as(column.column_type));
        let reason = || ReplayProblem::Malformed(format!("column {} cannot be what column {from} was", column.name));
        if is_alike { Ok(from) } else { Err(reason()) }
    }

    /// Gives all rows their values of some columns.
    fn compute(&mut self, schema: &Schema, columns: &[usize], item: &mut Reader<'_>) -> Result<(), Problem> {
        let nullable = columns.iter().filter(|&&column| schema.all_columns()[column].nullable).count();
        let memory = Arc::clone(&self.memory);
        let lost = self.lost().cloned().unwrap_or_default();
        let is_lost = |row: RowId| lost.contains(&(row.chunk() as u32));
        let skip = |item: &mut Reader<'_>| {
            let mut nulls = ReadNullBits::begin(item, nullable)?;
            columns.iter().try_for_each(|&column| nulls.read(item, &schema.all_columns()[column]).map(|_| ()))
        };
        let mut next = NextRow::default();
        for at in 0..self.slots.len() {
            let Some(slot) = &mut self.slots[at] else { continue };
            for row in (0..slot.len()).filter(|&row| slot.is_alive(row)).collect::<Vec<_>>() {
                let here = RowId::new(at, row);
                let failed = |problem| Problem { row: Some(here), problem };
                let (kind, named) = loop {
                    let (kind, named) = next.read(item).map_err(failed)?;
                    if named == here || !is_lost(named) {
                        break (kind, named);
                    }
                    skip(item).map_err(failed)?;
                };
                if (kind, named) != (ChangeKind::Update, here) {
                    return Err(failed(ReplayProblem::Malformed("the values of a row are missing".to_owned())));
                }
                let mut nulls = ReadNullBits::begin(item, nullable).map_err(failed)?;
                for &column in columns {
                    let value = nulls.read(item, &schema.all_columns()[column]).map_err(failed)?;
                    let computed = slot.compute(row, column, &value, &memory);
                    computed.map_err(|error| failed(error.into()))?;
                }
            }
        }
        while !item.is_empty() && !lost.is_empty() {
            let (_, named) = next.read(item)?;
            if !is_lost(named) {
                break;
            }
            skip(item)?;
        }
        Ok(())
    }
}

/// That the values of a column suit the type that it is given; or the first row whose value does not.
fn check_kept(slot: &HotChunk, from: usize, column: &Column) -> Result<(), (usize, ReplayProblem)> {
    for row in (0..slot.len()).filter(|&row| slot.is_alive(row)) {
        let room = TextRoom::default();
        let value = match slot.datum(row, from, &room) {
            Datum::Null => continue,
            Datum::Text(value) => text(value.as_bytes(), column).map_err(|problem| (row, problem))?,
            value => value,
        };
        stored(column, value).map_err(|problem| (row, problem))?;
    }
    Ok(())
}
