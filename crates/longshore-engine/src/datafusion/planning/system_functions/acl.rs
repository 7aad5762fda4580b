//! `aclexplode`: the privileges that a list of grants such as `{ann=r*w/longshore}` tells, one a row; `acldefault`: the list
//! that an object has before anybody says anything of it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanBuilder, Int64Builder, ListArray, ListBuilder, StringViewBuilder, StructArray,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Int64Type};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use super::super::system_tables::{SystemCatalog, roles, typed};
use crate::datafusion::functions::nested::list_of;
use crate::datafusion::functions::quoted_identifier;

const EXPLODE: &str = "aclexplode";
const DEFAULT: &str = "acldefault";

/// Privileges in the order in which PostgreSQL tells them, by their letters.
const PRIVILEGES: [(char, &str); 14] = [
    ('a', "INSERT"),
    ('r', "SELECT"),
    ('w', "UPDATE"),
    ('d', "DELETE"),
    ('D', "TRUNCATE"),
    ('x', "REFERENCES"),
    ('t', "TRIGGER"),
    ('X', "EXECUTE"),
    ('U', "USAGE"),
    ('C', "CREATE"),
    ('T', "TEMPORARY"),
    ('c', "CONNECT"),
    ('s', "SET"),
    ('A', "ALTER SYSTEM"),
];

/// What everybody and the owner may do with objects of a kind, by the letter of the kind.
const DEFAULTS: [(&str, &str, &str); 13] = [
    ("c", "", ""),
    ("r", "", "arwdDxt"),
    ("s", "", "rwU"),
    ("d", "Tc", "CTc"),
    ("f", "X", "X"),
    ("l", "U", "U"),
    ("L", "", "rw"),
    ("n", "", "UC"),
    ("p", "", "sA"),
    ("t", "", "C"),
    ("F", "", "U"),
    ("S", "", "U"),
    ("T", "U", "U"),
];

/// The function of this name, for a statement that sees `catalog`.
pub(super) fn function(name: &str, catalog: &Arc<SystemCatalog>) -> Option<ScalarUDF> {
    let (name, arguments) = [(EXPLODE, 1), (DEFAULT, 2)].into_iter().find(|(known, _)| *known == name)?;
    let signature = Signature::any(arguments, Volatility::Stable);
    Some(ScalarUDF::new_from_impl(AclFunction { name, catalog: Arc::clone(catalog), signature }))
}

struct AclFunction {
    name: &'static str,
    catalog: Arc<SystemCatalog>,
    signature: Signature,
}

impl fmt::Debug for AclFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AclFunction").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PartialEq for AclFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.catalog, &other.catalog)
    }
}

impl Eq for AclFunction {}

impl Hash for AclFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

fn fields() -> Fields {
    vec![
        typed("grantor", "oid"),
        typed("grantee", "oid"),
        Field::new("privilege_type", DataType::Utf8View, true),
        Field::new("is_grantable", DataType::Boolean, true),
    ]
    .into()
}

impl ScalarUDFImpl for AclFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.name {
            EXPLODE => list_of(DataType::Struct(fields())),
            _ => list_of(DataType::Utf8View),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = args.args.iter().map(|arg| arg.to_array(args.number_rows)).collect::<Result<Vec<_>>>()?;
        let result = if self.name == EXPLODE { self.explode(&arrays[0])? } else { self.defaults(&arrays)? };
        Ok(ColumnarValue::Array(result))
    }
}

impl AclFunction {
    fn explode(&self, lists: &ArrayRef) -> Result<ArrayRef> {
        let Some(lists) = lists.as_list_opt::<i32>() else { return plan_err!("{EXPLODE} takes an array") };
        let known = roles(&self.catalog);
        let oid = |name: &str| known.iter().find(|role| role.name == name).map_or(0, |role| i64::from(role.oid));
        let mut rows = Rows::default();
        let mut lengths = Vec::with_capacity(lists.len());
        for row in 0..lists.len() {
            let before = rows.count;
            if lists.is_valid(row) {
                let items = cast(&lists.value(row), &DataType::Utf8View)?;
                for item in items.as_string_view().iter().flatten().filter_map(Item::read) {
                    rows.add(&item, &oid);
                }
            }
            lengths.push(rows.count - before);
        }
        let rows: ArrayRef = Arc::new(rows.finish());
        let item = Arc::new(Field::new_list_field(rows.data_type().clone(), true));
        Ok(Arc::new(ListArray::try_new(item, OffsetBuffer::from_lengths(lengths), rows, None)?))
    }

    fn defaults(&self, args: &[ArrayRef]) -> Result<ArrayRef> {
        let (kinds, owners) = (cast(&args[0], &DataType::Utf8View)?, cast(&args[1], &DataType::Int64)?);
        let known = roles(&self.catalog);
        let mut lists = ListBuilder::new(StringViewBuilder::new());
        for (kind, owner) in kinds.as_string_view().iter().zip(owners.as_primitive::<Int64Type>()) {
            let (Some(kind), Some(owner)) = (kind, owner) else {
                lists.append_null();
                continue;
            };
            let Some((_, everybody, own)) = DEFAULTS.into_iter().find(|(known, ..)| *known == kind) else {
                return exec_err!("unrecognized objtype abbreviation: {kind}");
            };
            let found = known.iter().find(|role| i64::from(role.oid) == owner);
            let name = found.map_or_else(|| owner.to_string(), |role| quoted_identifier(&role.name));
            if !everybody.is_empty() {
                lists.values().append_value(format!("={everybody}/{name}"));
            }
            if !own.is_empty() {
                lists.values().append_value(format!("{name}={own}/{name}"));
            }
            lists.append(true);
        }
        Ok(Arc::new(lists.finish()))
    }
}

#[derive(Default)]
struct Rows {
    grantors: Int64Builder,
    grantees: Int64Builder,
    privileges: StringViewBuilder,
    grantable: BooleanBuilder,
    count: usize,
}

impl Rows {
    fn add(&mut self, item: &Item, oid: &impl Fn(&str) -> i64) {
        let grantee = if item.grantee.is_empty() { 0 } else { oid(&item.grantee) };
        let grantor = oid(&item.grantor);
        for (letter, name) in PRIVILEGES {
            let Some((_, grantable)) = item.privileges.iter().find(|(known, _)| *known == letter) else { continue };
            self.grantors.append_value(grantor);
            self.grantees.append_value(grantee);
            self.privileges.append_value(name);
            self.grantable.append_value(*grantable);
            self.count += 1;
        }
    }

    fn finish(mut self) -> StructArray {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.grantors.finish()),
            Arc::new(self.grantees.finish()),
            Arc::new(self.privileges.finish()),
            Arc::new(self.grantable.finish()),
        ];
        StructArray::new(fields(), columns, None)
    }
}

/// One of the list: who may do what, and who has said so.
#[derive(Debug, PartialEq, Eq)]
struct Item {
    /// Empty for everybody.
    grantee: String,
    /// Letters, and whether the privilege may be granted further.
    privileges: Vec<(char, bool)>,
    grantor: String,
}

impl Item {
    fn read(text: &str) -> Option<Self> {
        let (grantee, rest) = name(text);
        let (letters, grantor) = rest.strip_prefix('=')?.split_once('/')?;
        let mut privileges = Vec::new();
        for letter in letters.chars() {
            match privileges.last_mut() {
                Some((_, grantable)) if letter == '*' => *grantable = true,
                _ => privileges.push((letter, false)),
            }
        }
        Some(Self { grantee, privileges, grantor: name(grantor).0 })
    }
}

/// The name that a text begins with, perhaps in quotes, and what is behind it.
fn name(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(['=', '/']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut name = String::new();
    let mut characters = quoted.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if character != '"' {
            name.push(character);
        } else if characters.next_if(|(_, next)| *next == '"').is_some() {
            name.push('"');
        } else {
            return (name, &quoted[at + 1..]);
        }
    }
    (name, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_read() {
        let item = Item::read("\"a \"\"b\"=r*w/longshore").unwrap();
        assert_eq!(item.grantee, "a \"b");
        assert_eq!(item.privileges, [('r', true), ('w', false)]);
        assert_eq!(item.grantor, "longshore");
        assert_eq!(Item::read("=U/\"x=y\"").unwrap().grantor, "x=y");
        assert_eq!(Item::read("nothing"), None);
    }
}
