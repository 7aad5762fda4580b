//! Comparisons of `jsonb`: by bytes that compare as the values do.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, BinaryViewBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, ScalarUDF};

use super::arguments::value;
use crate::datafusion::functions::json_types::{failed, texts};
use crate::datafusion::functions::numeric;
use crate::datafusion::functions::row_function::RowFunction;

static KEY: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(RowFunction::new("jsonb key", |_| Ok(DataType::BinaryView), |args, _| keys(&args[0])).function())
});
static TEXT_KEY: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let texts = RowFunction::new(
        "jsonb key as text",
        |_| Ok(DataType::Utf8View),
        |args, _| keys(&args[0]).map(|keys| numeric::keys::texts(&keys)),
    );
    Arc::new(texts.function())
});

/// The bytes by which `expr`, a `jsonb` or its text, is compared. Nobody can call the function by its name.
pub(in crate::datafusion) fn key(expr: Expr) -> Expr {
    KEY.call(vec![expr])
}

/// The same as a text, by which a window can be sorted: `DataFusion` has no frames over bytes.
pub(in crate::datafusion) fn text_key(expr: Expr) -> Expr {
    TEXT_KEY.call(vec![expr])
}

/// The keys of values of JSONB, or of their texts.
pub(in crate::datafusion) fn keys(array: &ArrayRef) -> Result<ArrayRef> {
    let values = texts(array)?;
    let mut keys = BinaryViewBuilder::with_capacity(values.len());
    for text in &values {
        match text {
            Some(text) => keys.append_value(longshore_json::key(&value(text).map_err(failed)?)),
            None => keys.append_null(),
        }
    }
    Ok(Arc::new(keys.finish()))
}
