//! The order that a query gives its rows, as far as its text shows it.
//!
//! SQL leaves the order of rows open that are equal by all of ORDER BY, and that of all rows without it.

use regex::Regex;

/// Words that may stand behind the list of ORDER BY.
const BEHIND: [&[u8]; 4] = [b"limit", b"offset", b"fetch", b"for"];

/// What the outermost ORDER BY of a query sorts by; `None` without one.
#[must_use]
pub fn sorted_by(sql: &str) -> Option<Vec<String>> {
    let text = masked(sql);
    let (mut start, mut end) = (0, text.len());
    loop {
        while start < end && text[start].is_ascii_whitespace() {
            start += 1;
        }
        while start < end && text[end - 1].is_ascii_whitespace() {
            end -= 1;
        }
        if start == end || text[start] != b'(' || closed_at(&text[start..end]) != Some(end - start - 1) {
            break;
        }
        (start, end) = (start + 1, end - 1);
    }
    let words = outer_words(&text[start..end]);
    let is = |index: usize, word: &[u8]| words.get(index).is_some_and(|(_, found)| *found == word);
    let order = (0..words.len()).rev().find(|&index| is(index, b"order") && is(index + 1, b"by"))?;
    let from = start + words[order + 1].0 + 2;
    let behind = words[order + 2..].iter().find(|(_, word)| BEHIND.contains(word));
    let to = behind.map_or(end, |(at, _)| start + at);
    Some(items(&text[from..to]).into_iter().map(|(a, b)| sql[from + a..from + b].trim().to_owned()).collect())
}

/// The places in `heading` of what a query sorts by; `None` where something else than a column of its result is among them.
///
/// # Panics
/// Never: the patterns are right.
#[must_use]
pub fn keys(sql: &str, sorted_by: &[String], heading: &[Option<String>]) -> Option<Vec<usize>> {
    let regex = |pattern: &str| Regex::new(pattern).expect("the pattern is right");
    let direction = regex(r"(?is)(\s+using\s+\S+|\s+asc|\s+desc)?(\s+nulls\s+(first|last))?$");
    let name = regex(r#"(?is)^(?:(?:\w+|"[^"]+")\.)*(\w+|"[^"]+")$"#);
    let place = |item: &String| {
        let item = direction.replace(item, "");
        if let Ok(number) = item.parse::<usize>() {
            return number.checked_sub(1).filter(|&place| place < heading.len());
        }
        let found = name.captures(&item)?;
        // A name with a table is a column of the result if the list of SELECT has it so.
        if item.contains('.') && sql.matches(&*item).count() < 2 {
            return None;
        }
        let wanted = match found[1].strip_prefix('"') {
            Some(quoted) => quoted.trim_end_matches('"').to_owned(),
            None => found[1].to_ascii_lowercase(),
        };
        let mut places = (0..heading.len()).filter(|&place| heading[place].as_ref() == Some(&wanted));
        places.next().filter(|_| places.next().is_none())
    };
    sorted_by.iter().map(place).collect()
}

/// The text in lower case, with blanks for comments, texts and quoted names.
fn masked(sql: &str) -> Vec<u8> {
    let mut text = sql.to_ascii_lowercase().into_bytes();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let skipped = match rest[0] {
            b'\'' => {
                let escapes = at > 0 && text[at - 1] == b'e';
                let mut end = 1;
                while end < rest.len() && rest[end] != b'\'' {
                    end += if escapes && rest[end] == b'\\' { 2 } else { 1 };
                }
                end + 1
            }
            b'"' => 2 + rest[1..].iter().take_while(|&&byte| byte != b'"').count(),
            b'-' if rest.starts_with(b"--") => rest.iter().take_while(|&&byte| byte != b'\n').count(),
            b'/' if rest.starts_with(b"/*") => {
                rest.windows(2).position(|two| two == b"*/").map_or(rest.len(), |at| at + 2)
            }
            _ => {
                at += 1;
                continue;
            }
        };
        let end = text.len().min(at + skipped);
        text[at..end].fill(b' ');
        at = end;
    }
    text
}

/// Where the parenthesis that `text` begins with is closed.
fn closed_at(text: &[u8]) -> Option<usize> {
    let mut depth = 0_i32;
    text.iter().position(|byte| {
        depth += i32::from(*byte == b'(') - i32::from(*byte == b')');
        depth == 0
    })
}

/// The words outside of parentheses, and where they begin.
fn outer_words(text: &[u8]) -> Vec<(usize, &[u8])> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let (mut words, mut depth, mut at) = (Vec::new(), 0_i32, 0);
    while at < text.len() {
        depth += i32::from(text[at] == b'(') - i32::from(text[at] == b')');
        let length = text[at..].iter().take_while(|byte| is_word(byte)).count();
        if length > 0 && depth == 0 {
            words.push((at, &text[at..at + length]));
        }
        at += length.max(1);
    }
    words
}

/// Where the parts of a list begin and end.
fn items(text: &[u8]) -> Vec<(usize, usize)> {
    let (mut items, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, byte) in text.iter().enumerate() {
        depth += i32::from(matches!(byte, b'(' | b'[')) - i32::from(matches!(byte, b')' | b']'));
        if *byte == b',' && depth == 0 {
            items.push((start, at));
            start = at + 1;
        }
    }
    items.push((start, text.len()));
    items
}

#[cfg(test)]
mod tests {
    use super::{keys, sorted_by};

    fn places(sql: &str, heading: &[&str]) -> Option<Vec<usize>> {
        let heading: Vec<_> = heading.iter().map(|name| Some((*name).to_owned())).collect();
        keys(sql, &sorted_by(sql)?, &heading)
    }

    #[test]
    fn the_outermost_order_counts() {
        let order = |sql| sorted_by(sql).map(|items| items.join("|"));
        assert_eq!(order("select a from t -- order by x :-)\n"), None);
        assert_eq!(order("select sum(a) over (order by b) from t"), None);
        assert_eq!(order("(select a from t order by 1) union all select 2"), None);
        assert_eq!(order("((select a from t order by a desc limit 2))").as_deref(), Some("a desc"));
        assert_eq!(
            order("select 'order by' from t order by f(a, b), \"c\" fetch first row only").as_deref(),
            Some("f(a, b)|\"c\"")
        );
    }

    #[test]
    fn keys_are_columns_of_the_result() {
        assert_eq!(places("select b, a from t order by a desc nulls first, 1", &["b", "a"]), Some(vec![1, 0]));
        assert_eq!(places("select t.a from t order by t.a using <", &["a"]), Some(vec![0]));
        assert_eq!(places("select b as a from t order by t.a", &["a"]), None);
        assert_eq!(places("select a from t order by a + 1", &["a"]), None);
        assert_eq!(places("select a, 1 as a from t order by a", &["a", "a"]), None);
    }
}
