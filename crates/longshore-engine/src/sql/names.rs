//! Names as PostgreSQL understands them: unquoted ones fold to lower case, quoted ones stay as they are.
//!
//! What a schema holds has one text for a name everywhere behind the parser ([`in_schema`]): in `public` its own name, in
//! another schema the name of that, a zero byte, and its own. No name that is written has a zero byte. Messages show a period
//! instead, and SQL that is built of names has both parts.

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use sqlparser::tokenizer::Token;

use crate::Error;
pub(crate) use crate::error::SEPARATOR;
use crate::error::shown_names;

/// The only catalog there is.
pub(crate) const CATALOG: &str = "longshore";
/// The first superuser, if it is not called otherwise.
pub(crate) const USER: &str = crate::config::SUPERUSER;
/// The schema that there is from the beginning.
pub(crate) const SCHEMA: &str = "public";

/// Characters of a name, at most; PostgreSQL cuts at 63 bytes, we refuse.
const NAME_BYTES_MAX: usize = 255;

/// The name that an identifier stands for.
pub(crate) fn identifier(ident: &Ident) -> Result<String, Error> {
    let name = match ident.quote_style {
        None => ident.value.to_lowercase(),
        Some('"') => ident.value.clone(),
        Some(_) => {
            return Err(Error::syntax(format!(
                "{ident} is a text, where a name is expected; write \"{}\"",
                ident.value
            )));
        }
    };
    if name.is_empty() {
        return Err(Error::invalid("a name must have at least one character"));
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(Error::invalid(format!(
            "the name {name} has {} bytes; at most {NAME_BYTES_MAX} are allowed",
            name.len()
        )));
    }
    if name.contains('\0') {
        return Err(Error::invalid("a name must not contain a zero byte"));
    }
    Ok(name)
}

/// `name`, or with the least number behind it that makes it one that is not taken.
pub(crate) fn unused(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (1_u32..).map(|number| format!("{name}{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !is_taken(name)).expect("numbers do not run out")
}

/// The name of what is called `name` in a schema.
pub(crate) fn in_schema(schema: &str, name: &str) -> String {
    if schema == SCHEMA { name.to_owned() } else { written_in(schema, name) }
}

fn written_in(schema: &str, name: &str) -> String {
    format!("{schema}{SEPARATOR}{name}")
}

/// The schema and the name in it that a name consists of.
pub(crate) fn parts(name: &str) -> (&str, &str) {
    name.split_once(SEPARATOR).unwrap_or((SCHEMA, name))
}

/// The name without its schema.
pub(crate) fn own(name: &str) -> &str {
    parts(name).1
}

/// A name as a message shows it: with its schema, unless that is `public` or that of temporary tables.
pub(crate) fn shown_name(name: &str) -> String {
    shown_names(name)
}

/// The table, view, sequence or type that `name` stands for where no search path counts; `public.t` is `t`.
pub(crate) fn relation(name: &ObjectName) -> Result<String, Error> {
    Ok(plain(&written(name)?))
}

/// What a name as it was written stands for where no search path counts.
pub(crate) fn plain(written: &str) -> String {
    let (schema, own) = parts(written);
    in_schema(schema, own)
}

/// The same, but with the schema `public` where it was written, so that it can still be told from a name without one.
pub(crate) fn written(name: &ObjectName) -> Result<String, Error> {
    let part = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(ident) => identifier(ident),
        ObjectNamePart::Function(_) => {
            Err(Error::syntax(format!("{name} is a function call, where the name of a table is expected")))
        }
    };
    match name.0.as_slice() {
        [only] => part(only),
        [schema, last] => Ok(written_in(&part(schema)?, &part(last)?)),
        [catalog, schema, last] if part(catalog)? == CATALOG => Ok(written_in(&part(schema)?, &part(last)?)),
        [_, _, _] => Err(Error::unsupported(format!(
            "cross-database references are not implemented: {name}; the database is called {CATALOG}"
        ))),
        _ => Err(Error::syntax(format!("improper relation name (too many dotted names): {name}"))),
    }
}

/// `name` as SQL text that reads back as `name`: quoted unless that is clearly not needed.
pub(crate) fn quoted(name: &str) -> String {
    if let Some((schema, own)) = name.split_once(SEPARATOR) {
        return format!("{}.{}", quoted(schema), quoted(own));
    }
    let is_keyword = || sqlparser::keywords::ALL_KEYWORDS.binary_search(&name.to_ascii_uppercase().as_str()).is_ok();
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && (name == SCHEMA || !is_keyword());
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// `text` as an SQL string literal.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A token as a message shows it.
pub(crate) fn shown(token: &Token) -> String {
    match token {
        Token::EOF => "the end of the statement".to_owned(),
        token => format!("\"{token}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unquoted_names_fold() {
        assert_eq!(identifier(&Ident::new("LineItem")).unwrap(), "lineitem");
        assert_eq!(identifier(&Ident::with_quote('"', "LineItem")).unwrap(), "LineItem");
        assert!(identifier(&Ident::with_quote('\'', "f.csv")).is_err());
        assert!(identifier(&Ident::with_quote('"', "")).is_err());
    }

    #[test]
    fn schemas_other_than_public_are_part_of_the_name() {
        let name = |parts: &[&str]| ObjectName::from(parts.iter().map(|p| Ident::new(*p)).collect::<Vec<_>>());
        assert_eq!(relation(&name(&["T"])).unwrap(), "t");
        assert_eq!(relation(&name(&["PUBLIC", "T"])).unwrap(), "t");
        assert_eq!(relation(&name(&["longshore", "public", "t"])).unwrap(), "t");
        assert_eq!(relation(&name(&["other", "T"])).unwrap(), in_schema("other", "t"));
        assert_eq!(parts(&in_schema("other", "t")), ("other", "t"));
        assert_eq!(parts("t"), ("public", "t"));
        assert_eq!(quoted(&in_schema("Other", "t")), "\"Other\".t");
        assert!(relation(&name(&["db", "public", "t"])).is_err());
    }

    #[test]
    fn quoting_reads_back() {
        assert_eq!(quoted("l_tax"), "l_tax");
        assert_eq!(quoted("select"), "\"select\"");
        assert_eq!(quoted("Tax"), "\"Tax\"");
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
        assert_eq!(quoted("1a"), "\"1a\"");
        assert_eq!(literal("it's"), "'it''s'");
    }
}
