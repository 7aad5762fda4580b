//! Texts that are given for columns which do not plainly take them: NUMERIC, JSON, times, intervals, bytes, arrays. They are cast as
//! the planner casts them, before anything is changed.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ArrayRef;
use arrow_array::builder::StringViewBuilder;
use longshore_storage::lists::encode_array;
use longshore_storage::{ColumnType, Datum, Schema};

use super::operand::{Arguments, Few, Operand};
use super::{Kind, Surroundings};
use crate::datafusion::{TextReader, datum};

/// A text, or NULL, that a column of this type is to take.
#[derive(Debug)]
pub(super) struct GivenText {
    pub(super) operand: Operand,
    column_type: ColumnType,
    /// What it was read by the last time.
    reader: Mutex<Option<Arc<TextReader>>>,
}

/// What came of texts, for each execution one.
pub(super) struct ReadTexts(Few<(ArrayRef, ColumnType)>);

impl Kind {
    /// The texts among the values that columns are set to. The operands in their place say which of them they are.
    pub(super) fn take_texts(&mut self, schema: &Schema) -> Vec<GivenText> {
        let mut texts = Vec::new();
        self.set_operands(&mut |column, operand| {
            let column_type = schema.columns()[column].column_type;
            if is_cast(column_type) && matches!(operand, Operand::Parameter(_) | Operand::Text(_)) {
                let operand = std::mem::replace(operand, Operand::Read(texts.len()));
                texts.push(GivenText { operand, column_type, reader: Mutex::default() });
            }
        });
        texts
    }
}

impl GivenText {
    fn reader(&self, surroundings: Surroundings<'_>) -> Option<Arc<TextReader>> {
        let settings = surroundings.transaction.time().settings;
        let mut known = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|reader| !reader.is_of(&settings)) {
            *known = surroundings.queries.text_reader(self.column_type, surroundings.transaction).map(Arc::new);
        }
        known.clone()
    }
}

impl ReadTexts {
    /// The values of `texts` in executions that give these values; `None` where one of them has none.
    pub(super) fn of<'a>(
        texts: &[GivenText],
        surroundings: Surroundings<'_>,
        executions: &(impl Iterator<Item = &'a [Datum<'a>]> + Clone),
    ) -> Option<Self> {
        let mut read = Few::with_capacity(texts.len());
        for text in texts {
            let mut given = StringViewBuilder::new();
            for values in executions.clone() {
                match text.operand.value(Arguments { values, read: &[] }) {
                    Datum::Text(text) => given.append_value(text),
                    Datum::Null => given.append_null(),
                    _ => return None,
                }
            }
            let values = text.reader(surroundings)?.read(given.finish())?;
            read.push((encode_array(&values), text.column_type));
        }
        Some(Self(read))
    }

    /// Those of one execution.
    pub(super) fn values(&self, execution: usize) -> Few<Datum<'_>> {
        self.0.iter().map(|(values, column_type)| datum(values, *column_type, execution)).collect()
    }
}

/// Whether columns of this type take texts by a cast.
fn is_cast(column_type: ColumnType) -> bool {
    match column_type {
        ColumnType::Array(element, _) => !matches!(
            element,
            // Their values are fitted when they are stored.
            ColumnType::Char(_) | ColumnType::Varchar(_) | ColumnType::Rounded(..) | ColumnType::Numeric(Some(_))
        ),
        ColumnType::Decimal { precision, .. } => precision > 18,
        ColumnType::Numeric(limit) => limit.is_none(),
        ColumnType::Json
        | ColumnType::Jsonb
        | ColumnType::Time
        | ColumnType::TimeTz
        | ColumnType::Interval
        | ColumnType::Real
        | ColumnType::Bytea => true,
        _ => false,
    }
}
