//! Where in the text of a statement an error is: found by what its message says, since most errors are made where the text is
//! not at hand.

use super::ErrorKind;

/// The place in `sql`, in characters from 1.
pub(super) fn of(kind: ErrorKind, message: &str, sql: &str) -> Option<usize> {
    match kind {
        ErrorKind::Syntax => of_syntax(message, sql),
        ErrorKind::NoColumn | ErrorKind::NotFound | ErrorKind::NoFunction | ErrorKind::Ambiguous => {
            let name = named(message)?;
            find(&name, sql)
        }
        _ => None,
    }
}

/// The place of `line 1, column 8`; at the end of the text where the message says that it ends too early.
fn of_syntax(message: &str, sql: &str) -> Option<usize> {
    let number = |text: &str| {
        let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
        text[..digits].parse::<usize>().ok().filter(|number| *number > 0)
    };
    let place = message.split_once(" at line ").and_then(|(_, rest)| {
        let (line, rest) = rest.split_once(", column ")?;
        Some((number(line)?, number(rest)?))
    });
    let Some((line, column)) = place else {
        return message.ends_with("found the end").then(|| sql.chars().count() + 1);
    };
    let before: usize = sql.split_inclusive('\n').take(line - 1).map(|line| line.chars().count()).sum();
    Some(before + column)
}

/// The name that nothing is known by, without its schema or table.
fn named(message: &str) -> Option<String> {
    let quoted = message.split_once('"').and_then(|(_, rest)| rest.split_once('"')).map(|(name, _)| name);
    let behind = |word: &str| message.strip_prefix(word).and_then(|rest| rest.split([' ', '(', ';', ',']).next());
    let name =
        quoted.or_else(|| ["table ", "relation ", "column ", "function "].iter().find_map(|word| behind(word)))?;
    let own = name.rsplit('.').next().unwrap_or(name);
    (!own.is_empty()).then(|| own.to_owned())
}

/// The first place where a name stands in a statement, outside of texts and comments; with what qualifies it.
fn find(name: &str, sql: &str) -> Option<usize> {
    let characters: Vec<char> = sql.chars().collect();
    let wanted: Vec<char> = name.chars().collect();
    let is_of_name = |character: char| character.is_alphanumeric() || character == '_' || character == '$';
    let mut at = 0;
    while at < characters.len() {
        match characters[at] {
            '\'' => {
                at += 1;
                while at < characters.len() && characters[at] != '\'' {
                    at += 1;
                }
            }
            '-' if characters.get(at + 1) == Some(&'-') => {
                while at < characters.len() && characters[at] != '\n' {
                    at += 1;
                }
            }
            '"' => {
                let end = (at + 1..characters.len()).find(|end| characters[*end] == '"')?;
                if characters[at + 1..end] == wanted[..] {
                    return Some(begin(&characters, at) + 1);
                }
                at = end;
            }
            character if is_of_name(character) => {
                let end = (at..characters.len()).find(|end| !is_of_name(characters[*end])).unwrap_or(characters.len());
                let word: String = characters[at..end].iter().collect();
                if word.to_lowercase() == name {
                    return Some(begin(&characters, at) + 1);
                }
                at = end - 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the qualified name begins whose last part begins at `at`.
fn begin(characters: &[char], at: usize) -> usize {
    let mut begin = at;
    while begin > 1 && characters[begin - 1] == '.' {
        let is_of_name = |character: &char| character.is_alphanumeric() || matches!(character, '_' | '$' | '"');
        let length = characters[..begin - 1].iter().rev().take_while(|character| is_of_name(character)).count();
        if length == 0 {
            break;
        }
        begin -= length + 1;
    }
    begin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_postgresql() {
        let syntax = ErrorKind::Syntax;
        for (kind, message, sql, expected) in [
            (syntax, "syntax error at line 1, column 8: expected an expression, found FROM", "SELECT FROM", Some(8)),
            (syntax, "syntax error at line 2, column 3: expected x, found y", "SELECT 'ä'\n, y", Some(14)),
            (syntax, "syntax error: expected an expression, found the end", "SELECT 1 +", Some(11)),
            (ErrorKind::NoColumn, "column \"x\" does not exist", "SELECT 'x', x FROM t", Some(13)),
            (ErrorKind::NoColumn, "column t.x does not exist", "SELECT t.x FROM t", Some(8)),
            (ErrorKind::NotFound, "table nowhere does not exist", "SELECT * FROM s.nowhere", Some(15)),
            (ErrorKind::NotFound, "relation \"No\" does not exist", "SELECT 1 FROM \"No\"", Some(15)),
            (ErrorKind::NoFunction, "function f(integer) does not exist", "SELECT -- f\n f(1)", Some(14)),
            (ErrorKind::NotFound, "the file x does not exist", "SELECT 1", None),
            (ErrorKind::Data, "syntax error at line 1, column 8", "SELECT 1", None),
        ] {
            assert_eq!(of(kind, message, sql), expected, "{message} in {sql}");
        }
    }
}
