//! Settings that clients are told of without asking: at the beginning, and whenever one has changed.

use std::collections::HashMap;

use futures::TryStreamExt;
use longshore_engine::{Outcome, Session};

use super::{Connection, ends_block};
use crate::protocol::backend;
use crate::values::texts_of;

/// What PostgreSQL reports; the second is the value of one that the engine does not have.
const REPORTED: [(&str, &str); 13] = [
    ("application_name", ""),
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO, MDY"),
    ("default_transaction_read_only", "off"),
    ("in_hot_standby", "off"),
    ("integer_datetimes", "on"),
    ("IntervalStyle", "postgres"),
    ("is_superuser", "on"),
    ("server_encoding", "UTF8"),
    ("server_version", "15.0"),
    ("session_authorization", ""),
    ("standard_conforming_strings", "on"),
    ("TimeZone", "UTC"),
];

/// What the client knows of settings.
pub(super) type Reported = HashMap<&'static str, String>;

/// The values of all settings by their names, as SHOW tells them.
async fn values(session: &mut Session) -> HashMap<String, String> {
    let Ok(Outcome::Rows(mut rows)) = session.execute("SHOW ALL").await else { return HashMap::new() };
    let Ok(Some(batch)) = rows.try_next().await else { return HashMap::new() };
    let (names, values) = (texts_of(batch.column(0)), texts_of(batch.column(1)));
    names.into_iter().zip(values).filter_map(|(name, value)| Some((name?.to_lowercase(), value?))).collect()
}

impl Connection {
    /// Tells the client of all settings that are not as it knows them.
    pub(crate) async fn report_all(&mut self) {
        if self.session.has_failed_transaction() {
            return;
        }
        let mut values = values(&mut self.session).await;
        for (name, fixed) in REPORTED {
            let value = values.remove(&name.to_lowercase()).unwrap_or_else(|| fixed.to_owned());
            if self.reported.get(name) != Some(&value) {
                backend::parameter_status(&mut self.wire.out, name, &value);
                self.reported.insert(name, value);
            }
        }
    }

    /// The same behind a statement whose first word is `word`, if it may have changed one.
    pub(super) async fn report_settings(&mut self, word: &str) {
        if matches!(word, "SET" | "RESET" | "DISCARD") || (self.has_set && ends_block(word)) {
            self.has_set = self.session.is_in_transaction();
            self.report_all().await;
        }
    }
}
