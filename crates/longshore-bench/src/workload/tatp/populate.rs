//! Decides what the tables hold before the first transaction (TATP 1.0, section 2): one to four access infos and
//! facilities for each subscriber, up to three forwardings for each facility.

use longshore_storage::Datum;

use super::schema::Tables;
use crate::Failure;
use crate::workload::fill::Fill;
use crate::workload::random::Random;

/// The hours at which a forwarding may begin.
pub(super) const START_TIMES: [i16; 3] = [0, 8, 16];

/// The types of access infos and of facilities.
const TYPES: [i16; 4] = [1, 2, 3, 4];

/// The largest number of a location.
pub(super) const LOCATION_MAX: i64 = u32::MAX as i64;

/// Seed of the population.
const SEED: u64 = 0x7461_7470;

impl Tables {
    /// Fills them.
    ///
    /// # Errors
    ///
    /// When memory is short.
    pub(super) fn populate(&self, subscribers: i64) -> Result<(), Failure> {
        let random = &mut Random::new(SEED);
        let mut fill = Fill::new(&self.subscriber)?;
        for id in 1..=subscribers {
            let number = number_of(id);
            let mut row = Vec::with_capacity(34);
            row.extend([Datum::I64(id), Datum::Text(&number)]);
            row.extend((0..10).map(|_| Datum::Bool(random.percent(50))));
            row.extend((0..10).map(|_| Datum::I16(random.within(0..=15) as i16)));
            row.extend((0..10).map(|_| Datum::I16(random.within(0..=255) as i16)));
            row.extend((0..2).map(|_| Datum::I64(random.within(1..=LOCATION_MAX))));
            fill.push(&row)?;
        }
        fill.finish()?;
        self.access_infos(subscribers, random)?;
        self.facilities(subscribers, random)
    }

    fn access_infos(&self, subscribers: i64, random: &mut Random) -> Result<(), Failure> {
        let mut fill = Fill::new(&self.access_info)?;
        for id in 1..=subscribers {
            let mut types = TYPES;
            for &ai_type in some(1, &mut types, random) {
                fill.push(&[
                    Datum::I64(id),
                    Datum::I16(ai_type),
                    Datum::I16(random.within(0..=255) as i16),
                    Datum::I16(random.within(0..=255) as i16),
                    Datum::Text(&text(3, random)),
                    Datum::Text(&text(5, random)),
                ])?;
            }
        }
        fill.finish().map(drop)
    }

    fn facilities(&self, subscribers: i64, random: &mut Random) -> Result<(), Failure> {
        let mut facilities = Fill::new(&self.special_facility)?;
        let mut forwardings = Fill::new(&self.call_forwarding)?;
        for id in 1..=subscribers {
            let mut types = TYPES;
            for &sf_type in some(1, &mut types, random) {
                facilities.push(&[
                    Datum::I64(id),
                    Datum::I16(sf_type),
                    Datum::Bool(random.percent(85)),
                    Datum::I16(random.within(0..=255) as i16),
                    Datum::I16(random.within(0..=255) as i16),
                    Datum::Text(&text(5, random)),
                ])?;
                let mut times = START_TIMES;
                for &start in some(0, &mut times, random) {
                    let mut number = String::new();
                    random.digits(15, &mut number);
                    forwardings.push(&[
                        Datum::I64(id),
                        Datum::I16(sf_type),
                        Datum::I16(start),
                        Datum::I16(start + random.within(1..=8) as i16),
                        Datum::Text(&number),
                    ])?;
                }
            }
        }
        facilities.finish()?;
        forwardings.finish().map(drop)
    }
}

/// The number that a subscriber is called by.
pub(super) fn number_of(subscriber: i64) -> String {
    format!("{subscriber:015}")
}

/// Some of the values, at least that many, in their order.
fn some<'a>(least: usize, values: &'a mut [i16], random: &mut Random) -> &'a [i16] {
    random.shuffle(values);
    let count = random.within(least as i64..=values.len() as i64) as usize;
    let some = &mut values[..count];
    some.sort_unstable();
    some
}

fn text(length: i64, random: &mut Random) -> String {
    let mut text = String::new();
    random.text(length..=length, &mut text);
    text
}
