//! A path as text, as PostgreSQL writes it.

use std::fmt::Write as _;

use super::{Chain, Comparison, Flags, Item, LAST_LEVEL, Path, symbol};
use crate::arithmetic::Operation;
use crate::value::{Value, escape};

pub(super) fn text(path: &Path) -> String {
    let mut out = String::from(if path.is_lax { "" } else { "strict " });
    write(&path.chain, true, &mut out);
    out
}

/// Appends `chain`; operators have parentheses around them if `is_bracketed`.
fn write(chain: &[Item], is_bracketed: bool, out: &mut String) {
    for (at, item) in chain.iter().enumerate() {
        let is_bracketed = at > 0 || is_bracketed;
        write_item(item, at + 1 < chain.len(), is_bracketed, out);
    }
}

fn write_item(item: &Item, has_next: bool, is_bracketed: bool, out: &mut String) {
    match item {
        Item::Root => out.push('$'),
        Item::Current => out.push('@'),
        Item::Last => out.push_str("last"),
        Item::Literal(Value::Number(number)) if has_next => {
            // Writing to memory cannot fail.
            let _ = write!(out, "({number})");
        }
        Item::Literal(value) => value.write(out),
        Item::Variable(name) => {
            out.push('$');
            escape(name, out);
        }
        Item::Member(name) => {
            out.push('.');
            escape(name, out);
        }
        Item::AnyMember => out.push_str(".*"),
        Item::AnyElement => out.push_str("[*]"),
        Item::Elements(subscripts) => {
            out.push('[');
            for (at, (from, to)) in subscripts.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(from, false, out);
                if let Some(to) = to {
                    out.push_str(" to ");
                    write(to, false, out);
                }
            }
            out.push(']');
        }
        Item::Descend { first, last } => write_levels(*first, *last, out),
        Item::Filter(condition) => wrapped("?(", condition, ")", out),
        Item::Method(method) => {
            let _ = write!(out, ".{}()", method.name());
        }
        Item::Plus(value) => signed('+', value, item, is_bracketed, out),
        Item::Minus(value) => signed('-', value, item, is_bracketed, out),
        Item::Not(condition) => wrapped("!(", condition, ")", out),
        Item::IsUnknown(condition) => wrapped("(", condition, ") is unknown", out),
        Item::Exists(value) => wrapped("exists (", value, ")", out),
        Item::Arithmetic(operation, left, right) => {
            let symbol = symbol(*operation);
            binary(&symbol.to_string(), (left, right), item, is_bracketed, out);
        }
        Item::And(left, right) => binary("&&", (left, right), item, is_bracketed, out),
        Item::Or(left, right) => binary("||", (left, right), item, is_bracketed, out),
        Item::Compare(comparison, left, right) => {
            binary(comparison_symbol(*comparison), (left, right), item, is_bracketed, out);
        }
        Item::StartsWith(left, right) => binary("starts with", (left, right), item, is_bracketed, out),
        Item::LikeRegex { value, pattern, flags, .. } => {
            out.push_str(if is_bracketed { "(" } else { "" });
            operand(value, item, out);
            out.push_str(" like_regex ");
            escape(pattern, out);
            write_flags(*flags, out);
            out.push_str(if is_bracketed { ")" } else { "" });
        }
    }
}

fn wrapped(before: &str, chain: &Chain, behind: &str, out: &mut String) {
    out.push_str(before);
    write(chain, false, out);
    out.push_str(behind);
}

fn signed(sign: char, value: &Chain, item: &Item, is_bracketed: bool, out: &mut String) {
    out.push_str(if is_bracketed { "(" } else { "" });
    out.push(sign);
    operand(value, item, out);
    out.push_str(if is_bracketed { ")" } else { "" });
}

fn binary(symbol: &str, (left, right): (&Chain, &Chain), item: &Item, is_bracketed: bool, out: &mut String) {
    out.push_str(if is_bracketed { "(" } else { "" });
    operand(left, item, out);
    let _ = write!(out, " {symbol} ");
    operand(right, item, out);
    out.push_str(if is_bracketed { ")" } else { "" });
}

fn operand(chain: &Chain, of: &Item, out: &mut String) {
    let binds_less = chain.first().is_some_and(|first| priority(first) <= priority(of));
    write(chain, binds_less, out);
}

fn priority(item: &Item) -> u8 {
    match item {
        Item::Or(..) => 0,
        Item::And(..) => 1,
        Item::Compare(..) | Item::StartsWith(..) => 2,
        Item::Arithmetic(Operation::Add | Operation::Subtract, ..) => 3,
        Item::Arithmetic(..) => 4,
        Item::Plus(_) | Item::Minus(_) => 5,
        _ => 6,
    }
}

fn comparison_symbol(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "==",
        Comparison::NotEqual => "!=",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}

fn write_levels(first: u32, last: u32, out: &mut String) {
    let _ = match (first, last) {
        (0, LAST_LEVEL) => write!(out, ".**"),
        (LAST_LEVEL, LAST_LEVEL) => write!(out, ".**{{last}}"),
        (first, last) if first == last => write!(out, ".**{{{first}}}"),
        (LAST_LEVEL, last) => write!(out, ".**{{last to {last}}}"),
        (first, LAST_LEVEL) => write!(out, ".**{{{first} to last}}"),
        (first, last) => write!(out, ".**{{{first} to {last}}}"),
    };
}

fn write_flags(flags: Flags, out: &mut String) {
    let all = [
        (flags.ignores_case, 'i'),
        (flags.dot_is_all, 's'),
        (flags.has_lines, 'm'),
        (flags.is_expanded, 'x'),
        (flags.is_quoted, 'q'),
    ];
    let set: String = all.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| *flag).collect();
    if !set.is_empty() {
        let _ = write!(out, " flag \"{set}\"");
    }
}
