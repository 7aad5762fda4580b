//! The dialect of texts whose columns are known: `COPY t FROM 'file' (AUTO)` where there is a table.
//!
//! The table's columns win: their types are taken as they are, and the head of the first text tells how values of them
//! are written. Fields go to columns by the names in a header if all of them are columns' names, and in their order if
//! none is; what lies between is refused, since a guess could put values into wrong columns. Not here: finding out
//! (`longshore-format::sniff`), columns that nobody gave (`infer`).

use std::sync::Arc;

use longshore_format::sniff::{Column as Found, Sniffed, sniff};
use longshore_load::{
    Control, DateTimeFormat, FieldNames, FieldTarget, Header, OtherFields, TextOptions, ValueOptions, found_options,
};
use longshore_storage::{Column, ColumnType};

use super::column_mapping::ColumnMapping;
use super::given::sniffing;
use super::input::TextInput;
use super::sources::TextSources;
use super::{explain, notices};
use crate::Error;
use crate::sql::options::{Format, Options};

/// How fields find their columns.
enum FieldMapping {
    /// In their order.
    ByPlace(Vec<Option<FieldTarget>>),
    /// By the names in the header.
    ByName(FieldNames),
}

/// How to read `texts`, whose fields go to the columns `wanted`, by what their head tells.
pub(super) fn plan(
    texts: TextSources,
    options: &Options,
    wanted: &ColumnMapping<'_>,
    control: &Control,
) -> Result<(Vec<TextInput>, TextOptions), Error> {
    let name = texts.name();
    let (head, at_end, texts) = texts.with_head(options, control)?;
    let given = sniffing(options, &head)?;
    let sniffed = sniff(&head, at_end, &given);
    if let Some(format) = Format::of_keys(sniffed.family.value) {
        return texts.plan_as_said(&options.taken_for(format, sniffed.family.value.json_layout()), wanted, control);
    }
    if sniffed.columns.is_empty() {
        return texts.plan_as_said(options, wanted, control);
    }
    let mapping = mapping(&sniffed, options, wanted)
        .map_err(|problem| Error::invalid(format!("{name}: {problem} {}", explain::shown(&sniffed))))?;
    let types: Vec<_> = wanted.columns.iter().map(|column| (column.name.clone(), column.column_type)).collect();
    let mut text = found_options(&sniffed, &options.text_without_language(&types), !options.strict)?;
    if let Some(notice) = notices::notice(&sniffed, &[], &[], &name) {
        control.notice(notice);
    }
    for (found, column) in assigned(&sniffed, &mapping, wanted) {
        spell(&mut text.values, found, column);
    }
    let mut inputs = texts.inputs(options, wanted.computed);
    match mapping {
        FieldMapping::ByPlace(fields) => inputs.iter_mut().for_each(|input| input.fields.clone_from(&fields)),
        FieldMapping::ByName(names) => {
            text.header = Header::Skip;
            let names = Arc::new(names);
            for input in &mut inputs {
                input.names = Some(Arc::clone(&names));
            }
        }
    }
    Ok((inputs, text))
}

fn mapping(sniffed: &Sniffed, options: &Options, wanted: &ColumnMapping<'_>) -> Result<FieldMapping, String> {
    let found: Vec<String> = sniffed.columns.iter().map(|column| column.name.clone()).collect();
    let by_place =
        || FieldMapping::ByPlace((0..found.len()).map(|index| Some(wanted.target(options, index))).collect());
    let fits = found.len() == wanted.columns.len();
    let has_names = sniffed.header.value;
    if wanted.are_listed && fits && !options.union_by_name {
        return Ok(by_place());
    }
    if has_names {
        let names = |others| options.names_in_header(wanted.targets(options), others);
        let known = names(OtherFields::ReadOver).fields(&found)?.iter().flatten().count();
        match names(wanted.others()).fields(&found) {
            Ok(_) if known > 0 => return Ok(FieldMapping::ByName(names(wanted.others()))),
            Err(problem) if known > 0 || options.union_by_name => return Err(problem),
            _ => {}
        }
    }
    let expected: Vec<&str> = wanted.columns.iter().map(|column| column.name.as_str()).collect();
    if options.union_by_name {
        return Err("no header was found, by whose names columns could be found (UNION_BY_NAME)".to_owned());
    }
    if fits {
        return Ok(by_place());
    }
    Err(format!(
        "{} fields were found ({}), where {} are expected: {}; list the columns of the file, as in COPY t (a, b) FROM",
        found.len(),
        found.join(", "),
        expected.len(),
        expected.join(", ")
    ))
}

/// What was found of each field, with the column that it goes to.
fn assigned<'a>(
    sniffed: &'a Sniffed,
    mapping: &FieldMapping,
    wanted: &'a ColumnMapping<'_>,
) -> Vec<(&'a Found, &'a Column)> {
    let fields = match mapping {
        FieldMapping::ByPlace(fields) => fields.clone(),
        FieldMapping::ByName(names) => {
            let header: Vec<String> = sniffed.columns.iter().map(|column| column.name.clone()).collect();
            names.fields(&header).unwrap_or_default()
        }
    };
    let column = |target: &FieldTarget| wanted.places.iter().position(|place| *place == target.column);
    let pairs = sniffed.columns.iter().zip(&fields);
    pairs.filter_map(|(found, field)| Some((found, wanted.columns[column(field.as_ref()?)?]))).collect()
}

/// How the values of `column` are written, where the sample tells and the user did not.
fn spell(values: &mut ValueOptions, found: &Found, column: &Column) {
    let is_text = matches!(column.column_type, ColumnType::Text | ColumnType::Varchar(_) | ColumnType::Char(_));
    let decision = &found.decision;
    let format = decision.value_type.layout().map(longshore_format::sniff::types::Layout::format);
    let is_said = match column.column_type.unrounded() {
        ColumnType::Date => values.date_format.is_some(),
        ColumnType::Timestamp | ColumnType::TimestampTz => values.timestamp_format.is_some(),
        _ => true,
    };
    let format = format.filter(|_| !is_said).and_then(|format| DateTimeFormat::new(&[format]).ok());
    let nulls: Vec<String> = decision.null_texts.iter().map(|text| (*text).to_owned()).collect();
    let has_nulls = !is_text && (!nulls.is_empty() || decision.quoted_nulls);
    if format.is_none() && !has_nulls {
        return;
    }
    let usual = values.nulls.clone();
    let own = values.columns.entry(column.name.clone()).or_default();
    if let Some(format) = format {
        own.format.get_or_insert(format);
    }
    if has_nulls {
        own.nulls.get_or_insert(usual).extend(nulls);
        own.quoted_nulls = own.quoted_nulls.or(decision.quoted_nulls.then_some(true));
    }
}
