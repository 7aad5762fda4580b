//! `obj_description`, `col_description` and `shobj_description`: what people have said of objects.
//!
//! PostgreSQL names objects by numbers here, which `'t'::regclass` gives; we name them by texts, to which that cast leads as
//! well. They are functions of one statement, since they look into the catalog. Not here: COMMENT ON (`statement::objects`).

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};

use crate::catalog::{Catalog, Commented, Entry};
use crate::sql::{in_text, names};

/// The function of this name over `catalog`.
pub(in crate::datafusion) fn function(name: &str, catalog: &Arc<Catalog>) -> Option<Arc<ScalarUDF>> {
    let name = NAMES.into_iter().find(|known| *known == name)?;
    let signature = Signature::one_of(vec![TypeSignature::Any(1), TypeSignature::Any(2)], Volatility::Stable);
    Some(Arc::new(ScalarUDF::new_from_impl(Function { name, catalog: Arc::clone(catalog), signature })))
}

const NAMES: [&str; 3] = ["obj_description", "col_description", "shobj_description"];

struct Function {
    name: &'static str,
    catalog: Arc<Catalog>,
    signature: Signature,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.catalog, &other.catalog)
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Function {
    /// What was said of an object of the kind that a system table of PostgreSQL has.
    fn of_object(&self, text: &str, kind: Option<&str>) -> Option<String> {
        let name = in_text::relation(text).ok()?;
        match kind {
            None | Some("pg_class") => {
                let of_relation = self.catalog.comment(&Commented::Relation(name.clone()));
                of_relation.or_else(|| {
                    let table = self.catalog.owner_of_index(&name)?;
                    self.catalog.comment(&Commented::Index(table.name.clone(), names::own(&name).to_owned()))
                })
            }
            Some("pg_namespace") => self.catalog.comment(&Commented::Schema(text.to_owned())),
            Some("pg_database") => self.catalog.comment(&Commented::Database),
            Some("pg_type") => self.catalog.comment(&Commented::Type(name)),
            Some(_) => None,
        }
    }

    /// What was said of a column, by its number from 1.
    fn of_column(&self, text: &str, number: i64) -> Option<String> {
        let name = in_text::relation(text).ok()?;
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        match self.catalog.get(&name)? {
            Entry::Table(table) => {
                let column = table.relation.schema().columns().get(at)?.name.clone();
                self.catalog.comment(&Commented::Column(name, column))
            }
            Entry::View(view) => {
                let column = view.columns.get(at)?.clone();
                self.catalog.comment(&Commented::Column(name, column))
            }
        }
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &'static str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let column = |at: usize, data_type: DataType| match args.args.get(at) {
            Some(value) => {
                Ok::<_, datafusion::common::DataFusionError>(Some(cast(&value.to_array(rows)?, &data_type)?))
            }
            None => Ok(None),
        };
        let Some(objects) = column(0, DataType::Utf8)? else {
            return Ok(ColumnarValue::Array(Arc::new(StringArray::new_null(rows))));
        };
        let objects = objects.as_string::<i32>();
        let said: StringArray = if self.name == "col_description" {
            let numbers = column(1, DataType::Int64)?;
            let number = |row: usize| numbers.as_ref().map(|numbers| numbers.as_primitive::<Int64Type>().value(row));
            objects.iter().enumerate().map(|(row, object)| self.of_column(object?, number(row)?)).collect()
        } else {
            let kinds = column(1, DataType::Utf8)?;
            let kind = |row: usize| kinds.as_ref().map(|kinds| kinds.as_string::<i32>().value(row));
            objects.iter().enumerate().map(|(row, object)| self.of_object(object?, kind(row))).collect()
        };
        Ok(ColumnarValue::Array(Arc::new(said)))
    }
}
