//! What PostgreSQL 15 gave for many operations on many numbers, against what is computed here: `operation|a|b|result` a line.

use longshore_numeric::{Number, NumberError};

fn whole(number: &Number) -> i64 {
    number.to_whole().and_then(|whole| whole.try_into().ok()).unwrap_or_default()
}

fn compute(operation: &str, a: &Number, b: &Number) -> Result<Number, NumberError> {
    Ok(match operation {
        "add" => a.plus(b)?,
        "sub" => a.minus(b)?,
        "mul" => a.times(b)?,
        "div" => a.divided(b)?,
        "mod" => a.remainder(b)?,
        "quot" => a.quotient(b)?,
        "cmp" => Number::new(a.compared(b) as i128, 0),
        "gcd" => a.greatest_common_divisor(b),
        "lcm" => a.least_common_multiple(b)?,
        "abs" => a.absolute(),
        "neg" => a.negated(),
        "ceil" => a.ceiling(),
        "floor" => a.floor(),
        "sqrt" => a.root()?,
        "trim" => a.trimmed(),
        "scale" | "minscale" => {
            let scale = if operation == "scale" { a.scale() } else { a.scale_min() };
            return scale.map(|scale| Number::new(scale.into(), 0)).ok_or(NumberError::Syntax);
        }
        "exp" => a.exponential()?,
        "ln" => a.logarithm()?,
        "log" => b.logarithm_to(a)?,
        "power" => a.power(b)?,
        "round" => a.rounded(whole(b))?,
        "trunc" => a.truncated(whole(b)),
        other => panic!("{other} is no operation"),
    })
}

#[test]
fn results_are_those_of_postgresql() {
    let lines = include_str!("postgresql.txt");
    let mut wrong = Vec::new();
    for line in lines.lines() {
        let parts: Vec<&str> = line.split('|').collect();
        let [operation, a, b, expected] = parts[..] else { panic!("{line}") };
        let number = |text: &str| if text.is_empty() { Number::ZERO } else { Number::parse(text).expect(line) };
        let found = match compute(operation, &number(a), &number(b)) {
            Ok(number) => number.to_string(),
            Err(NumberError::Syntax) => "NULL".to_owned(),
            Err(error) => format!("error: {error}"),
        };
        if found != expected {
            wrong.push(format!("{line}\n   found {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} lines:\n{}", wrong.len(), lines.lines().count(), wrong.join("\n"));
}
