//! Someone orders 5 to 15 items (clause 2.4).

use longshore_storage::{Datum, RowId, Transaction, key};

use super::{Effects, Screen, Stop, there};
use crate::workload::tpcc::input::{Line, NewOrder};
use crate::workload::tpcc::populate::ORIGINAL;
use crate::workload::tpcc::schema::Database;

/// Rows of lines, in their order.
type Rows = Vec<Option<RowId>>;

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

    // First of all, so that the memory is there when its turn comes.
    let (items, stocks) = look_up(db, t, order, lines)?;

    let table = &db.warehouse;
    let row = t.find_read(&table.relation, &table.key, key!(warehouse))?;
    let warehouse_tax = there(row, "a warehouse")?.get(table.w_tax)?;

    let (district_tax, id) = next_order(db, t, warehouse, district)?;

    let table = &db.customer;
    let row = t.find_read(&table.relation, &table.key, key!(warehouse, district, customer))?;
    let mut row = there(row, "a customer")?;
    let discount = row.get(table.c_discount)?;
    screen.texts(&mut row, [table.c_last, table.c_credit]);
    drop(row);
    prefetch_texts(db, t, order, &items, &stocks);

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
    for (number, ((line, item), stock)) in (1..).zip(lines.iter().zip(items).zip(stocks)) {
        let item = item.ok_or(Stop::UnknownItem)?;
        let stock = there(stock, "the stock of an item")?;
        total += order_line(db, t, order, id, (number, line), (item, stock), screen)?;
    }
    // Cents times two rates.
    screen.number(total * (ONE - discount) / ONE * (ONE + warehouse_tax + district_tax) / ONE);
    Ok(Effects { orders: 1, lines: lines.len() as u64, ..Effects::default() })
}

/// The tax of a district and the number of its next order, which is taken.
fn next_order(db: &Database, t: &mut Transaction, warehouse: i32, district: i32) -> Result<(i64, i32), Stop> {
    let table = &db.district;
    let row = t.find_edit(&table.relation, &table.key, key!(warehouse, district))?;
    let mut row = there(row, "a district")?;
    let id = row.get(table.d_next_o_id)?;
    row.set(table.d_next_o_id, id + 1)?;
    Ok((row.get(table.d_tax)?, id))
}

/// The items of all lines and their stock, as far as they are there.
fn look_up(db: &Database, t: &mut Transaction, order: &NewOrder, lines: &[Line]) -> Result<(Rows, Rows), Stop> {
    let table = &db.item;
    let columns = [table.i_price.column(), table.i_name.column(), table.i_data.column()];
    let keys = lines.iter().map(|line| [Datum::I32(line.item)]);
    let items = t.find_many(&table.relation, &table.key, keys, &columns)?;

    let table = &db.stock;
    let keys = lines.iter().map(|line| [Datum::I32(line.supplier), Datum::I32(line.item)]);
    let columns = [
        table.s_quantity.column(),
        table.s_ytd.column(),
        table.s_order_cnt.column(),
        table.dist(order.district).column(),
        table.s_data.column(),
    ];
    let stocks = t.find_many(&table.relation, &table.key, keys, &columns)?;
    Ok((items, stocks))
}

/// Asks for the texts of items and stock, now that it is known where they are.
fn prefetch_texts(db: &Database, t: &Transaction, order: &NewOrder, items: &Rows, stocks: &Rows) {
    let table = &db.item;
    let columns = [table.i_name.column(), table.i_data.column()];
    t.prefetch_texts(&table.relation, items.iter().flatten().copied(), &columns);
    let table = &db.stock;
    let columns = [table.dist(order.district).column(), table.s_data.column()];
    t.prefetch_texts(&table.relation, stocks.iter().flatten().copied(), &columns);
}

/// Takes an item from the stock and enters the line; says what it costs.
fn order_line(
    db: &Database,
    t: &mut Transaction,
    order: &NewOrder,
    id: i32,
    (number, line): (i16, &Line),
    (item, stock): (RowId, RowId),
    screen: &mut Screen,
) -> Result<i64, Stop> {
    let table = &db.item;
    let mut row = t.read(&table.relation, item)?;
    let price = row.get(table.i_price)?;
    screen.texts(&mut row, [table.i_name]);
    let mut is_brand = row.text(table.i_data).unwrap_or_default().contains(ORIGINAL);
    drop(row);

    is_brand &= take(db, t, order, line, stock, screen)?;
    screen.text.push(if is_brand { 'B' } else { 'G' });

    let amount = i64::from(line.quantity) * price;
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

/// Takes what is ordered from the stock, and leaves what the line says of the district; says whether the stock is of a
/// brand.
fn take(
    db: &Database,
    t: &mut Transaction,
    order: &NewOrder,
    line: &Line,
    stock: RowId,
    screen: &mut Screen,
) -> Result<bool, Stop> {
    let table = &db.stock;
    let mut row = t.edit(&table.relation, stock)?;
    let quantity = row.get(table.s_quantity)?;
    let ordered = i32::from(line.quantity);
    let left = if quantity >= ordered + 10 { quantity - ordered } else { quantity - ordered + 91 };
    row.set(table.s_quantity, left)?;
    let ytd = row.get(table.s_ytd)?;
    row.set(table.s_ytd, ytd + i64::from(ordered))?;
    let orders = row.get(table.s_order_cnt)?;
    row.set(table.s_order_cnt, orders + 1)?;
    if line.supplier != order.warehouse {
        let remote = row.get(table.s_remote_cnt)?;
        row.set(table.s_remote_cnt, remote + 1)?;
    }
    screen.number(quantity.into());
    screen.scratch.clear();
    screen.scratch.push_str(row.text(table.dist(order.district)).unwrap_or_default());
    Ok(row.text(table.s_data).unwrap_or_default().contains(ORIGINAL))
}
