//! Parents and children, which refer to them.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use longshore_storage::{
    Column, ColumnType, ForeignKey, Index, IndexKind, Isolation, Memory, ReferenceAction, ReferenceMatch,
    ReferenceRules, ReferenceTiming, Relation, RowId, Schema, Transaction, TransactionError, Transactions, Uniqueness,
    key,
};

/// Parents have an id, children an id and the parent's.
pub(crate) struct Family {
    pub(crate) transactions: Arc<Transactions>,
    pub(crate) parents: Relation,
    pub(crate) children: Relation,
    pub(crate) parents_pk: Arc<Index>,
    pub(crate) children_pk: Arc<Index>,
}

pub(crate) fn rules(
    columns: &[(usize, usize)],
    on_delete: ReferenceAction,
    on_update: ReferenceAction,
) -> ReferenceRules {
    ReferenceRules {
        name: "children_parent_fkey".to_owned(),
        columns: columns.to_vec(),
        matching: ReferenceMatch::Simple,
        timing: ReferenceTiming::Immediate,
        on_delete,
        on_update,
        defaults: None,
    }
}

impl Family {
    pub(crate) fn new(kind: IndexKind) -> Family {
        let transactions = Transactions::new();
        let relation = |name: &str, columns: Vec<Column>| {
            let schema = Arc::new(Schema::new(columns));
            Relation::in_database(schema, Memory::new(None), &transactions).with_name(name)
        };
        let parents = relation(
            "parents",
            vec![Column::new("id", ColumnType::BigInt, false), Column::new("name", ColumnType::Text, true)],
        );
        let children = relation(
            "children",
            vec![Column::new("id", ColumnType::BigInt, false), Column::new("parent", ColumnType::BigInt, true)],
        );
        let parents_pk = parents.create_index("parents_pkey", &[0], kind, Uniqueness::Unique).unwrap();
        let children_pk = children.create_index("children_pkey", &[0], kind, Uniqueness::Unique).unwrap();
        Family { transactions, parents, children, parents_pk, children_pk }
    }

    pub(crate) fn with(kind: IndexKind, on_delete: ReferenceAction, on_update: ReferenceAction) -> Family {
        let family = Family::new(kind);
        family.refer(rules(&[(1, 0)], on_delete, on_update)).unwrap();
        family
    }

    pub(crate) fn refer(&self, rules: ReferenceRules) -> Result<Arc<ForeignKey>, TransactionError> {
        self.children.add_foreign_key(rules, &self.parents, &self.parents_pk, false)
    }

    pub(crate) fn begin(&self) -> Transaction {
        self.transactions.begin(Isolation::Snapshot)
    }

    pub(crate) fn parent(&self, transaction: &mut Transaction, id: i64) -> RowId {
        transaction.find(&self.parents, &self.parents_pk, key![id]).unwrap().unwrap()
    }

    pub(crate) fn child(&self, transaction: &mut Transaction, id: i64) -> RowId {
        transaction.find(&self.children, &self.children_pk, key![id]).unwrap().unwrap()
    }

    pub(crate) fn fill(&self, parents: &[i64], children: &[(i64, Option<i64>)]) {
        let mut transaction = self.begin();
        for &parent in parents {
            transaction.insert(&self.parents, key![parent, "x"]).unwrap();
        }
        for &(id, parent) in children {
            transaction.insert(&self.children, key![id, parent]).unwrap();
        }
        transaction.commit().unwrap();
    }

    /// All children with their parents, in the order of ids.
    pub(crate) fn children(&self, transaction: &mut Transaction) -> Vec<(i64, Option<i64>)> {
        let (id, parent) = (self.children.column::<i64>("id").unwrap(), self.children.column::<i64>("parent").unwrap());
        let mut found = Vec::new();
        transaction
            .scan(&self.children, &[], |transaction, row| {
                let parent = transaction.get_nullable(&self.children, row, parent)?;
                found.push((transaction.get(&self.children, row, id)?, parent));
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        found.sort_unstable();
        found
    }

    pub(crate) fn ids(&self, transaction: &mut Transaction) -> BTreeSet<i64> {
        let id = self.parents.column::<i64>("id").unwrap();
        let mut found = BTreeSet::new();
        transaction
            .scan(&self.parents, &[], |transaction, row| {
                found.insert(transaction.get(&self.parents, row, id)?);
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        found
    }
}

pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T, TransactionError>) -> String {
    match result.unwrap_err() {
        TransactionError::ForeignKey(error) => error.to_string(),
        other => panic!("a violation expected, not {other}"),
    }
}
