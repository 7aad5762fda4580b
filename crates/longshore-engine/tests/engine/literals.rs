//! Number literals of every spelling, through every door: SELECT, a cast, INSERT and EXECUTE, compared with exact
//! arithmetic on their digits. What is PostgreSQL's, `tests/sql/types/numbers.slt` has from PostgreSQL 15.
//!
//! `LITERALS=100000 cargo test -p longshore-engine --test engine literals` takes more; `SEED=7` takes others.

use crate::query_support::{ok, run, session};
use longshore_testing::{Random, share};

/// Literals of a run.
const LITERALS: usize = 200;

/// Literals that one statement has.
const TOGETHER: usize = 40;

/// A decimal number: a sign, digits, and how many of them stand behind the point.
#[derive(Clone, Debug, PartialEq)]
struct Exact {
    is_negative: bool,
    /// Without zeros in front.
    digits: String,
    scale: usize,
}

impl Exact {
    fn read(text: &str) -> Self {
        let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i64 = exponent.parse().expect("exponents are small");
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = format!("{whole}{fraction}");
        let mut scale = fraction.len() as i64 - exponent;
        while scale < 0 {
            digits.push('0');
            scale += 1;
        }
        Self { is_negative, digits: digits.trim_start_matches('0').to_owned(), scale: scale as usize }
    }

    /// Rounded half away from zero.
    fn rounded(&self, scale: usize) -> Self {
        if scale >= self.scale {
            let digits = if self.digits.is_empty() {
                String::new()
            } else {
                self.digits.clone() + &"0".repeat(scale - self.scale)
            };
            return Self { digits, scale, ..self.clone() };
        }
        let padded = format!("{:0>1$}", self.digits, self.scale - scale + 1);
        let (kept, lost) = padded.split_at(padded.len() - (self.scale - scale));
        let mut digits: Vec<u8> = kept.bytes().collect();
        if lost.as_bytes()[0] >= b'5' {
            let mut at = digits.len();
            loop {
                if at == 0 {
                    digits.insert(0, b'1');
                    break;
                }
                at -= 1;
                if digits[at] < b'9' {
                    digits[at] += 1;
                    break;
                }
                digits[at] = b'0';
            }
        }
        let digits = String::from_utf8(digits).expect("digits").trim_start_matches('0').to_owned();
        Self { digits, scale, ..self.clone() }
    }

    fn shown(&self) -> String {
        let padded = format!("{:0>1$}", self.digits, self.scale + 1);
        let (whole, fraction) = padded.split_at(padded.len() - self.scale);
        let sign = if self.is_negative && !self.digits.is_empty() { "-" } else { "" };
        let point = if self.scale > 0 { "." } else { "" };
        format!("{sign}{whole}{point}{fraction}")
    }

    /// The integer, if it lies in these bounds.
    fn integer(&self, least: i64, greatest: i64) -> Option<String> {
        let value: i128 = self.rounded(0).shown().parse().ok()?;
        (i128::from(least) <= value && value <= i128::from(greatest)).then(|| value.to_string())
    }

    /// The decimal, if it has so few digits.
    fn decimal(&self, precision: usize, scale: usize) -> Option<String> {
        let rounded = self.rounded(scale);
        (rounded.digits.len() <= precision).then(|| rounded.shown())
    }

    /// The digits that a decimal needs.
    fn precision(&self) -> usize {
        self.digits.len().max(self.scale)
    }
}

/// The type that PostgreSQL gives a literal, as `arrow_typeof` names it.
fn type_of(text: &str) -> String {
    let unsigned = text.trim_start_matches('-');
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        match unsigned.parse::<i128>() {
            Ok(value) if value <= i128::from(i32::MAX) => return "Int32".to_owned(),
            Ok(value) if value <= i128::from(i64::MAX) => return "Int64".to_owned(),
            _ => {}
        }
    }
    let exact = Exact::read(text);
    let bits = if exact.precision() <= 38 { 128 } else { 256 };
    format!("Decimal{bits}({}, {})", exact.precision().max(1), exact.scale)
}

fn literal(random: &mut Random) -> String {
    let near = [
        "127",
        "32767",
        "32768",
        "2147483647",
        "2147483648",
        "4294967295",
        "9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "99999999999999999999999999999999999999",
        "5",
        "10",
        "0",
    ];
    let digits = |random: &mut Random, most: usize| {
        let count = random.below(most) + 1;
        (0..count).map(|_| char::from(b'0' + random.below(10) as u8)).collect::<String>()
    };
    let mut text = match random.below(4) {
        0 => random.pick(&near).to_owned(),
        1 => format!("{}{}", "0".repeat(random.below(3)), digits(random, 19)),
        _ => digits(random, 12),
    };
    match random.below(6) {
        0 => text.push('.'),
        1 | 2 => text = format!("{text}.{}", digits(random, 12)),
        3 => text = format!(".{}", digits(random, 20)),
        _ => {}
    }
    if random.below(3) == 0 {
        let sign = random.pick(&["", "+", "-"]);
        text = format!("{text}{}{sign}{}", random.pick(&["e", "E"]), random.below(16));
    }
    if random.below(3) == 0 { format!("-{text}") } else { text }
}

/// A number of the environment.
fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// What a literal becomes in a column of each type; `None` is an error.
fn expected(text: &str) -> [(&'static str, Option<String>); 7] {
    let exact = Exact::read(text);
    let double: f64 = text.parse().expect("a number");
    let real: f32 = text.parse().expect("a number");
    [
        ("smallint", exact.integer(i16::MIN.into(), i16::MAX.into())),
        ("int", exact.integer(i32::MIN.into(), i32::MAX.into())),
        ("bigint", exact.integer(i64::MIN, i64::MAX)),
        ("decimal(12,3)", exact.decimal(12, 3)),
        ("decimal(38,10)", exact.decimal(38, 10)),
        ("double precision", Some(format!("{:e}", if double == 0.0 { 0.0 } else { double }))),
        ("real", Some(format!("{:e}", if real == 0.0 { 0.0 } else { real })).filter(|_| real.is_finite())),
    ]
}

/// A value as it is shown, in the form of [`expected`].
fn canonical(shown: &str, data_type: &str) -> String {
    match data_type {
        "double precision" => format!("{:e}", shown.parse::<f64>().expect("a double") + 0.0),
        "real" => format!("{:e}", shown.parse::<f32>().expect("a real") + 0.0),
        _ => shown.to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn literals_have_their_types_and_values() {
    let mut random = Random::new(variable("SEED", 1));
    let mut session = session(1);
    let literals: Vec<String> =
        (0..variable("LITERALS", share(LITERALS) as u64)).map(|_| literal(&mut random)).collect();
    for together in literals.chunks(TOGETHER) {
        let items = together.iter().enumerate();
        let list: Vec<String> =
            items.map(|(at, text)| format!("{text} AS v{at}, arrow_typeof({text}) AS t{at}")).collect();
        let shown = ok(&mut session, &format!("SELECT {}", list.join(", "))).await.join("");
        let expected: Vec<String> =
            together.iter().map(|text| format!("{}|{}", Exact::read(text).shown(), type_of(text))).collect();
        assert_eq!(shown, expected.join("|"), "{together:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn literals_become_what_their_column_is() {
    let mut random = Random::new(variable("SEED", 2));
    let mut session = session(1);
    let literals: Vec<String> =
        (0..variable("LITERALS", share(LITERALS) as u64)).map(|_| literal(&mut random)).collect();
    for (data_type, column) in expected("0").map(|(data_type, _)| data_type).into_iter().zip(0..) {
        ok(&mut session, &format!("CREATE OR REPLACE TABLE t (n int, v {data_type})")).await;
        ok(&mut session, &format!("PREPARE p{column} AS INSERT INTO t VALUES ($1, $2)")).await;
        let (good, bad): (Vec<_>, Vec<_>) = literals
            .iter()
            .map(|text| (text, expected(text)[column].1.clone()))
            .partition(|(_, value)| value.is_some());
        for together in good.chunks(TOGETHER) {
            let values: Vec<String> = together.iter().map(|(_, value)| value.clone().unwrap_or_default()).collect();
            let check = |shown: Vec<String>, door: &str| {
                let shown: Vec<String> = shown.iter().map(|value| canonical(value, data_type)).collect();
                assert_eq!(shown, values, "{door} {data_type}: {together:?}");
            };
            let casts: Vec<String> =
                together.iter().enumerate().map(|(n, (text, _))| format!("({n}, ({text})::{data_type})")).collect();
            let casts = format!("SELECT v FROM (VALUES {}) AS t (n, v) ORDER BY n", casts.join(", "));
            check(ok(&mut session, &casts).await, "cast");
            let rows: Vec<String> =
                together.iter().enumerate().map(|(n, (text, _))| format!("({n}, {text})")).collect();
            ok(&mut session, &format!("INSERT INTO t VALUES {}", rows.join(", "))).await;
            check(ok(&mut session, "SELECT v FROM t ORDER BY n").await, "INSERT");
            ok(&mut session, "TRUNCATE t").await;
            for (n, (text, _)) in together.iter().enumerate() {
                ok(&mut session, &format!("EXECUTE p{column}({n}, {text})")).await;
            }
            check(ok(&mut session, "SELECT v FROM t ORDER BY n").await, "EXECUTE");
            ok(&mut session, "UPDATE t SET v = NULL").await;
            for (n, (text, _)) in together.iter().enumerate() {
                ok(&mut session, &format!("UPDATE t SET v = {text} WHERE n = {n}")).await;
            }
            check(ok(&mut session, "SELECT v FROM t ORDER BY n").await, "UPDATE");
            ok(&mut session, "TRUNCATE t").await;
        }
        for (text, _) in bad.iter().take(TOGETHER) {
            for sql in [
                format!("SELECT ({text})::{data_type}"),
                format!("INSERT INTO t VALUES (1, {text})"),
                format!("EXECUTE p{column}(1, {text})"),
            ] {
                let error = run(&mut session, &sql).await.expect_err(&sql);
                assert_eq!(error.kind().sqlstate(), "22003", "{sql}: {error}");
            }
        }
        ok(&mut session, &format!("DEALLOCATE p{column}")).await;
    }
}
