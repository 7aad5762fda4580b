//! The consistency conditions of clause 3.3.2 as queries, numbered as there, and sums that tell what was changed.
//!
//! Condition 11 is stated of the population only; what it says of later is what the sums are compared for.

use longshore_engine::Session;

use super::statements::Rows;
use crate::Failure;
use crate::workload::tpcc::transactions::Effects;

/// A condition, and the query that finds what does not meet it.
const CONDITIONS: [(&str, &str); 11] = [
    (
        "1: W_YTD is the sum of D_YTD",
        "SELECT w_id FROM warehouse JOIN (SELECT d_w_id, sum(d_ytd) AS ytd FROM district GROUP BY d_w_id) AS d \
         ON w_id = d_w_id WHERE w_ytd <> ytd",
    ),
    (
        "2: D_NEXT_O_ID - 1 is the last order",
        "SELECT d_w_id, d_id FROM district LEFT JOIN \
         (SELECT o_w_id, o_d_id, max(o_id) AS last FROM orders GROUP BY o_w_id, o_d_id) AS o \
         ON d_w_id = o_w_id AND d_id = o_d_id WHERE last IS NULL OR d_next_o_id - 1 <> last",
    ),
    (
        "2: D_NEXT_O_ID - 1 is the last new order",
        "SELECT d_w_id, d_id FROM district JOIN \
         (SELECT no_w_id, no_d_id, max(no_o_id) AS last FROM new_order GROUP BY no_w_id, no_d_id) AS n \
         ON d_w_id = no_w_id AND d_id = no_d_id WHERE d_next_o_id - 1 <> last",
    ),
    (
        "3: new orders have no gaps",
        "SELECT no_w_id, no_d_id FROM new_order GROUP BY no_w_id, no_d_id \
         HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)",
    ),
    (
        "4 and 6: O_OL_CNT is the number of lines",
        "SELECT o_w_id, o_d_id, o_id FROM orders LEFT JOIN \
         (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS lines FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l \
         ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id WHERE lines IS NULL OR o_ol_cnt <> lines",
    ),
    (
        "4: no line is without an order",
        "SELECT ol_w_id, ol_d_id, ol_o_id FROM order_line LEFT JOIN orders \
         ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id WHERE o_id IS NULL",
    ),
    (
        "5: orders without a carrier are new",
        "SELECT o_w_id, o_d_id, o_id FROM orders LEFT JOIN new_order \
         ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    (
        "7: lines of orders with a carrier are delivered",
        "SELECT ol_w_id, ol_d_id, ol_o_id FROM order_line JOIN orders \
         ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
         WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    ),
    (
        "8: W_YTD is what was paid",
        "SELECT w_id FROM warehouse JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id) AS h \
         ON w_id = h_w_id WHERE w_ytd <> paid",
    ),
    (
        "9: D_YTD is what was paid",
        "SELECT d_w_id, d_id FROM district JOIN \
         (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) AS h \
         ON d_w_id = h_w_id AND d_id = h_d_id WHERE d_ytd <> paid",
    ),
    (
        "10 and 12: C_BALANCE is what was delivered less what was paid",
        "SELECT c_w_id, c_d_id, c_id FROM customer \
         LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered FROM orders JOIN order_line \
         ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id WHERE ol_delivery_d IS NOT NULL \
         GROUP BY o_w_id, o_d_id, o_c_id) AS o ON c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id \
         LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history \
         GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h ON c_w_id = h_c_w_id AND c_d_id = h_c_d_id AND c_id = h_c_id \
         WHERE c_balance <> coalesce(delivered, 0) - coalesce(paid, 0) \
         OR c_balance + c_ytd_payment <> coalesce(delivered, 0)",
    ),
];

/// What the tables hold, in sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Totals {
    orders: i64,
    lines: i64,
    new_orders: i64,
    payments: i64,
    /// What was ever paid, in cents.
    paid: i64,
}

impl Totals {
    /// The totals after transactions have changed these.
    pub(super) fn after(self, effects: &Effects) -> Totals {
        Totals {
            orders: self.orders + effects.orders as i64,
            lines: self.lines + effects.lines as i64,
            new_orders: self.new_orders + effects.orders as i64 - effects.delivered as i64,
            payments: self.payments + effects.payments as i64,
            paid: self.paid + effects.paid,
        }
    }

    /// Compares with what was found.
    ///
    /// # Errors
    ///
    /// When they differ.
    pub(super) fn check(&self, found: &Totals) -> Result<(), Failure> {
        if self == found { Ok(()) } else { Err(format!("{found:?} where {self:?} are right").into()) }
    }
}

/// Checks all conditions and returns the totals.
///
/// # Errors
///
/// The first condition that does not hold, and where.
pub(super) async fn check(session: &mut Session) -> Result<Totals, Failure> {
    for (condition, sql) in CONDITIONS {
        let rows = Rows::of(session.execute(sql).await?).await?;
        if rows.count() > 0 {
            let place: Vec<i64> = (0..rows.columns()).filter_map(|column| rows.integer(0, column)).collect();
            return Err(format!("not consistent, condition {condition}: {} rows, first {place:?}", rows.count()).into());
        }
    }
    let mut count = async |sql: &str| -> Result<i64, Failure> {
        let rows = Rows::of(session.execute(sql).await?).await?;
        rows.integer(0, 0).ok_or_else(|| format!("no number from {sql}").into())
    };
    Ok(Totals {
        orders: count("SELECT count(*) FROM orders").await?,
        lines: count("SELECT count(*) FROM order_line").await?,
        new_orders: count("SELECT count(*) FROM new_order").await?,
        payments: count("SELECT count(*) FROM history").await?,
        paid: count("SELECT sum(h_amount) FROM history").await?,
    })
}
