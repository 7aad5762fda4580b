//! The tables of TPC-C as SQL makes them, filled by COPY with what the typed API's tables are populated with.

use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use longshore_engine::Session;
use longshore_load::{ColumnChoice, Control, Dialect, Target, UnloadOptions, unload_csv};
use longshore_storage::Relation;

use crate::Failure;
use crate::workload::tpcc::schema::Database;
use crate::workload::tpcc::sizes::Sizes;

/// Rows that are formatted at a time.
const BATCH_ROWS: usize = 8_192;

/// Makes the tables and fills them.
///
/// # Errors
///
/// When memory is short.
pub(super) async fn create(session: &mut Session, sizes: Sizes) -> Result<(), Failure> {
    let rows = Database::populated(sizes)?;
    for (name, relation, key) in [
        ("warehouse", &rows.warehouse.relation, "PRIMARY KEY (w_id) USING hash"),
        ("district", &rows.district.relation, "PRIMARY KEY (d_w_id, d_id) USING hash"),
        ("customer", &rows.customer.relation, "PRIMARY KEY (c_w_id, c_d_id, c_id) USING hash"),
        ("history", &rows.history.relation, ""),
        ("new_order", &rows.new_order.relation, "PRIMARY KEY (no_w_id, no_d_id, no_o_id) USING art"),
        (
            "orders",
            &rows.orders.relation,
            "PRIMARY KEY (o_w_id, o_d_id, o_id) USING hash, UNIQUE (o_w_id, o_d_id, o_c_id, o_id) USING art",
        ),
        ("order_line", &rows.order_line.relation, "PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number) USING art"),
        ("item", &rows.item.relation, "PRIMARY KEY (i_id) USING hash"),
        ("stock", &rows.stock.relation, "PRIMARY KEY (s_w_id, s_i_id) USING hash"),
    ] {
        let columns = relation.schema().columns().iter().map(|column| {
            let not_null = if column.nullable { "" } else { " NOT NULL" };
            format!("{} {}{not_null}", column.name, column.column_type)
        });
        let mut parts: Vec<String> = columns.collect();
        parts.extend((!key.is_empty()).then(|| key.to_owned()));
        session.execute(&format!("CREATE TABLE {name} ({})", parts.join(", "))).await?;
        session.set_input(Cursor::new(csv(relation)?));
        session.execute(&format!("COPY {name} FROM STDIN")).await?;
    }
    session.execute("CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first)").await?;
    Ok(())
}

/// The rows of a relation as text.
fn csv(relation: &Relation) -> Result<Vec<u8>, Failure> {
    let snapshot = relation.snapshot();
    let schema = relation.schema().arrow();
    let columns: Vec<usize> = (0..relation.schema().columns().len()).collect();
    let batches = snapshot.chunks().iter().flat_map(|chunk| {
        (0..chunk.rows()).step_by(BATCH_ROWS).map(|from| {
            let len = BATCH_ROWS.min(chunk.rows() - from);
            Ok::<RecordBatch, Failure>(chunk.batch(&columns, from, len))
        })
    });
    let options = UnloadOptions {
        dialect: Dialect::default(),
        null: String::new(),
        header: false,
        force_quote: ColumnChoice::None,
    };
    let text = Text::default();
    unload_csv(batches, &schema, Target::Writer(Box::new(text.clone())), &options, 1, &Control::new())?;
    let mut bytes = text.0.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut bytes))
}

/// What an unload writes, for its caller to take.
#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
