//! The options of EXPLAIN: `EXPLAIN ANALYZE VERBOSE`, or in parentheses as PostgreSQL has them.

use sqlparser::ast::{Expr, Statement, UnaryOperator, UtilityOption, Value};

use crate::Error;

/// What EXPLAIN is to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct ExplainOptions {
    /// Whether the query is run.
    pub(crate) analyze: bool,
    pub(crate) verbose: bool,
    /// Whether times of operators are shown.
    pub(crate) timing: bool,
    /// Whether totals are shown.
    pub(crate) summary: bool,
    pub(crate) is_json: bool,
}

impl ExplainOptions {
    /// The options of `explain`, and what it explains.
    ///
    /// # Errors
    /// Options that are unknown, or ask for what is not shown.
    pub(crate) fn of(explain: &Statement) -> Result<(Self, &Statement), Error> {
        let Statement::Explain { analyze, verbose, options, statement, .. } = explain else {
            return Err(Error::internal("EXPLAIN expected"));
        };
        let mut chosen =
            Self { analyze: *analyze, verbose: *verbose, timing: *analyze, summary: *analyze, is_json: false };
        let (mut timing, mut summary) = (None, None);
        for option in options.iter().flatten() {
            let name = option.name.value.to_uppercase();
            match name.as_str() {
                "ANALYZE" => chosen.analyze = switch(option)?,
                "VERBOSE" => chosen.verbose = switch(option)?,
                "TIMING" => timing = Some(switch(option)?),
                "SUMMARY" => summary = Some(switch(option)?),
                // No costs are known, so there are none to leave out.
                "COSTS" => _ = switch(option)?,
                "BUFFERS" | "WAL" | "SETTINGS" | "GENERIC_PLAN" | "MEMORY" => {
                    if switch(option)? {
                        return Err(Error::unsupported(format!(
                            "EXPLAIN ({name}) is not supported; it can only be off"
                        )));
                    }
                }
                "FORMAT" => chosen.is_json = is_json(option)?,
                _ => return Err(Error::syntax(format!("unrecognized EXPLAIN option \"{}\"", option.name.value))),
            }
        }
        if timing == Some(true) && !chosen.analyze {
            return Err(Error::invalid("EXPLAIN option TIMING requires ANALYZE"));
        }
        if summary == Some(true) && !chosen.analyze {
            return Err(Error::unsupported("EXPLAIN (SUMMARY) is not supported without ANALYZE"));
        }
        chosen.timing = chosen.analyze && timing.unwrap_or(true);
        chosen.summary = chosen.analyze && summary.unwrap_or(true);
        Ok((chosen, statement.as_ref()))
    }
}

/// A switch, which is on where nothing is said.
fn switch(option: &UtilityOption) -> Result<bool, Error> {
    let Some(word) = word(option) else { return Ok(true) };
    match word.to_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(Error::syntax(format!("{} requires a Boolean value", option.name.value.to_lowercase()))),
    }
}

fn is_json(option: &UtilityOption) -> Result<bool, Error> {
    let format = word(option).unwrap_or_default().to_lowercase();
    match format.as_str() {
        "text" => Ok(false),
        "json" => Ok(true),
        "xml" | "yaml" => Err(Error::unsupported(format!(
            "EXPLAIN (FORMAT {format}) is not supported; the formats are text and json"
        ))),
        _ => Err(Error::invalid(format!("unrecognized value for EXPLAIN option \"format\": \"{format}\""))),
    }
}

/// The value of an option as it is written, without quotes.
fn word(option: &UtilityOption) -> Option<String> {
    Some(match option.arg.as_ref()? {
        Expr::Identifier(ident) => ident.value.clone(),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => format!("-{expr}"),
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Parsed, parse};

    fn options(sql: &str) -> Result<ExplainOptions, String> {
        match parse(sql) {
            Ok(Parsed::Sql(statement)) => {
                ExplainOptions::of(&statement).map(|(options, _)| options).map_err(|error| error.to_string())
            }
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn options_are_those_of_postgresql() {
        let plain = ExplainOptions { analyze: false, verbose: false, timing: false, summary: false, is_json: false };
        let analyzed = ExplainOptions { analyze: true, timing: true, summary: true, ..plain };
        for (sql, expected) in [
            ("EXPLAIN SELECT 1", plain),
            ("EXPLAIN ANALYZE SELECT 1", analyzed),
            ("EXPLAIN ANALYZE VERBOSE SELECT 1", ExplainOptions { verbose: true, ..analyzed }),
            ("EXPLAIN (ANALYZE) SELECT 1", analyzed),
            ("EXPLAIN (ANALYZE off) SELECT 1", plain),
            ("EXPLAIN (COSTS OFF, BUFFERS false) SELECT 1", plain),
            ("EXPLAIN (ANALYZE, TIMING off, SUMMARY 0) SELECT 1", ExplainOptions { analyze: true, ..plain }),
            ("EXPLAIN (FORMAT json, VERBOSE) SELECT 1", ExplainOptions { verbose: true, is_json: true, ..plain }),
            ("EXPLAIN (FORMAT 'text') SELECT 1", plain),
        ] {
            assert_eq!(options(sql), Ok(expected), "{sql}");
        }
        for (sql, said) in [
            ("EXPLAIN (BUFFERS) SELECT 1", "can only be off"),
            ("EXPLAIN (FORMAT xml) SELECT 1", "text and json"),
            ("EXPLAIN (FORMAT x) SELECT 1", "unrecognized value"),
            ("EXPLAIN (nonsense) SELECT 1", "unrecognized EXPLAIN option \"nonsense\""),
            ("EXPLAIN (TIMING) SELECT 1", "requires ANALYZE"),
            ("EXPLAIN (ANALYZE maybe) SELECT 1", "requires a Boolean value"),
        ] {
            assert!(options(sql).is_err_and(|message| message.contains(said)), "{sql}");
        }
    }
}
