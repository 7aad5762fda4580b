//! The five transactions of TPC-C (clauses 2.4 to 2.8), compiled: functions over the typed API.
//!
//! What a terminal would show is read and written to a [`Screen`]. Each says what it changed, for the checks that follow
//! a run. One that fails with a conflict is called again with the same input in a new transaction.
//!
//! Not here: who calls them (`terminal.rs`).

use longshore_storage::{Field, RowRead, TransactionError};

mod customer;
mod delivery;
mod new_order;
mod order_status;
mod payment;
mod stock_level;

pub(super) use delivery::delivery;
pub(super) use new_order::new_order;
pub(super) use order_status::order_status;
pub(super) use payment::payment;
pub(super) use stock_level::stock_level;

/// Why a transaction did not come to its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// The terminal asked for an item that there is not: the transaction is to be rolled back.
    UnknownItem,
    /// The database refused.
    Refused(TransactionError),
    /// Something is not as the specification says it always is.
    Wrong(String),
}

impl From<TransactionError> for Stop {
    fn from(error: TransactionError) -> Stop {
        Stop::Refused(error)
    }
}

/// What transactions changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Effects {
    /// Orders.
    pub(super) orders: u64,
    /// Their lines.
    pub(super) lines: u64,
    /// Orders delivered.
    pub(super) delivered: u64,
    /// Payments.
    pub(super) payments: u64,
    /// What was paid, in cents.
    pub(super) paid: i64,
}

impl Effects {
    /// Adds those of others.
    pub(super) fn add(&mut self, other: &Effects) {
        self.orders += other.orders;
        self.lines += other.lines;
        self.delivered += other.delivered;
        self.payments += other.payments;
        self.paid += other.paid;
    }
}

/// What a terminal shows of a transaction.
#[derive(Default)]
pub(super) struct Screen {
    text: String,
    number: i64,
    /// For texts on their way.
    scratch: String,
}

impl Screen {
    /// Blank again.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.number = 0;
    }

    /// Shows texts of a row.
    fn texts<const N: usize>(&mut self, row: &mut RowRead<'_>, fields: [Field<&'static str>; N]) {
        for field in fields {
            self.text.push_str(row.text(field).unwrap_or_default());
        }
    }

    /// Shows a number.
    fn number(&mut self, number: i64) {
        self.number = self.number.wrapping_add(number);
    }
}

/// The row that was looked for, which the specification says is there.
fn there<R>(found: Option<R>, what: &str) -> Result<R, Stop> {
    found.ok_or_else(|| Stop::Wrong(format!("{what} is missing")))
}
