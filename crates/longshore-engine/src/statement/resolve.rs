//! What the names of a statement mean: each name of a table, view, sequence or index gets the schema that the search path of
//! the session finds it in, or in which it is made. Behind that, a name without a schema is one of `public`.
//!
//! It is done once, to the syntax tree, before anybody looks at it. Where there is nothing but `public`, only statements that
//! make or alter something are looked at. Not here: the search path (`catalog::search_path`).

mod expressions;
mod statements;

use std::ops::ControlFlow;

use sqlparser::ast::{
    DataType, Expr, Ident, ObjectName, ObjectNamePart, ObjectType, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, Statement, TableAlias, TableFactor, Value, VisitorMut,
};

use crate::catalog::{Catalog, SearchPath, UserType, is_temporary};
use crate::sql::copy::{CopySource, CopyWhat};
use crate::sql::expressions::flow;
use crate::sql::names::{self, SEPARATOR};
use crate::sql::visit::VisitMut;
use crate::sql::{Parsed, build, headings, types};
use crate::statement::own_types;
use crate::{Error, ErrorKind};

/// Functions whose first argument names a sequence or table by a text, which the resolver reads. Those of the system's own
/// read it themselves.
const NAMING: [&str; 4] = ["nextval", "currval", "setval", "storage"];

/// Gives the names of `parsed`, which was read from `sql`, the schemas that they mean.
pub(crate) fn resolve(parsed: &mut Parsed, sql: &str, catalog: &Catalog, path: &SearchPath) -> Result<(), Error> {
    let mut names = Resolver { catalog, path, scopes: Vec::new(), made: None };
    match parsed {
        Parsed::Empty
        | Parsed::Export(_)
        | Parsed::Import(_)
        | Parsed::Checkpoint
        | Parsed::Backup(_)
        | Parsed::SchemaElements(_)
        | Parsed::SetConstraints(_)
        | Parsed::Notification(_)
        | Parsed::Role(_)
        | Parsed::Identity(_)
        | Parsed::Cursor(_) => Ok(()),
        Parsed::Privilege(statement) => names.privilege(statement),
        Parsed::CopyFrom(copy) => {
            copy.table = names.existing_text(&copy.table)?;
            if let CopySource::Query(query) = &mut copy.source {
                names.visit(query.as_mut())?;
            }
            copy.condition.as_mut().map_or(Ok(()), |condition| names.visit(condition))
        }
        Parsed::CopyTo(copy) => match &mut copy.what {
            CopyWhat::Table { name, .. } => {
                *name = names.existing_text(name)?;
                Ok(())
            }
            CopyWhat::Query(query) => names.visit(query.as_mut()),
        },
        Parsed::CreateFrom(create) => {
            create.table = names.created_text(&create.table, false)?;
            Ok(())
        }
        Parsed::Sequence(statement) => names.sequence(statement),
        Parsed::AlterTable(alter) => names.alter_table(alter),
        Parsed::Object(statement) => names.object(statement),
        Parsed::Domain(statement) => names.domain(statement),
        Parsed::Summarize(query) => names.visit(query.as_mut()),
        Parsed::Pivot(pivot) => names.visit(&mut pivot.relation),
        Parsed::Sql(statement) => names.statement(statement, sql),
    }
}

/// The names that were defined by the WITH of one query.
struct Scope {
    defined: Vec<String>,
    /// How many of `defined` are in scope.
    visible: usize,
}

struct Resolver<'a> {
    catalog: &'a Catalog,
    path: &'a SearchPath,
    scopes: Vec<Scope>,
    /// The table that is being made: what it is called, and what that means.
    made: Option<(String, String)>,
}

impl Resolver<'_> {
    fn visit(&mut self, tree: &mut impl VisitMut) -> Result<(), Error> {
        match tree.visit(self) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }

    fn statement(&mut self, statement: &mut Statement, sql: &str) -> Result<(), Error> {
        match statement {
            Statement::CreateTable(create) => return self.create_table(create),
            Statement::CreateView(create) => {
                let reads_temporary = self.reads_temporary(&create.query);
                let temporary = create.temporary || reads_temporary;
                create.temporary = false;
                self.create(&mut create.name, temporary)?;
            }
            Statement::CreateIndex(create) => {
                if let Some(name @ ObjectName(_)) = &mut create.name
                    && name.0.len() > 1
                {
                    return Err(Error::syntax(format!(
                        "{name}: an index is in the schema of its table; leave the schema out"
                    )));
                }
            }
            Statement::CreateType { name, .. } => return self.create(name, false),
            Statement::AlterType(alter) => return self.type_name(&mut alter.name),
            Statement::DropDomain(drop) => return self.type_name(&mut drop.name),
            Statement::Drop { object_type, names, .. } => {
                for name in names {
                    match object_type {
                        ObjectType::Type => self.type_name(name)?,
                        ObjectType::Table | ObjectType::View | ObjectType::Sequence => self.existing(name)?,
                        ObjectType::Index => self.index(name)?,
                        _ => {}
                    }
                }
                return Ok(());
            }
            Statement::AlterIndex { name, .. } => return self.index(name),
            _ => {
                if self.path.is_plain(self.catalog) && !mentions_schema(sql) {
                    return Ok(());
                }
            }
        }
        self.visit(statement)
    }

    /// The type that a user made which this one is.
    fn user_type(&self, data_type: &DataType) -> Result<Option<(String, UserType)>, Error> {
        let DataType::Custom(name, modifiers) = data_type else { return Ok(None) };
        if !modifiers.is_empty() || !self.catalog.has_types() {
            return Ok(None);
        }
        let key = self.type_text(&names::written(name)?);
        Ok(self.catalog.user_type(&key).map(|found| (key, UserType::clone(&found))))
    }

    /// What the name of a type as it is written stands for.
    fn type_text(&self, written: &str) -> String {
        if written.contains(SEPARATOR) {
            return names::plain(written);
        }
        let found = self.path.find(self.catalog, written, |name| self.catalog.user_type(name).is_some());
        found.unwrap_or_else(|| written.to_owned())
    }

    fn type_name(&self, name: &mut ObjectName) -> Result<(), Error> {
        *name = build::written(&self.type_text(&names::written(name)?));
        Ok(())
    }

    /// Gives a name that exists its schema.
    fn existing(&self, name: &mut ObjectName) -> Result<(), Error> {
        *name = build::written(&self.existing_text(&names::written(name)?)?);
        Ok(())
    }

    /// What a name as it is written stands for; one that stands for nothing is one of `public`.
    fn existing_text(&self, written: &str) -> Result<String, Error> {
        if let Some((said, name)) = &self.made
            && said == written
        {
            let other = self.path.find(self.catalog, written, |name| self.catalog.has_object(name));
            return Ok(other.unwrap_or_else(|| name.clone()));
        }
        if let Some((schema, own)) = written.split_once(SEPARATOR) {
            let schema = if schema == "pg_temp" { &*self.path.temporary } else { schema };
            return Ok(names::in_schema(schema, own));
        }
        if let Some(found) = self.path.find(self.catalog, written, |name| self.catalog.has_object(name)) {
            return Ok(found);
        }
        // What stands in `public` alone is not seen where that is not looked through.
        if self.catalog.has_object(written) {
            return Err(Error::not_found(format!("relation \"{written}\" does not exist")));
        }
        Ok(written.to_owned())
    }

    /// Gives the name of an index its schema.
    fn index(&self, name: &mut ObjectName) -> Result<(), Error> {
        let written = names::written(name)?;
        let found = if written.contains(SEPARATOR) {
            self.existing_text(&written)?
        } else {
            let found = self.path.find(self.catalog, &written, |name| self.catalog.owner_of_index(name).is_some());
            found.unwrap_or(written)
        };
        *name = build::written(&found);
        Ok(())
    }

    fn create(&self, name: &mut ObjectName, temporary: bool) -> Result<(), Error> {
        *name = build::written(&self.created_text(&names::written(name)?, temporary)?);
        Ok(())
    }

    /// What is made under a name as it is written.
    fn created_text(&self, written: &str, temporary: bool) -> Result<String, Error> {
        let own = &*self.path.temporary;
        let Some((schema, name)) = written.split_once(SEPARATOR) else {
            let schema = if temporary { own.to_owned() } else { self.path.creation(self.catalog)? };
            return Ok(names::in_schema(&schema, written));
        };
        if schema == "pg_temp" || schema == own {
            return Ok(names::in_schema(own, name));
        }
        if temporary {
            return Err(Error::new(
                ErrorKind::InvalidTable,
                "cannot create temporary relation in non-temporary schema",
            ));
        }
        check_schema(self.catalog, schema)?;
        Ok(names::in_schema(schema, name))
    }

    /// Whether a query reads what is temporary, so that a view of it is temporary as well.
    fn reads_temporary(&self, query: &Query) -> bool {
        let read = crate::sql::references::names_read(query);
        read.iter().any(|written| self.existing_text(written).is_ok_and(|name| is_temporary(&name)))
    }

    /// Takes the schema off the name of a column that also says its table.
    fn column(&self, parts: &mut Vec<Ident>) {
        let is_schema = |part: &Ident| {
            names::identifier(part).is_ok_and(|name| self.catalog.has_schema(&name) || name == "pg_temp")
        };
        if parts.len() >= 3 && is_schema(&parts[0]) {
            parts.remove(0);
        }
    }
}

/// Refuses to make something in a schema that is not there, or that is the system's.
pub(crate) fn check_schema(catalog: &Catalog, schema: &str) -> Result<(), Error> {
    if crate::catalog::SYSTEM_SCHEMAS.contains(&schema) {
        return Err(Error::new(
            ErrorKind::Privilege,
            format!("permission denied: the schema {schema} belongs to the system"),
        ));
    }
    if catalog.has_schema(schema) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::NoSchema, format!("schema \"{schema}\" does not exist")))
}

/// Whether a text may say the name of a schema, or ask for one.
fn mentions_schema(sql: &str) -> bool {
    /// What lies behind is data.
    const LOOKED_AT: usize = 1 << 16;
    let looked_at = &sql.as_bytes()[..sql.len().min(LOOKED_AT)];
    let begins = |word: &[u8]| looked_at.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    begins(b"public") || begins(b"pg_temp") || begins(b"regclass") || begins(b"uuid")
}

impl VisitorMut for Resolver<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let mut scope = Scope { defined: Vec::new(), visible: 0 };
        if let Some(with) = &query.with {
            let names = with.cte_tables.iter().map(|table| names::identifier(&table.alias.name));
            scope.defined = names.map(Result::unwrap_or_default).collect();
            if with.recursive {
                scope.visible = scope.defined.len();
            }
        }
        self.scopes.push(scope);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.scopes.pop();
        if let Some(outer) = self.scopes.last_mut()
            && outer.visible < outer.defined.len()
        {
            outer.visible += 1;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<Error> {
        let is_name = |part: &ObjectNamePart| matches!(part, ObjectNamePart::Identifier(ident) if ident.quote_style != Some('\''));
        if relation.0.is_empty() || !relation.0.iter().all(is_name) {
            return ControlFlow::Continue(());
        }
        if let [ObjectNamePart::Identifier(only)] = relation.0.as_slice() {
            let name = names::identifier(only).unwrap_or_default();
            if self.scopes.iter().any(|scope| scope.defined[..scope.visible].contains(&name)) {
                return ControlFlow::Continue(());
            }
        }
        flow(self.existing(relation))
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        if let TableFactor::Table { name, alias: alias @ None, args: None, .. } = factor
            && let [_, .., ObjectNamePart::Identifier(own)] = name.0.as_slice()
        {
            *alias = Some(TableAlias { explicit: true, name: own.clone(), columns: Vec::new(), at: None });
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item
                && name.0.len() > 1
            {
                name.0.drain(..name.0.len() - 1);
            }
            // What takes the place of a cast to a domain has other names.
            if let SelectItem::UnnamedExpr(expr) = item
                && let Some(data_type) = own_types::cast_of(expr)
                && let Ok(Some((_, UserType::Domain(_)))) = self.user_type(data_type)
            {
                let name = headings::of(expr);
                let expr = std::mem::replace(expr, build::value(Value::Null));
                *item = build::named(expr, &name);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        match expr {
            Expr::CompoundIdentifier(parts) => self.column(parts),
            Expr::Function(function) => {
                let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else {
                    return ControlFlow::Continue(());
                };
                let name = name.value.to_ascii_lowercase();
                if NAMING.contains(&name.as_str()) {
                    return flow(self.named_in_text(function));
                }
                if name == "current_schema" || name == "current_schemas" {
                    self.current_schemas(&name, expr);
                }
            }
            Expr::Identifier(name)
                if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("current_schema") =>
            {
                self.current_schemas("current_schema", expr);
            }
            other => {
                let Some(texts) = own_types::cast_of(other).and_then(types::texts_of_uuids) else {
                    return flow(self.cast(other));
                };
                let value = own_types::cast_value(std::mem::replace(other, build::value(Value::Null)));
                let value = if texts == DataType::Text { value } else { build::cast_as(value, texts) };
                *other = build::call("uuid_in", vec![value]);
            }
        }
        ControlFlow::Continue(())
    }
}
