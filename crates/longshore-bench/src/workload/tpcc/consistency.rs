//! Checks a database against the consistency conditions of clause 3.3.2, numbered as there, and against what its
//! transactions say they changed.
//!
//! All columns are read as chunks have them, and the conditions are evaluated on plain vectors. What indexes find is
//! compared with that. Condition 11, which the specification states of the population only, holds with the deliveries
//! counted.

use std::ops::ControlFlow;

use longshore_storage::{Direction, Isolation, Transaction, key};

use super::schema::Database;
use super::sizes::{DISTRICTS, Sizes};
use super::transactions::Effects;
use crate::Failure;
use crate::workload::columns::{NULL, integers};

/// What the tables hold, in sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Totals {
    orders: u64,
    lines: u64,
    new_orders: u64,
    payments: u64,
    /// What was ever paid.
    paid: i64,
}

impl Totals {
    /// The totals after transactions have changed these.
    pub(super) fn after(self, effects: &Effects) -> Totals {
        Totals {
            orders: self.orders + effects.orders,
            lines: self.lines + effects.lines,
            new_orders: self.new_orders + effects.orders - effects.delivered,
            payments: self.payments + effects.payments,
            paid: self.paid + effects.paid,
        }
    }

    /// Compares with the least and the most that transactions may have made of the totals before them.
    ///
    /// # Errors
    ///
    /// When they are less or more.
    pub(super) fn check_between(&self, before: &Totals, least: &Effects, most: &Effects) -> Result<(), Failure> {
        let (low, high) = (before.after(least), before.after(most));
        let are_counts_right = (low.orders..=high.orders).contains(&self.orders)
            && (low.payments..=high.payments).contains(&self.payments)
            && (low.new_orders.saturating_sub(most.delivered - least.delivered)
                ..=low.new_orders + most.orders - least.orders)
                .contains(&self.new_orders);
        // Where nothing was under way, the sums are the same.
        let are_sums_right = (self.orders > low.orders || self.lines == low.lines)
            && (self.payments > low.payments || self.paid == low.paid)
            && self.lines >= low.lines
            && self.paid >= low.paid;
        if are_counts_right && are_sums_right {
            Ok(())
        } else {
            Err(format!("{self:?} where at least {low:?} and at most {high:?} are right").into())
        }
    }

    /// Compares with what was found.
    ///
    /// # Errors
    ///
    /// When they differ.
    pub(super) fn check(&self, found: &Totals) -> Result<(), Failure> {
        if self == found { Ok(()) } else { Err(format!("{found:?} where {self:?} are right").into()) }
    }
}

/// Checks all conditions and returns the totals.
///
/// # Errors
///
/// The first condition that does not hold, and where.
pub(super) fn check(db: &Database) -> Result<Totals, Failure> {
    let read = Read::new(db)?;
    read.money(db)?;
    read.orders()?;
    read.balances()?;
    read.indexes(db)?;
    Ok(read.totals)
}

/// An order, and what was found of it elsewhere.
#[derive(Clone, Copy, Default)]
struct Order {
    is_there: bool,
    customer: i64,
    carrier: i64,
    line_count: i64,
    lines: i64,
    undelivered_lines: i64,
    amount: i64,
    is_new: bool,
}

struct District {
    next_order: i64,
    ytd: i64,
    paid: i64,
    /// By number; there is no 0.
    orders: Vec<Order>,
}

#[derive(Clone, Copy, Default)]
struct Customer {
    is_there: bool,
    balance: i64,
    ytd_payment: i64,
    paid: i64,
    delivered: i64,
}

/// All that the conditions speak of.
struct Read {
    sizes: Sizes,
    /// By warehouse and district.
    districts: Vec<District>,
    /// By warehouse, district and customer.
    customers: Vec<Customer>,
    totals: Totals,
}

impl Read {
    fn new(db: &Database) -> Result<Read, Failure> {
        let sizes = db.sizes;
        let mut districts: Vec<District> = Vec::new();
        let mut rows = integers(&db.district.relation, ["d_w_id", "d_id", "d_next_o_id", "d_ytd"])?;
        rows.sort_unstable();
        for ([w, d, next_order, ytd], (warehouse, district)) in rows.iter().copied().zip(sizes.districts()) {
            require((w, d) == (warehouse.into(), district.into()), || format!("district {warehouse}/{district}"))?;
            districts.push(District { next_order, ytd, paid: 0, orders: vec![Order::default(); next_order as usize] });
        }
        require(rows.len() == (sizes.warehouses * DISTRICTS) as usize, || "a district for each number".to_owned())?;
        let count = rows.len() * sizes.customers as usize;
        let totals = Totals { orders: 0, lines: 0, new_orders: 0, payments: 0, paid: 0 };
        let mut read = Read { sizes, districts, customers: vec![Customer::default(); count], totals };
        read.read_customers(db)?;
        read.read_orders(db)?;
        Ok(read)
    }

    fn read_customers(&mut self, db: &Database) -> Result<(), Failure> {
        let columns = ["c_w_id", "c_d_id", "c_id", "c_balance", "c_ytd_payment"];
        for [w, d, c, balance, ytd_payment] in integers(&db.customer.relation, columns)? {
            let customer = self.customer(w, d, c)?;
            require(!customer.is_there, || format!("customer {w}/{d}/{c} is there once"))?;
            *customer = Customer { is_there: true, balance, ytd_payment, ..Customer::default() };
        }
        require(self.customers.iter().all(|customer| customer.is_there), || "all customers are there".to_owned())?;
        let columns = ["h_w_id", "h_d_id", "h_c_w_id", "h_c_d_id", "h_c_id", "h_amount"];
        for [w, d, cw, cd, c, amount] in integers(&db.history.relation, columns)? {
            self.district(w, d)?.paid += amount;
            self.customer(cw, cd, c)?.paid += amount;
            self.totals.payments += 1;
            self.totals.paid += amount;
        }
        Ok(())
    }

    fn read_orders(&mut self, db: &Database) -> Result<(), Failure> {
        let columns = ["o_w_id", "o_d_id", "o_id", "o_c_id", "o_carrier_id", "o_ol_cnt"];
        for [w, d, o, customer, carrier, line_count] in integers(&db.orders.relation, columns)? {
            let order = self.order(w, d, o)?;
            require(!order.is_there, || format!("order {w}/{d}/{o} is there once"))?;
            *order = Order { is_there: true, customer, carrier, line_count, ..Order::default() };
            self.totals.orders += 1;
        }
        for [w, d, o] in integers(&db.new_order.relation, ["no_w_id", "no_d_id", "no_o_id"])? {
            let order = self.order(w, d, o)?;
            require(order.is_there && !order.is_new, || format!("new order {w}/{d}/{o} is there once, as an order"))?;
            order.is_new = true;
            self.totals.new_orders += 1;
        }
        let columns = ["ol_w_id", "ol_d_id", "ol_o_id", "ol_amount", "ol_delivery_d"];
        for [w, d, o, amount, delivered_at] in integers(&db.order_line.relation, columns)? {
            let order = self.order(w, d, o)?;
            order.lines += 1;
            order.undelivered_lines += i64::from(delivered_at == NULL);
            order.amount += amount;
            let customer = order.customer;
            if delivered_at != NULL {
                self.customer(w, d, customer)?.delivered += amount;
            }
            self.totals.lines += 1;
        }
        Ok(())
    }

    fn district_index(&self, w: i64, d: i64) -> Result<usize, Failure> {
        let is_one = (1..=self.sizes.warehouses.into()).contains(&w) && (1..=DISTRICTS.into()).contains(&d);
        require(is_one, || format!("district {w}/{d} is one"))?;
        Ok(((w - 1) * i64::from(DISTRICTS) + d - 1) as usize)
    }

    fn district(&mut self, w: i64, d: i64) -> Result<&mut District, Failure> {
        let index = self.district_index(w, d)?;
        Ok(&mut self.districts[index])
    }

    fn order(&mut self, w: i64, d: i64, o: i64) -> Result<&mut Order, Failure> {
        let order = self.district(w, d)?.orders.get_mut(o as usize);
        order.filter(|_| o > 0).ok_or_else(|| format!("condition 2: order {w}/{d}/{o} is below the next").into())
    }

    fn customer(&mut self, w: i64, d: i64, c: i64) -> Result<&mut Customer, Failure> {
        let customers = i64::from(self.sizes.customers);
        require((1..=customers).contains(&c), || format!("customer {w}/{d}/{c} is one"))?;
        let index = self.district_index(w, d)? * customers as usize + c as usize - 1;
        Ok(&mut self.customers[index])
    }

    /// Conditions 1, 8 and 9.
    fn money(&self, db: &Database) -> Result<(), Failure> {
        let warehouses = integers(&db.warehouse.relation, ["w_id", "w_ytd"])?;
        require(warehouses.len() == self.sizes.warehouses as usize, || "all warehouses are there".to_owned())?;
        for [w, ytd] in warehouses {
            let from = self.district_index(w, 1)?;
            let districts = &self.districts[from..from + DISTRICTS as usize];
            let sum: i64 = districts.iter().map(|district| district.ytd).sum();
            require(ytd == sum, || format!("condition 1: W_YTD {ytd} of warehouse {w}, districts have {sum}"))?;
            let paid: i64 = districts.iter().map(|district| district.paid).sum();
            require(ytd == paid, || format!("condition 8: W_YTD {ytd} of warehouse {w}, payments {paid}"))?;
        }
        for (district, place) in self.districts.iter().zip(self.sizes.districts()) {
            let &District { ytd, paid, .. } = district;
            require(ytd == paid, || format!("condition 9: D_YTD {ytd} of district {place:?}, payments {paid}"))?;
        }
        Ok(())
    }

    /// Conditions 2 to 7 and 11.
    fn orders(&self) -> Result<(), Failure> {
        for (district, place) in self.districts.iter().zip(self.sizes.districts()) {
            let orders = district.orders.get(1..).unwrap_or_default();
            let failed = |condition, o: usize| format!("condition {condition}: order {} of district {place:?}", o + 1);
            require(orders.len() as i64 == district.next_order - 1, || failed(2, orders.len()))?;
            // Numbers have no gap, so the last is the next less one; new orders are the last without a gap.
            let first_new = orders.iter().position(|order| order.is_new).unwrap_or(orders.len());
            for (o, order) in orders.iter().enumerate() {
                require(order.is_there, || failed(2, o))?;
                require(order.is_new == (o >= first_new), || failed(3, o))?;
                require((order.carrier == NULL) == order.is_new, || failed(5, o))?;
                require(order.line_count == order.lines, || failed(6, o))?;
                let undelivered = if order.is_new { order.lines } else { 0 };
                require(order.undelivered_lines == undelivered, || failed(7, o))?;
            }
            let sum = |of: fn(&Order) -> i64| orders.iter().map(of).sum::<i64>();
            require(sum(|order| order.line_count) == sum(|order| order.lines), || failed(4, 0))?;
        }
        Ok(())
    }

    /// Conditions 10 and 12.
    fn balances(&self) -> Result<(), Failure> {
        for (at, customer) in self.customers.iter().enumerate() {
            let &Customer { balance, ytd_payment, paid, delivered, .. } = customer;
            let failed = |condition| format!("condition {condition}: customer {at}, counted from 0");
            require(balance == delivered - paid, || failed(10))?;
            require(balance + ytd_payment == delivered, || failed(12))?;
        }
        Ok(())
    }

    /// Every district's new orders and last order, by their indexes.
    fn indexes(&self, db: &Database) -> Result<(), Failure> {
        let mut t = db.transactions.begin_read_only(Isolation::Snapshot);
        for (district, place) in self.districts.iter().zip(self.sizes.districts()) {
            let expected: Vec<i32> =
                (1..district.orders.len()).filter(|&o| district.orders[o].is_new).map(|o| o as i32).collect();
            let found = new_orders(db, &mut t, place)?;
            require(found == expected, || format!("the index of new orders in district {place:?}"))?;
            let Some(last) = district.orders.len().checked_sub(1).filter(|&last| last > 0) else { continue };
            let lines = order_lines(db, &mut t, place, last as i32)?;
            require(lines == district.orders[last].lines, || format!("the index of lines in district {place:?}"))?;
            let (warehouse, number) = place;
            let table = &db.orders;
            let order = t.find(&table.relation, &table.key, key!(warehouse, number, last as i32))?;
            require(order.is_some(), || format!("the index of orders in district {place:?}"))?;
        }
        t.commit()?;
        Ok(())
    }
}

/// The numbers of a district's new orders.
fn new_orders(db: &Database, t: &mut Transaction, (warehouse, district): (i32, i32)) -> Result<Vec<i32>, Failure> {
    let table = &db.new_order;
    let range = key!(warehouse, district);
    let mut found = Vec::new();
    t.range(&table.relation, &table.key, range..=range, Direction::Forward, |t, row| {
        found.push(t.get(&table.relation, row, table.no_o_id)?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// How many lines an order has.
fn order_lines(
    db: &Database,
    t: &mut Transaction,
    (warehouse, district): (i32, i32),
    order: i32,
) -> Result<i64, Failure> {
    let table = &db.order_line;
    let range = key!(warehouse, district, order);
    let mut found = 0;
    t.range(&table.relation, &table.key, range..=range, Direction::Forward, |_, _| {
        found += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

fn require(holds: bool, what: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(format!("not consistent: {}", what()).into()) }
}
