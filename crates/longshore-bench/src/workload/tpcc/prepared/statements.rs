//! The statements of the five transactions, prepared once for all sessions, and what they give back.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use futures::TryStreamExt as _;
use longshore_engine::{Datum, Error, Outcome, Prepared, Session};

use crate::workload::tpcc::sizes::DISTRICTS;

macro_rules! statements {
    ($($(#[$about:meta])* $name:ident: $sql:expr;)*) => {
        /// The statements.
        pub(super) struct Statements {
            $($(#[$about])* pub(super) $name: Prepared,)*
            /// The stock of an item with the text of a district, by district.
            pub(super) stock: Vec<Prepared>,
        }

        impl Statements {
            /// Prepares them.
            ///
            /// # Errors
            ///
            /// When one is not understood.
            pub(super) fn prepare(session: &Session) -> Result<Statements, Error> {
                Ok(Statements {
                    $($name: session.prepare($sql)?,)*
                    stock: (1..=DISTRICTS).map(|district| session.prepare(&stock(district))).collect::<Result<_, _>>()?,
                })
            }
        }
    };
}

fn stock(district: i32) -> String {
    format!("SELECT s_quantity, s_data, s_dist_{district:02} FROM stock WHERE s_w_id = $1 AND s_i_id = $2")
}

statements! {
    warehouse_tax: "SELECT w_tax FROM warehouse WHERE w_id = $1";
    district_tax: "SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2";
    next_order: "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2";
    discount: "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
    insert_order: "INSERT INTO orders VALUES ($1, $2, $3, $4, $5, NULL, $6, $7)";
    insert_new_order: "INSERT INTO new_order VALUES ($1, $2, $3)";
    item: "SELECT i_price, i_name, i_data FROM item WHERE i_id = $1";
    take_stock: "UPDATE stock SET s_quantity = $3, s_ytd = s_ytd + $4, s_order_cnt = s_order_cnt + 1, \
                 s_remote_cnt = s_remote_cnt + $5 WHERE s_w_id = $1 AND s_i_id = $2";
    insert_line: "INSERT INTO order_line VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9)";
    pay_warehouse: "UPDATE warehouse SET w_ytd = w_ytd + $2 WHERE w_id = $1";
    warehouse: "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = $1";
    pay_district: "UPDATE district SET d_ytd = d_ytd + $3 WHERE d_w_id = $1 AND d_id = $2";
    district: "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
               WHERE d_w_id = $1 AND d_id = $2";
    customers_by_name: "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first";
    customer: "SELECT c_credit, c_data, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, \
               c_phone, c_since, c_credit_lim, c_discount, c_balance FROM customer \
               WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
    pay: "UPDATE customer SET c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4, \
          c_payment_cnt = c_payment_cnt + 1, c_data = $5 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
    insert_history: "INSERT INTO history VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    balance: "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
    last_order: "SELECT o_id, o_ol_cnt, o_entry_d, o_carrier_id FROM orders \
                 WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1";
    lines: "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
            WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3";
    oldest_new_order: "SELECT min(no_o_id) FROM new_order WHERE no_w_id = $1 AND no_d_id = $2";
    delete_new_order: "DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3";
    customer_of_order: "SELECT o_c_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3";
    set_carrier: "UPDATE orders SET o_carrier_id = $4 WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3";
    amount: "SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3";
    deliver_lines: "UPDATE order_line SET ol_delivery_d = $4 WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3";
    credit: "UPDATE customer SET c_balance = c_balance + $4, c_delivery_cnt = c_delivery_cnt + 1 \
             WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
    low_stock: "SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_i_id = ol_i_id \
                WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 AND s_w_id = $1 AND s_quantity < $5";
}

/// A session with the statements.
pub(super) struct Connection<'s> {
    session: Session,
    pub(super) statements: &'s Statements,
}

impl<'s> Connection<'s> {
    pub(super) fn new(session: Session, statements: &'s Statements) -> Connection<'s> {
        Connection { session, statements }
    }

    /// Executes a statement that gives nothing back.
    pub(super) async fn run(&mut self, sql: &str) -> Result<(), Error> {
        self.session.execute(sql).await.map(|_| ())
    }

    /// The rows that a statement gives back.
    pub(super) async fn rows(&mut self, statement: &Prepared, values: &[Datum<'_>]) -> Result<Rows, Error> {
        Rows::of(self.session.execute_prepared(statement, values).await?).await
    }

    /// How many rows a statement changes.
    pub(super) async fn change(&mut self, statement: &Prepared, values: &[Datum<'_>]) -> Result<u64, Error> {
        match self.session.execute_prepared(statement, values).await? {
            Outcome::Done { report, .. } => Ok(report.rows),
            Outcome::Rows(_) => Ok(0),
        }
    }
}

/// What a query gave back.
pub(super) struct Rows(Vec<RecordBatch>);

impl Rows {
    /// All of them.
    pub(super) async fn of(outcome: Outcome) -> Result<Rows, Error> {
        match outcome {
            Outcome::Rows(rows) => Ok(Rows(rows.try_collect().await?)),
            Outcome::Done { .. } => Ok(Rows(Vec::new())),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.0.iter().map(RecordBatch::num_rows).sum()
    }

    pub(super) fn columns(&self) -> usize {
        self.0.first().map_or(0, RecordBatch::num_columns)
    }

    fn place(&self, mut row: usize, column: usize) -> Option<(&dyn Array, usize)> {
        for batch in &self.0 {
            if row < batch.num_rows() {
                let array = batch.column(column);
                return array.is_valid(row).then_some((array.as_ref(), row));
            }
            row -= batch.num_rows();
        }
        None
    }

    /// A number, decimals without their point; `None` is NULL, or a row too many.
    pub(super) fn integer(&self, row: usize, column: usize) -> Option<i64> {
        let (array, row) = self.place(row, column)?;
        match array.data_type() {
            DataType::Int16 => Some(array.as_primitive::<Int16Type>().value(row).into()),
            DataType::Int32 => Some(array.as_primitive::<Int32Type>().value(row).into()),
            DataType::Int64 => Some(array.as_primitive::<Int64Type>().value(row)),
            DataType::Decimal128(..) => Some(array.as_primitive::<Decimal128Type>().value(row) as i64),
            DataType::Timestamp(..) => Some(array.as_primitive::<TimestampMicrosecondType>().value(row)),
            _ => None,
        }
    }

    /// A text; `None` is NULL, or a row too many.
    pub(super) fn text(&self, row: usize, column: usize) -> Option<&str> {
        let (array, row) = self.place(row, column)?;
        array.as_string_view_opt().map(|texts| texts.value(row))
    }
}
