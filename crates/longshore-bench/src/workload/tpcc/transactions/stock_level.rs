//! A district asks which of the items sold last are running out (clause 2.8).

use std::ops::ControlFlow;

use longshore_storage::{Direction, Transaction, key};

use super::{Effects, Screen, Stop, there};
use crate::workload::tpcc::schema::Database;

/// Orders that are looked at.
const ORDERS: i32 = 20;

/// Shows how many of the items of the last orders there are fewer of than `threshold`.
pub(in crate::workload::tpcc) fn stock_level(
    db: &Database,
    t: &mut Transaction,
    (warehouse, district): (i32, i32),
    threshold: i32,
    screen: &mut Screen,
) -> Result<Effects, Stop> {
    let table = &db.district;
    let row = there(t.find(&table.relation, &table.key, key!(warehouse, district))?, "a district")?;
    let next = t.get(&table.relation, row, table.d_next_o_id)?;

    let table = &db.order_line;
    let (first, last) = (key!(warehouse, district, next - ORDERS), key!(warehouse, district, next - 1));
    let mut items = Vec::with_capacity(16 * ORDERS as usize);
    t.range(&table.relation, &table.key, first..=last, Direction::Forward, |t, row| {
        items.push(t.get(&table.relation, row, table.ol_i_id)?);
        Ok(ControlFlow::Continue(()))
    })?;
    items.sort_unstable();
    items.dedup();

    let table = &db.stock;
    let mut low = 0;
    for item in items {
        let row = there(t.find(&table.relation, &table.key, key!(warehouse, item))?, "the stock of an item")?;
        low += i64::from(t.get(&table.relation, row, table.s_quantity)? < threshold);
    }
    screen.number(low);
    Ok(Effects::default())
}
