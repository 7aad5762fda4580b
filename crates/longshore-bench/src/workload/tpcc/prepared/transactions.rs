//! The five transactions of TPC-C (clauses 2.4 to 2.8) as statements of a session.
//!
//! Not here: the statements (`statements.rs`), BEGIN and COMMIT (`prepared.rs`).

use std::fmt::Write as _;
use std::hint::black_box;

use longshore_engine::{Error, key};

use super::statements::{Connection, Rows};
use crate::workload::tpcc::input::{Input, Line, NewOrder, Payment, Stream, Who};
use crate::workload::tpcc::populate::ORIGINAL;
use crate::workload::tpcc::sizes::DISTRICTS;
use crate::workload::tpcc::transactions::Effects;
use crate::workload::tpcc::values::LastNames;

/// A rate of 1, as rates are stored.
const ONE: i64 = 10_000;

/// The most characters of what is noted of a customer.
const DATA_MAX: usize = 500;

/// Orders that a stock level is about.
const ORDERS: i64 = 20;

/// Why a transaction did not come to its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// The terminal asked for an item that there is not: the transaction is to be rolled back.
    UnknownItem,
    /// The database refused.
    Refused(Error),
    /// Something is not as the specification says it always is.
    Wrong(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Refused(error)
    }
}

/// Does what an input asks for; says what that changed.
pub(super) async fn call(
    connection: &mut Connection<'_>,
    names: &LastNames,
    stream: &Stream,
    input: &Input,
) -> Result<Effects, Stop> {
    match *input {
        Input::NewOrder(ref order) => new_order(connection, order, stream.lines(order)).await,
        Input::Payment(ref paid) => payment(connection, paid, names).await,
        Input::OrderStatus { warehouse, district, customer } => {
            order_status(connection, (warehouse, district), customer, names).await
        }
        Input::Delivery { warehouse, carrier, at } => delivery(connection, warehouse, carrier, at).await,
        Input::StockLevel { warehouse, district, threshold } => {
            stock_level(connection, warehouse, district, threshold).await
        }
    }
}

async fn new_order(c: &mut Connection<'_>, order: &NewOrder, lines: &[Line]) -> Result<Effects, Stop> {
    let statements = c.statements;
    let &NewOrder { warehouse, district, customer, at, .. } = order;
    let tax = c.rows(&statements.warehouse_tax, key![warehouse]).await?;
    let of_district = c.rows(&statements.district_tax, key![warehouse, district]).await?;
    let taxes = number(&tax, 0, "a warehouse")? + number(&of_district, 0, "a district")?;
    let id = number(&of_district, 1, "a district")? as i32;
    one(c.change(&statements.next_order, key![warehouse, district]).await?, "a district")?;
    let discount = c.rows(&statements.discount, key![warehouse, district, customer]).await?;
    let discount = number(&discount, 0, "a customer")?;
    let is_local = i16::from(order.is_local);
    let values = key![id, district, warehouse, customer, at, order.lines, is_local];
    one(c.change(&statements.insert_order, values).await?, "an order")?;
    one(c.change(&statements.insert_new_order, key![id, district, warehouse]).await?, "a new order")?;
    let mut total = 0;
    for (at, line) in (1..).zip(lines) {
        total += order_line(c, order, id, at, line).await?;
    }
    black_box(total * (ONE - discount) / ONE * (ONE + taxes) / ONE);
    Ok(Effects { orders: 1, lines: lines.len() as u64, ..Effects::default() })
}

async fn order_line(c: &mut Connection<'_>, order: &NewOrder, id: i32, at: i16, line: &Line) -> Result<i64, Stop> {
    let statements = c.statements;
    let item = c.rows(&statements.item, key![line.item]).await?;
    let price = item.integer(0, 0).ok_or(Stop::UnknownItem)?;
    let stock = &statements.stock[order.district as usize - 1];
    let stock = c.rows(stock, key![line.supplier, line.item]).await?;
    let quantity = number(&stock, 0, "the stock of an item")? as i32;
    let is_brand = [(&item, 2), (&stock, 1)]
        .iter()
        .all(|(rows, column)| rows.text(0, *column).is_some_and(|text| text.contains(ORIGINAL)));
    black_box(is_brand);
    let ordered = i32::from(line.quantity);
    let left = if quantity >= ordered + 10 { quantity - ordered } else { quantity - ordered + 91 };
    let remote = i32::from(line.supplier != order.warehouse);
    let values = key![line.supplier, line.item, left, ordered, remote];
    one(c.change(&statements.take_stock, values).await?, "the stock of an item")?;
    let amount = i64::from(ordered) * price;
    let (cost, info) = (money(amount), stock.text(0, 2).unwrap_or_default());
    let values = key![id, order.district, order.warehouse, at, line.item, line.supplier, line.quantity, &cost, info];
    one(c.change(&statements.insert_line, values).await?, "an order line")?;
    Ok(amount)
}

async fn payment(c: &mut Connection<'_>, payment: &Payment, names: &LastNames) -> Result<Effects, Stop> {
    let statements = c.statements;
    let &Payment { warehouse, district, customer_warehouse, customer_district, amount, at, .. } = payment;
    let paid = money(amount);
    one(c.change(&statements.pay_warehouse, key![warehouse, &paid]).await?, "a warehouse")?;
    let of_warehouse = c.rows(&statements.warehouse, key![warehouse]).await?;
    one(c.change(&statements.pay_district, key![warehouse, district, &paid]).await?, "a district")?;
    let of_district = c.rows(&statements.district, key![warehouse, district]).await?;
    let place = (customer_warehouse, customer_district);
    let customer = customer(c, place, payment.customer, names).await?;
    let found = c.rows(&statements.customer, key![customer_warehouse, customer_district, customer]).await?;
    let mut data = found.text(0, 1).ok_or_else(|| Stop::Wrong("a customer is missing".to_owned()))?.to_owned();
    if found.text(0, 0) == Some("BC") {
        let mut note = String::new();
        // Writing to a string cannot fail.
        let _ =
            write!(note, "{customer} {customer_district} {customer_warehouse} {district} {warehouse} {paid} {data}");
        note.truncate(DATA_MAX);
        data = note;
    }
    let values = key![customer_warehouse, customer_district, customer, &paid, &data];
    one(c.change(&statements.pay, values).await?, "a customer")?;
    let name = |rows: &Rows| rows.text(0, 0).unwrap_or_default().to_owned();
    let note = format!("{}    {}", name(&of_warehouse), name(&of_district));
    let values = key![customer, customer_district, customer_warehouse, district, warehouse, at, &paid, &note];
    one(c.change(&statements.insert_history, values).await?, "a payment")?;
    Ok(Effects { payments: 1, paid: amount, ..Effects::default() })
}

/// The number of a customer. Of those of one last name it is the middle one by first name, rounded up.
async fn customer(
    c: &mut Connection<'_>,
    (warehouse, district): (i32, i32),
    who: Who,
    names: &LastNames,
) -> Result<i32, Stop> {
    let name = match who {
        Who::Id(id) => return Ok(id),
        Who::LastName(number) => names.of(number),
    };
    let found = c.rows(&c.statements.customers_by_name, key![warehouse, district, name]).await?;
    let middle = found.integer(found.count().saturating_sub(1) / 2, 0);
    middle.map(|id| id as i32).ok_or_else(|| Stop::Wrong("a customer of this last name is missing".to_owned()))
}

async fn order_status(
    c: &mut Connection<'_>,
    (warehouse, district): (i32, i32),
    who: Who,
    names: &LastNames,
) -> Result<Effects, Stop> {
    let statements = c.statements;
    let customer = customer(c, (warehouse, district), who, names).await?;
    let balance = c.rows(&statements.balance, key![warehouse, district, customer]).await?;
    black_box(number(&balance, 0, "a customer")?);
    let order = c.rows(&statements.last_order, key![warehouse, district, customer]).await?;
    let (id, lines) = (number(&order, 0, "an order")? as i32, number(&order, 1, "an order")?);
    let found = c.rows(&statements.lines, key![warehouse, district, id]).await?.count();
    if found as i64 == lines { Ok(Effects::default()) } else { Err(Stop::Wrong(format!("{found} lines of {lines}"))) }
}

async fn delivery(c: &mut Connection<'_>, warehouse: i32, carrier: i32, at: i64) -> Result<Effects, Stop> {
    let statements = c.statements;
    let mut delivered = 0;
    for district in 1..=DISTRICTS {
        let oldest = c.rows(&statements.oldest_new_order, key![warehouse, district]).await?;
        let Some(order) = oldest.integer(0, 0) else { continue };
        let order = order as i32;
        let of_order = key![warehouse, district, order];
        one(c.change(&statements.delete_new_order, of_order).await?, "a new order")?;
        let customer = c.rows(&statements.customer_of_order, of_order).await?;
        let customer = number(&customer, 0, "an order")? as i32;
        one(c.change(&statements.set_carrier, key![warehouse, district, order, carrier]).await?, "an order")?;
        let amount = c.rows(&statements.amount, of_order).await?;
        let amount = number(&amount, 0, "the lines of an order")?;
        let values = key![warehouse, district, order, at];
        if c.change(&statements.deliver_lines, values).await? == 0 {
            return Err(Stop::Wrong("an order has no lines".to_owned()));
        }
        let amount = money(amount);
        let values = key![warehouse, district, customer, &amount];
        one(c.change(&statements.credit, values).await?, "a customer")?;
        delivered += 1;
    }
    Ok(Effects { delivered, ..Effects::default() })
}

async fn stock_level(c: &mut Connection<'_>, warehouse: i32, district: i32, threshold: i32) -> Result<Effects, Stop> {
    let statements = c.statements;
    let next = c.rows(&statements.district_tax, key![warehouse, district]).await?;
    let next = number(&next, 1, "a district")?;
    let values = key![warehouse, district, next - ORDERS, next, threshold];
    let low = c.rows(&statements.low_stock, values).await?;
    black_box(number(&low, 0, "a count")?);
    Ok(Effects::default())
}

/// A number of the first row, which the specification says is there.
fn number(rows: &Rows, column: usize, what: &str) -> Result<i64, Stop> {
    rows.integer(0, column).ok_or_else(|| Stop::Wrong(format!("{what} is missing")))
}

/// That a statement has changed one row.
fn one(changed: u64, what: &str) -> Result<(), Stop> {
    if changed == 1 { Ok(()) } else { Err(Stop::Wrong(format!("{changed} rows are changed where {what} is meant"))) }
}

/// Cents as a decimal.
fn money(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", cents.unsigned_abs() / 100, cents.unsigned_abs() % 100)
}
