//! The calls of PostgreSQL's functions and operators that the book lists, with edge values.
//!
//! The page of the book is the list: each row of its tables has a call, in which the names of types stand for arguments,
//! and what is said of it. [`Call::cases`] puts values in the place of the types.

use std::hash::{DefaultHasher, Hash, Hasher};

/// What the book says of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It gives what PostgreSQL gives.
    Same,
    /// It does not always.
    Differs,
    /// It is not there.
    Missing,
}

/// A call of a function or an operator, as the book lists it.
#[derive(Clone, Debug)]
pub struct Call {
    /// With names of types for its arguments.
    pub text: String,
    /// What the book says.
    pub state: State,
    /// Why it differs.
    pub remark: String,
    /// Whether it stands among the aggregates: its arguments are columns.
    pub is_aggregate: bool,
}

/// The calls of the tables in `page`.
///
/// # Panics
/// For a row that is none.
#[must_use]
pub fn listed(page: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut heading = "";
    for line in page.lines() {
        if let Some(text) = line.strip_prefix("## ") {
            heading = text;
        }
        let Some(row) = line.strip_prefix("| `") else { continue };
        let (call, rest) = row.split_once("` | ").unwrap_or_else(|| panic!("no call in {line}"));
        let (state, remark) = rest.trim_end_matches('|').split_once('|').unwrap_or((rest, ""));
        let state = match state.trim() {
            "same" => State::Same,
            "differs" => State::Differs,
            "missing" => State::Missing,
            other => panic!("{other} is no state: {line}"),
        };
        calls.push(Call {
            text: call.replace("\\|", "|"),
            state,
            remark: remark.trim().to_owned(),
            is_aggregate: heading.starts_with("Aggregate"),
        });
    }
    calls
}

/// `page` with these states of its calls, which are in their order.
#[must_use]
pub fn with_states(page: &str, states: &[State]) -> String {
    let mut states = states.iter();
    let mut lines: Vec<String> = Vec::new();
    for line in page.lines() {
        let row = line.strip_prefix("| `").and_then(|row| row.split_once("` | "));
        lines.push(match row {
            Some((call, rest)) => {
                let state = match states.next() {
                    Some(State::Differs) => "differs",
                    Some(State::Missing) => "missing",
                    _ => "same",
                };
                let remark = rest.split_once('|').map_or("", |(_, remark)| remark.trim().trim_end_matches('|').trim());
                let remark = if state == "same" || remark.is_empty() { String::new() } else { format!(" {remark}") };
                format!("| `{call}` | {state} |{remark} |")
            }
            None => line.to_owned(),
        });
    }
    lines.join("\n") + "\n"
}

/// Edge values of a type: as SQL, the usual one first.
#[must_use]
fn values(of_type: &str) -> Option<&'static [&'static str]> {
    Some(match of_type {
        "text" => &[
            "'Hello World'",
            "NULL::text",
            "''",
            "'a'",
            "'abc'",
            "'äöü ß'",
            "'日本語'",
            "'a,b,,c'",
            "'  x '",
            "'100%'",
            "E'back\\\\slash'",
            "E'l1\\nl2'",
            "'O''Neil \"q\"'",
            "'aaa'",
            "'1234'",
            "'12.5'",
        ],
        "pattern" => &[
            "'o'",
            "NULL::text",
            "''",
            "'.'",
            "'b*'",
            "'(a)(b)?'",
            "'[[:alpha:]]+'",
            "'\\d+'",
            "'^a|c$'",
            "'('",
            "'a{2}'",
            "'(l+)o'",
            "'[^a-c]'",
            "'(.)\\1'",
            "'(?=a)b'",
            "'a+?'",
        ],
        "like" => &["'%o%'", "NULL::text", "''", "'%'", "'_'", "'a%'", "'%a'", "'a\\%'", "'H_l%'", "'日%'", "'#%'"],
        "flags" => &["'i'", "NULL::text", "''", "'g'", "'n'", "'x'", "'z'", "'ic'"],
        "name" => &["'UTF8'", "NULL::text", "'bogus'"],
        "encoding" => &["'hex'", "'base64'", "'escape'", "NULL::text", "'bogus'"],
        "int" => &["2", "NULL::int", "0", "1", "-1", "3", "7", "-5", "30", "2147483647", "(-2147483647 - 1)"],
        "smallint" => &["2::smallint", "NULL::smallint", "0::smallint", "-7::smallint", "32767::smallint"],
        "bigint" => &[
            "5::bigint",
            "NULL::bigint",
            "0::bigint",
            "-1::bigint",
            "123456789012::bigint",
            "9223372036854775807",
            "(-9223372036854775807 - 1)",
        ],
        "float8" => &[
            "0.5::float8",
            "NULL::float8",
            "0::float8",
            "1::float8",
            "-1::float8",
            "-2.5::float8",
            "45::float8",
            "90::float8",
            "1000.75::float8",
            "'1e300'::float8",
            "'-1e-300'::float8",
            "'NaN'::float8",
            "'Infinity'::float8",
            "'-Infinity'::float8",
        ],
        "real" => &["0.5::real", "NULL::real", "-2.5::real", "'NaN'::real", "'1e30'::real"],
        "numeric" => {
            &["2.5", "NULL::numeric", "0.0", "1", "-1.005", "3.14159", "-2.5", "12345678901234567890", "0.000001"]
        }
        "bytea" => &[
            "'\\x616263'::bytea",
            "NULL::bytea",
            "''::bytea",
            "'\\x00'::bytea",
            "'\\xff00fe'::bytea",
            "'\\x62'::bytea",
        ],
        "bool" => &["true", "NULL::bool", "false"],
        "any" => &["1", "NULL::int", "'a'::text", "true", "2.50", "'x y'::text", "NULL::text"],
        "ints" => &["ARRAY[1, 2, 3]", "NULL::int[]", "ARRAY[5]", "ARRAY[2, NULL, 1]", "ARRAY[1, 1, 2]"],
        "texts" => &["ARRAY['a', 'b', NULL]", "NULL::text[]", "ARRAY['x']", "ARRAY['a', 'a']"],
        "date" => &["DATE '2024-02-29'", "NULL::date", "DATE '1970-01-01'", "DATE '0001-01-01'", "DATE '1999-12-31'"],
        "timestamp" => &[
            "TIMESTAMP '2024-02-29 13:05:07.25'",
            "NULL::timestamp",
            "TIMESTAMP '1970-01-01 00:00:00'",
            "TIMESTAMP '1999-12-31 23:59:59.999999'",
        ],
        _ => return None,
    })
}

/// Cases of a call, at most, beside those in which one argument varies.
const MIXED: u64 = 40;

impl Call {
    /// The call with values for its arguments, as statements.
    #[must_use]
    pub fn cases(&self) -> Vec<String> {
        let parts = self.parts();
        if self.is_aggregate {
            return Self::over_rows(&parts);
        }
        let places: Vec<usize> = (0..parts.len()).filter(|at| values(parts[*at]).is_some()).collect();
        let mut cases = Vec::new();
        let mut add = |chosen: &dyn Fn(usize) -> usize| {
            let text: String = parts
                .iter()
                .enumerate()
                .map(|(at, part)| values(part).map_or(*part, |values| values[chosen(at) % values.len()]))
                .collect();
            let sql = format!("SELECT {text}");
            if !cases.contains(&sql) {
                cases.push(sql);
            }
        };
        add(&|_| 0);
        for varied in &places {
            let count = values(parts[*varied]).map_or(0, <[_]>::len);
            for value in 0..count {
                add(&|at| if at == *varied { value } else { 0 });
            }
        }
        if places.len() > 1 {
            for number in 0..MIXED {
                add(&|at| hash(&(&self.text, at, number)) as usize);
            }
        }
        cases
    }

    /// An aggregate over several tables of values.
    fn over_rows(parts: &[&str]) -> Vec<String> {
        let mut columns = Vec::new();
        let text: String = parts
            .iter()
            .map(|part| {
                if values(part).is_none() {
                    (*part).to_owned()
                } else {
                    columns.push(*part);
                    format!("c{}", columns.len())
                }
            })
            .collect();
        let rows: [&[usize]; 5] = [&[], &[1], &[0], &[0, 1, 3, 3], &[3, 0, 4, 1, 2, 0, 5]];
        let tables = rows.iter().map(|rows| {
            let row = |number: usize, value: usize| {
                let row: Vec<&str> = columns
                    .iter()
                    .enumerate()
                    .map(|(column, of_type)| {
                        let values = values(of_type).unwrap_or(&["NULL"]);
                        values[(value + column * number) % values.len().min(6)]
                    })
                    .collect();
                let row: Vec<String> =
                    std::iter::once(number.to_string()).chain(row.into_iter().map(str::to_owned)).collect();
                format!("({})", row.join(", "))
            };
            let empty = rows.is_empty();
            let rows: Vec<String> = if empty {
                vec![row(0, 0)]
            } else {
                rows.iter().enumerate().map(|(at, value)| row(at, *value)).collect()
            };
            let names: Vec<String> = (1..=columns.len()).map(|column| format!("c{column}")).collect();
            let condition = if empty { " WHERE n > 0" } else { "" };
            let names = std::iter::once("n".to_owned()).chain(names).collect::<Vec<_>>().join(", ");
            format!("SELECT {text} FROM (VALUES {}) AS v ({names}){condition}", rows.join(", "))
        });
        tables.collect()
    }

    /// Words, and what stands between them.
    fn parts(&self) -> Vec<&str> {
        let mut parts = Vec::new();
        let mut rest = self.text.as_str();
        while !rest.is_empty() {
            if let Some(quoted) = rest.strip_prefix('\'') {
                let end = quoted.find('\'').map_or(rest.len(), |end| end + 2);
                parts.push(&rest[..end]);
                rest = &rest[end..];
                continue;
            }
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let is_first = rest.starts_with(is_word);
            let end = rest.find(|c: char| is_word(c) != is_first || c == '\'').unwrap_or(rest.len());
            // A name before a parenthesis or behind a colon is no argument.
            let (word, behind) = rest.split_at(end.max(1));
            let is_name = behind.starts_with('(') || parts.last().is_some_and(|before: &&str| before.ends_with(':'));
            if is_first && is_name && values(word).is_some() {
                let (kept, other) = word.split_at(1);
                parts.extend([kept, other]);
            } else {
                parts.push(word);
            }
            rest = behind;
        }
        parts
    }
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: &str) -> Call {
        Call { text: text.to_owned(), state: State::Same, remark: String::new(), is_aggregate: false }
    }

    #[test]
    fn types_stand_for_arguments() {
        assert_eq!(call("upper(text)").cases()[..2], ["SELECT upper('Hello World')", "SELECT upper(NULL::text)"]);
        assert_eq!(call("pi()").cases(), ["SELECT pi()"]);
        assert_eq!(call("text || text").cases()[0], "SELECT 'Hello World' || 'Hello World'");
        assert_eq!(call("to_hex(int)::text").cases()[0], "SELECT to_hex(2)::text");
    }
}
