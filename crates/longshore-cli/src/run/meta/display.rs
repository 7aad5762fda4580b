//! How results look: `\pset`, and the short commands for parts of it.

use std::fmt::Write as _;

use super::arguments::Arguments;
use super::{Failure, Runner, complaint, on_or_off, truth};
use crate::output::{Expanded, Format};
use crate::run::Paging;

/// What `\pset` knows, sorted.
const NAMES: [&str; 9] =
    ["expanded", "fieldsep", "footer", "format", "null", "pager", "title", "tuples_only", "value_width"];

/// Does what one of these commands says.
pub(super) fn run(runner: &mut Runner, command: &str, arguments: &mut Arguments<'_>) -> Result<(), Failure> {
    let name = match command {
        "\\x" => "expanded".to_owned(),
        "\\t" => "tuples_only".to_owned(),
        "\\f" => "fieldsep".to_owned(),
        "\\C" => "title".to_owned(),
        "\\a" => {
            let format = if runner.look.format == Format::Table { Format::Unaligned } else { Format::Table };
            runner.look.format = format;
            say(runner, "format");
            return Ok(());
        }
        _ => match arguments.name(runner)? {
            Some(name) => name,
            None => return runner.show_text(&all(runner)),
        },
    };
    let value = if name == "null" || name == "fieldsep" { arguments.next(runner)? } else { arguments.name(runner)? };
    set(runner, &name, value)?;
    say(runner, &name);
    Ok(())
}

/// Sets `name`; without a value, a switch is turned.
fn set(runner: &mut Runner, name: &str, value: Option<String>) -> Result<(), Failure> {
    let switch = |value: Option<&str>, before: bool| match value {
        None => Ok(!before),
        Some(word) => truth(word).ok_or_else(|| complaint(&format!("\\pset {name} {word}: neither on nor off"))),
    };
    let given = value.as_deref();
    let look = &mut runner.look;
    match name {
        "format" => {
            if let Some(name) = given {
                look.format = Format::named(name).ok_or_else(|| unknown_format(name))?;
            }
        }
        "expanded" | "x" | "vertical" => {
            look.expanded = match given {
                Some("auto") => Expanded::Auto,
                other if switch(other, look.expanded == Expanded::On)? => Expanded::On,
                _ => Expanded::Off,
            };
        }
        "tuples_only" | "t" => look.tuples_only = switch(given, look.tuples_only)?,
        "footer" => look.footer = switch(given, look.footer)?,
        "fieldsep" => look.field_separator = value.unwrap_or_else(|| "|".to_owned()),
        "fieldsep_zero" => "\0".clone_into(&mut look.field_separator),
        "null" => look.null = value,
        "title" | "C" => look.title = value,
        "pager" => {
            runner.paging = match given {
                Some("always") => Paging::Always,
                other if switch(other, runner.paging != Paging::Off)? => Paging::Long,
                _ => Paging::Off,
            };
        }
        "value_width" => {
            look.value_width = match given {
                None | Some("off") => None,
                Some(number) => Some(number.parse().map_err(|_| {
                    complaint(&format!("\\pset value_width {number}: a number of characters is expected, or off"))
                })?),
            };
        }
        other => {
            return Err(complaint(&format!("\\pset {other} is not known; there are {}", NAMES.join(", "))));
        }
    }
    Ok(())
}

fn unknown_format(name: &str) -> Failure {
    complaint(&format!(
        "\\pset format {name}: not known; the formats are table, unaligned, csv, tsv, json, jsonl, markdown, vertical"
    ))
}

fn say(runner: &Runner, name: &str) {
    let look = &runner.look;
    let text = match name {
        "format" => format!("Output format is {}.", look.format.name()),
        "expanded" | "x" | "vertical" => match look.expanded {
            Expanded::On => "Expanded display is on.".to_owned(),
            Expanded::Off => "Expanded display is off.".to_owned(),
            Expanded::Auto => "Expanded display is used automatically.".to_owned(),
        },
        "tuples_only" | "t" => format!("Tuples only is {}.", on_or_off(look.tuples_only)),
        "footer" => format!("Default footer is {}.", on_or_off(look.footer)),
        "fieldsep" => format!("Field separator is {:?}.", look.field_separator),
        "fieldsep_zero" => "Field separator is zero byte.".to_owned(),
        "null" => match &look.null {
            Some(null) => format!("Null display is {null:?}."),
            None => "Null display is that of the format.".to_owned(),
        },
        "title" | "C" => match &look.title {
            Some(title) => format!("Title is {title:?}."),
            None => "Title is unset.".to_owned(),
        },
        "pager" => match runner.paging {
            Paging::Off => "Pager usage is off.".to_owned(),
            Paging::Long => "Pager is used for long output.".to_owned(),
            Paging::Always => "Pager is always used.".to_owned(),
        },
        _ => match look.value_width {
            Some(width) => format!("Values are cut behind {width} characters."),
            None => "Values are shown whole.".to_owned(),
        },
    };
    runner.remark(&text);
}

/// All settings with their values.
fn all(runner: &Runner) -> String {
    let look = &runner.look;
    let value = |name: &str| match name {
        "expanded" => match look.expanded {
            Expanded::On => "on".to_owned(),
            Expanded::Off => "off".to_owned(),
            Expanded::Auto => "auto".to_owned(),
        },
        "fieldsep" => format!("{:?}", look.field_separator),
        "footer" => on_or_off(look.footer).to_owned(),
        "format" => look.format.name().to_owned(),
        "null" => look.null.as_ref().map_or_else(String::new, |null| format!("{null:?}")),
        "pager" => match runner.paging {
            Paging::Off => "off".to_owned(),
            Paging::Long => "on".to_owned(),
            Paging::Always => "always".to_owned(),
        },
        "title" => look.title.clone().unwrap_or_default(),
        "tuples_only" => on_or_off(look.tuples_only).to_owned(),
        _ => look.value_width.map_or_else(|| "off".to_owned(), |width| width.to_string()),
    };
    NAMES.iter().fold(String::new(), |mut text, name| {
        let _ = writeln!(text, "{name:<12} {}", value(name));
        text
    })
}
