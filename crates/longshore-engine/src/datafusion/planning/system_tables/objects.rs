//! The objects of a database as a statement sees them, each with its OID.

use std::collections::HashMap;
use std::sync::Arc;

use super::type_ref::{self, TypeRef};
use crate::catalog::{
    Catalog, Check, Entry, Key, ObjectId, Reference, Role, Rules, SYSTEM_SCHEMAS, SearchPath, Sequence, Table,
    UserType, View, is_temporary,
};
use crate::datafusion::functions::quoted_identifier;
use crate::sql::names::{self, SCHEMA};
use crate::transaction::StatementTransaction;

/// The OIDs of schemas that there always are.
pub(in crate::datafusion::planning) const PG_CATALOG_OID: u32 = 11;
pub(in crate::datafusion::planning) const PUBLIC_OID: u32 = 2200;
pub(in crate::datafusion::planning) const INFORMATION_SCHEMA_OID: u32 = 13_207;

/// The OID of the only database there is.
pub(in crate::datafusion::planning) const DATABASE_OID: u32 = 5;
/// The OID of the role that owns everything, as PostgreSQL gives it to its first superuser.
pub(in crate::datafusion::planning) const OWNER_OID: u32 = 10;

/// A table, view, sequence or index.
pub(in crate::datafusion::planning) struct RelationObject {
    pub(in crate::datafusion::planning) oid: u32,
    /// As the catalog knows it.
    pub(in crate::datafusion::planning) name: String,
    pub(in crate::datafusion::planning) body: Body,
}

/// What a relation is.
pub(in crate::datafusion::planning) enum Body {
    Table(Arc<Table>, Arc<Rules>),
    View(Arc<View>),
    Sequence(Arc<Sequence>),
    /// An index, with the place of its table among the relations and its own among the keys.
    Index(usize, usize),
}

/// A constraint.
pub(in crate::datafusion::planning) struct ConstraintObject {
    pub(in crate::datafusion::planning) oid: u32,
    pub(in crate::datafusion::planning) name: String,
    pub(in crate::datafusion::planning) of: Constrains,
}

/// What a constraint is about: a table, or a domain, by its place; and which one of these it is, by its place there.
#[derive(Clone, Copy)]
pub(in crate::datafusion::planning) enum Constrains {
    Key(usize, usize),
    Check(usize, usize),
    Reference(usize, usize),
    Domain(usize, usize),
}

/// A type that a user made.
pub(in crate::datafusion::planning) struct TypeObject {
    pub(in crate::datafusion::planning) oid: u32,
    pub(in crate::datafusion::planning) array_oid: u32,
    /// As the catalog knows it.
    pub(in crate::datafusion::planning) name: String,
    pub(in crate::datafusion::planning) user_type: Arc<UserType>,
}

/// All of them.
pub(in crate::datafusion::planning) struct Objects {
    pub(in crate::datafusion::planning) path: Vec<String>,
    pub(in crate::datafusion::planning) schemas: Vec<(u32, String)>,
    pub(in crate::datafusion::planning) relations: Vec<RelationObject>,
    pub(in crate::datafusion::planning) constraints: Vec<ConstraintObject>,
    pub(in crate::datafusion::planning) types: Vec<TypeObject>,
    relations_by_oid: HashMap<u32, usize>,
    relations_by_name: HashMap<String, usize>,
}

impl Objects {
    pub(super) fn new(catalog: &Catalog, transaction: &StatementTransaction) -> Self {
        let path = transaction.numbers().path();
        let mut objects = Self {
            path: path.schemas(catalog, true),
            schemas: schemas(catalog, &path),
            relations: Vec::new(),
            constraints: Vec::new(),
            types: Vec::new(),
            relations_by_oid: HashMap::new(),
            relations_by_name: HashMap::new(),
        };
        objects.add_types(catalog);
        for entry in catalog.entries().into_iter().filter(|entry| path.may_see(entry.name())) {
            match transaction.seen(catalog, entry) {
                Entry::Table(table) => objects.add_table(catalog, table),
                Entry::View(view) => {
                    let oid = catalog.oid(ObjectId::View(view.name.clone()));
                    objects.add(oid, view.name.clone(), Body::View(view));
                }
            }
        }
        for sequence in catalog.sequences().into_iter().filter(|sequence| path.may_see(&sequence.name)) {
            let oid = catalog.oid(ObjectId::Sequence(sequence.name.clone()));
            objects.add(oid, sequence.name.clone(), Body::Sequence(sequence));
        }
        objects
    }

    fn add(&mut self, oid: u32, name: String, body: Body) -> usize {
        let place = self.relations.len();
        self.relations_by_oid.insert(oid, place);
        self.relations_by_name.insert(name.clone(), place);
        self.relations.push(RelationObject { oid, name, body });
        place
    }

    fn add_table(&mut self, catalog: &Catalog, table: Arc<Table>) {
        let identity = table.identity();
        let rules = table.rules();
        let schema = names::parts(&table.name).0.to_owned();
        let oid = catalog.oid(ObjectId::Table(identity));
        let place = self.add(oid, table.name.clone(), Body::Table(table, Arc::clone(&rules)));
        let constraint = |name: &str, of: Constrains| ConstraintObject {
            oid: catalog.oid(ObjectId::Constraint(identity, name.to_owned())),
            name: name.to_owned(),
            of,
        };
        for (at, key) in rules.keys.iter().enumerate() {
            let oid = catalog.oid(ObjectId::Index(identity, key.name.clone()));
            self.add(oid, names::in_schema(&schema, &key.name), Body::Index(place, at));
            if is_constraint(key) {
                self.constraints.push(constraint(&key.name, Constrains::Key(place, at)));
            }
        }
        for (at, check) in rules.checks.iter().enumerate().filter(|(_, check)| check.user_type().is_none()) {
            self.constraints.push(constraint(&check.name, Constrains::Check(place, at)));
        }
        for (at, reference) in rules.references.iter().enumerate() {
            self.constraints.push(constraint(&reference.name, Constrains::Reference(place, at)));
        }
    }

    fn add_types(&mut self, catalog: &Catalog) {
        let types = catalog.definitions(|definitions| definitions.types.clone());
        for (name, user_type) in types {
            let oid = catalog.oid(ObjectId::Type(name.clone()));
            let array_oid = catalog.oid(ObjectId::ArrayType(name.clone()));
            if let UserType::Domain(domain) = user_type.as_ref() {
                for (at, (constraint, _)) in domain.checks.iter().enumerate() {
                    let oid = catalog.oid(ObjectId::DomainConstraint(name.clone(), constraint.clone()));
                    let of = Constrains::Domain(self.types.len(), at);
                    self.constraints.push(ConstraintObject { oid, name: constraint.clone(), of });
                }
            }
            self.types.push(TypeObject { oid, array_oid, name, user_type });
        }
    }

    /// The relation of this OID.
    pub(in crate::datafusion::planning) fn relation(&self, oid: u32) -> Option<&RelationObject> {
        self.relations_by_oid.get(&oid).map(|place| &self.relations[*place])
    }

    /// The relation that the catalog knows by this name, indexes included.
    pub(in crate::datafusion::planning) fn relation_named(&self, name: &str) -> Option<&RelationObject> {
        self.relations_by_name.get(name).map(|place| &self.relations[*place])
    }

    /// The table at a place, with its rules.
    pub(in crate::datafusion::planning) fn table(&self, place: usize) -> Option<(&Arc<Table>, &Arc<Rules>)> {
        match &self.relations.get(place)?.body {
            Body::Table(table, rules) => Some((table, rules)),
            _ => None,
        }
    }

    /// The table and the key of an index.
    pub(in crate::datafusion::planning) fn index(&self, body: &Body) -> Option<(&RelationObject, &Arc<Table>, &Key)> {
        let Body::Index(place, at) = body else { return None };
        let (table, rules) = self.table(*place)?;
        Some((&self.relations[*place], table, rules.keys.get(*at)?))
    }

    /// The constraint of this OID.
    pub(in crate::datafusion::planning) fn constraint(&self, oid: u32) -> Option<&ConstraintObject> {
        self.constraints.iter().find(|constraint| constraint.oid == oid)
    }

    /// The check that a constraint of a table is.
    pub(in crate::datafusion::planning) fn check(&self, place: usize, at: usize) -> Option<(&Arc<Table>, &Check)> {
        let (table, rules) = self.table(place)?;
        Some((table, rules.checks.get(at)?))
    }

    /// The foreign key that a constraint of a table is.
    pub(in crate::datafusion::planning) fn reference(
        &self,
        place: usize,
        at: usize,
    ) -> Option<(&Arc<Table>, &Reference)> {
        let (table, rules) = self.table(place)?;
        Some((table, rules.references.get(at)?))
    }

    /// The table that a foreign key refers to, the places of the columns there, and the key of them.
    pub(in crate::datafusion::planning) fn referenced(&self, reference: &Reference) -> Option<Referenced<'_>> {
        let relation = self.relation_named(&reference.table)?;
        let Body::Table(table, rules) = &relation.body else { return None };
        let schema = table.relation.schema();
        let columns: Vec<usize> = reference.referenced.iter().filter_map(|name| schema.index_of(name)).collect();
        let sorted = |columns: &[usize]| {
            let mut columns = columns.to_vec();
            columns.sort_unstable();
            columns
        };
        let is_it = |key: &&Key| key.role.is_unique() && sorted(&key.columns) == sorted(&columns);
        let key = rules.keys.iter().find(is_it);
        Some(Referenced { relation, columns, key })
    }

    /// Whether a foreign key refers to a table.
    pub(in crate::datafusion::planning) fn is_referenced(&self, relation: &RelationObject) -> bool {
        self.relations.iter().any(|other| match &other.body {
            Body::Table(_, rules) => rules.references.iter().any(|reference| reference.table == relation.name),
            _ => false,
        })
    }

    /// The OID of a schema, or 0.
    pub(in crate::datafusion::planning) fn schema_oid(&self, name: &str) -> u32 {
        self.schemas.iter().find(|(_, known)| known == name).map_or(0, |(oid, _)| *oid)
    }

    /// The OID of the schema that something of this name is in.
    pub(in crate::datafusion::planning) fn schema_of(&self, name: &str) -> u32 {
        self.schema_oid(names::parts(name).0)
    }

    /// The type that a user made under a name, or that has an OID, or of whose arrays the OID is.
    pub(in crate::datafusion::planning) fn user_type(
        &self,
        is_it: impl Fn(&TypeObject) -> bool,
    ) -> Option<&TypeObject> {
        self.types.iter().find(|known| is_it(known))
    }

    /// The type of a column of a table.
    pub(in crate::datafusion::planning) fn type_of(&self, table: &Table, rules: &Rules, at: usize) -> TypeRef {
        let column_type = table.relation.schema().columns()[at].column_type;
        let of_column = type_ref::of_column(column_type);
        let mut checks = rules.checks.iter().filter(|check| check.columns == [at]);
        let Some((name, constraint)) = checks.find_map(Check::user_type) else { return of_column };
        let dimensions = i32::try_from(constraint.matches("[]").count()).unwrap_or(0);
        match self.user_type(|known| known.name == name) {
            Some(known) if dimensions > 0 => TypeRef { oid: known.array_oid, modifier: -1, dimensions, length: -1 },
            Some(known) => TypeRef { oid: known.oid, modifier: -1, dimensions: 0, ..of_column },
            None => of_column,
        }
    }

    /// Whether a name without a schema means what the catalog knows by this one.
    pub(in crate::datafusion::planning) fn is_visible(&self, name: &str, exists: impl Fn(&str) -> bool) -> bool {
        let own = names::own(name);
        let first = self.path.iter().map(|schema| names::in_schema(schema, own)).find(|name| exists(name));
        first.is_some_and(|first| first == name)
    }

    /// Whether a relation is found by its name alone.
    pub(in crate::datafusion::planning) fn relation_is_visible(&self, name: &str) -> bool {
        self.is_visible(name, |name| self.relations_by_name.contains_key(name))
    }

    /// Whether a type is found by its name alone.
    pub(in crate::datafusion::planning) fn type_is_visible(&self, name: &str) -> bool {
        self.is_visible(name, |name| self.types.iter().any(|known| known.name == name))
    }

    /// The name of a relation as `regclass` shows it: with its schema where that is needed.
    pub(in crate::datafusion::planning) fn shown_relation(&self, name: &str) -> String {
        if self.relation_is_visible(name) { quoted_identifier(names::own(name)) } else { qualified(name) }
    }
}

/// What a foreign key refers to.
pub(in crate::datafusion::planning) struct Referenced<'a> {
    pub(in crate::datafusion::planning) relation: &'a RelationObject,
    pub(in crate::datafusion::planning) columns: Vec<usize>,
    pub(in crate::datafusion::planning) key: Option<&'a Key>,
}

impl RelationObject {
    /// `relkind`.
    pub(in crate::datafusion::planning) fn kind(&self) -> char {
        match self.body {
            Body::Table(..) => 'r',
            Body::View(_) => 'v',
            Body::Sequence(_) => 'S',
            Body::Index(..) => 'i',
        }
    }

    /// Whether there is a type of its rows.
    pub(in crate::datafusion::planning) fn has_row_type(&self) -> bool {
        matches!(self.body, Body::Table(..) | Body::View(_))
    }

    /// `relpersistence`.
    pub(in crate::datafusion::planning) fn persistence(&self, objects: &Objects) -> char {
        let table = match &self.body {
            Body::Table(table, _) => Some(table),
            Body::Index(place, _) => objects.table(*place).map(|(table, _)| table),
            Body::View(_) | Body::Sequence(_) => None,
        };
        match table {
            _ if is_temporary(&self.name) => 't',
            Some(table) if !table.relation.is_logged() => 'u',
            _ => 'p',
        }
    }
}

impl ConstraintObject {
    /// The place of the table that it is of.
    pub(in crate::datafusion::planning) fn table(&self) -> Option<usize> {
        match self.of {
            Constrains::Key(place, _) | Constrains::Check(place, _) | Constrains::Reference(place, _) => Some(place),
            Constrains::Domain(..) => None,
        }
    }
}

/// Whether a key is a constraint, and not merely an index.
pub(in crate::datafusion::planning) fn is_constraint(key: &Key) -> bool {
    matches!(key.role, Role::Primary | Role::Unique)
}

/// A name with its schema, as SQL.
pub(in crate::datafusion::planning) fn qualified(name: &str) -> String {
    let (schema, own) = names::parts(name);
    format!("{}.{}", quoted_identifier(schema), quoted_identifier(own))
}

/// The number of a column as system tables count them.
pub(in crate::datafusion::planning) fn number(at: usize) -> i64 {
    i64::try_from(at).map_or(i64::MAX, |at| at + 1)
}

/// The schemas that a session sees.
fn schemas(catalog: &Catalog, path: &SearchPath) -> Vec<(u32, String)> {
    let mut all = vec![(PG_CATALOG_OID, SYSTEM_SCHEMAS[1].to_owned())];
    all.push((INFORMATION_SCHEMA_OID, SYSTEM_SCHEMAS[0].to_owned()));
    let (names, lacks_public) =
        catalog.definitions(|definitions| (definitions.schemas.clone(), definitions.lacks_public));
    if !lacks_public {
        all.push((PUBLIC_OID, SCHEMA.to_owned()));
    }
    let temporary = path.has_temporary(catalog).then(|| path.temporary.to_string());
    all.extend(names.into_iter().chain(temporary).map(|name| (catalog.oid(ObjectId::Schema(name.clone())), name)));
    all
}
