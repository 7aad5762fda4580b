//! `histogram(x)`, as in DuckDB: how often each value is there. There are no maps here, so it gives an object of `jsonb`, whose
//! keys are the texts of the values.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Cast, Expr, Signature, Volatility};
use longshore_json::escape;

use super::build::in_form;
use crate::datafusion::functions::json_types::{jsonb, wrapped};
use crate::datafusion::functions::nested::list_of;

const NAME: &str = "histogram";

/// Lets the texts of the values be counted, where the aggregate of this name is this one.
pub(super) fn count_texts(name: &str, args: &mut [Expr]) {
    if let (NAME, [values]) = (name, args) {
        *values = Expr::Cast(Cast::new(Box::new(std::mem::take(values)), DataType::Utf8View));
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Histogram {
    signature: Signature,
}

impl Histogram {
    pub(super) fn new() -> Self {
        Self { signature: Signature::exact(vec![DataType::Utf8View], Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for Histogram {
    fn name(&self) -> &'static str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(jsonb())
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Counts { is_distinct: args.is_distinct, ..Counts::default() }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let field = |name, item| Arc::new(Field::new(format_state_name(args.name, name), list_of(item), true));
        Ok(vec![field("values", DataType::Utf8View), field("counts", DataType::Int64)])
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// How often each text is there.
#[derive(Debug, Default)]
struct Counts {
    of: HashMap<Box<str>, i64>,
    text_bytes: usize,
    is_distinct: bool,
}

impl Counts {
    fn add(&mut self, text: &str, times: i64) {
        match self.of.get_mut(text) {
            Some(_) if self.is_distinct => {}
            Some(count) => *count += times,
            None => {
                self.text_bytes += text.len();
                self.of.insert(text.into(), if self.is_distinct { 1 } else { times });
            }
        }
    }
}

impl Accumulator for Counts {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        values[0].as_string_view().iter().flatten().for_each(|text| self.add(text, 1));
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let lists = states[0].as_list::<i32>().iter().zip(states[1].as_list::<i32>().iter());
        for (texts, counts) in lists.filter_map(|(texts, counts)| texts.zip(counts)) {
            for (text, count) in texts.as_string_view().iter().zip(counts.as_primitive::<Int64Type>().values()) {
                self.add(text.unwrap_or_default(), *count);
            }
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (texts, counts): (Vec<_>, Vec<_>) = self.of.drain().unzip();
        let list = |array: ArrayRef| SingleRowListArrayBuilder::new(array).build_list_scalar();
        let texts = StringViewArray::from_iter_values(texts);
        Ok(vec![list(Arc::new(texts)), list(Arc::new(Int64Array::from(counts)))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut text = String::from("{");
        for (value, count) in &self.of {
            text.push_str(if text.len() > 1 { "," } else { "" });
            escape(value, &mut text);
            let _ = write!(text, ":{count}");
        }
        text.push('}');
        let object = if self.of.is_empty() { None } else { Some(in_form(text, &jsonb())?) };
        ScalarValue::try_from_array(&wrapped(StringViewArray::from_iter([object]), &jsonb()), 0)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.text_bytes + self.of.capacity() * size_of::<(Box<str>, i64)>()
    }
}
