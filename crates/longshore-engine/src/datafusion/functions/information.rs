//! What a session is told of itself: `version()`, `current_user`, `current_database()`, `pg_typeof(value)` and their like.
//! There is one database. Which schemas a session looks through is put into calls of `current_schema` and
//! `current_schemas` before they are planned (`statement::resolve`), unless it is `public` alone.

use datafusion::arrow::array::{AsArray, new_empty_array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, exec_err, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};

use super::uuid_in;
use crate::datafusion::errors::external;
use crate::datafusion::type_name::type_name;
use crate::sql::names::{CATALOG, SCHEMA, USER};
use crate::{Error, ErrorDetails, ErrorKind};

/// Functions without arguments, and what they give.
const TOLD: [(&str, &str); 7] = [
    ("version", concat!("PostgreSQL 15.0 (Longshore ", env!("CARGO_PKG_VERSION"), ")")),
    ("current_user", USER),
    ("session_user", USER),
    ("current_role", USER),
    ("user", USER),
    ("current_catalog", CATALOG),
    ("current_database", CATALOG),
];

/// All these functions.
pub(in crate::datafusion) fn functions() -> impl Iterator<Item = ScalarUDF> {
    let told = TOLD.map(|(name, value)| told(name, value.to_owned()));
    let schema = CurrentSchema {
        signature: Signature::one_of(vec![TypeSignature::Nullary, TypeSignature::Any(1)], Volatility::Immutable),
    };
    let schemas = CurrentSchemas { signature: Signature::variadic_any(Volatility::Immutable) };
    told.into_iter().chain([
        ScalarUDF::new_from_impl(TypeOf { signature: Signature::any(1, Volatility::Immutable) }),
        ScalarUDF::new_from_impl(schema),
        ScalarUDF::new_from_impl(schemas),
        ScalarUDF::new_from_impl(Violation { signature: Signature::any(4, Volatility::Volatile) }),
        uuid_in::function(),
    ])
}

/// A function without arguments that gives a text.
pub(in crate::datafusion) fn told(name: &'static str, value: String) -> ScalarUDF {
    ScalarUDF::new_from_impl(Told { name, value, signature: Signature::nullary(Volatility::Immutable) })
}

/// `current_schema`: what it is given, or `public`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct CurrentSchema {
    signature: Signature,
}

impl ScalarUDFImpl for CurrentSchema {
    fn name(&self) -> &'static str {
        "current_schema"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.first() {
            Some(schema) => schema.cast_to(&DataType::Utf8, None),
            None => Ok(ColumnarValue::Scalar(ScalarValue::from(SCHEMA))),
        }
    }
}

/// `current_schemas(with_implicit)`: the schemas that it is given, or `public`, which may stand behind `pg_catalog`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct CurrentSchemas {
    signature: Signature,
}

impl ScalarUDFImpl for CurrentSchemas {
    fn name(&self) -> &'static str {
        "current_schemas"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::new_list(DataType::Utf8, true))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut schemas = Vec::new();
        for argument in &args.args {
            match argument {
                ColumnarValue::Scalar(ScalarValue::Boolean(Some(with_implicit))) => {
                    schemas.extend(with_implicit.then_some(ScalarValue::from("pg_catalog")));
                    schemas.push(ScalarValue::from(SCHEMA));
                }
                ColumnarValue::Scalar(schema) if schema.is_null() => {
                    return Ok(ColumnarValue::Scalar(ScalarValue::try_from(args.return_type())?));
                }
                ColumnarValue::Scalar(schema) => schemas.push(schema.cast_to(&DataType::Utf8)?),
                ColumnarValue::Array(_) => return exec_err!("current_schemas takes true or false, as it is written"),
            }
        }
        Ok(ColumnarValue::Scalar(ScalarValue::List(ScalarValue::new_list_nullable(&schemas, &DataType::Utf8))))
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Told {
    name: &'static str,
    value: String,
    signature: Signature,
}

impl ScalarUDFImpl for Told {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(ScalarValue::from(self.value.as_str())))
    }
}

/// `type_violation(kind, type, constraint, value)`: the error for a value that a type of a user does not take. Casts to such types
/// call it (`statement::user_types`).
#[derive(Debug, PartialEq, Eq, Hash)]
struct Violation {
    signature: Signature,
}

impl ScalarUDFImpl for Violation {
    fn name(&self) -> &'static str {
        "type_violation"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if args.number_rows == 0 {
            return Ok(ColumnarValue::Array(new_empty_array(&DataType::Utf8)));
        }
        let mut texts = Vec::new();
        for argument in &args.args {
            let array = cast(&argument.to_array(args.number_rows)?, &DataType::Utf8)?;
            texts.push(array.as_string::<i32>().value(0).to_owned());
        }
        let [kind, name, constraint, value] = texts.as_slice() else {
            return internal_err!("type_violation takes four texts");
        };
        Err(external(match kind.as_str() {
            "enum" => Error::new(ErrorKind::InvalidText, format!("invalid input value for enum {name}: \"{value}\"")),
            "null" => Error::new(ErrorKind::NotNull, format!("domain {name} does not allow null values"))
                .about(ErrorDetails { data_type: Some(name.clone()), ..ErrorDetails::NONE }),
            _ => Error::new(
                ErrorKind::Check,
                format!("value for domain {name} violates check constraint \"{constraint}\""),
            )
            .about(ErrorDetails {
                data_type: Some(name.clone()),
                constraint: Some(constraint.clone()),
                ..ErrorDetails::NONE
            }),
        }))
    }
}

/// `pg_typeof(value)`: the name of its type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct TypeOf {
    signature: Signature,
}

impl ScalarUDFImpl for TypeOf {
    fn name(&self) -> &'static str {
        "pg_typeof"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else { return internal_err!("pg_typeof takes one argument") };
        Ok(ColumnarValue::Scalar(ScalarValue::Utf8(Some(type_name(&value.data_type())))))
    }
}
