//! Timestamps with time zone in JSON: in the ISO form whatever `DateStyle` says, in the zone of the session.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, StringViewArray, StructArray};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use longshore_time::settings::Settings;

use crate::datafusion::functions::nested::text_out::iso_text;
use crate::datafusion::functions::row_function::RowFunction;
use crate::datafusion::functions::time::casts::{Modifier, convert};
use crate::datafusion::functions::time::kinds::Kind;
use crate::datafusion::functions::time::session::SessionTime;

/// A function that is given timestamps with time zone as texts.
#[derive(Debug, PartialEq, Eq, Hash)]
struct InSession {
    function: RowFunction,
    signature: Signature,
}

/// The same function, which is given timestamps with time zone as texts.
pub(super) fn in_session(function: RowFunction) -> ScalarUDF {
    // The zone is that of the statement.
    let signature = Signature { volatility: Volatility::Stable, ..function.signature().clone() };
    ScalarUDF::new_from_impl(InSession { function, signature })
}

impl ScalarUDFImpl for InSession {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.function.coerce_types(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.function.return_type(types)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let session = SessionTime::of(&args.config_options);
        for arg in &mut args.args {
            if !has_moments(&arg.data_type()) {
                continue;
            }
            *arg = match arg {
                ColumnarValue::Array(array) => ColumnarValue::Array(in_zone(array, &session)?),
                ColumnarValue::Scalar(value) => {
                    let texts = in_zone(&value.to_array()?, &session)?;
                    ColumnarValue::Scalar(ScalarValue::try_from_array(&texts, 0)?)
                }
            };
        }
        self.function.invoke_with_args(args)
    }
}

/// Whether values of this type have timestamps with time zone within.
fn has_moments(data_type: &DataType) -> bool {
    match data_type {
        DataType::Timestamp(_, Some(_)) => true,
        DataType::List(item) => has_moments(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_moments(field.data_type())),
        _ => false,
    }
}

/// The array with texts in the place of timestamps with time zone.
fn in_zone(array: &ArrayRef, session: &SessionTime<'_>) -> Result<ArrayRef> {
    if !has_moments(array.data_type()) {
        return Ok(Arc::clone(array));
    }
    Ok(match array.data_type() {
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let values = in_zone(lists.values(), session)?;
            let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
            Arc::new(ListArray::try_new(item, lists.offsets().clone(), values, lists.nulls().cloned())?)
        }
        DataType::Struct(fields) => {
            let rows = array.as_struct();
            let columns = rows.columns().iter().map(|column| in_zone(column, session)).collect::<Result<Vec<_>>>()?;
            let typed = |(field, column): (&Arc<Field>, &ArrayRef)| {
                field.as_ref().clone().with_data_type(column.data_type().clone())
            };
            let fields: Vec<Field> = fields.iter().zip(&columns).map(typed).collect();
            Arc::new(StructArray::try_new_with_length(fields.into(), columns, rows.nulls().cloned(), rows.len())?)
        }
        _ => {
            let settings = Settings { style: Settings::default().style, ..session.settings().clone() };
            let texts = convert(array, Kind::Text, Modifier::None, &SessionTime::with(&settings))?;
            let iso = texts.as_string_view().iter().map(|text| text.map(iso_text));
            Arc::new(iso.collect::<StringViewArray>())
        }
    })
}
