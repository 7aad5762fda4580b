//! Someone pays (clause 2.5).

use std::fmt::Write as _;
use std::iter;

use longshore_storage::{Datum, Field, RowId, Transaction, key};

use super::{Effects, Screen, Stop, customer, there};
use crate::workload::tpcc::input::Payment;
use crate::workload::tpcc::schema::{Customer, Database};
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

    // First of all, so that the memory is there when its turn comes.
    let payer = customer::find(db, t, names, customer_warehouse, customer_district, payment.customer)?;
    prefetch(db, t, payer);

    let table = &db.warehouse;
    let mut row = there(t.find_edit(&table.relation, &table.key, key!(warehouse))?, "a warehouse")?;
    let ytd = row.get(table.w_ytd)?;
    row.set(table.w_ytd, ytd + amount)?;
    for field in [table.w_street_1, table.w_street_2, table.w_city, table.w_state, table.w_zip] {
        screen.text.push_str(row.text(field).unwrap_or_default());
    }
    screen.scratch.push_str(row.text(table.w_name).unwrap_or_default());
    screen.scratch.push_str("    ");
    drop(row);

    let table = &db.district;
    let mut row = there(t.find_edit(&table.relation, &table.key, key!(warehouse, district))?, "a district")?;
    let ytd = row.get(table.d_ytd)?;
    row.set(table.d_ytd, ytd + amount)?;
    for field in [table.d_street_1, table.d_street_2, table.d_city, table.d_state, table.d_zip] {
        screen.text.push_str(row.text(field).unwrap_or_default());
    }
    screen.scratch.push_str(row.text(table.d_name).unwrap_or_default());
    drop(row);

    t.prefetch_texts(&db.customer.relation, iter::once(payer), &shown(&db.customer).map(Field::column));
    let customer = charge(db, t, payer, payment, screen)?;

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

/// The texts of a customer that a terminal shows.
fn shown(table: &Customer) -> [Field<&'static str>; 9] {
    [
        table.c_first,
        table.c_middle,
        table.c_last,
        table.c_street_1,
        table.c_street_2,
        table.c_city,
        table.c_state,
        table.c_zip,
        table.c_phone,
    ]
}

/// Asks for what is needed of a customer: she is one of many, so that nothing of her is at hand.
fn prefetch(db: &Database, t: &Transaction, row: RowId) {
    let table = &db.customer;
    let numbers = [table.c_id, table.c_payment_cnt].map(Field::column);
    let amounts = [table.c_balance, table.c_ytd_payment, table.c_since, table.c_credit_lim, table.c_discount];
    t.prefetch(&table.relation, iter::once(row), &numbers);
    t.prefetch(&table.relation, iter::once(row), &amounts.map(Field::column));
    t.prefetch(&table.relation, iter::once(row), &shown(table).map(Field::column));
    t.prefetch(&table.relation, iter::once(row), &[table.c_credit.column()]);
}

/// Takes the amount off what the customer owes; says who she is.
fn charge(db: &Database, t: &mut Transaction, row: RowId, payment: &Payment, screen: &mut Screen) -> Result<i32, Stop> {
    let table = &db.customer;
    let mut row = t.edit(&table.relation, row)?;
    let customer = row.get(table.c_id)?;
    let balance = row.get(table.c_balance)? - payment.amount;
    row.set(table.c_balance, balance)?;
    let ytd = row.get(table.c_ytd_payment)?;
    row.set(table.c_ytd_payment, ytd + payment.amount)?;
    let count = row.get(table.c_payment_cnt)?;
    row.set(table.c_payment_cnt, count + 1)?;

    for field in shown(table) {
        screen.text.push_str(row.text(field).unwrap_or_default());
    }
    for field in [table.c_since, table.c_credit_lim, table.c_discount] {
        screen.number(row.get(field)?);
    }
    screen.number(balance);

    let credit = row.text(table.c_credit).unwrap_or_default();
    screen.text.push_str(credit);
    if credit == "BC" {
        let Payment { warehouse, district, customer_warehouse, customer_district, amount, .. } = payment;
        let note_at = screen.text.len();
        // Writing to a string cannot fail.
        let _ = write!(
            screen.text,
            "{customer} {customer_district} {customer_warehouse} {district} {warehouse} {}.{:02} ",
            amount / 100,
            amount % 100
        );
        screen.text.push_str(row.text(table.c_data).unwrap_or_default());
        screen.text.truncate(note_at + DATA_MAX);
        row.set(table.c_data, &screen.text[note_at..])?;
        screen.text.truncate(note_at + DATA_SHOWN);
    }
    Ok(customer)
}
