//! Someone orders 5 to 15 items (clause 2.4).

use longshore_storage::{Datum, Transaction, key};

use super::{Effects, Screen, Stop, there};
use crate::workload::tpcc::input::{Line, NewOrder};
use crate::workload::tpcc::populate::ORIGINAL;
use crate::workload::tpcc::schema::Database;

/// A rate of 1, as rates are stored.
const ONE: i64 = 10_000;

/// Enters the order; one with an item that there is not is to be rolled back.
pub(in crate::workload::tpcc) fn new_order(
    db: &Database,
    t: &mut Transaction,
    order: &NewOrder,
    lines: &[Line],
    screen: &mut Screen,
) -> Result<Effects, Stop> {
    let &NewOrder { warehouse, district, customer, at, .. } = order;

    let table = &db.warehouse;
    let row = there(t.find(&table.relation, &table.key, key!(warehouse))?, "a warehouse")?;
    let warehouse_tax = t.get(&table.relation, row, table.w_tax)?;

    let table = &db.district;
    let row = there(t.find(&table.relation, &table.key, key!(warehouse, district))?, "a district")?;
    let district_tax = t.get(&table.relation, row, table.d_tax)?;
    let id = t.get(&table.relation, row, table.d_next_o_id)?;
    t.set(&table.relation, row, table.d_next_o_id, id + 1)?;

    let table = &db.customer;
    let row = there(t.find(&table.relation, &table.key, key!(warehouse, district, customer))?, "a customer")?;
    let discount = t.get(&table.relation, row, table.c_discount)?;
    screen.texts(t, &table.relation, row, [table.c_last, table.c_credit])?;

    t.insert(
        &db.orders.relation,
        &[
            Datum::I32(id),
            Datum::I32(district),
            Datum::I32(warehouse),
            Datum::I32(customer),
            Datum::I64(at),
            Datum::Null,
            Datum::I16(order.lines),
            Datum::I16(order.is_local.into()),
        ],
    )?;
    t.insert(&db.new_order.relation, &[Datum::I32(id), Datum::I32(district), Datum::I32(warehouse)])?;

    let mut total = 0;
    for (number, line) in (1..).zip(lines) {
        total += order_line(db, t, order, id, number, line, screen)?;
    }
    // Cents times two rates.
    screen.number(total * (ONE - discount) / ONE * (ONE + warehouse_tax + district_tax) / ONE);
    Ok(Effects { orders: 1, lines: lines.len() as u64, ..Effects::default() })
}

/// Takes an item from the stock and enters the line; says what it costs.
fn order_line(
    db: &Database,
    t: &mut Transaction,
    order: &NewOrder,
    id: i32,
    number: i16,
    line: &Line,
    screen: &mut Screen,
) -> Result<i64, Stop> {
    let table = &db.item;
    let row = t.find(&table.relation, &table.key, key!(line.item))?.ok_or(Stop::UnknownItem)?;
    let price = t.get(&table.relation, row, table.i_price)?;
    screen.texts(t, &table.relation, row, [table.i_name])?;
    screen.scratch.clear();
    t.get_text(&table.relation, row, table.i_data, &mut screen.scratch)?;
    let mut is_brand = screen.scratch.contains(ORIGINAL);

    let table = &db.stock;
    let row = there(t.find(&table.relation, &table.key, key!(line.supplier, line.item))?, "the stock of an item")?;
    let quantity = t.get(&table.relation, row, table.s_quantity)?;
    let ordered = i32::from(line.quantity);
    let left = if quantity >= ordered + 10 { quantity - ordered } else { quantity - ordered + 91 };
    t.set(&table.relation, row, table.s_quantity, left)?;
    let ytd = t.get(&table.relation, row, table.s_ytd)?;
    t.set(&table.relation, row, table.s_ytd, ytd + i64::from(ordered))?;
    let orders = t.get(&table.relation, row, table.s_order_cnt)?;
    t.set(&table.relation, row, table.s_order_cnt, orders + 1)?;
    if line.supplier != order.warehouse {
        let remote = t.get(&table.relation, row, table.s_remote_cnt)?;
        t.set(&table.relation, row, table.s_remote_cnt, remote + 1)?;
    }
    screen.scratch.clear();
    t.get_text(&table.relation, row, table.s_data, &mut screen.scratch)?;
    is_brand &= screen.scratch.contains(ORIGINAL);
    screen.text.push(if is_brand { 'B' } else { 'G' });
    screen.number(quantity.into());
    screen.scratch.clear();
    t.get_text(&table.relation, row, table.dist(order.district), &mut screen.scratch)?;

    let amount = i64::from(ordered) * price;
    t.insert(
        &db.order_line.relation,
        &[
            Datum::I32(id),
            Datum::I32(order.district),
            Datum::I32(order.warehouse),
            Datum::I16(number),
            Datum::I32(line.item),
            Datum::I32(line.supplier),
            Datum::Null,
            Datum::I16(line.quantity),
            Datum::I64(amount),
            Datum::Text(&screen.scratch),
        ],
    )?;
    Ok(amount)
}
