//! Names of columns: never empty, never twice.

use std::collections::{HashMap, HashSet};

/// The names with `column1`, `column2` and so on for empty ones, and `_2`, `_3` and so on behind those that occur
/// before. Otherwise names stay as they are. With `normalize`, each is [`normalized`] first.
#[must_use]
pub fn unique(names: impl IntoIterator<Item = String>, normalize: bool) -> Vec<String> {
    let names: Vec<String> = names
        .into_iter()
        .map(|name| if normalize { normalized(&name) } else { name })
        .enumerate()
        .map(|(index, name)| if name.trim().is_empty() { format!("column{}", index + 1) } else { name })
        .collect();
    // A suffix must not make a name that another column has by itself.
    let reserved: HashSet<String> = names.iter().cloned().collect();
    let mut taken = HashSet::new();
    let mut next_suffix: HashMap<String, usize> = HashMap::new();
    names
        .into_iter()
        .map(|name| {
            if taken.insert(name.clone()) {
                return name;
            }
            let suffix = next_suffix.entry(name.clone()).or_insert(2);
            loop {
                let candidate = format!("{name}_{suffix}");
                *suffix += 1;
                if !reserved.contains(&candidate) && taken.insert(candidate.clone()) {
                    return candidate;
                }
            }
        })
        .collect()
}

/// The name in lower case, with an underscore for everything but letters and digits, and before a digit at its start.
#[must_use]
pub fn normalized(name: &str) -> String {
    let mut normal = String::new();
    for character in name.trim().chars() {
        if character.is_alphanumeric() {
            normal.extend(character.to_lowercase());
        } else if !normal.is_empty() && !normal.ends_with('_') {
            normal.push('_');
        }
    }
    normal.truncate(normal.trim_end_matches('_').len());
    if normal.starts_with(|first: char| first.is_ascii_digit()) {
        normal.insert(0, '_');
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_neither_empty_nor_twice() {
        let names = ["a", "", "A", "a_2", "a", " b ", "a"].map(str::to_owned);
        assert_eq!(unique(names, false), ["a", "column2", "A", "a_2", "a_3", " b ", "a_4"]);
    }

    #[test]
    fn normal_names_need_no_quotes() {
        let names = ["Order Date", "2nd", "Größe (m)", "%"].map(str::to_owned);
        assert_eq!(unique(names, true), ["order_date", "_2nd", "größe_m", "column4"]);
    }
}
