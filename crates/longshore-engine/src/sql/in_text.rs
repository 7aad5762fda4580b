//! Names and types that stand in texts: `nextval('s')`, `types => {'a': 'decimal(15, 2)'}`.

use longshore_storage::ColumnType;
use sqlparser::ast::{DataType, ObjectName};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use crate::Error;
use crate::sql::dialect::LongshoreDialect;
use crate::sql::{names, syntax, types};

/// The table, view or sequence that a text names, as in `nextval('s')`.
pub(crate) fn relation(text: &str) -> Result<String, Error> {
    names::relation(&object_name(text)?)
}

/// The same, with the schema `public` where it was written.
pub(crate) fn written(text: &str) -> Result<String, Error> {
    names::written(&object_name(text)?)
}

fn object_name(text: &str) -> Result<ObjectName, Error> {
    let mut parser = Parser::new(&LongshoreDialect).try_with_sql(text).map_err(syntax)?;
    let name = parser.parse_object_name(false).map_err(syntax)?;
    if parser.peek_token_ref().token != Token::EOF {
        return Err(Error::syntax(format!("{text:?} is not a name")));
    }
    Ok(name)
}

/// The type of SQL that `text` spells.
pub(crate) fn data_type(text: &str) -> Result<DataType, Error> {
    let mut parser = Parser::new(&LongshoreDialect).try_with_sql(text).map_err(syntax)?;
    parser.parse_data_type().map_err(syntax)
}

/// The column type that `text` spells, for instance `decimal(15, 2)`.
pub(crate) fn column_type(text: &str) -> Result<ColumnType, Error> {
    let mut parser = Parser::new(&LongshoreDialect).try_with_sql(text).map_err(syntax)?;
    let data_type = parser.parse_data_type().map_err(syntax)?;
    if parser.peek_token_ref().token != Token::EOF {
        return Err(Error::syntax(format!("{text} is not the name of a type")));
    }
    types::column_type(&data_type)
}
