//! The log of a server, on standard error: a line for each event, as text or as a JSON object.
//!
//! What is logged is said by the engine and the server; this decides what it looks like. Fields that hold several lines, as
//! plans do, stand below their event in text. Not here: what the shell tells its user (`run::note`).

use std::fmt::{self, Write as _};

use serde_json::{Map, Number, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;

/// What a line of the log looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// A JSON object a line.
    Json,
}

/// How much is logged: events of this kind, and graver ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogLevel {
    /// Nothing.
    Off,
    /// What is wrong with the server or the machine.
    Error,
    /// Statements that fail, connections that are refused, deadlocks.
    Warn,
    /// Connections, checkpoints, what settings ask for.
    #[default]
    Info,
    /// What helps to find faults.
    Debug,
}

impl LogLevel {
    fn filter(self) -> LevelFilter {
        match self {
            Self::Off => LevelFilter::OFF,
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
        }
    }
}

/// Logs to standard error from now on.
pub(crate) fn start(format: LogFormat, level: LogLevel) {
    // Libraries say more than anybody wants to know of them.
    let own = Targets::new().with_target("longshore", level.filter());
    let own = own.with_default(level.filter().min(LevelFilter::WARN));
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).event_format(Lines { format });
    let subscriber = tracing_subscriber::registry().with(lines.with_filter(own));
    // There is one log, and it is started once.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Writes events as lines.
struct Lines {
    format: LogFormat,
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let mut fields = Fields::default();
        event.record(&mut fields);
        let (level, target) = (event.metadata().level(), event.metadata().target());
        match self.format {
            LogFormat::Text => writeln!(writer, "{}", fields.text(&time, *level, target)),
            LogFormat::Json => writeln!(writer, "{}", fields.json(&time, *level, target)),
        }
    }
}

/// The fields of an event, in their order.
#[derive(Default)]
struct Fields(Vec<(&'static str, Value)>);

/// The field that holds what happened.
const MESSAGE: &str = "message";

impl Fields {
    fn json(self, time: &str, level: Level, target: &str) -> String {
        let mut object = Map::new();
        object.insert("time".to_owned(), time.into());
        object.insert("level".to_owned(), level.as_str().to_lowercase().into());
        object.insert("target".to_owned(), target.into());
        // What happened has a name of its own.
        let key = |name: &'static str| if name == MESSAGE { "event" } else { name };
        object.extend(self.0.into_iter().map(|(name, value)| (key(name).to_owned(), value)));
        Value::Object(object).to_string()
    }

    fn text(self, time: &str, level: Level, target: &str) -> String {
        let (mut line, mut below) = (format!("{time} {level:>5} {target}:"), String::new());
        for (name, value) in self.0 {
            // Writing to a string cannot fail.
            let _ = match value {
                Value::String(message) if name == MESSAGE => write!(line, " {message}"),
                Value::String(lines) if lines.contains('\n') => {
                    let _ = write!(below, "\n  {name}:");
                    lines.lines().try_for_each(|line| write!(below, "\n    {line}"))
                }
                value => write!(line, " {name}={value}"),
            };
        }
        line + &below
    }

    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        // What happened stands first.
        let place = if field.name() == MESSAGE { 0 } else { self.0.len() };
        self.0.insert(place, (field.name(), value.into()));
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, Number::from_f64(value).map_or(Value::Null, Value::Number));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_lines_or_objects() {
        let fields = || {
            Fields(vec![
                (MESSAGE, "slow statement".into()),
                ("pid", 7.into()),
                ("statement", "SELECT \"a\"".into()),
                ("plan", "rows\n1".into()),
            ])
        };
        assert_eq!(
            fields().text("T", Level::INFO, "longshore::statement"),
            "T  INFO longshore::statement: slow statement pid=7 statement=\"SELECT \\\"a\\\"\"\n  plan:\n    rows\n    1"
        );
        assert_eq!(
            fields().json("T", Level::WARN, "x"),
            r#"{"event":"slow statement","level":"warn","pid":7,"plan":"rows\n1","statement":"SELECT \"a\"","target":"x","time":"T"}"#
        );
    }
}
