//! Rows that no row of the other side of a join above can meet are left out before their other columns are read.
//!
//! A hash join tells the scan of the side that it probes with which keys the other side has, as a dynamic filter: a lookup in
//! its hash table. On each row that lookup takes longer than what it saves. So it is made once of every number that the
//! column may have by its bounds, if these are far fewer than the rows, and of a row only a bit is looked up then.
//! Not here: skipping whole chunks by the same filters (`prune`).

use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, new_null_array};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::compute::{and, cast, concat};
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Int16Type, Int32Type, Int64Type, Schema, SchemaRef,
};
use datafusion::common::Result;
use datafusion::common::cast::as_boolean_array;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr::{DynamicFilterTracking, PhysicalExpr};
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use longshore_storage::{Snapshot, Value};

use super::predicate::{Selection, Values, without_nulls};

/// A filter is evaluated on all numbers of a column only where there are so many times as many rows.
const ROWS_PER_NUMBER: usize = 8;

/// Numbers on which a filter is evaluated at most.
const NUMBERS_MAX: usize = 4 << 20;

/// Where fewer than one row in this many are left, a join looks at them sooner than the column is unpacked.
const FEW_RATIO: usize = 8;

/// Sets that have more than one number in so many leave too few rows out.
const SPARSE_RATIO: usize = 4;

/// The filters of joins above a scan, shared by its workers.
pub(in crate::datafusion) struct JoinKeys {
    snapshot: Arc<Snapshot>,
    table: SchemaRef,
    filters: Vec<JoinFilter>,
}

/// A filter over the columns of the table, and what it says once the join knows its keys.
struct JoinFilter {
    expr: Arc<dyn PhysicalExpr>,
    /// `None` if it is not worth looking at.
    keys: OnceLock<Option<KeySet>>,
}

/// Which values of a column of whole numbers or days a filter is true of.
struct KeySet {
    column: usize,
    /// The number of the first bit.
    least: i64,
    /// A number beyond the bits may have any partner.
    wanted: BooleanBuffer,
    null: bool,
}

impl JoinKeys {
    /// What `hints` will say of the rows of `snapshot`; they are over `table`, and those that never change say nothing.
    pub(in crate::datafusion) fn new(
        hints: &[Arc<dyn PhysicalExpr>],
        snapshot: &Arc<Snapshot>,
        table: &SchemaRef,
    ) -> Self {
        let is_dynamic =
            |hint: &&Arc<dyn PhysicalExpr>| DynamicFilterTracking::classify(hint).contains_dynamic_filter();
        let filter = |expr| JoinFilter { expr: Arc::clone(expr), keys: OnceLock::new() };
        let filters = hints.iter().filter(is_dynamic).map(filter).collect();
        Self { snapshot: Arc::clone(snapshot), table: Arc::clone(table), filters }
    }

    /// Those of `rows` rows in `selection` that may have partners in all joins.
    pub(super) fn narrow(&self, selection: Selection, rows: usize, values: &mut impl Values) -> Result<Selection> {
        let mut selection = selection;
        for filter in &self.filters {
            if let Selection::None = &selection {
                break;
            }
            if let Selection::Some(mask) = &selection
                && mask.true_count() * FEW_RATIO < rows
            {
                break;
            }
            let Some(keys) = filter.keys(&self.snapshot, &self.table) else { continue };
            let mask = match &selection {
                Selection::Some(mask) => and(mask, &keys.select(&values.array(keys.column, Some(mask))))?,
                _ => keys.select(&values.array(keys.column, None)),
            };
            selection = Selection::of(rows, Some(mask));
        }
        Ok(selection)
    }
}

impl JoinFilter {
    /// What it says of a column, from when on the join has told all of its keys.
    fn keys(&self, snapshot: &Snapshot, table: &SchemaRef) -> Option<&KeySet> {
        if self.keys.get().is_none() {
            let tracking = DynamicFilterTracking::classify(&self.expr);
            if !matches!(tracking, DynamicFilterTracking::AllComplete) {
                return None;
            }
        }
        // What cannot be evaluated here the join itself evaluates.
        self.keys.get_or_init(|| KeySet::of(&self.expr, snapshot, table).unwrap_or_default()).as_ref()
    }
}

impl KeySet {
    /// What `filter` says of the one column of `snapshot` that it reads; `None` if that is not worth its while.
    fn of(filter: &Arc<dyn PhysicalExpr>, snapshot: &Snapshot, table: &SchemaRef) -> Result<Option<Self>> {
        let filter = snapshot_physical_expr(Arc::clone(filter))?;
        let columns: Vec<usize> = collect_columns(&filter).iter().map(Column::index).collect();
        let [column] = columns[..] else { return Ok(None) };
        let data_type = table.field(column).data_type();
        let is_stored = column < snapshot.schema().columns().len();
        if !is_stored || !matches!(data_type, DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::Date32) {
            return Ok(None);
        }
        let statistics = snapshot.statistics(column);
        let (Some(Value::Integer(least)), Some(Value::Integer(greatest))) = (&statistics.min, &statistics.max) else {
            return Ok(None);
        };
        let numbers_max = NUMBERS_MAX.min(snapshot.rows() as usize / ROWS_PER_NUMBER);
        let numbers = greatest.checked_sub(*least).and_then(|span| usize::try_from(span).ok());
        let Some(numbers) = numbers.filter(|numbers| *numbers < numbers_max).map(|span| span + 1) else {
            return Ok(None);
        };
        let all = numbers_of(*least..=*greatest, data_type)?;
        let said = said_of(&filter, column, table, concat(&[&all, &new_null_array(data_type, 1)])?)?;
        let wanted = said.values().slice(0, numbers);
        let is_sparse = wanted.count_set_bits() * SPARSE_RATIO <= numbers;
        Ok(is_sparse.then(|| Self { column, least: *least, wanted, null: said.value(numbers) }))
    }

    /// Which of some values may have a partner, without nulls.
    fn select(&self, values: &ArrayRef) -> BooleanArray {
        let bits = match values.data_type() {
            DataType::Int16 => self.among::<Int16Type>(values),
            DataType::Int32 => self.among::<Int32Type>(values),
            DataType::Int64 => self.among::<Int64Type>(values),
            DataType::Date32 => self.among::<Date32Type>(values),
            _ => BooleanBuffer::new_set(values.len()),
        };
        BooleanArray::new(bits, None)
    }

    fn among<T: ArrowPrimitiveType>(&self, values: &ArrayRef) -> BooleanBuffer
    where
        i64: From<T::Native>,
    {
        let values = values.as_primitive::<T>();
        let numbers = values.values();
        let found = BooleanBuffer::collect_bool(numbers.len(), |row| {
            let place = i64::from(numbers[row]).wrapping_sub(self.least) as u64 as usize;
            place >= self.wanted.len() || self.wanted.value(place)
        });
        match values.nulls() {
            None => found,
            Some(valid) if self.null => &found | &!valid.inner(),
            Some(valid) => &found & valid.inner(),
        }
    }
}

/// All numbers of a range, as a column of the type `data_type`.
fn numbers_of(range: RangeInclusive<i64>, data_type: &DataType) -> Result<ArrayRef> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(range));
    // Arrow makes days of numbers as wide as they are.
    let numbers = if *data_type == DataType::Date32 { cast(&numbers, &DataType::Int32)? } else { numbers };
    Ok(cast(&numbers, data_type)?)
}

/// What `filter` says of values of the column `column` of `table`; nulls count as no.
fn said_of(filter: &Arc<dyn PhysicalExpr>, column: usize, table: &SchemaRef, values: ArrayRef) -> Result<BooleanArray> {
    // What is asked of NULL is asked even where the column has none.
    let schema = Arc::new(Schema::new(vec![table.field(column).clone().with_nullable(true)]));
    let local = reassign_expr_columns(Arc::clone(filter), &schema)?;
    let rows = values.len();
    let batch = RecordBatch::try_new(schema, vec![values])?;
    let said = local.evaluate(&batch)?.into_array(rows)?;
    Ok(without_nulls(as_boolean_array(&said)?))
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::Int32Array;
    use datafusion::common::ScalarValue;
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::expressions::{BinaryExpr, DynamicFilterPhysicalExpr, InListExpr, IsNullExpr, lit};
    use longshore_storage::{Arena, Column as Stored, ColumnType, Memory, MergeKind, PartitionBuffer, Relation};

    use super::*;
    use crate::datafusion::scan::predicate::StoredRows;

    const ROWS: i32 = 20_000;

    /// Rows of a number from -500 to 499 or NULL, in the type `column_type`, which is `data_type` in queries.
    fn relation(column_type: ColumnType, data_type: &DataType) -> (Relation, ArrayRef) {
        let schema = Arc::new(longshore_storage::Schema::new(vec![Stored::new("n", column_type, true)]));
        let memory = Memory::new(None);
        let relation = Relation::new(Arc::clone(&schema), Arc::clone(&memory));
        let number = |row: i32| (row % 7 != 3).then(|| row * 7919 % 1000 - 500);
        let numbers: ArrayRef = Arc::new((0..ROWS).map(number).collect::<Int32Array>());
        let numbers = cast(&numbers, data_type).expect("each number is in its type");
        let batch =
            RecordBatch::try_new(schema.arrow(), vec![Arc::clone(&numbers)]).expect("the column fits the schema");
        let mut arena = Arena::new(memory, 2 << 20);
        let append = relation.begin_append(MergeKind::Chunk);
        let buffers = PartitionBuffer::from_batch(&schema, &batch, &mut arena).expect("the rows fit");
        append.merge(0, buffers).expect("there is memory");
        append.commit().expect("there are no keys");
        (relation, numbers)
    }

    /// The one column of a batch.
    struct Batch(ArrayRef);

    impl Values for Batch {
        fn array(&mut self, _column: usize, _wanted: Option<&BooleanArray>) -> ArrayRef {
            Arc::clone(&self.0)
        }

        fn stored(&self, _column: usize) -> Option<StoredRows<'_>> {
            None
        }
    }

    fn is_in(
        column: &Arc<dyn PhysicalExpr>,
        numbers: &[i32],
        data_type: &DataType,
        table: &SchemaRef,
    ) -> Arc<dyn PhysicalExpr> {
        let value =
            |number: &i32| lit(ScalarValue::Int32(Some(*number)).cast_to(data_type).expect("it is in the type"));
        let list = numbers.iter().map(value).collect();
        Arc::new(InListExpr::try_new(Arc::clone(column), list, false, table).expect("the types are the same"))
    }

    fn or(one: Arc<dyn PhysicalExpr>, other: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
        Arc::new(BinaryExpr::new(one, Operator::Or, other))
    }

    #[test]
    fn rows_are_left_for_which_the_filter_itself_is_true() {
        for (column_type, data_type) in [
            (ColumnType::SmallInt, DataType::Int16),
            (ColumnType::Integer, DataType::Int32),
            (ColumnType::BigInt, DataType::Int64),
            (ColumnType::Date, DataType::Date32),
        ] {
            let (relation, numbers) = relation(column_type, &data_type);
            let snapshot = relation.snapshot();
            let table = snapshot.schema().arrow();
            let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new("n", 0));
            let few = is_in(&column, &[-500, -3, 0, 7, 499, 1000], &data_type, &table);
            let or_null = or(Arc::clone(&few), Arc::new(IsNullExpr::new(Arc::clone(&column))));
            let many: Vec<i32> = (-400..400).collect();
            let many = is_in(&column, &many, &data_type, &table);
            for (told, is_used) in
                [(few, true), (or_null, true), (lit(false), false), (lit(true), false), (many, false)]
            {
                let filter = Arc::new(DynamicFilterPhysicalExpr::new(vec![Arc::clone(&column)], lit(true)));
                let hint: Arc<dyn PhysicalExpr> = Arc::clone(&filter) as _;
                let keys = JoinKeys::new(&[hint], &snapshot, &table);
                assert!(keys.filters[0].keys(&snapshot, &table).is_none(), "the join has not told its keys");
                filter.update(Arc::clone(&told)).expect("its columns are those of the filter");
                filter.mark_complete();
                assert_eq!(keys.filters[0].keys(&snapshot, &table).is_some(), is_used, "{told}");
                let batch = RecordBatch::try_new(Arc::clone(&table), vec![Arc::clone(&numbers)]).expect("it fits");
                let said =
                    told.evaluate(&batch).and_then(|said| said.into_array(numbers.len())).expect("it is evaluated");
                let said = without_nulls(as_boolean_array(&said).expect("it is boolean"));
                let odd: BooleanArray = (0..ROWS).map(|row| Some(row % 2 == 1)).collect();
                for seen in [None, Some(odd)] {
                    let before = Selection::of(numbers.len(), seen.clone());
                    let left =
                        keys.narrow(before, numbers.len(), &mut Batch(Arc::clone(&numbers))).expect("it is evaluated");
                    let left: Vec<bool> = match left {
                        Selection::None => vec![false; numbers.len()],
                        Selection::All => vec![true; numbers.len()],
                        Selection::Some(mask) => mask.values().iter().collect(),
                    };
                    for (row, left) in left.into_iter().enumerate() {
                        let is_seen = seen.as_ref().is_none_or(|seen| seen.value(row));
                        let is_expected = is_seen && (!is_used || said.value(row));
                        assert_eq!(left, is_expected, "{told}, row {row}, {data_type}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_number_beyond_the_bounds_may_have_a_partner() {
        let wanted = BooleanBuffer::from(&[true, false, true][..]);
        let keys = KeySet { column: 0, least: 5, wanted, null: false };
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN, 4, 5, 6, 7, 8, i64::MAX]));
        let selected: Vec<bool> = keys.select(&numbers).values().iter().collect();
        assert_eq!(selected, [true, true, true, false, true, true, true]);
    }
}
