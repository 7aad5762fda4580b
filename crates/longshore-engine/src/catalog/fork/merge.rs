//! The definitions of a transaction block put together with those that others have made meanwhile: each may change what the
//! other has left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::conflict;
use crate::Error;
use crate::catalog::{Definitions, Roles};

/// What both have made of `before`.
///
/// # Errors
/// When both have changed the same.
pub(super) fn definitions(before: &Definitions, own: &Definitions, now: &Definitions) -> Result<Definitions, Error> {
    let problem = || conflict("has changed schemas, types, comments or privileges");
    let merged = Definitions {
        schemas: sets(&before.schemas, &own.schemas, &now.schemas),
        lacks_public: if before.lacks_public == own.lacks_public { now.lacks_public } else { own.lacks_public },
        types: maps(&before.types, &own.types, &now.types).ok_or_else(problem)?,
        new_labels: BTreeMap::new(),
        comments: maps(&before.comments, &own.comments, &now.comments).ok_or_else(problem)?,
        roles: if own.roles == before.roles {
            Arc::clone(&now.roles)
        } else {
            Arc::new(roles(&before.roles, &own.roles, &now.roles).ok_or_else(|| conflict("has changed roles"))?)
        },
        access: maps(&before.access, &own.access, &now.access).ok_or_else(problem)?,
        defaults: maps(&before.defaults, &own.defaults, &now.defaults).ok_or_else(problem)?,
    };
    // What is granted to a role that is gone would be granted to the next one of its number.
    let is_there = |role: &crate::catalog::RoleId| merged.roles.get(*role).is_some();
    let owners = merged.access.values().filter_map(|access| access.owner.as_ref());
    let creators = merged.defaults.keys().map(|of| &of.creator);
    let lists = merged.access.values().filter_map(|access| access.acl.as_ref()).chain(merged.defaults.values());
    let named = lists.flat_map(|acl| &acl.0);
    let granted = named.flat_map(|item| [&item.grantee, &item.grantor]).filter(|role| role.0 != 0);
    if owners.chain(creators).chain(granted).all(is_there) { Ok(merged) } else { Err(conflict("has dropped a role")) }
}

fn roles(before: &Roles, own: &Roles, now: &Roles) -> Option<Roles> {
    let merged = Roles {
        roles: maps(&before.roles, &own.roles, &now.roles)?,
        members: maps(&before.members, &own.members, &now.members)?,
        settings: maps(&before.settings, &own.settings, &now.settings)?,
        next: own.next.max(now.next),
    };
    let mut names = BTreeSet::new();
    let are_unique = merged.roles.values().all(|role| names.insert(role.name.as_str()));
    let is_there = |role: &crate::catalog::RoleId| merged.roles.contains_key(role);
    let are_there = merged.members.keys().all(|(role, member)| is_there(role) && is_there(member));
    (are_unique && are_there).then_some(merged)
}

/// `None` if the same key has become two different things.
fn maps<K: Ord + Clone, V: PartialEq + Clone>(
    before: &BTreeMap<K, V>,
    own: &BTreeMap<K, V>,
    now: &BTreeMap<K, V>,
) -> Option<BTreeMap<K, V>> {
    let mut merged = now.clone();
    let keys: BTreeSet<&K> = before.keys().chain(own.keys()).collect();
    for key in keys {
        let (old, new) = (before.get(key), own.get(key));
        if old == new {
            continue;
        }
        if now.get(key) != old && now.get(key) != new {
            return None;
        }
        match new {
            Some(value) => drop(merged.insert(key.clone(), value.clone())),
            None => drop(merged.remove(key)),
        }
    }
    Some(merged)
}

fn sets(before: &BTreeSet<String>, own: &BTreeSet<String>, now: &BTreeSet<String>) -> BTreeSet<String> {
    let added = own.difference(before);
    now.iter().filter(|name| own.contains(*name) || !before.contains(*name)).chain(added).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_may_change_what_the_other_leaves_alone() {
        let map = |pairs: &[(&str, i32)]| -> BTreeMap<String, i32> {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect()
        };
        let before = map(&[("a", 1), ("b", 2), ("c", 3)]);
        let own = map(&[("a", 9), ("b", 2), ("d", 4)]);
        assert_eq!(maps(&before, &own, &map(&[("a", 1), ("b", 7), ("c", 3), ("e", 5)])), {
            Some(map(&[("a", 9), ("b", 7), ("d", 4), ("e", 5)]))
        });
        assert_eq!(maps(&before, &own, &map(&[("a", 8), ("b", 2), ("c", 3)])), None);
        assert_eq!(maps(&before, &own, &map(&[("a", 1), ("b", 2), ("c", 5)])), None);
    }
}
