//! `pg_notify`, `pg_listening_channels` and `pg_notification_queue_usage`.

use super::Gives::{Double, Text, Texts};
use super::{Entry, Takes, Value, entry};

pub(super) const ENTRIES: &[Entry] = &[
    entry("pg_notify", &[Takes::Text, Takes::Text], Text, |catalog, args| {
        catalog.transaction.notify(args[0].text(), args[1].text())?;
        Ok("".into())
    })
    .called_on_null()
    .acting(),
    entry("pg_listening_channels", &[], Texts, |catalog, _| {
        let Some((own, all)) = catalog.transaction.numbers().entered() else { return Ok(Value::Texts(Vec::new())) };
        Ok(Value::Texts(all.channels().of_session(own.pid()).iter().map(ToString::to_string).collect()))
    }),
    entry("pg_notification_queue_usage", &[], Double, |catalog, _| {
        let entered = catalog.transaction.numbers().entered();
        Ok(Value::Double(entered.map_or(0.0, |(_, all)| all.channels().fullness())))
    }),
];
