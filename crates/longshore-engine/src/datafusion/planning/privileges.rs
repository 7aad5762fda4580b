//! `has_table_privilege` and its family, `pg_has_role` and `pg_get_userbyid`: who may do what.
//!
//! They are functions of one statement, since it matters whose session it is. Objects are named by texts, to which
//! `'t'::regclass` leads as well.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use crate::catalog::{Catalog, Commented, Definitions, Entry, ObjectClass, Privileges, RoleId};
use crate::datafusion::errors::external;
use crate::sql::in_text;
use crate::sql::names::{self, CATALOG};
use crate::transaction::StatementTransaction;
use crate::{Error, ErrorKind};

/// The function of this name, for a statement that works in `transaction`.
pub(super) fn function(
    name: &str,
    catalog: &Arc<Catalog>,
    transaction: &Arc<StatementTransaction>,
) -> Option<Arc<ScalarUDF>> {
    let (name, kind) = KINDS.into_iter().find(|(known, _)| *known == name)?;
    let (catalog, transaction) = (Arc::clone(catalog), Arc::clone(transaction));
    let signature = Signature::variadic_any(Volatility::Stable);
    Some(Arc::new(ScalarUDF::new_from_impl(Function { name, kind, catalog, transaction, signature })))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    On(ObjectClassName),
    AnyColumn,
    Column,
    Role,
    NameOfRole,
}

/// What privileges are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ObjectClassName {
    Table,
    Sequence,
    Schema,
    Type,
    Database,
}

const KINDS: [(&str, Kind); 9] = [
    ("has_table_privilege", Kind::On(ObjectClassName::Table)),
    ("has_sequence_privilege", Kind::On(ObjectClassName::Sequence)),
    ("has_schema_privilege", Kind::On(ObjectClassName::Schema)),
    ("has_type_privilege", Kind::On(ObjectClassName::Type)),
    ("has_database_privilege", Kind::On(ObjectClassName::Database)),
    ("has_any_column_privilege", Kind::AnyColumn),
    ("has_column_privilege", Kind::Column),
    ("pg_has_role", Kind::Role),
    ("pg_get_userbyid", Kind::NameOfRole),
];

struct Function {
    name: &'static str,
    kind: Kind,
    catalog: Arc<Catalog>,
    transaction: Arc<StatementTransaction>,
    signature: Signature,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && Arc::ptr_eq(&self.transaction, &other.transaction)
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
    }
}

/// Privileges of which one is asked for: the privilege, and whether it may be granted further.
type Asked = Vec<(Privileges, bool)>;

/// The privileges that a text names, with commas between them.
fn asked(text: &str, class: ObjectClass) -> std::result::Result<Asked, Error> {
    let unknown = |part: &str| Error::invalid(format!("unrecognized privilege type: \"{part}\""));
    text.split(',')
        .map(str::trim)
        .map(|part| {
            let upper = part.to_ascii_uppercase();
            let (name, grantable) = match upper.strip_suffix(" WITH GRANT OPTION") {
                Some(name) => (name, true),
                None => (upper.as_str(), false),
            };
            let found = Privileges::named(name).filter(|found| class.privileges().has(*found));
            found.map(|found| (found, grantable)).ok_or_else(|| unknown(part))
        })
        .collect()
}

fn any(definitions: &Definitions, role: RoleId, on: &Commented, class: ObjectClass, asked: &Asked) -> bool {
    asked.iter().any(|(privilege, grantable)| {
        if *grantable {
            let acl = definitions.acl(on, class);
            !acl.grantable(&definitions.roles, role, definitions.owner(on), *privilege).is_empty()
        } else {
            !definitions.granted(role, on, class, *privilege).is_empty()
        }
    })
}

impl Function {
    /// The role that a text or a number names.
    fn role(&self, text: &str) -> std::result::Result<RoleId, Error> {
        let roles = self.catalog.roles();
        if text == "public" && self.kind != Kind::Role {
            return Ok(RoleId::PUBLIC);
        }
        if let Some(role) = roles.named(text) {
            return Ok(role);
        }
        match text.parse() {
            Ok(number) => Ok(RoleId(number)),
            Err(_) => Err(Error::no_object(format!("role \"{text}\" does not exist"))),
        }
    }

    /// The table, view or sequence that a text names.
    fn relation(&self, text: &str) -> std::result::Result<(String, ObjectClass), Error> {
        let written = in_text::written(text)?;
        let found = if written.contains(names::SEPARATOR) {
            names::plain(&written)
        } else {
            let path = self.transaction.numbers().path();
            path.find(&self.catalog, &written, |name| self.catalog.has_object(name)).unwrap_or(written)
        };
        match self.catalog.class_of(&found) {
            Some(class) => Ok((found, class)),
            None => Err(Error::not_found(format!("relation \"{found}\" does not exist"))),
        }
    }

    fn on(&self, class: ObjectClassName, role: RoleId, object: &str, text: &str) -> std::result::Result<bool, Error> {
        let (on, class) = match class {
            ObjectClassName::Table | ObjectClassName::Sequence => {
                let (name, found) = self.relation(object)?;
                if class == ObjectClassName::Sequence && found != ObjectClass::Sequence {
                    let own = names::own(&name);
                    return Err(Error::new(ErrorKind::WrongObject, format!("\"{own}\" is not a sequence")));
                }
                let asks_for =
                    if class == ObjectClassName::Sequence { ObjectClass::Sequence } else { ObjectClass::Table };
                let asked = asked(text, asks_for)?;
                let on = Commented::Relation(name);
                return Ok(self.catalog.definitions(|definitions| any(definitions, role, &on, found, &asked)));
            }
            ObjectClassName::Schema => {
                if !self.catalog.has_schema(object) {
                    return Err(Error::new(ErrorKind::NoSchema, format!("schema \"{object}\" does not exist")));
                }
                (Commented::Schema(object.to_owned()), ObjectClass::Schema)
            }
            ObjectClassName::Type => {
                let name = in_text::relation(object)?;
                // Those of the system are for everybody.
                (Commented::Type(name), ObjectClass::Type)
            }
            ObjectClassName::Database => {
                if object != CATALOG {
                    return Err(Error::new(ErrorKind::Coded("3D000"), format!("database \"{object}\" does not exist")));
                }
                (Commented::Database, ObjectClass::Database)
            }
        };
        let asked = asked(text, class)?;
        Ok(self.catalog.definitions(|definitions| any(definitions, role, &on, class, &asked)))
    }

    /// Whether a role may do something with a column, or with any if none is named.
    fn on_columns(
        &self,
        role: RoleId,
        object: &str,
        column: Option<&str>,
        text: &str,
    ) -> std::result::Result<bool, Error> {
        let (name, class) = self.relation(object)?;
        let asked = asked(text, ObjectClass::Column)?;
        let of_table = match (column, self.catalog.get(&name)) {
            (Some(column), Some(Entry::Table(table))) => {
                let columns = table.relation.schema().columns();
                let by_number = column.parse::<usize>().ok().and_then(|number| columns.get(number.checked_sub(1)?));
                let known = columns.iter().find(|known| known.name == column).or(by_number);
                let known = known.ok_or_else(|| {
                    let own = names::own(&name);
                    Error::no_column(format!("column \"{column}\" of relation \"{own}\" does not exist"))
                })?;
                Some(known.name.clone())
            }
            (column, _) => column.map(str::to_owned),
        };
        let whole = Commented::Relation(name.clone());
        Ok(self.catalog.definitions(|definitions| {
            let is_meant = |on: &&Commented| match on {
                Commented::Column(of, known) => *of == name && of_table.as_ref().is_none_or(|column| column == known),
                _ => false,
            };
            let mut columns = definitions.access.keys().filter(is_meant);
            any(definitions, role, &whole, class, &asked)
                || columns.any(|on| any(definitions, role, on, ObjectClass::Column, &asked))
        }))
    }

    fn is_member(&self, role: RoleId, of: &str, text: &str) -> std::result::Result<bool, Error> {
        let of = self.role(of)?;
        let roles = self.catalog.roles();
        let mut found = false;
        for part in text.split(',').map(str::trim) {
            found |= match part.to_ascii_uppercase().as_str() {
                "MEMBER" => roles.is_member_of(role, of),
                "USAGE" => roles.has_rights_of(role, of),
                "MEMBER WITH GRANT OPTION"
                | "MEMBER WITH ADMIN OPTION"
                | "USAGE WITH GRANT OPTION"
                | "USAGE WITH ADMIN OPTION" => roles.is_admin_of(role, of),
                _ => return Err(Error::invalid(format!("unrecognized privilege type: \"{part}\""))),
            };
        }
        Ok(found)
    }

    /// The answer to the arguments of one row.
    fn answer(&self, arguments: &[&str]) -> std::result::Result<bool, Error> {
        let count = if self.kind == Kind::Column { 3 } else { 2 };
        let (role, arguments) = match arguments.len() {
            found if found == count => (self.transaction.numbers().identity().current, arguments),
            found if found == count + 1 => (self.role(arguments[0])?, &arguments[1..]),
            _ => return Err(self.wrong_count()),
        };
        match (self.kind, arguments) {
            (Kind::On(class), [object, privilege]) => self.on(class, role, object, privilege),
            (Kind::AnyColumn, [object, privilege]) => self.on_columns(role, object, None, privilege),
            (Kind::Column, [object, column, privilege]) => self.on_columns(role, object, Some(column), privilege),
            (Kind::Role, [of, privilege]) => self.is_member(role, of, privilege),
            _ => Err(self.wrong_count()),
        }
    }

    fn wrong_count(&self) -> Error {
        Error::new(ErrorKind::NoFunction, format!("function {} does not take so many arguments", self.name))
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &'static str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(if self.kind == Kind::NameOfRole { DataType::Utf8 } else { DataType::Boolean })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let texts = |value: &ColumnarValue| cast(&value.to_array(rows)?, &DataType::Utf8).map_err(Into::into);
        let arrays = args.args.iter().map(texts).collect::<Result<Vec<ArrayRef>>>()?;
        let columns: Vec<&StringArray> = arrays.iter().map(|array| array.as_string::<i32>()).collect();
        let row = |row: usize| -> Option<Vec<&str>> {
            columns.iter().map(|column| (!column.is_null(row)).then(|| column.value(row))).collect()
        };
        if self.kind == Kind::NameOfRole {
            let roles = self.catalog.roles();
            let name = |number: usize| {
                let arguments = row(number)?;
                let id = arguments.first()?.parse().ok().map(RoleId)?;
                Some(roles.get(id).map_or_else(|| format!("unknown (OID={})", id.0), |role| role.name.clone()))
            };
            let names: StringArray = (0..rows).map(name).collect();
            return Ok(ColumnarValue::Array(Arc::new(names)));
        }
        let mut answers = Vec::with_capacity(rows);
        for number in 0..rows {
            let answer = row(number).map(|arguments| self.answer(&arguments)).transpose();
            answers.push(answer.map_err(external)?);
        }
        Ok(ColumnarValue::Array(Arc::new(BooleanArray::from(answers))))
    }
}
