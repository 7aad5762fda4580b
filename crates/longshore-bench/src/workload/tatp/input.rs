//! Decides what is asked for: the inputs of the seven transactions in the standard mix (TATP 1.0, section 3), 80 % of
//! them reading.
//!
//! Subscribers are chosen as the specification says, some more often than others: the bits of two random numbers are
//! joined by OR.

use super::populate::{LOCATION_MAX, START_TIMES, number_of};
use crate::workload::random::Random;

/// What is asked for.
#[derive(Clone, Debug)]
pub(super) enum Input {
    GetSubscriberData { subscriber: i64 },
    GetNewDestination { subscriber: i64, sf_type: i16, start_time: i16, end_time: i16 },
    GetAccessData { subscriber: i64, ai_type: i16 },
    UpdateSubscriberData { subscriber: i64, bit: bool, sf_type: i16, data: i16 },
    UpdateLocation { number: String, location: i64 },
    InsertCallForwarding { number: String, sf_type: i16, start_time: i16, end_time: i16, to: String },
    DeleteCallForwarding { number: String, sf_type: i16, start_time: i16 },
}

impl Input {
    /// Whether it only reads.
    pub(super) fn is_read_only(&self) -> bool {
        matches!(self, Input::GetSubscriberData { .. } | Input::GetNewDestination { .. } | Input::GetAccessData { .. })
    }
}

/// What is asked for by one client, in order.
pub(super) fn inputs(subscribers: i64, count: usize, seed: u64) -> Vec<Input> {
    let mut random = Random::new(seed);
    (0..count).map(|_| input(subscribers, &mut random)).collect()
}

fn input(subscribers: i64, random: &mut Random) -> Input {
    let subscriber = non_uniform(subscribers, random);
    let kind = random.below(100);
    let random_type = random.within(1..=4) as i16;
    let start_time = START_TIMES[random.below(START_TIMES.len() as u64) as usize];
    match kind {
        0..35 => Input::GetSubscriberData { subscriber },
        35..45 => Input::GetNewDestination {
            subscriber,
            sf_type: random_type,
            start_time,
            end_time: random.within(1..=24) as i16,
        },
        45..80 => Input::GetAccessData { subscriber, ai_type: random_type },
        80..82 => Input::UpdateSubscriberData {
            subscriber,
            bit: random.percent(50),
            sf_type: random_type,
            data: random.within(0..=255) as i16,
        },
        82..96 => Input::UpdateLocation { number: number_of(subscriber), location: random.within(1..=LOCATION_MAX) },
        96..98 => Input::InsertCallForwarding {
            number: number_of(subscriber),
            sf_type: random_type,
            start_time,
            end_time: start_time + random.within(1..=8) as i16,
            to: number_of(random.within(1..=subscribers)),
        },
        _ => Input::DeleteCallForwarding { number: number_of(subscriber), sf_type: random_type, start_time },
    }
}

/// A subscriber (TATP 1.0, section 3.1).
fn non_uniform(subscribers: i64, random: &mut Random) -> i64 {
    let a = match subscribers {
        ..=1_000_000 => 65_535,
        1_000_001..=10_000_000 => 1_048_575,
        _ => 2_097_151,
    };
    (random.within(0..=a) | random.within(1..=subscribers)) % subscribers + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_the_standard_one() {
        let count = 100_000;
        let mut counts = [0_usize; 7];
        for input in inputs(10_000, count, 1) {
            counts[match input {
                Input::GetSubscriberData { .. } => 0,
                Input::GetNewDestination { .. } => 1,
                Input::GetAccessData { .. } => 2,
                Input::UpdateSubscriberData { .. } => 3,
                Input::UpdateLocation { .. } => 4,
                Input::InsertCallForwarding { .. } => 5,
                Input::DeleteCallForwarding { .. } => 6,
            }] += 1;
        }
        for (found, right) in counts.into_iter().zip([35, 10, 35, 2, 14, 2, 2]) {
            assert!(found.abs_diff(right * count / 100) < count / 200, "{counts:?}");
        }
    }

    #[test]
    fn every_subscriber_may_be_chosen_and_nobody_else() {
        let mut random = Random::new(1);
        let mut chosen = vec![0_u32; 1_001];
        for _ in 0..100_000 {
            chosen[non_uniform(1_000, &mut random) as usize] += 1;
        }
        assert_eq!(chosen[0], 0);
        assert!(chosen[1..].iter().all(|&count| count > 0));
    }
}
