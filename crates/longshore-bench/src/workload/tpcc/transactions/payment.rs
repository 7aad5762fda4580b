//! Someone pays (clause 2.5).

use std::fmt::Write as _;

use longshore_storage::{Datum, RowId, Transaction, key};

use super::{Effects, Screen, Stop, customer, there};
use crate::workload::tpcc::input::Payment;
use crate::workload::tpcc::schema::Database;
use crate::workload::tpcc::values::LastNames;

/// The most characters of what is noted of a customer, and how many of them a terminal shows.
const DATA_MAX: usize = 500;
const DATA_SHOWN: usize = 200;

/// Enters the payment.
pub(in crate::workload::tpcc) fn payment(
    db: &Database,
    t: &mut Transaction,
    payment: &Payment,
    names: &LastNames,
    screen: &mut Screen,
) -> Result<Effects, Stop> {
    let &Payment { warehouse, district, customer_warehouse, customer_district, amount, at, .. } = payment;
    screen.scratch.clear();

    let table = &db.warehouse;
    let row = there(t.find(&table.relation, &table.key, key!(warehouse))?, "a warehouse")?;
    let ytd = t.get(&table.relation, row, table.w_ytd)?;
    t.set(&table.relation, row, table.w_ytd, ytd + amount)?;
    let address = [table.w_street_1, table.w_street_2, table.w_city, table.w_state, table.w_zip];
    screen.texts(t, &table.relation, row, address)?;
    t.get_text(&table.relation, row, table.w_name, &mut screen.scratch)?;
    screen.scratch.push_str("    ");

    let table = &db.district;
    let row = there(t.find(&table.relation, &table.key, key!(warehouse, district))?, "a district")?;
    let ytd = t.get(&table.relation, row, table.d_ytd)?;
    t.set(&table.relation, row, table.d_ytd, ytd + amount)?;
    let address = [table.d_street_1, table.d_street_2, table.d_city, table.d_state, table.d_zip];
    screen.texts(t, &table.relation, row, address)?;
    t.get_text(&table.relation, row, table.d_name, &mut screen.scratch)?;

    let row = customer::find(db, t, names, customer_warehouse, customer_district, payment.customer)?;
    let customer = charge(db, t, row, payment, screen)?;

    t.insert(
        &db.history.relation,
        &[
            Datum::I32(customer),
            Datum::I32(customer_district),
            Datum::I32(customer_warehouse),
            Datum::I32(district),
            Datum::I32(warehouse),
            Datum::I64(at),
            Datum::I64(amount),
            Datum::Text(&screen.scratch),
        ],
    )?;
    Ok(Effects { payments: 1, paid: amount, ..Effects::default() })
}

/// Takes the amount off what the customer owes; says who she is.
fn charge(db: &Database, t: &mut Transaction, row: RowId, payment: &Payment, screen: &mut Screen) -> Result<i32, Stop> {
    let table = &db.customer;
    let customer = t.get(&table.relation, row, table.c_id)?;
    let balance = t.get(&table.relation, row, table.c_balance)? - payment.amount;
    t.set(&table.relation, row, table.c_balance, balance)?;
    let ytd = t.get(&table.relation, row, table.c_ytd_payment)?;
    t.set(&table.relation, row, table.c_ytd_payment, ytd + payment.amount)?;
    let count = t.get(&table.relation, row, table.c_payment_cnt)?;
    t.set(&table.relation, row, table.c_payment_cnt, count + 1)?;

    let shown = [
        table.c_first,
        table.c_middle,
        table.c_last,
        table.c_street_1,
        table.c_street_2,
        table.c_city,
        table.c_state,
        table.c_zip,
        table.c_phone,
    ];
    screen.texts(t, &table.relation, row, shown)?;
    for field in [table.c_since, table.c_credit_lim, table.c_discount] {
        screen.number(t.get(&table.relation, row, field)?);
    }
    screen.number(balance);

    // The credit is the last text on the screen so far.
    let before = screen.text.len();
    t.get_text(&table.relation, row, table.c_credit, &mut screen.text)?;
    if &screen.text[before..] == "BC" {
        let Payment { warehouse, district, customer_warehouse, customer_district, amount, .. } = payment;
        let note_at = screen.text.len();
        // Writing to a string cannot fail.
        let _ = write!(
            screen.text,
            "{customer} {customer_district} {customer_warehouse} {district} {warehouse} {}.{:02} ",
            amount / 100,
            amount % 100
        );
        t.get_text(&table.relation, row, table.c_data, &mut screen.text)?;
        screen.text.truncate(note_at + DATA_MAX);
        t.set(&table.relation, row, table.c_data, &screen.text[note_at..])?;
        screen.text.truncate(note_at + DATA_SHOWN);
    }
    Ok(customer)
}
