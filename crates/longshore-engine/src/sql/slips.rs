//! What somebody meant who wrote a name that does not exist: the same in other case, or one that is close.

/// The one of `known` that is closest to `name`, if it is close enough.
pub(crate) fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let close = known.map(|known| (distance(name, known), known)).min()?;
    (close.0 <= 1 + name.len() / 5 && close.0 < name.len()).then_some(close.1)
}

/// A question for the one of `known` that was meant by `name`, behind a semicolon; empty if none is close. Names with capital
/// letters are shown as they must be written.
pub(crate) fn hint<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let same = known.clone().find(|known| known.eq_ignore_ascii_case(name) && *known != name);
    match same.or_else(|| closest(name, known.filter(|known| *known != name))) {
        Some(meant) if meant.chars().any(char::is_uppercase) => {
            format!("; did you mean \"{meant}\"? A name with capital letters stands in double quotes")
        }
        Some(meant) => format!("; did you mean {meant}?"),
        None => String::new(),
    }
}

/// How many letters must be changed, added or removed to make `b` of `a`; two that are swapped count once.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (rows[i - 1][j - 1] + same).min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_close_are_asked_for() {
        let known = ["Mixed", "orders", "id", "md5"];
        let hint = |name| hint(name, known.into_iter());
        assert_eq!(hint("mixed"), "; did you mean \"Mixed\"? A name with capital letters stands in double quotes");
        assert_eq!(hint("order"), "; did you mean orders?");
        assert_eq!(hint("odrers"), "; did you mean orders?");
        assert_eq!(hint("mode"), "");
        assert_eq!(hint("x"), "");
    }
}
