//! Checks what the tables hold after a run.

use std::collections::{HashMap, HashSet};

use longshore_storage::{Isolation, key};

use super::input::Input;
use super::schema::Database;
use crate::Failure;
use crate::workload::columns::integers;

/// Keys that are looked up in an index.
const LOOKED_UP: usize = 1_000;

/// How many forwardings there are.
///
/// # Errors
///
/// When the column cannot be read.
pub(super) fn forwardings(db: &Database) -> Result<i64, Failure> {
    Ok(integers(&db.call_forwarding.relation, ["s_id"])?.len() as i64)
}

/// Checks the tables after the inputs of these threads, with so many forwardings.
///
/// # Errors
///
/// The first thing that is wrong.
pub(super) fn check(db: &Database, forwardings: i64, streams: &[Vec<Input>]) -> Result<(), Failure> {
    let facilities = integers(&db.special_facility.relation, ["s_id", "sf_type", "data_a"])?;
    let keys: HashSet<[i64; 2]> = facilities.iter().map(|&[id, sf_type, _]| [id, sf_type]).collect();
    require(keys.len() == facilities.len(), || "facilities are there once".to_owned())?;
    check_forwardings(db, forwardings, &keys)?;

    let mut locations: HashMap<i64, Vec<i64>> = HashMap::new();
    let mut data: HashMap<[i64; 2], Vec<i64>> = HashMap::new();
    for stream in streams {
        let (last_locations, last_data) = last_writes(stream)?;
        for (id, location) in last_locations {
            locations.entry(id).or_default().push(location);
        }
        for (key, value) in last_data {
            data.entry(key).or_default().push(value);
        }
    }
    let subscribers = integers(&db.subscriber.relation, ["s_id", "vlr_location"])?;
    require(subscribers.len() as i64 == db.subscribers, || format!("{} subscribers", subscribers.len()))?;
    for [id, location] in subscribers {
        let is_last = locations.get(&id).is_none_or(|written| written.contains(&location));
        require(is_last, || format!("the location of subscriber {id} is the last written"))?;
    }
    for [id, sf_type, value] in facilities {
        let is_last = data.get(&[id, sf_type]).is_none_or(|written| written.contains(&value));
        require(is_last, || format!("the data of facility {id}/{sf_type} is the last written"))?;
    }
    Ok(())
}

/// None is there twice or without its facility, and the index finds them.
fn check_forwardings(db: &Database, right: i64, facilities: &HashSet<[i64; 2]>) -> Result<(), Failure> {
    let rows = integers(&db.call_forwarding.relation, ["s_id", "sf_type", "start_time"])?;
    require(rows.len() as i64 == right, || format!("{} forwardings where {right} are right", rows.len()))?;
    let keys: HashSet<[i64; 3]> = rows.iter().copied().collect();
    require(keys.len() == rows.len(), || "forwardings are there once".to_owned())?;
    for [id, sf_type, _] in &rows {
        require(facilities.contains(&[*id, *sf_type]), || format!("facility {id}/{sf_type} of a forwarding"))?;
    }
    let table = &db.call_forwarding;
    let mut t = db.transactions.begin_read_only(Isolation::Snapshot);
    for &[id, sf_type, start] in rows.iter().step_by(rows.len() / LOOKED_UP + 1) {
        let key = key!(id, sf_type as i16, start as i16);
        let found = t.find(&table.relation, &table.key, key)?;
        require(found.is_some(), || format!("the index finds forwarding {id}/{sf_type}/{start}"))?;
    }
    t.commit()?;
    Ok(())
}

/// The last location of each subscriber and the last data of each facility that a thread asked to write, whether there
/// is such a facility or not.
#[allow(clippy::type_complexity, reason = "two maps, named by who takes them")]
fn last_writes(stream: &[Input]) -> Result<(HashMap<i64, i64>, HashMap<[i64; 2], i64>), Failure> {
    let (mut locations, mut facilities) = (HashMap::new(), HashMap::new());
    for input in stream {
        match *input {
            Input::UpdateLocation { ref number, location } => {
                locations.insert(number.parse()?, location);
            }
            Input::UpdateSubscriberData { subscriber, sf_type, data, .. } => {
                facilities.insert([subscriber, sf_type.into()], data.into());
            }
            _ => {}
        }
    }
    Ok((locations, facilities))
}

fn require(holds: bool, what: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(format!("wrong: {}", what()).into()) }
}
