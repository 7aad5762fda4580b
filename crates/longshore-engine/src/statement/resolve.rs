//! What the names of a statement mean: each name of a table, view, sequence or index gets the schema that the search path of
//! the session finds it in, or in which it is made. Behind that, a name without a schema is one of `public`.
//!
//! It is done once, to the syntax tree, before anybody looks at it. Where there is nothing but `public`, only statements that
//! make or alter something are looked at. Not here: the search path (`catalog::search_path`).

use std::ops::ControlFlow;

use sqlparser::ast::{
    AlterColumnOperation, AlterTableOperation, ColumnDef, ColumnOption, CreateTable, CreateTableLikeKind, DataType,
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart, ObjectType,
    Query, RenameTableNameKind, Select, SelectItem, SelectItemQualifiedWildcardKind, Statement, TableAlias,
    TableConstraint, TableFactor, Value, VisitMut, VisitorMut,
};

use crate::catalog::{Catalog, SearchPath, UserType, is_temporary};
use crate::sql::alter::{Action, AlterTable};
use crate::sql::copy::{CopySource, CopyWhat};
use crate::sql::domain::{DomainStatement, DomainVerb};
use crate::sql::names::{self, SCHEMA, SEPARATOR};
use crate::sql::objects::{ObjectKind, ObjectStatement};
use crate::sql::sequence::{SequenceStatement, Verb};
use crate::sql::{Parsed, build, in_text};
use crate::statement::user_types;
use crate::{Error, ErrorKind};

/// Functions whose first argument names a sequence, table or type by a text.
const NAMING: [&str; 7] =
    ["nextval", "currval", "setval", "pg_get_serial_sequence", "storage", "obj_description", "col_description"];

/// Gives the names of `parsed`, which was read from `sql`, the schemas that they mean.
pub(crate) fn resolve(parsed: &mut Parsed, sql: &str, catalog: &Catalog, path: &SearchPath) -> Result<(), Error> {
    let mut names = Resolver { catalog, path, scopes: Vec::new(), made: None };
    match parsed {
        Parsed::Empty | Parsed::Export(_) | Parsed::Import(_) | Parsed::Checkpoint | Parsed::Backup(_) => Ok(()),
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
                if let Some(name @ ObjectName(_)) = &mut create.name {
                    if name.0.len() > 1 {
                        return Err(Error::syntax(format!(
                            "{name}: an index is in the schema of its table; leave the schema out"
                        )));
                    }
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

    fn create_table(&mut self, create: &mut CreateTable) -> Result<(), Error> {
        let said = names::written(&create.name)?;
        self.create(&mut create.name, create.temporary)?;
        create.temporary = is_temporary(&names::relation(&create.name)?);
        self.made = Some((said, names::relation(&create.name)?));
        self.columns(&mut create.columns)?;
        self.foreign_tables(&mut create.columns, &mut create.constraints)?;
        if let Some(CreateTableLikeKind::Parenthesized(like) | CreateTableLikeKind::Plain(like)) = &mut create.like {
            self.existing(&mut like.name)?;
        }
        let name = std::mem::replace(&mut create.name, ObjectName(Vec::new()));
        let visited = self.visit(create);
        create.name = name;
        visited
    }

    /// Gives columns of types that users made the types below these.
    fn columns(&self, columns: &mut [ColumnDef]) -> Result<(), Error> {
        for column in columns {
            let found = self.user_type(&column.data_type)?;
            user_types::expand(column, found);
        }
        Ok(())
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

    fn domain(&mut self, statement: &mut DomainStatement) -> Result<(), Error> {
        match &mut statement.verb {
            DomainVerb::Create { base, .. } => {
                if let Some((key, _)) = self.user_type(base)? {
                    *base = DataType::Custom(build::written(&key), Vec::new());
                }
                self.create(&mut statement.name, false)
            }
            _ => self.type_name(&mut statement.name),
        }
    }

    fn foreign_tables(&mut self, columns: &mut [ColumnDef], constraints: &mut [TableConstraint]) -> Result<(), Error> {
        for option in columns.iter_mut().flat_map(|column| &mut column.options) {
            if let ColumnOption::ForeignKey(key) = &mut option.option {
                self.existing(&mut key.foreign_table)?;
            }
        }
        for constraint in constraints {
            if let TableConstraint::ForeignKey(key) = constraint {
                self.existing(&mut key.foreign_table)?;
            }
        }
        Ok(())
    }

    fn sequence(&mut self, statement: &mut SequenceStatement) -> Result<(), Error> {
        statement.name = match statement.verb {
            Verb::Create { is_temporary, .. } => self.created_text(&statement.name, is_temporary)?,
            Verb::Alter { .. } => self.existing_text(&statement.name)?,
        };
        if let Some(Some((table, _))) = &mut statement.options.owned_by {
            *table = self.existing_text(table)?;
        }
        Ok(())
    }

    fn alter_table(&mut self, alter: &mut AlterTable) -> Result<(), Error> {
        self.existing(&mut alter.name)?;
        let table = names::relation(&alter.name)?;
        let (schema, _) = names::parts(&table);
        let mut further: Vec<TableConstraint> = Vec::new();
        for action in &mut alter.actions {
            match action {
                Action::Plain(operation) => {
                    match operation.as_mut() {
                        AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(name) } => {
                            let [ObjectNamePart::Identifier(new)] = name.0.as_slice() else {
                                return Err(Error::syntax(format!(
                                    "RENAME TO {name}: a table keeps its schema; SET SCHEMA moves it"
                                )));
                            };
                            *name = build::written(&names::in_schema(schema, &names::identifier(new)?));
                            continue;
                        }
                        AlterTableOperation::AlterColumn {
                            column_name,
                            op: AlterColumnOperation::SetDataType { data_type, .. },
                        } => {
                            let options = Vec::new();
                            let mut column =
                                ColumnDef { name: column_name.clone(), data_type: data_type.clone(), options };
                            self.columns(std::slice::from_mut(&mut column))?;
                            *data_type = column.data_type;
                            further.extend(column.options.into_iter().filter_map(|option| match option.option {
                                ColumnOption::Check(check) => Some(TableConstraint::Check(check)),
                                _ => None,
                            }));
                        }
                        AlterTableOperation::AddColumn { column_def, .. } => {
                            self.columns(std::slice::from_mut(column_def))?;
                            self.foreign_tables(std::slice::from_mut(column_def), &mut [])?;
                        }
                        AlterTableOperation::AddConstraint { constraint, .. } => {
                            self.foreign_tables(&mut [], std::slice::from_mut(constraint))?;
                        }
                        _ => {}
                    }
                    self.visit(operation.as_mut())?;
                }
                Action::AddIdentity { sequence: Some(name), .. } => {
                    let written = names::written(name)?;
                    *name = build::written(&self.created_text(&written, false)?);
                }
                _ => {}
            }
        }
        let add =
            |constraint| Action::Plain(Box::new(AlterTableOperation::AddConstraint { constraint, not_valid: false }));
        alter.actions.extend(further.into_iter().map(add));
        Ok(())
    }

    fn object(&mut self, statement: &mut ObjectStatement) -> Result<(), Error> {
        let (kind, name, of) = match statement {
            ObjectStatement::Alter(alter) => (alter.kind, &mut alter.name, None),
            ObjectStatement::Comment(comment) => (comment.kind, &mut comment.name, comment.of.as_mut()),
            ObjectStatement::Upkeep(upkeep) => {
                return upkeep.tables.iter_mut().try_for_each(|(name, _)| self.existing(name));
            }
        };
        if let Some(of) = of {
            return self.existing(of);
        }
        match kind {
            ObjectKind::Table | ObjectKind::View | ObjectKind::Sequence => self.existing(name),
            ObjectKind::Index => self.index(name),
            ObjectKind::Type | ObjectKind::Domain => self.type_name(name),
            ObjectKind::Column => {
                let Some(column) = name.0.pop() else { return Ok(()) };
                if name.0.is_empty() {
                    return Err(Error::syntax(format!("column name must be qualified: {column}")));
                }
                self.existing(name)?;
                name.0.push(column);
                Ok(())
            }
            _ => Ok(()),
        }
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

    /// Gives the name in a text, as in `nextval('s')`, its schema.
    fn named_in_text(&self, function: &mut Function) -> Result<(), Error> {
        let FunctionArguments::List(list) = &mut function.args else { return Ok(()) };
        let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))) = list.args.first_mut() else {
            return Ok(());
        };
        let mut argument = argument;
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
    begins(b"public") || begins(b"pg_temp") || begins(b"regclass")
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
                if name.starts_with("enum_") {
                    return flow(self.enum_function(&name, expr));
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
            Expr::Cast { expr, data_type, .. } if is_regclass(data_type) => {
                return flow(self.regclass(expr, data_type));
            }
            other => return flow(self.cast(other)),
        }
        ControlFlow::Continue(())
    }
}

/// Whether a type is `regclass`.
fn is_regclass(data_type: &DataType) -> bool {
    data_type.to_string().eq_ignore_ascii_case("regclass")
}

impl Resolver<'_> {
    /// Casts to a type that a user made.
    fn cast(&self, expr: &mut Expr) -> Result<(), Error> {
        let Some(data_type) = user_types::cast_of(expr) else { return Ok(()) };
        let Some((name, user_type)) = self.user_type(data_type)? else { return Ok(()) };
        let value = match std::mem::replace(expr, build::value(Value::Null)) {
            Expr::Cast { expr, .. } => *expr,
            Expr::TypedString(typed) => Expr::Value(typed.value),
            other => other,
        };
        *expr = user_types::cast(value, &name, &user_type)?;
        Ok(())
    }

    /// `enum_range(NULL::mood)` and its like.
    fn enum_function(&self, name: &str, expr: &mut Expr) -> Result<(), Error> {
        let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = expr else { return Ok(()) };
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = list.args.as_slice() else { return Ok(()) };
        let Some(data_type) = user_types::cast_of(argument) else { return Ok(()) };
        if let Some((_, UserType::Enum(labels))) = self.user_type(data_type)?
            && let Some(value) = user_types::enum_function(name, &labels)
        {
            *expr = value;
        }
        Ok(())
    }

    /// `'t'::regclass`: the name of a relation that is there, as a text, which says its schema unless that is looked through.
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
    fn current_schemas(&self, name: &str, expr: &mut Expr) {
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
        let list = schemas.iter().map(|schema| FunctionArg::Unnamed(FunctionArgExpr::Expr(text(schema)))).collect();
        if let Expr::Function(Function { args: FunctionArguments::List(arguments), .. }) = expr {
            arguments.args = list;
        }
    }
}

fn flow(done: Result<(), Error>) -> ControlFlow<Error> {
    match done {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}
