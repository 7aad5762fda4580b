//! What functions know of their session: its settings of time, and when its transaction began.
//!
//! They come with the settings of the statement (`ConfigOptions`), which functions are called with.

use std::any::Any;
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SessionState;
use longshore_time::error::{TimeError, TimeErrorKind};
use longshore_time::settings::{Context, Settings};

use crate::datafusion::errors::external;
use crate::transaction::StatementTime;
use crate::{Error, ErrorKind};

/// The settings, as an extension of `DataFusion`'s.
#[derive(Debug, Clone)]
struct Known(StatementTime);

impl ConfigExtension for Known {
    const PREFIX: &'static str = "longshore_time";
}

impl ExtensionOptions for Known {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, _value: &str) -> Result<()> {
        Err(DataFusionError::Configuration(format!("{key} is set by SET TimeZone and its like")))
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        Vec::new()
    }
}

/// Tells the functions of a statement what its session knows.
pub(in crate::datafusion) fn tell(state: &mut SessionState, time: StatementTime) {
    state.config_mut().options_mut().extensions.insert(Known(time));
}

/// The settings that a session begins with.
fn usual() -> &'static Arc<Settings> {
    static USUAL: OnceLock<Arc<Settings>> = OnceLock::new();
    USUAL.get_or_init(Arc::default)
}

/// What the functions of a statement know.
pub(in crate::datafusion) struct SessionTime<'a> {
    settings: &'a Settings,
    now: i64,
}

impl<'a> SessionTime<'a> {
    /// What is known by these settings of a statement.
    pub(in crate::datafusion) fn of(options: &'a ConfigOptions) -> Self {
        let known = options.extensions.get::<Known>();
        let settings = known.map_or_else(|| usual().as_ref(), |known| known.0.settings.as_ref());
        let now = known.map_or_else(clock, |known| known.0.began);
        Self { settings, now }
    }

    /// What a statement knows.
    pub(in crate::datafusion) fn known(time: &'a StatementTime) -> Self {
        Self { settings: &time.settings, now: time.began }
    }

    /// What is known by these settings alone.
    pub(in crate::datafusion) fn with(settings: &'a Settings) -> Self {
        Self { settings, now: clock() }
    }

    /// The settings.
    pub(in crate::datafusion) fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// For reading texts.
    pub(in crate::datafusion) fn context(&self) -> Context<'a> {
        Context { settings: self.settings, now: self.now }
    }
}

/// When the transaction began.
pub(in crate::datafusion) fn began(options: &ConfigOptions) -> Option<i64> {
    options.extensions.get::<Known>().map(|known| known.0.began)
}

/// When the transaction began, if it is that of the statement alone.
pub(in crate::datafusion) fn began_with_statement(options: &ConfigOptions) -> Option<i64> {
    options.extensions.get::<Known>().filter(|known| !known.0.is_in_block).map(|known| known.0.began)
}

/// Microseconds since 1970-01-01 UTC.
pub(in crate::datafusion) fn clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// An error of values of time as one of ours, on its way through `DataFusion`.
pub(in crate::datafusion) fn time_error(error: &TimeError) -> DataFusionError {
    let kind = match error.kind {
        TimeErrorKind::InvalidFormat => ErrorKind::DateTimeFormat,
        TimeErrorKind::OutOfRange => ErrorKind::DateTimeRange,
        TimeErrorKind::IntervalField => ErrorKind::IntervalField,
        TimeErrorKind::ZoneDisplacement => ErrorKind::ZoneDisplacement,
        TimeErrorKind::InvalidParameter => ErrorKind::Invalid,
        TimeErrorKind::Unsupported => ErrorKind::Unsupported,
        TimeErrorKind::DivisionByZero => ErrorKind::DivisionByZero,
        TimeErrorKind::Syntax => ErrorKind::Syntax,
        TimeErrorKind::InvalidText => ErrorKind::InvalidText,
    };
    external(Error::new(kind, error.to_string()))
}
