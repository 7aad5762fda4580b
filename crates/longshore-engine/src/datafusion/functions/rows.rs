//! `ROW(1, 'a')`: a row of values whose columns are called f1, f2 and so on, as PostgreSQL calls them; and `(row).f1`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StructArray, make_array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::{Result, ScalarValue, internal_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::element_wise::map_values;
use super::row_function::RowFunction;
use crate::datafusion::errors::external;
use crate::datafusion::type_name::type_name;
use crate::sql::arrays::FIELD;
use crate::{Error, ErrorKind};

/// The function.
pub(in crate::datafusion) fn functions() -> impl Iterator<Item = ScalarUDF> {
    let field = FieldOf { signature: Signature::any(2, Volatility::Immutable) };
    [RowFunction::new("row", row_type, row).function(), ScalarUDF::new_from_impl(field)].into_iter()
}

fn row_type(types: &[DataType]) -> Result<DataType> {
    if types.is_empty() {
        return plan_err!("ROW() without a value is not supported");
    }
    let fields = types.iter().enumerate().map(|(at, data_type)| {
        // What has no type yet is a text.
        let data_type = if *data_type == DataType::Null { &DataType::Utf8View } else { data_type };
        Field::new(format!("f{}", at + 1), data_type.clone(), true)
    });
    Ok(DataType::Struct(Fields::from(fields.collect::<Vec<_>>())))
}

fn row(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let DataType::Struct(fields) = to else { return plan_err!("a row is wanted") };
    let columns = fields.iter().zip(args).map(|(field, arg)| super::nested::cast::cast_to(arg, field.data_type()));
    Ok(Arc::new(StructArray::try_new(fields.clone(), columns.collect::<Result<_>>()?, None)?))
}

/// A field of a row, whose name is the second argument.
#[derive(Debug, PartialEq, Eq, Hash)]
struct FieldOf {
    signature: Signature,
}

/// The place of the field `name` in rows of a type.
fn place(data_type: &DataType, name: &str) -> Result<usize> {
    let composite = match data_type {
        // Of a type that Arrow has not, the only field has the name of the type.
        DataType::Struct(fields) => {
            Some(fields).filter(|fields| !fields.iter().any(|field| field.name().starts_with('$')))
        }
        _ => None,
    };
    let Some(fields) = composite else {
        let of = type_name(data_type);
        let message = format!("column notation .{name} applied to type {of}, which is not a composite type");
        return Err(external(Error::new(ErrorKind::TypeMismatch, message)));
    };
    fields
        .iter()
        .position(|field| field.name() == name)
        .ok_or_else(|| external(Error::no_column(format!("could not identify column \"{name}\" in record data type"))))
}

fn text(value: &ScalarValue) -> Option<&str> {
    value.try_as_str().flatten()
}

impl ScalarUDFImpl for FieldOf {
    fn name(&self) -> &'static str {
        FIELD
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of a field is found by its name")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let ([row, _], [_, Some(name)]) = (args.arg_fields, args.scalar_arguments) else {
            return internal_err!("a field has a name");
        };
        let name = text(name).unwrap_or_default();
        let at = place(row.data_type(), name)?;
        let DataType::Struct(fields) = row.data_type() else { return plan_err!("a row is wanted") };
        Ok(Arc::new(Field::new(name, fields[at].data_type().clone(), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [row, ColumnarValue::Scalar(name)] = args.args.as_slice() else {
            return internal_err!("a field has a name");
        };
        let at = place(&row.data_type(), text(name).unwrap_or_default())?;
        map_values(row, |rows| {
            let rows = rows.as_struct();
            let column = rows.column(at);
            let Some(nulls) = rows.nulls() else { return Ok(Arc::clone(column)) };
            let nulls = NullBuffer::union(column.nulls(), Some(nulls));
            Ok(make_array(column.to_data().into_builder().nulls(nulls).build()?))
        })
    }
}
