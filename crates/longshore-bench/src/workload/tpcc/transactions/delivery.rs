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
    let order = t.get(&table.relation, row, table.no_o_id)?;
    t.delete(&table.relation, row)?;

    let table = &db.orders;
    let row = there(t.find(&table.relation, &table.key, key!(warehouse, district, order))?, "a new order")?;
    let customer = t.get(&table.relation, row, table.o_c_id)?;
    t.set(&table.relation, row, table.o_carrier_id, carrier)?;

    let table = &db.order_line;
    let of_order = key!(warehouse, district, order);
    let mut total = 0;
    t.range(&table.relation, &table.key, of_order..=of_order, Direction::Forward, |t, row| {
        total += t.get(&table.relation, row, table.ol_amount)?;
        t.set(&table.relation, row, table.ol_delivery_d, at)?;
        Ok(ControlFlow::Continue(()))
    })?;

    let table = &db.customer;
    let row = there(t.find(&table.relation, &table.key, key!(warehouse, district, customer))?, "a customer")?;
    let balance = t.get(&table.relation, row, table.c_balance)?;
    t.set(&table.relation, row, table.c_balance, balance + total)?;
    let deliveries = t.get(&table.relation, row, table.c_delivery_cnt)?;
    t.set(&table.relation, row, table.c_delivery_cnt, deliveries + 1)?;
    Ok(Some(order))
}
