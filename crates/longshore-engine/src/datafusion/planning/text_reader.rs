//! How texts become values of a type where that is more than to read a number: NUMERIC, JSON, times, intervals, bytes and arrays.
//!
//! Drivers send most values as texts. They are cast as if they stood in the statement, by an expression that is made once.
//! One that cannot be cast is no value, so that the error is the one of a statement that was never prepared.
//! Not here: which types the texts of a statement are to have (`plan_cache/text_readers.rs`, `prepared/point_query/texts.rs`).

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{DFSchema, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Cast, Expr, col};
use datafusion::physical_expr::PhysicalExpr;
use longshore_time::settings::Settings;

use super::expressions::simplified;
use crate::datafusion::functions::nested::innermost;
use crate::datafusion::functions::time::kinds::{Kind, time_kind};

const TEXT: &str = "text";

static TEXTS: LazyLock<SchemaRef> =
    LazyLock::new(|| Arc::new(Schema::new(vec![Field::new(TEXT, DataType::Utf8View, true)])));

/// What reads texts as values of one type, in a session with certain settings of time.
#[derive(Debug)]
pub(crate) struct TextReader {
    data_type: DataType,
    /// Over a column of texts.
    cast: Arc<dyn PhysicalExpr>,
    settings: Arc<Settings>,
    /// Whether a text may name a time that is another one in each transaction, as `now`.
    may_be_now: bool,
}

impl TextReader {
    /// # Errors
    /// No text is cast to this type.
    pub(in crate::datafusion) fn new(
        data_type: DataType,
        state: &SessionState,
        settings: Arc<Settings>,
    ) -> Result<Self> {
        let schema = DFSchema::try_from(Arc::clone(&TEXTS))?;
        let cast = Expr::Cast(Cast::new(Box::new(col(TEXT)), data_type.clone()));
        let cast = state.create_physical_expr(simplified(state, cast, &schema)?, &schema)?;
        let may_be_now = may_be_now(&data_type);
        Ok(Self { data_type, cast, settings, may_be_now })
    }

    /// Of what type the values are.
    pub(in crate::datafusion) fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Whether it reads texts as a session with these settings does.
    pub(crate) fn is_of(&self, settings: &Arc<Settings>) -> bool {
        Arc::ptr_eq(&self.settings, settings)
    }

    /// The values of these texts; `None` where one is none, or may have another value at another time.
    pub(crate) fn read(&self, texts: StringViewArray) -> Option<ArrayRef> {
        let is_word = |text: &str| text.bytes().any(|byte| byte.is_ascii_alphabetic());
        if self.may_be_now && texts.iter().flatten().any(is_word) {
            return None;
        }
        let count = texts.len();
        let rows = RecordBatch::try_new(Arc::clone(&TEXTS), vec![Arc::new(texts)]).ok()?;
        let values = self.cast.evaluate(&rows).ok()?.into_array(count).ok()?;
        (*values.data_type() == self.data_type).then_some(values)
    }
}

/// Whether a text of this type, or an element of one, may name a time that is another one in each transaction.
fn may_be_now(data_type: &DataType) -> bool {
    time_kind(innermost(data_type)).is_some_and(|kind| kind != Kind::Interval)
}
