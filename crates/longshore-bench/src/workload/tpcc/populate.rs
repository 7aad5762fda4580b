//! Decides what the tables hold before the first transaction: clause 4.3.3 of the specification.
//!
//! Smaller databases for tests have fewer items, and fewer customers with one order each; what depends on them (the
//! payments of a district, the next order) follows.

use longshore_storage::Datum;

use super::schema::Tables;
use super::sizes::{DISTRICTS, Sizes};
use super::values::{Constants, LAST_NAMES, last_name};
use crate::Failure;
use crate::workload::fill::Fill;
use crate::workload::random::Random;

/// When everything happened: 2026-01-01, in microseconds since 1970.
pub(super) const POPULATED_AT: i64 = 1_767_225_600_000_000;

/// What every customer has paid before the first transaction, in cents.
const FIRST_PAYMENT: i64 = 1_000;

/// The credit limit of every customer, in cents.
const CREDIT_LIMIT: i64 = 5_000_000;

/// Seed of the population.
const SEED: u64 = 0x7063_6331;

impl Tables {
    /// Fills them.
    ///
    /// # Errors
    ///
    /// When memory is short.
    pub(super) fn populate(&self, sizes: Sizes) -> Result<(), Failure> {
        let mut random = Random::new(SEED);
        self.items(sizes, &mut random)?;
        self.warehouses(sizes, &mut random)?;
        self.stock(sizes, &mut random)?;
        self.customers(sizes, &mut random)?;
        self.orders(sizes, &mut random)
    }

    fn items(&self, sizes: Sizes, random: &mut Random) -> Result<(), Failure> {
        let mut fill = Fill::new(&self.item)?;
        for item in 1..=sizes.items {
            fill.push(&[
                Datum::I32(item),
                Datum::I32(random.id(1..=10_000)),
                Datum::Text(&text(14, 24, random)),
                Datum::I64(random.within(100..=10_000)),
                Datum::Text(&data(random)),
            ])?;
        }
        fill.finish().map(drop)
    }

    fn warehouses(&self, sizes: Sizes, random: &mut Random) -> Result<(), Failure> {
        let mut warehouses = Fill::new(&self.warehouse)?;
        let mut districts = Fill::new(&self.district)?;
        let district_paid = FIRST_PAYMENT * i64::from(sizes.customers);
        for warehouse in 1..=sizes.warehouses {
            let address = Address::new(random);
            let [street_1, street_2, city, state, zip] = address.values();
            warehouses.push(&[
                Datum::I32(warehouse),
                Datum::Text(&text(6, 10, random)),
                street_1,
                street_2,
                city,
                state,
                zip,
                Datum::I64(random.within(0..=2_000)),
                Datum::I64(district_paid * i64::from(DISTRICTS)),
            ])?;
            for district in 1..=DISTRICTS {
                let address = Address::new(random);
                let [street_1, street_2, city, state, zip] = address.values();
                districts.push(&[
                    Datum::I32(district),
                    Datum::I32(warehouse),
                    Datum::Text(&text(6, 10, random)),
                    street_1,
                    street_2,
                    city,
                    state,
                    zip,
                    Datum::I64(random.within(0..=2_000)),
                    Datum::I64(district_paid),
                    Datum::I32(sizes.customers + 1),
                ])?;
            }
        }
        warehouses.finish()?;
        districts.finish().map(drop)
    }

    fn stock(&self, sizes: Sizes, random: &mut Random) -> Result<(), Failure> {
        let mut fill = Fill::new(&self.stock)?;
        for warehouse in 1..=sizes.warehouses {
            for item in 1..=sizes.items {
                let dists: [String; DISTRICTS as usize] = std::array::from_fn(|_| text(24, 24, random));
                let [d1, d2, d3, d4, d5, d6, d7, d8, d9, d10] = dists.each_ref().map(|dist| Datum::Text(dist));
                fill.push(&[
                    Datum::I32(item),
                    Datum::I32(warehouse),
                    Datum::I32(random.id(10..=100)),
                    d1,
                    d2,
                    d3,
                    d4,
                    d5,
                    d6,
                    d7,
                    d8,
                    d9,
                    d10,
                    Datum::I64(0),
                    Datum::I32(0),
                    Datum::I32(0),
                    Datum::Text(&data(random)),
                ])?;
            }
        }
        fill.finish().map(drop)
    }

    fn customers(&self, sizes: Sizes, random: &mut Random) -> Result<(), Failure> {
        let mut customers = Fill::new(&self.customer)?;
        let mut history = Fill::new(&self.history)?;
        for (warehouse, district) in sizes.districts() {
            for customer in 1..=sizes.customers {
                // The first thousand have every last name once.
                let name =
                    if customer <= LAST_NAMES { customer - 1 } else { Constants::LOAD.last_name(LAST_NAMES, random) };
                let address = Address::new(random);
                let [street_1, street_2, city, state, zip] = address.values();
                let mut phone = String::new();
                random.digits(16, &mut phone);
                customers.push(&[
                    Datum::I32(customer),
                    Datum::I32(district),
                    Datum::I32(warehouse),
                    Datum::Text(&text(8, 16, random)),
                    Datum::Text("OE"),
                    Datum::Text(&last_name(name)),
                    street_1,
                    street_2,
                    city,
                    state,
                    zip,
                    Datum::Text(&phone),
                    Datum::I64(POPULATED_AT),
                    Datum::Text(if random.percent(10) { "BC" } else { "GC" }),
                    Datum::I64(CREDIT_LIMIT),
                    Datum::I64(random.within(0..=5_000)),
                    Datum::I64(-FIRST_PAYMENT),
                    Datum::I64(FIRST_PAYMENT),
                    Datum::I32(1),
                    Datum::I32(0),
                    Datum::Text(&text(300, 500, random)),
                ])?;
                history.push(&[
                    Datum::I32(customer),
                    Datum::I32(district),
                    Datum::I32(warehouse),
                    Datum::I32(district),
                    Datum::I32(warehouse),
                    Datum::I64(POPULATED_AT),
                    Datum::I64(FIRST_PAYMENT),
                    Datum::Text(&text(12, 24, random)),
                ])?;
            }
        }
        customers.finish()?;
        history.finish().map(drop)
    }

    fn orders(&self, sizes: Sizes, random: &mut Random) -> Result<(), Failure> {
        let mut orders = Fill::new(&self.orders)?;
        let mut lines = Fill::new(&self.order_line)?;
        let mut new_orders = Fill::new(&self.new_order)?;
        let mut customers: Vec<i32> = (1..=sizes.customers).collect();
        for (warehouse, district) in sizes.districts() {
            random.shuffle(&mut customers);
            for (order, &customer) in (1..).zip(&customers) {
                let is_delivered = order < sizes.first_new_order();
                let count = random.within(5..=15) as i16;
                orders.push(&[
                    Datum::I32(order),
                    Datum::I32(district),
                    Datum::I32(warehouse),
                    Datum::I32(customer),
                    Datum::I64(POPULATED_AT),
                    if is_delivered { Datum::I32(random.id(1..=10)) } else { Datum::Null },
                    Datum::I16(count),
                    Datum::I16(1),
                ])?;
                for number in 1..=count {
                    lines.push(&[
                        Datum::I32(order),
                        Datum::I32(district),
                        Datum::I32(warehouse),
                        Datum::I16(number),
                        Datum::I32(random.id(1..=sizes.items)),
                        Datum::I32(warehouse),
                        if is_delivered { Datum::I64(POPULATED_AT) } else { Datum::Null },
                        Datum::I16(5),
                        Datum::I64(if is_delivered { 0 } else { random.within(1..=999_999) }),
                        Datum::Text(&text(24, 24, random)),
                    ])?;
                }
                if !is_delivered {
                    new_orders.push(&[Datum::I32(order), Datum::I32(district), Datum::I32(warehouse)])?;
                }
            }
        }
        orders.finish()?;
        lines.finish()?;
        new_orders.finish().map(drop)
    }
}

impl Sizes {
    /// All districts, as warehouse and district.
    pub(super) fn districts(self) -> impl Iterator<Item = (i32, i32)> {
        (1..=self.warehouses).flat_map(|warehouse| (1..=DISTRICTS).map(move |district| (warehouse, district)))
    }
}

/// Where someone lives.
struct Address {
    street_1: String,
    street_2: String,
    city: String,
    state: String,
    zip: String,
}

impl Address {
    fn new(random: &mut Random) -> Address {
        let [street_1, street_2, city] = std::array::from_fn(|_| text(10, 20, random));
        let state = text(2, 2, random);
        let mut zip = String::new();
        random.digits(4, &mut zip);
        zip.push_str("11111");
        Address { street_1, street_2, city, state, zip }
    }

    fn values(&self) -> [Datum<'_>; 5] {
        [&self.street_1, &self.street_2, &self.city, &self.state, &self.zip].map(|value| Datum::Text(value))
    }
}

/// A random text of that many characters.
pub(super) fn text(min: i64, max: i64, random: &mut Random) -> String {
    let mut text = String::with_capacity(max as usize);
    random.text(min..=max, &mut text);
    text
}

/// The data of an item or of stock: one in ten has "ORIGINAL" in it.
pub(super) fn data(random: &mut Random) -> String {
    let mut data = text(26, 50, random);
    if random.percent(10) {
        let at = random.below((data.len() - ORIGINAL.len() + 1) as u64) as usize;
        data.replace_range(at..at + ORIGINAL.len(), ORIGINAL);
    }
    data
}

/// What says that an item is of a brand.
pub(super) const ORIGINAL: &str = "ORIGINAL";
