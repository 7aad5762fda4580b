//! The seven transactions of TATP, compiled: functions over the typed API.
//!
//! By the specification some find nothing, or a key that is taken; then they fail and are rolled back.

use std::ops::ControlFlow;

use longshore_storage::{Datum, Direction, Transaction, TransactionError, key};

use super::input::Input;
use super::schema::Database;

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It did what it was asked for; forwardings inserted less those deleted.
    Done(i64),
    /// What it was asked for is not there, or there already: to be rolled back.
    Failed,
}

/// What a client is shown.
#[derive(Default)]
pub(super) struct Answer {
    text: String,
    number: i64,
}

impl Answer {
    /// Nothing yet.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.number = 0;
    }

    fn text(&mut self, text: Option<&str>) {
        self.text.push_str(text.unwrap_or_default());
    }

    fn number(&mut self, number: impl Into<i64>) {
        self.number = self.number.wrapping_add(number.into());
    }
}

/// Does what is asked for.
///
/// # Errors
///
/// Conflicts, and what else the database refuses but a key that is taken.
pub(super) fn call(
    db: &Database,
    t: &mut Transaction,
    input: &Input,
    answer: &mut Answer,
) -> Result<End, TransactionError> {
    match *input {
        Input::GetSubscriberData { subscriber } => get_subscriber_data(db, t, subscriber, answer),
        Input::GetNewDestination { subscriber, sf_type, start_time, end_time } => {
            get_new_destination(db, t, (subscriber, sf_type), (start_time, end_time), answer)
        }
        Input::GetAccessData { subscriber, ai_type } => get_access_data(db, t, subscriber, ai_type, answer),
        Input::UpdateSubscriberData { subscriber, bit, sf_type, data } => {
            update_subscriber_data(db, t, subscriber, bit, sf_type, data)
        }
        Input::UpdateLocation { ref number, location } => update_location(db, t, number, location),
        Input::InsertCallForwarding { ref number, sf_type, start_time, end_time, ref to } => {
            insert_call_forwarding(db, t, number, sf_type, (start_time, end_time), to)
        }
        Input::DeleteCallForwarding { ref number, sf_type, start_time } => {
            delete_call_forwarding(db, t, number, sf_type, start_time)
        }
    }
}

fn get_subscriber_data(
    db: &Database,
    t: &mut Transaction,
    subscriber: i64,
    answer: &mut Answer,
) -> Result<End, TransactionError> {
    let table = &db.subscriber;
    let Some(mut row) = t.find_read(&table.relation, &table.key, key!(subscriber))? else { return Ok(End::Failed) };
    answer.text(row.text(table.sub_nbr));
    for field in table.bits() {
        answer.number(row.get(field)?);
    }
    for field in table.numbers() {
        answer.number(row.get(field)?);
    }
    for field in [table.msc_location, table.vlr_location] {
        answer.number(row.get(field)?);
    }
    Ok(End::Done(0))
}

fn get_new_destination(
    db: &Database,
    t: &mut Transaction,
    (subscriber, sf_type): (i64, i16),
    (start_time, end_time): (i16, i16),
    answer: &mut Answer,
) -> Result<End, TransactionError> {
    let table = &db.special_facility;
    let Some(mut row) = t.find_read(&table.relation, &table.key, key!(subscriber, sf_type))? else {
        return Ok(End::Failed);
    };
    if !row.get(table.is_active)? {
        return Ok(End::Failed);
    }
    drop(row);
    let table = &db.call_forwarding;
    let mut found = 0;
    let (from, to) = (key!(subscriber, sf_type, 0_i16), key!(subscriber, sf_type, start_time));
    t.range(&table.relation, &table.key, from..=to, Direction::Forward, |t, row| {
        let mut row = t.read(&table.relation, row)?;
        if end_time < row.get(table.end_time)? {
            answer.text(row.text(table.numberx));
            found += 1;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(if found > 0 { End::Done(0) } else { End::Failed })
}

fn get_access_data(
    db: &Database,
    t: &mut Transaction,
    subscriber: i64,
    ai_type: i16,
    answer: &mut Answer,
) -> Result<End, TransactionError> {
    let table = &db.access_info;
    let Some(mut row) = t.find_read(&table.relation, &table.key, key!(subscriber, ai_type))? else {
        return Ok(End::Failed);
    };
    answer.number(row.get(table.data1)?);
    answer.number(row.get(table.data2)?);
    answer.text(row.text(table.data3));
    answer.text(row.text(table.data4));
    Ok(End::Done(0))
}

fn update_subscriber_data(
    db: &Database,
    t: &mut Transaction,
    subscriber: i64,
    bit: bool,
    sf_type: i16,
    data: i16,
) -> Result<End, TransactionError> {
    let table = &db.subscriber;
    let Some(mut row) = t.find_edit(&table.relation, &table.key, key!(subscriber))? else { return Ok(End::Failed) };
    row.set(table.bit_1, bit)?;
    drop(row);
    let table = &db.special_facility;
    let Some(mut row) = t.find_edit(&table.relation, &table.key, key!(subscriber, sf_type))? else {
        return Ok(End::Failed);
    };
    row.set(table.data_a, data)?;
    Ok(End::Done(0))
}

fn update_location(db: &Database, t: &mut Transaction, number: &str, location: i64) -> Result<End, TransactionError> {
    let table = &db.subscriber;
    let Some(mut row) = t.find_edit(&table.relation, &table.by_number, key!(number))? else { return Ok(End::Failed) };
    row.set(table.vlr_location, location)?;
    Ok(End::Done(0))
}

fn insert_call_forwarding(
    db: &Database,
    t: &mut Transaction,
    number: &str,
    sf_type: i16,
    (start_time, end_time): (i16, i16),
    to: &str,
) -> Result<End, TransactionError> {
    let Some(subscriber) = subscriber_of(db, t, number)? else { return Ok(End::Failed) };
    // The foreign key: there is a facility of this type.
    let table = &db.special_facility;
    if t.find(&table.relation, &table.key, key!(subscriber, sf_type))?.is_none() {
        return Ok(End::Failed);
    }
    let row =
        [Datum::I64(subscriber), Datum::I16(sf_type), Datum::I16(start_time), Datum::I16(end_time), Datum::Text(to)];
    match t.insert(&db.call_forwarding.relation, &row) {
        Ok(_) => Ok(End::Done(1)),
        Err(TransactionError::Duplicate { .. }) => Ok(End::Failed),
        Err(error) => Err(error),
    }
}

fn delete_call_forwarding(
    db: &Database,
    t: &mut Transaction,
    number: &str,
    sf_type: i16,
    start_time: i16,
) -> Result<End, TransactionError> {
    let Some(subscriber) = subscriber_of(db, t, number)? else { return Ok(End::Failed) };
    let table = &db.call_forwarding;
    let key = key!(subscriber, sf_type, start_time);
    let Some(row) = t.find_edit(&table.relation, &table.key, key)? else { return Ok(End::Failed) };
    row.delete()?;
    Ok(End::Done(-1))
}

fn subscriber_of(db: &Database, t: &mut Transaction, number: &str) -> Result<Option<i64>, TransactionError> {
    let table = &db.subscriber;
    let row = t.find_read(&table.relation, &table.by_number, key!(number))?;
    row.map(|mut row| row.get(table.s_id)).transpose()
}
