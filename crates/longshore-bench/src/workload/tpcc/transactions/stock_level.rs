//! A district asks which of the items sold last are running out (clause 2.8).

use std::ops::ControlFlow;

use longshore_storage::{Datum, Direction, Transaction, key};

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
    let row = t.find_read(&table.relation, &table.key, key!(warehouse, district))?;
    let next = there(row, "a district")?.get(table.d_next_o_id)?;

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
    let keys = items.iter().map(|&item| [Datum::I32(warehouse), Datum::I32(item)]);
    let rows = t.find_many(&table.relation, &table.key, keys, &[table.s_quantity.column()])?;
    let mut low = 0;
    for row in rows {
        let mut row = t.read(&table.relation, there(row, "the stock of an item")?)?;
        low += i64::from(row.get(table.s_quantity)? < threshold);
    }
    screen.number(low);
    Ok(Effects::default())
}
