//! Names within expressions: of types that users made, in texts, and of the schemas that are looked through.

use sqlparser::ast::{
    ArrayElemTypeDef, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value,
};

use super::Resolver;
use crate::Error;
use crate::catalog::innermost;
use crate::sql::names::{self, SCHEMA};
use crate::sql::{build, in_text};
use crate::statement::own_types;

/// Whether a type is `regclass`.
fn is_regclass(data_type: &DataType) -> bool {
    data_type.to_string().eq_ignore_ascii_case("regclass")
}

impl Resolver<'_> {
    /// Gives the name in a text, as in `nextval('s')`, its schema.
    pub(super) fn named_in_text(&self, function: &mut Function) -> Result<(), Error> {
        let FunctionArguments::List(list) = &mut function.args else { return Ok(()) };
        let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))) = list.args.first_mut() else {
            return Ok(());
        };
        let mut argument = argument;
        if let Expr::Cast { expr, data_type, .. } = argument
            && is_regclass(data_type)
        {
            return self.regclass(expr, data_type);
        }
        while let Expr::Cast { expr, .. } | Expr::Nested(expr) = argument {
            argument = expr;
        }
        if let Expr::Value(value) = argument
            && let Value::SingleQuotedString(text) = &mut value.value
            && let Ok(written) = in_text::written(text)
        {
            let found = self.existing_text(&written)?;
            // A name that says what it said before stays as it was written.
            if names::parts(&found).0 != SCHEMA {
                *text = names::quoted(&found);
            }
        }
        Ok(())
    }

    /// Casts to a type that a user made, or to arrays of it.
    pub(super) fn cast(&self, expr: &mut Expr) -> Result<(), Error> {
        let Some(data_type) = own_types::cast_of(expr) else { return Ok(()) };
        let (element, dimensions) = innermost(data_type);
        let Some((name, user_type)) = self.user_type(element)? else { return Ok(()) };
        if dimensions > 0 {
            let data_type = own_types::array_type(&name, &user_type, dimensions)?;
            let value = own_types::cast_value(std::mem::replace(expr, build::value(Value::Null)));
            *expr = build::cast_as(value, data_type);
            return Ok(());
        }
        let value = own_types::cast_value(std::mem::replace(expr, build::value(Value::Null)));
        *expr = own_types::cast(value, &name, &user_type)?;
        Ok(())
    }

    /// `'s'::regclass`: the name of a relation that is there, as a text, which says its schema unless that is looked through.
    fn regclass(&self, expr: &mut Expr, data_type: &mut DataType) -> Result<(), Error> {
        let Expr::Value(value) = expr else { return Ok(()) };
        let Value::SingleQuotedString(text) = &mut value.value else { return Ok(()) };
        let written = in_text::written(text)?;
        let name = self.existing_text(&written)?;
        let is_there = self.catalog.has_object(&name) || self.catalog.owner_of_index(&name).is_some();
        if !is_there && self.made.as_ref().is_none_or(|(_, made)| *made != name) {
            return Err(Error::not_found(format!("relation \"{}\" does not exist", names::shown_name(&name))));
        }
        let own = names::own(&name);
        let found = self.path.find(self.catalog, own, |name| self.catalog.has_object(name));
        *text = if found.as_deref() == Some(&name) { names::quoted(own) } else { names::quoted(&name) };
        *data_type = DataType::Text;
        Ok(())
    }

    /// Puts what `current_schema` and `current_schemas(...)` give in their place, as an argument of theirs.
    pub(super) fn current_schemas(&self, name: &str, expr: &mut Expr) {
        let text = |text: &str| build::value(Value::SingleQuotedString(text.to_owned()));
        if name == "current_schema" {
            let schema = self.path.creation(self.catalog);
            let argument = schema.map_or_else(|_| build::value(Value::Null), |schema| text(&schema));
            *expr = build::call("current_schema", vec![argument]);
            return;
        }
        let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = expr else { return };
        let with_implicit = match list.args.as_slice() {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))] => match value.value {
                Value::Boolean(value) => value,
                _ => return,
            },
            _ => return,
        };
        let schemas = self.path.schemas(self.catalog, with_implicit);
        if schemas.is_empty() {
            let texts = ArrayElemTypeDef::SquareBracket(Box::new(DataType::Text), None);
            *expr = build::cast_as(text("{}"), DataType::Array(texts));
            return;
        }
        let list = schemas.iter().map(|schema| FunctionArg::Unnamed(FunctionArgExpr::Expr(text(schema)))).collect();
        if let Expr::Function(Function { args: FunctionArguments::List(arguments), .. }) = expr {
            arguments.args = list;
        }
    }
}
