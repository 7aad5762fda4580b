//! What there is to say of an object: who owns it, and who may do what with it.
//!
//! What is not said otherwise belongs to the first superuser, as everything does in a database without other roles; the
//! schema `public` belongs to the owner of the database. An object whose privileges were never changed has those that its
//! owner and everybody have by default.
//!
//! Not here: lists of privileges (`acl`), roles (`roles`), what is granted to whom (`granted`).

use super::acl::{Acl, AclItem, Privileges};
use super::roles::RoleId;

/// Kinds of objects that have privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectClass {
    /// Views as well.
    Table,
    Column,
    Sequence,
    Schema,
    Type,
    Database,
}

impl ObjectClass {
    /// All privileges that there are on it.
    pub(crate) fn privileges(self) -> Privileges {
        match self {
            Self::Table => Privileges::OF_COLUMN | Privileges::DELETE | Privileges::TRUNCATE | Privileges::TRIGGER,
            Self::Column => Privileges::OF_COLUMN,
            Self::Sequence => Privileges::USAGE | Privileges::SELECT | Privileges::UPDATE,
            Self::Schema => Privileges::USAGE | Privileges::CREATE,
            Self::Type => Privileges::USAGE,
            Self::Database => Privileges::CREATE | Privileges::TEMPORARY | Privileges::CONNECT,
        }
    }

    /// What messages call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Column => "column",
            Self::Sequence => "sequence",
            Self::Schema => "schema",
            Self::Type => "type",
            Self::Database => "database",
        }
    }

    /// What everybody may do if nothing else is said.
    fn of_public(self) -> Privileges {
        match self {
            Self::Type => Privileges::USAGE,
            Self::Database => Privileges::TEMPORARY | Privileges::CONNECT,
            _ => Privileges::NONE,
        }
    }

    /// The privileges on an object of which nothing is said.
    pub(crate) fn default_acl(self, owner: RoleId) -> Acl {
        let item = |grantee, privileges| AclItem { grantee, grantor: owner, privileges, options: Privileges::NONE };
        let mut items = Vec::new();
        if !self.of_public().is_empty() {
            items.push(item(RoleId::PUBLIC, self.of_public()));
        }
        if self != Self::Column {
            items.push(item(owner, self.privileges()));
        }
        Acl(items)
    }
}

/// What is said of an object: that it has another owner than usual, or other privileges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) owner: Option<RoleId>,
    pub(crate) acl: Option<Acl>,
}

/// What kinds of objects have default privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DefaultsFor {
    Tables,
    Sequences,
    Types,
    Schemas,
}

/// Whose new objects, in which schema, get these privileges beside.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DefaultsOf {
    pub(crate) creator: RoleId,
    /// Wherever it is, if there is none.
    pub(crate) schema: Option<String>,
    pub(crate) kind: DefaultsFor,
}
