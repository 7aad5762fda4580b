//! Someone asks for the last order (clause 2.6).

use std::ops::ControlFlow;

use longshore_storage::{Direction, Transaction, key};

use super::{Effects, Screen, Stop, customer, there};
use crate::workload::tpcc::input::Who;
use crate::workload::tpcc::schema::Database;
use crate::workload::tpcc::values::LastNames;

/// Shows the customer's last order with its lines.
pub(in crate::workload::tpcc) fn order_status(
    db: &Database,
    t: &mut Transaction,
    (warehouse, district): (i32, i32),
    who: Who,
    names: &LastNames,
    screen: &mut Screen,
) -> Result<Effects, Stop> {
    let row = customer::find(db, t, names, warehouse, district, who)?;
    let table = &db.customer;
    let mut row = t.read(&table.relation, row)?;
    let customer = row.get(table.c_id)?;
    screen.number(row.get(table.c_balance)?);
    screen.texts(&mut row, [table.c_first, table.c_middle, table.c_last]);
    drop(row);

    let table = &db.orders;
    let of_customer = key!(warehouse, district, customer);
    let mut last = None;
    t.range(&table.relation, &table.by_customer, of_customer..=of_customer, Direction::Backward, |_, row| {
        last = Some(row);
        Ok(ControlFlow::Break(()))
    })?;
    let mut row = t.read(&table.relation, there(last, "an order of a customer")?)?;
    let order = row.get(table.o_id)?;
    let lines = row.get(table.o_ol_cnt)?;
    screen.number(row.get(table.o_entry_d)?);
    screen.number(row.get_nullable(table.o_carrier_id).unwrap_or_default().into());
    drop(row);

    let table = &db.order_line;
    let of_order = key!(warehouse, district, order);
    let mut found = 0;
    t.range(&table.relation, &table.key, of_order..=of_order, Direction::Forward, |t, row| {
        found += 1;
        let mut row = t.read(&table.relation, row)?;
        screen.number(row.get(table.ol_i_id)?.into());
        screen.number(row.get(table.ol_supply_w_id)?.into());
        screen.number(row.get(table.ol_quantity)?.into());
        screen.number(row.get(table.ol_amount)?);
        screen.number(row.get_nullable(table.ol_delivery_d).unwrap_or_default());
        Ok(ControlFlow::Continue(()))
    })?;
    if found == lines { Ok(Effects::default()) } else { Err(Stop::Wrong(format!("{found} lines of {lines}"))) }
}
