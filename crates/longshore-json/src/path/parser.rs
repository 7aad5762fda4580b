//! Words to a tree.

use regex::RegexBuilder;

use super::lexer::{Token, error_at, tokens};
use super::{Chain, Comparison, Flags, Item, LAST_LEVEL, Method, Path};
use crate::arithmetic::{self, Operation};
use crate::error::{JsonError, Problem};
use crate::number::Number;
use crate::value::Value;

/// Expressions that stand within each other, at most.
const DEPTH_MAX: usize = 500;

pub(super) fn parse(text: &str) -> Result<Path, JsonError> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens, at: 0, depth: 0 };
    if *parser.peek() == Token::End {
        let message = format!("invalid input syntax for type jsonpath: \"{text}\"");
        return Err(JsonError::new(Problem::InvalidText, message));
    }
    let is_strict = parser.word("strict");
    let is_lax = !is_strict;
    if is_lax {
        parser.word("lax");
    }
    let chain = parser.or()?;
    if *parser.peek() != Token::End {
        return Err(parser.unexpected());
    }
    check(&chain, 0, false)?;
    Ok(Path { is_lax, chain })
}

/// Refuses `@` outside of filters, and `last` outside of subscripts.
fn check(chain: &[Item], filters: usize, in_subscript: bool) -> Result<(), JsonError> {
    let syntax = |message: &str| Err(JsonError::new(Problem::PathSyntax, message));
    for item in chain {
        match item {
            Item::Current if filters == 0 => return syntax("@ is not allowed in root expressions"),
            Item::Last if !in_subscript => return syntax("LAST is allowed only in array subscripts"),
            Item::Elements(subscripts) => {
                for (from, to) in subscripts {
                    check(from, filters, true)?;
                    to.as_ref().map_or(Ok(()), |to| check(to, filters, true))?;
                }
            }
            Item::Filter(condition) => check(condition, filters + 1, in_subscript)?,
            Item::Plus(chain)
            | Item::Minus(chain)
            | Item::Not(chain)
            | Item::IsUnknown(chain)
            | Item::Exists(chain)
            | Item::LikeRegex { value: chain, .. } => check(chain, filters, in_subscript)?,
            Item::Arithmetic(_, left, right)
            | Item::And(left, right)
            | Item::Or(left, right)
            | Item::Compare(_, left, right)
            | Item::StartsWith(left, right) => {
                check(left, filters, in_subscript)?;
                check(right, filters, in_subscript)?;
            }
            _ => {}
        }
    }
    Ok(())
}

struct Parser<'a> {
    tokens: Vec<(Token, &'a str)>,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn or(&mut self) -> Result<Chain, JsonError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(JsonError::too_deep());
        }
        let mut left = self.and()?;
        while *self.peek() == Token::Mark("||") {
            self.predicate(&left)?;
            self.at += 1;
            let right = self.and()?;
            self.predicate(&right)?;
            left = vec![Item::Or(left, right)];
        }
        self.depth -= 1;
        Ok(left)
    }

    fn and(&mut self) -> Result<Chain, JsonError> {
        let mut left = self.comparison()?;
        while *self.peek() == Token::Mark("&&") {
            self.predicate(&left)?;
            self.at += 1;
            let right = self.comparison()?;
            self.predicate(&right)?;
            left = vec![Item::And(left, right)];
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Chain, JsonError> {
        let left = self.sum()?;
        let comparison = match self.peek() {
            Token::Mark("==") => Some(Comparison::Equal),
            Token::Mark("<>" | "!=") => Some(Comparison::NotEqual),
            Token::Mark("<") => Some(Comparison::Less),
            Token::Mark("<=") => Some(Comparison::LessOrEqual),
            Token::Mark(">") => Some(Comparison::Greater),
            Token::Mark(">=") => Some(Comparison::GreaterOrEqual),
            _ => None,
        };
        if let Some(comparison) = comparison {
            self.value(&left)?;
            self.at += 1;
            let right = self.sum()?;
            self.value(&right)?;
            return Ok(vec![Item::Compare(comparison, left, right)]);
        }
        if self.word("starts") {
            self.value(&left)?;
            self.keyword("with")?;
            let start = match self.next() {
                Token::String(text) => Item::Literal(Value::String(text)),
                Token::Variable(name) => Item::Variable(name),
                _ => return Err(self.unexpected_before()),
            };
            return Ok(vec![Item::StartsWith(left, vec![start])]);
        }
        if self.word("like_regex") {
            self.value(&left)?;
            return self.like_regex(left);
        }
        Ok(left)
    }

    fn like_regex(&mut self, value: Chain) -> Result<Chain, JsonError> {
        let Token::String(pattern) = self.next() else { return Err(self.unexpected_before()) };
        let mut flags = Flags::default();
        if self.word("flag") {
            let Token::String(text) = self.next() else { return Err(self.unexpected_before()) };
            for flag in text.chars() {
                match flag {
                    'i' => flags.ignores_case = true,
                    's' => flags.dot_is_all = true,
                    'm' => flags.has_lines = true,
                    'x' => flags.is_expanded = true,
                    'q' => flags.is_quoted = true,
                    _ => {
                        return Err(JsonError {
                            problem: Problem::PathSyntax,
                            message: "invalid input syntax for type jsonpath".to_owned(),
                            detail: Some(format!("Unrecognized flag character \"{flag}\" in LIKE_REGEX predicate.")),
                        });
                    }
                }
            }
        }
        if flags.is_expanded && !flags.is_quoted {
            let message = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
            return Err(JsonError::new(Problem::Unsupported, message));
        }
        let source = if flags.is_quoted { regex::escape(&pattern) } else { pattern.clone() };
        let regex = RegexBuilder::new(&source)
            .case_insensitive(flags.ignores_case)
            .dot_matches_new_line(flags.dot_is_all)
            .multi_line(flags.has_lines)
            .build();
        let regex = regex.map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let reason = match reason {
                "unclosed group" | "unopened group" => "parentheses () not balanced",
                "unclosed character class" => "brackets [] not balanced",
                "repetition operator missing expression" => "quantifier operand invalid",
                other => other,
            };
            JsonError::new(Problem::Regex, format!("invalid regular expression: {reason}"))
        })?;
        Ok(vec![Item::LikeRegex { value, pattern, flags, regex }])
    }

    fn sum(&mut self) -> Result<Chain, JsonError> {
        let mut left = self.product()?;
        loop {
            let operation = match self.peek() {
                Token::Mark("+") => Operation::Add,
                Token::Mark("-") => Operation::Subtract,
                _ => return Ok(left),
            };
            left = self.operation(operation, left, Self::product)?;
        }
    }

    fn product(&mut self) -> Result<Chain, JsonError> {
        let mut left = self.unary()?;
        loop {
            let operation = match self.peek() {
                Token::Mark("*") => Operation::Multiply,
                Token::Mark("/") => Operation::Divide,
                Token::Mark("%") => Operation::Remainder,
                _ => return Ok(left),
            };
            left = self.operation(operation, left, Self::unary)?;
        }
    }

    fn operation(
        &mut self,
        operation: Operation,
        left: Chain,
        operand: fn(&mut Self) -> Result<Chain, JsonError>,
    ) -> Result<Chain, JsonError> {
        self.value(&left)?;
        self.at += 1;
        let right = operand(self)?;
        self.value(&right)?;
        Ok(vec![Item::Arithmetic(operation, left, right)])
    }

    fn unary(&mut self) -> Result<Chain, JsonError> {
        let mut signs = Vec::new();
        while let Token::Mark(sign @ ("+" | "-")) = self.peek() {
            signs.push(*sign);
            self.at += 1;
            if signs.len() > DEPTH_MAX {
                return Err(JsonError::too_deep());
            }
        }
        let mut chain = self.accessors()?;
        if !signs.is_empty() {
            self.value(&chain)?;
        }
        for sign in signs.into_iter().rev() {
            chain = match (sign, chain.as_slice()) {
                ("+", [Item::Literal(Value::Number(_))]) => chain,
                (_, [Item::Literal(Value::Number(number))]) => {
                    vec![Item::Literal(Value::Number(arithmetic::negated(number)))]
                }
                ("+", _) => vec![Item::Plus(chain)],
                _ => vec![Item::Minus(chain)],
            };
        }
        Ok(chain)
    }

    fn accessors(&mut self) -> Result<Chain, JsonError> {
        let (mut chain, is_bare_predicate) = self.primary()?;
        if is_bare_predicate {
            return Ok(chain);
        }
        loop {
            let item = match self.peek() {
                Token::Mark("[") => self.subscripts()?,
                Token::Mark(".") => {
                    self.at += 1;
                    self.member()?
                }
                Token::Mark("?") => {
                    self.at += 1;
                    self.mark("(")?;
                    let condition = self.or()?;
                    self.predicate(&condition)?;
                    self.mark(")")?;
                    Item::Filter(condition)
                }
                _ => return Ok(chain),
            };
            chain.push(item);
        }
    }

    /// What a chain begins with, and whether it is a predicate that nothing follows.
    fn primary(&mut self) -> Result<(Chain, bool), JsonError> {
        let literal = |value| Ok((vec![Item::Literal(value)], false));
        match self.next() {
            Token::String(text) => literal(Value::String(text)),
            Token::Integer(text) | Token::Decimal(text) => literal(Value::Number(Number::new(&decimal(&text))?)),
            Token::Variable(name) => Ok((vec![Item::Variable(name)], false)),
            Token::Mark("$") => Ok((vec![Item::Root], false)),
            Token::Mark("@") => Ok((vec![Item::Current], false)),
            Token::Mark("!") => {
                let is_exists = matches!(self.peek(), Token::Word(word) if word.eq_ignore_ascii_case("exists"));
                if !is_exists && *self.peek() != Token::Mark("(") {
                    return Err(self.unexpected());
                }
                let (condition, _) = self.primary()?;
                self.predicate(&condition)?;
                Ok((vec![Item::Not(condition)], true))
            }
            Token::Mark("(") => {
                let inner = self.or()?;
                self.mark(")")?;
                let is_predicate = is_predicate(&inner);
                if is_predicate && self.word("is") {
                    self.keyword("unknown")?;
                    return Ok((vec![Item::IsUnknown(inner)], true));
                }
                Ok((inner, false))
            }
            Token::Word(word) => match word.to_ascii_lowercase().as_str() {
                "null" if word == "null" => literal(Value::Null),
                "true" if word == "true" => literal(Value::Bool(true)),
                "false" if word == "false" => literal(Value::Bool(false)),
                "last" => Ok((vec![Item::Last], false)),
                "exists" => {
                    self.mark("(")?;
                    let value = self.or()?;
                    self.value(&value)?;
                    self.mark(")")?;
                    Ok((vec![Item::Exists(value)], true))
                }
                _ => Err(self.unexpected_before()),
            },
            _ => Err(self.unexpected_before()),
        }
    }

    fn subscripts(&mut self) -> Result<Item, JsonError> {
        self.at += 1;
        if *self.peek() == Token::Mark("*") {
            self.at += 1;
            self.mark("]")?;
            return Ok(Item::AnyElement);
        }
        let mut subscripts = Vec::new();
        loop {
            let from = self.or()?;
            self.value(&from)?;
            let to = if self.word("to") {
                let to = self.or()?;
                self.value(&to)?;
                Some(to)
            } else {
                None
            };
            subscripts.push((from, to));
            match self.next() {
                Token::Mark(",") => {}
                Token::Mark("]") => return Ok(Item::Elements(subscripts)),
                _ => return Err(self.unexpected_before()),
            }
        }
    }

    /// What stands behind a point.
    fn member(&mut self) -> Result<Item, JsonError> {
        match self.next() {
            Token::Mark("*") => Ok(Item::AnyMember),
            Token::Mark("**") => self.levels(),
            Token::Word(name) if *self.peek() == Token::Mark("(") => {
                let lower = name.to_ascii_lowercase();
                if lower == "datetime" {
                    let message = "the jsonpath method .datetime() is not supported";
                    return Err(JsonError::new(Problem::Unsupported, message));
                }
                let method = Method::ALL.iter().find(|(known, _)| *known == lower);
                let Some((_, method)) = method else { return Err(self.unexpected()) };
                self.at += 1;
                self.mark(")")?;
                Ok(Item::Method(*method))
            }
            Token::String(name) | Token::Word(name) => Ok(Item::Member(name)),
            _ => Err(self.unexpected_before()),
        }
    }

    fn levels(&mut self) -> Result<Item, JsonError> {
        if *self.peek() != Token::Mark("{") {
            return Ok(Item::Descend { first: 0, last: LAST_LEVEL });
        }
        self.at += 1;
        let first = self.level()?;
        let last = if self.word("to") { self.level()? } else { first };
        self.mark("}")?;
        Ok(Item::Descend { first, last })
    }

    fn level(&mut self) -> Result<u32, JsonError> {
        if self.word("last") {
            return Ok(LAST_LEVEL);
        }
        let Token::Integer(text) = self.next() else { return Err(self.unexpected_before()) };
        text.parse::<i32>().map(i32::cast_unsigned).map_err(|_| {
            JsonError::new(Problem::OutOfRange, format!("value \"{text}\" is out of range for type integer"))
        })
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        if token != Token::End {
            self.at += 1;
        }
        token
    }

    /// Goes past the word `keyword`, if it comes.
    fn word(&mut self, keyword: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(word) if word.eq_ignore_ascii_case(keyword));
        self.at += usize::from(found);
        found
    }

    fn keyword(&mut self, keyword: &str) -> Result<(), JsonError> {
        if self.word(keyword) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn mark(&mut self, mark: &'static str) -> Result<(), JsonError> {
        if *self.peek() != Token::Mark(mark) {
            return Err(self.unexpected());
        }
        self.at += 1;
        Ok(())
    }

    fn predicate(&self, chain: &Chain) -> Result<(), JsonError> {
        if is_predicate(chain) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn value(&self, chain: &Chain) -> Result<(), JsonError> {
        if is_predicate(chain) { Err(self.unexpected()) } else { Ok(()) }
    }

    fn unexpected(&self) -> JsonError {
        error_at("syntax error", self.tokens[self.at].1)
    }

    fn unexpected_before(&self) -> JsonError {
        let at = if *self.peek() == Token::End { self.at } else { self.at.saturating_sub(1) };
        error_at("syntax error", self.tokens[at].1)
    }
}

fn is_predicate(chain: &Chain) -> bool {
    matches!(chain.as_slice(), [item] if item.is_predicate())
}

/// A number with digits on both sides of its point, as JSON has it.
fn decimal(text: &str) -> String {
    let text = if text.starts_with('.') { format!("0{text}") } else { text.to_owned() };
    text.replace(".e", ".0e").replace(".E", ".0E").trim_end_matches('.').to_owned()
}
