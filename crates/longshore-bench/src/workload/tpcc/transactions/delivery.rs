//! A warehouse delivers the oldest order of each district (clause 2.7).

use std::ops::ControlFlow;

use longshore_storage::{Direction, Transaction, key};

use super::{Effects, Screen, Stop, there};
use crate::workload::tpcc::populate::DISTRICTS;
use crate::workload::tpcc::schema::Database;

/// Delivers in all districts, as one transaction; a district without new orders is skipped.
pub(in crate::workload::tpcc) fn delivery(
    db: &Database,
    t: &mut Transaction,
    warehouse: i32,
    carrier: i32,
    at: i64,
    screen: &mut Screen,
) -> Result<Effects, Stop> {
    let mut delivered = 0;
    for district in 1..=DISTRICTS {
        if let Some(order) = deliver(db, t, warehouse, district, carrier, at)? {
            screen.number(order.into());
            delivered += 1;
        }
    }
    Ok(Effects { delivered, ..Effects::default() })
}

/// Delivers in one district; says which order.
fn deliver(
    db: &Database,
    t: &mut Transaction,
    warehouse: i32,
    district: i32,
    carrier: i32,
    at: i64,
) -> Result<Option<i32>, Stop> {
    let table = &db.new_order;
    let of_district = key!(warehouse, district);
    let mut oldest = None;
    t.range(&table.relation, &table.key, of_district..=of_district, Direction::Forward, |_, row| {
        oldest = Some(row);
        Ok(ControlFlow::Break(()))
    })?;
    let Some(row) = oldest else { return Ok(None) };
    let mut row = t.edit(&table.relation, row)?;
    let order = row.get(table.no_o_id)?;
    row.delete();

    let table = &db.orders;
    let row = t.find_edit(&table.relation, &table.key, key!(warehouse, district, order))?;
    let mut row = there(row, "a new order")?;
    let customer = row.get(table.o_c_id)?;
    row.set(table.o_carrier_id, carrier)?;
    drop(row);

    let table = &db.order_line;
    let of_order = key!(warehouse, district, order);
    let mut total = 0;
    t.range(&table.relation, &table.key, of_order..=of_order, Direction::Forward, |t, row| {
        let mut row = t.edit(&table.relation, row)?;
        total += row.get(table.ol_amount)?;
        row.set(table.ol_delivery_d, at)?;
        Ok(ControlFlow::Continue(()))
    })?;

    let table = &db.customer;
    let row = t.find_edit(&table.relation, &table.key, key!(warehouse, district, customer))?;
    let mut row = there(row, "a customer")?;
    let balance = row.get(table.c_balance)?;
    row.set(table.c_balance, balance + total)?;
    let deliveries = row.get(table.c_delivery_cnt)?;
    row.set(table.c_delivery_cnt, deliveries + 1)?;
    Ok(Some(order))
}
