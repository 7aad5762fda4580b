//! Decides what the terminals ask for: the inputs of the five transactions (clauses 2.4.1 to 2.8.1) in the standard
//! mix, 45 % new orders, 43 % payments, and 4 % each of the others.
//!
//! Inputs are drawn before the time counts, and a transaction that is retried has the same input again. A stream stands
//! for the terminals of its home warehouses.

use super::populate::POPULATED_AT;
use super::sizes::{DISTRICTS, Sizes};
use super::values::Constants;
use crate::workload::random::Random;

/// The most lines of an order.
const LINES_MAX: i64 = 15;

/// The number of no item, of no catalog to come either.
const UNKNOWN_ITEM: i32 = i32::MAX;

/// Microseconds between transactions, as their timestamps tell.
const INTERVAL: i64 = 10;

/// What one terminal asks for.
#[derive(Clone, Debug)]
pub(super) enum Input {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus { warehouse: i32, district: i32, customer: Who },
    Delivery { warehouse: i32, carrier: i32, at: i64 },
    StockLevel { warehouse: i32, district: i32, threshold: i32 },
}

/// Someone orders.
#[derive(Clone, Debug)]
pub(super) struct NewOrder {
    pub(super) warehouse: i32,
    pub(super) district: i32,
    pub(super) customer: i32,
    pub(super) at: i64,
    /// Where its lines begin in those of the stream, and how many they are.
    pub(super) first_line: u32,
    pub(super) lines: i16,
    pub(super) is_local: bool,
}

/// A line of an order.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// [`UNKNOWN_ITEM`] in the last line of one order in a hundred, which is rolled back for it.
    pub(super) item: i32,
    pub(super) supplier: i32,
    pub(super) quantity: i16,
}

/// Someone pays, perhaps in another warehouse's district than her own.
#[derive(Clone, Debug)]
pub(super) struct Payment {
    pub(super) warehouse: i32,
    pub(super) district: i32,
    pub(super) customer_warehouse: i32,
    pub(super) customer_district: i32,
    pub(super) customer: Who,
    /// In cents.
    pub(super) amount: i64,
    pub(super) at: i64,
}

/// How a customer is named.
#[derive(Clone, Copy, Debug)]
pub(super) enum Who {
    Id(i32),
    /// The number of the last name.
    LastName(i32),
}

/// What the terminals of some warehouses ask for, in order.
pub(super) struct Stream {
    pub(super) inputs: Vec<Input>,
    lines: Vec<Line>,
}

impl Stream {
    /// Inputs of the terminals of these home warehouses.
    pub(super) fn new(sizes: Sizes, homes: &[i32], count: usize, seed: u64) -> Stream {
        let mut draw = Draw { sizes, homes, random: Random::new(seed), at: POPULATED_AT, lines: Vec::new() };
        let inputs = (0..count).map(|_| draw.input()).collect();
        Stream { inputs, lines: draw.lines }
    }

    /// The lines of an order.
    pub(super) fn lines(&self, order: &NewOrder) -> &[Line] {
        &self.lines[order.first_line as usize..][..order.lines as usize]
    }
}

struct Draw<'a> {
    sizes: Sizes,
    homes: &'a [i32],
    random: Random,
    at: i64,
    lines: Vec<Line>,
}

impl Draw<'_> {
    fn input(&mut self) -> Input {
        self.at += INTERVAL;
        let warehouse = self.homes[self.random.below(self.homes.len() as u64) as usize];
        let district = self.random.id(1..=DISTRICTS);
        match self.random.below(100) {
            0..45 => Input::NewOrder(self.new_order(warehouse, district)),
            45..88 => Input::Payment(self.payment(warehouse, district)),
            88..92 => Input::OrderStatus { warehouse, district, customer: self.who() },
            92..96 => Input::Delivery { warehouse, carrier: self.random.id(1..=10), at: self.at },
            _ => Input::StockLevel { warehouse, district, threshold: self.random.id(10..=20) },
        }
    }

    fn new_order(&mut self, warehouse: i32, district: i32) -> NewOrder {
        let customer = Constants::RUN.customer(self.sizes.customers, &mut self.random);
        let lines = self.random.within(5..=LINES_MAX) as i16;
        let is_rolled_back = self.random.percent(1);
        let first_line = self.lines.len() as u32;
        let mut is_local = true;
        for number in 1..=lines {
            let item = Constants::RUN.item(self.sizes.items, &mut self.random);
            let is_remote = self.random.percent(1);
            let supplier = if is_remote { self.other_warehouse(warehouse) } else { warehouse };
            is_local &= supplier == warehouse;
            self.lines.push(Line {
                item: if is_rolled_back && number == lines { UNKNOWN_ITEM } else { item },
                supplier,
                quantity: self.random.within(1..=10) as i16,
            });
        }
        NewOrder { warehouse, district, customer, at: self.at, first_line, lines, is_local }
    }

    fn payment(&mut self, warehouse: i32, district: i32) -> Payment {
        let (customer_warehouse, customer_district) = if self.random.percent(85) {
            (warehouse, district)
        } else {
            (self.other_warehouse(warehouse), self.random.id(1..=DISTRICTS))
        };
        Payment {
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            customer: self.who(),
            amount: self.random.within(100..=500_000),
            at: self.at,
        }
    }

    /// Six in ten give their last name.
    fn who(&mut self) -> Who {
        if self.random.percent(60) {
            Who::LastName(Constants::RUN.last_name(self.sizes.last_names(), &mut self.random))
        } else {
            Who::Id(Constants::RUN.customer(self.sizes.customers, &mut self.random))
        }
    }

    /// Any warehouse but this, if there is another.
    fn other_warehouse(&mut self, warehouse: i32) -> i32 {
        if self.sizes.warehouses == 1 {
            return warehouse;
        }
        let other = self.random.id(1..=self.sizes.warehouses - 1);
        if other >= warehouse { other + 1 } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { warehouses: 3, items: 100_000, customers: 3_000 };
    const COUNT: usize = 100_000;

    /// How many of the inputs are so, in a thousand of all that could be.
    fn per_mille(of: usize, all: usize) -> usize {
        (of * 1_000 + all / 2) / all
    }

    #[test]
    fn the_mix_is_the_standard_one() {
        let stream = Stream::new(SIZES, &[2], COUNT, 1);
        let mut counts = [0_usize; 5];
        for input in &stream.inputs {
            counts[match input {
                Input::NewOrder(_) => 0,
                Input::Payment(_) => 1,
                Input::OrderStatus { .. } => 2,
                Input::Delivery { .. } => 3,
                Input::StockLevel { .. } => 4,
            }] += 1;
        }
        for (found, right) in counts.map(|count| per_mille(count, COUNT)).into_iter().zip([450, 430, 40, 40, 40]) {
            assert!(found.abs_diff(right) <= 5, "{counts:?}");
        }
    }

    #[test]
    fn orders_as_the_specification_asks() {
        let stream = Stream::new(SIZES, &[2], COUNT, 1);
        let orders: Vec<&NewOrder> = stream.inputs.iter().filter_map(Input::as_new_order).collect();
        let lines: Vec<&Line> = orders.iter().flat_map(|order| stream.lines(order)).collect();
        assert!(lines.len().abs_diff(orders.len() * 10) < orders.len() / 10, "ten lines on average");
        let wrong = lines.iter().filter(|line| line.item == UNKNOWN_ITEM).count();
        assert!((7..=13).contains(&per_mille(wrong, orders.len())), "{wrong} of {} roll back", orders.len());
        let remote = lines.iter().filter(|line| line.supplier != 2).count();
        assert!((7..=13).contains(&per_mille(remote, lines.len())), "{remote} of {} are remote", lines.len());
        let local = |order: &&&NewOrder| stream.lines(order).iter().all(|line| line.supplier == 2);
        assert!(orders.iter().all(|order| order.is_local == local(&order)));
    }

    #[test]
    fn payments_as_the_specification_asks() {
        let stream = Stream::new(SIZES, &[2], COUNT, 1);
        let payments: Vec<&Payment> = stream.inputs.iter().filter_map(Input::as_payment).collect();
        let remote = payments.iter().filter(|payment| payment.customer_warehouse != 2).count();
        assert!((140..=160).contains(&per_mille(remote, payments.len())), "{remote} of {}", payments.len());
        let named = payments.iter().filter(|payment| matches!(payment.customer, Who::LastName(_))).count();
        assert!((590..=610).contains(&per_mille(named, payments.len())), "{named} of {}", payments.len());
    }

    #[test]
    fn one_warehouse_has_no_other() {
        let stream = Stream::new(Sizes { warehouses: 1, ..SIZES }, &[1], 1_000, 1);
        assert!(stream.inputs.iter().filter_map(Input::as_new_order).all(|order| order.is_local));
        assert!(stream.inputs.iter().filter_map(Input::as_payment).all(|payment| payment.customer_warehouse == 1));
    }

    impl Input {
        fn as_new_order(&self) -> Option<&NewOrder> {
            if let Input::NewOrder(order) = self { Some(order) } else { None }
        }

        fn as_payment(&self) -> Option<&Payment> {
            if let Input::Payment(payment) = self { Some(payment) } else { None }
        }
    }
}
