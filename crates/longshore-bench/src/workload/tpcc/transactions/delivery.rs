//! A warehouse delivers the oldest order of each district (clause 2.7).

use std::ops::ControlFlow;

use longshore_storage::{Datum, Direction, RowId, Transaction, key};

use super::{Effects, Screen, Stop, there};
use crate::workload::tpcc::schema::Database;
use crate::workload::tpcc::sizes::DISTRICTS;

/// Delivers in all districts, as one transaction; a district without new orders is skipped.
pub(in crate::workload::tpcc) fn delivery(
    db: &Database,
    t: &mut Transaction,
    warehouse: i32,
    carrier: i32,
    at: i64,
    screen: &mut Screen,
) -> Result<Effects, Stop> {
    // One step for all districts after the other, so that they wait for memory together.
    let mut orders = Vec::with_capacity(DISTRICTS as usize);
    for district in 1..=DISTRICTS {
        if let Some(order) = take_oldest(db, t, warehouse, district)? {
            screen.number(order.into());
            orders.push([warehouse, district, order]);
        }
    }
    let customers = hand_over(db, t, &orders, carrier)?;

    let table = &db.customer;
    let keys = orders.iter().zip(customers).map(|(&[warehouse, district, _], customer)| {
        [Datum::I32(warehouse), Datum::I32(district), Datum::I32(customer)]
    });
    let columns = [table.c_balance.column(), table.c_delivery_cnt.column()];
    let rows = t.find_many(&table.relation, &table.key, keys, &columns)?;
    for (&order, row) in orders.iter().zip(rows) {
        let total = deliver_lines(db, t, order, at)?;
        charge(db, t, there(row, "a customer")?, total)?;
    }
    Ok(Effects { delivered: orders.len() as u64, ..Effects::default() })
}

/// Takes the oldest order of a district from those that are not delivered yet; says which it is.
fn take_oldest(db: &Database, t: &mut Transaction, warehouse: i32, district: i32) -> Result<Option<i32>, Stop> {
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
    row.delete()?;
    Ok(Some(order))
}

/// Gives orders to a carrier; says whose they are.
fn hand_over(db: &Database, t: &mut Transaction, orders: &[[i32; 3]], carrier: i32) -> Result<Vec<i32>, Stop> {
    let table = &db.orders;
    let keys = orders.iter().map(|order| order.map(Datum::I32));
    let columns = [table.o_c_id.column(), table.o_carrier_id.column()];
    let rows = t.find_many(&table.relation, &table.key, keys, &columns)?;
    let each = rows.into_iter().map(|row| {
        let mut row = t.edit(&table.relation, there(row, "a new order")?)?;
        row.set(table.o_carrier_id, carrier)?;
        Ok(row.get(table.o_c_id)?)
    });
    each.collect()
}

/// Delivers the lines of an order; says what they cost.
fn deliver_lines(
    db: &Database,
    t: &mut Transaction,
    [warehouse, district, order]: [i32; 3],
    at: i64,
) -> Result<i64, Stop> {
    let table = &db.order_line;
    let of_order = key!(warehouse, district, order);
    let mut total = 0;
    t.range(&table.relation, &table.key, of_order..=of_order, Direction::Forward, |t, row| {
        let mut row = t.edit(&table.relation, row)?;
        total += row.get(table.ol_amount)?;
        row.set(table.ol_delivery_d, at)?;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(total)
}

/// Has a customer pay for an order that was delivered.
fn charge(db: &Database, t: &mut Transaction, row: RowId, total: i64) -> Result<(), Stop> {
    let table = &db.customer;
    let mut row = t.edit(&table.relation, row)?;
    let balance = row.get(table.c_balance)?;
    row.set(table.c_balance, balance + total)?;
    let deliveries = row.get(table.c_delivery_cnt)?;
    row.set(table.c_delivery_cnt, deliveries + 1)?;
    Ok(())
}
