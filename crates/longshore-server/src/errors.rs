//! Errors and notices as messages.

use longshore_engine::{Error, ErrorDetails};

use crate::protocol::Violation;
use crate::protocol::backend::Writing;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    Notice,
    Error,
    /// The connection ends.
    Fatal,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Self::Notice => "NOTICE",
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
        }
    }
}

/// What a client is told.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    severity: Severity,
    /// The SQLSTATE.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    details: Box<ErrorDetails>,
    /// The function that tells it in PostgreSQL, where clients ask for that.
    routine: Option<&'static str>,
}

impl Told {
    pub(crate) fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, code, message: message.into(), details: Box::default(), routine: None }
    }

    pub(crate) fn fatal(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Fatal, ..Self::error(code, message) }
    }

    pub(crate) fn notice(message: impl Into<String>) -> Self {
        Self { severity: Severity::Notice, ..Self::error("00000", message) }
    }

    /// A prepared statement gives other columns by now. JDBC's driver prepares it again when it sees the routine.
    pub(crate) fn changed_result() -> Self {
        let told = Self::error("0A000", "cached plan must not change result type");
        Self { routine: Some("RevalidateCachedQuery"), ..told }
    }

    /// Appends it as a message.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut message = Writing::new(out, if self.severity == Severity::Notice { b'N' } else { b'E' });
        let mut field = |kind: u8, text: &str| {
            message.u8(kind);
            message.text(text);
        };
        field(b'S', self.severity.name());
        // The same, never translated.
        field(b'V', self.severity.name());
        field(b'C', self.code);
        field(b'M', &self.message);
        let ErrorDetails { file, line, table, column, constraint, data_type, position, .. } = self.details.as_ref();
        if let Some(position) = position {
            field(b'P', &position.to_string());
        }
        if let Some(file) = file {
            let line = line.map_or_else(String::new, |line| format!(", line {line}"));
            field(b'W', &format!("COPY, file {file}{line}"));
        }
        if let Some(table) = table {
            let (schema, table) = table.split_once('.').unwrap_or(("public", table));
            field(b's', schema);
            field(b't', table);
        }
        if let (None, Some(data_type)) = (table, data_type) {
            field(b's', data_type.split_once('.').map_or("public", |(schema, _)| schema));
        }
        let data_type =
            data_type.as_ref().map(|name| name.split_once('.').map_or(name.clone(), |(_, own)| own.to_owned()));
        for (kind, name) in [(b'c', column), (b'd', &data_type), (b'n', constraint)] {
            if let Some(name) = name {
                field(kind, name);
            }
        }
        if let Some(routine) = self.routine {
            field(b'R', routine);
        }
        message.u8(0);
    }
}

impl From<Error> for Told {
    fn from(error: Error) -> Self {
        Self {
            severity: Severity::Error,
            code: error.kind().sqlstate(),
            message: error.to_string(),
            details: Box::new(error.details().clone()),
            routine: None,
        }
    }
}

impl From<Violation> for Told {
    fn from(violation: Violation) -> Self {
        Self::fatal("08P01", violation.0)
    }
}
