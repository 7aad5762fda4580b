//! Column definitions and CHECK constraints: from the syntax tree to the columns and the rules of a table.
//!
//! Not here: keys (`keys`), whether expressions make sense (`datafusion::rules`), foreign keys.

use longshore_storage::{Column, ColumnType};
use sqlparser::ast::{
    CheckConstraint, ColumnDef, ColumnOption, DataType, Expr, GeneratedAs, Ident, ObjectNamePart, TableConstraint,
};

use crate::catalog::{Check, ColumnRule, Origin, Owner, Rules, Sequence, SequenceDefinition, columns_read, next_of};
use crate::sql::sequence::SequenceOptions;
use crate::sql::{names, types};
use crate::statement::user_types::OWN_QUOTE;
use crate::{Error, ErrorKind};

/// A column as its definition has it.
pub(super) struct Defined {
    pub(super) column: Column,
    pub(super) rule: ColumnRule,
    /// The sequence that it has for itself.
    pub(super) sequence: Option<Sequence>,
}

/// What options of a column say, before it is put together.
#[derive(Default)]
struct Said {
    nullable: Option<bool>,
    not_null: Option<String>,
    default: Option<Expr>,
    identity: Option<(bool, SequenceOptions)>,
    generated: Option<Expr>,
}

/// The column of this definition; `is_taken` says of names whether a table, view or sequence has them.
pub(super) fn column(table: &str, definition: &ColumnDef, is_taken: &dyn Fn(&str) -> bool) -> Result<Defined, Error> {
    let name = names::identifier(&definition.name)?;
    let in_column = |error: Error| error.reworded(|message| format!("column {name}: {message}"));
    let serial = serial_type(&definition.data_type);
    let column_type = match serial {
        Some(column_type) => column_type,
        None => types::column_type(&definition.data_type).map_err(in_column)?,
    };
    let Said { nullable, not_null, default, identity, generated } = said(&name, definition)?;
    let is_key = definition.options.iter().any(|option| matches!(option.option, ColumnOption::PrimaryKey(_)));
    let contradiction = if is_key && nullable == Some(true) {
        "NULL and PRIMARY KEY, which is NOT NULL; leave NULL out"
    } else if (identity.is_some() || serial.is_some()) && nullable == Some(true) {
        "NULL and an identity column or SERIAL, which is NOT NULL; leave NULL out"
    } else if identity.is_some() && default.is_some() {
        "DEFAULT and GENERATED AS IDENTITY; keep one of them"
    } else if generated.is_some() && default.is_some() {
        "GENERATED and has a DEFAULT; keep one of them"
    } else if generated.is_some() && (identity.is_some() || serial.is_some()) {
        "GENERATED and an identity column or SERIAL; keep one of them"
    } else if serial.is_some() && (default.is_some() || identity.is_some()) {
        "SERIAL and has another source of values; keep one of them"
    } else {
        ""
    };
    if !contradiction.is_empty() {
        return Err(Error::invalid(format!("column {name} is both {contradiction}")));
    }
    let own = match &identity {
        Some((_, options)) => Some(options.clone()),
        None => serial.map(|_| SequenceOptions::default()),
    };
    let is_number = matches!(column_type, ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt);
    if own.is_some() && !is_number {
        return Err(Error::invalid(format!(
            "column {name}: identity column type must be SMALLINT, INTEGER or BIGINT, not {column_type}"
        )));
    }
    let sequence = match own {
        None => None,
        Some(options) => {
            let sequence = names::unused(&format!("{table}_{name}_seq"), is_taken);
            let definition = SequenceDefinition::new(&sequence, &options, column_type).map_err(in_column)?;
            let owner = Owner { table: table.to_owned(), column: name.clone() };
            Some(Sequence::new(sequence, definition, Some(owner)))
        }
    };
    let origin = match (&sequence, identity, default) {
        (Some(sequence), Some((always, _)), _) => Origin::Identity { sequence: sequence.name.clone(), always },
        (Some(sequence), None, _) => Origin::Default(Box::new(next_of(&sequence.name))),
        (None, _, Some(expr)) => Origin::Default(Box::new(expr)),
        (None, _, None) => match generated {
            Some(expr) => Origin::Generated(Box::new(expr)),
            None => Origin::Null,
        },
    };
    let nullable = nullable.unwrap_or(sequence.is_none());
    Ok(Defined { column: Column::new(name, column_type, nullable), rule: ColumnRule { origin, not_null }, sequence })
}

fn said(name: &str, definition: &ColumnDef) -> Result<Said, Error> {
    let mut said = Said::default();
    for option in &definition.options {
        let nullable = match &option.option {
            ColumnOption::Null => true,
            ColumnOption::NotNull => {
                if let Some(constraint) = &option.name {
                    said.not_null = Some(names::identifier(constraint)?);
                }
                false
            }
            // Of these, others take care.
            ColumnOption::PrimaryKey(_)
            | ColumnOption::Unique(_)
            | ColumnOption::Check(_)
            | ColumnOption::ForeignKey(_) => continue,
            ColumnOption::Default(expr) => {
                if said.default.replace(expr.clone()).is_some() {
                    return Err(Error::invalid(format!("column {name} has two defaults; keep one of them")));
                }
                continue;
            }
            ColumnOption::Generated {
                generated_as: generated_as @ (GeneratedAs::Always | GeneratedAs::ByDefault),
                sequence_options,
                generation_expr: None,
                generated_keyword: true,
                ..
            } => {
                let options = SequenceOptions::of_identity(name, sequence_options.as_deref().unwrap_or_default())?;
                if said.identity.replace((*generated_as == GeneratedAs::Always, options)).is_some() {
                    return Err(Error::invalid(format!("column {name} is generated twice; keep one of them")));
                }
                continue;
            }
            ColumnOption::Generated {
                generated_as: GeneratedAs::ExpStored,
                generation_expr: Some(expr),
                sequence_options: None,
                ..
            } => {
                if said.generated.replace(expr.clone()).is_some() {
                    return Err(Error::syntax(format!("multiple generation clauses specified for column \"{name}\"")));
                }
                continue;
            }
            other => {
                return Err(Error::unsupported(format!(
                    "column {name}: {} is not supported yet; leave it out",
                    option_name(other)
                )));
            }
        };
        if said.nullable.is_some_and(|earlier| earlier != nullable) {
            return Err(Error::invalid(format!("column {name} is both NULL and NOT NULL; keep one of them")));
        }
        said.nullable = Some(nullable);
    }
    Ok(said)
}

/// The type of the numbers of SERIAL and its like.
fn serial_type(data_type: &DataType) -> Option<ColumnType> {
    let DataType::Custom(name, arguments) = data_type else { return None };
    let [ObjectNamePart::Identifier(name)] = name.0.as_slice() else { return None };
    match name.value.to_ascii_lowercase().as_str() {
        _ if !arguments.is_empty() => None,
        "smallserial" | "serial2" => Some(ColumnType::SmallInt),
        "serial" | "serial4" => Some(ColumnType::Integer),
        "bigserial" | "serial8" => Some(ColumnType::BigInt),
        _ => None,
    }
}

fn option_name(option: &ColumnOption) -> String {
    match option {
        ColumnOption::Generated { .. } => "GENERATED AS (expression) without STORED".to_owned(),
        ColumnOption::Collation(_) => "COLLATE".to_owned(),
        other => other.to_string(),
    }
}

/// Adds the CHECK constraints of columns and of the table to its rules, which have all other constraints already.
pub(super) fn add_checks(
    table: &str,
    columns: &[Column],
    definitions: &[ColumnDef],
    constraints: &[TableConstraint],
    rules: &mut Rules,
) -> Result<(), Error> {
    let of_columns =
        definitions.iter().flat_map(|definition| &definition.options).filter_map(|option| match &option.option {
            ColumnOption::Check(check) => Some((option.name.as_ref().or(check.name.as_ref()), check)),
            _ => None,
        });
    let of_table = constraints.iter().filter_map(|constraint| match constraint {
        TableConstraint::Check(check) => Some((check.name.as_ref(), check)),
        _ => None,
    });
    let all: Vec<(Option<&Ident>, &CheckConstraint)> = of_columns.chain(of_table).collect();
    // Names that were given come first, so that no other check takes one of them.
    let (named, unnamed): (Vec<_>, Vec<_>) = all.into_iter().partition(|(name, _)| name.is_some());
    for (name, check) in named.into_iter().chain(unnamed) {
        let check = check_of(table, columns, name, check, rules)?;
        rules.add_check(check);
    }
    Ok(())
}

/// The check that a constraint of the table describes, which has these rules otherwise.
pub(crate) fn check_of(
    table: &str,
    columns: &[Column],
    name: Option<&Ident>,
    check: &CheckConstraint,
    rules: &Rules,
) -> Result<Check, Error> {
    if check.enforced == Some(false) {
        return Err(Error::unsupported(
            "CHECK ... NOT ENFORCED is not supported: what is not checked need not be said",
        ));
    }
    let read = columns_read(&check.expr, columns);
    let name = if let Some(name) = name.filter(|name| name.quote_style == Some(OWN_QUOTE)) {
        name.value.clone()
    } else if let Some(name) = name {
        let name = names::identifier(name)?;
        if rules.has_constraint(&name) {
            return Err(Error::new(
                ErrorKind::DuplicateObject,
                format!("constraint {name} of table {table} exists already; choose another name"),
            ));
        }
        name
    } else {
        let table = names::own(table);
        let name = match read.as_slice() {
            [only] => format!("{table}_{}_check", columns[*only].name),
            _ => format!("{table}_check"),
        };
        names::unused(&name, |name| rules.has_constraint(name))
    };
    Ok(Check { name, condition: check.expr.as_ref().clone(), columns: read, is_valid: true })
}
