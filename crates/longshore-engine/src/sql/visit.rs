//! Walks over syntax trees that are compiled once.
//!
//! The parser's own walks are generic: each visitor has a copy of the code for every kind of node, which for the hundred visitors
//! of this crate was six of seven parts of its machine code, and of the time to compile it. [`Visit`] and [`VisitMut`] are called
//! as the parser's are, and take the same visitors, but walk by one copy that calls the visitor through a table.
//!
//! Import `Visit` and `VisitMut` from here, `Visitor` and `VisitorMut` from the parser; `clippy.toml` sees to it.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visitor, VisitorMut};

/// How nodes are seen, and how they are changed.
type Shared<'n, N> = &'n N;
type Mutable<'n, N> = &'n mut N;

/// Defines one of the two traits: `$reference` is how its visitors are given nodes, `$mutable` the same of itself.
macro_rules! walk {
    ($visit:ident, $visitor:ident, $hooks:ident, $caller:ident, $called:ident, $reference:ident, [$($mutable:tt)?],
     $($hook:ident: $node:ty),*) => {
        /// A node whose parts a visitor of the parser can see.
        pub(crate) trait $visit {
            /// Walks over all parts, until the visitor breaks off.
            fn visit<V: $visitor>(&$($mutable)? self, visitor: &mut V) -> ControlFlow<V::Break>;
        }

        impl<N: sqlparser::ast::$visit> $visit for N {
            fn visit<V: $visitor>(&$($mutable)? self, visitor: &mut V) -> ControlFlow<V::Break> {
                let mut called = $called { visitor, came: None };
                // What breaks off leaves what came of it.
                #[expect(clippy::disallowed_methods, reason = "this is the one walk")]
                let _ = sqlparser::ast::$visit::visit(self, &mut $caller(&mut called));
                called.came.map_or(ControlFlow::Continue(()), ControlFlow::Break)
            }
        }

        /// What a visitor does at each kind of node, whatever it breaks off with.
        trait $hooks {
            $(fn $hook(&mut self, node: $reference<'_, $node>) -> ControlFlow<()>;)*
        }

        /// The one visitor that walks are compiled for.
        struct $caller<'v>(&'v mut dyn $hooks);

        impl $visitor for $caller<'_> {
            type Break = ();
            $(fn $hook(&mut self, node: $reference<'_, $node>) -> ControlFlow<()> {
                self.0.$hook(node)
            })*
        }

        /// A visitor, and what it broke off with.
        struct $called<'v, V: $visitor> {
            visitor: &'v mut V,
            came: Option<V::Break>,
        }

        impl<V: $visitor> $hooks for $called<'_, V> {
            $(fn $hook(&mut self, node: $reference<'_, $node>) -> ControlFlow<()> {
                self.visitor.$hook(node).map_break(|came| self.came = Some(came))
            })*
        }
    };
}

/// Defines one of the two traits with every hook that the parser's visitors have.
macro_rules! walk_with_all_hooks {
    ($($given:tt)*) => {
        walk!(
            $($given)*
            pre_visit_query: Query,
            post_visit_query: Query,
            pre_visit_select: Select,
            post_visit_select: Select,
            pre_visit_relation: ObjectName,
            post_visit_relation: ObjectName,
            pre_visit_table_factor: TableFactor,
            post_visit_table_factor: TableFactor,
            pre_visit_expr: Expr,
            post_visit_expr: Expr,
            pre_visit_statement: Statement,
            post_visit_statement: Statement,
            pre_visit_value: ValueWithSpan,
            post_visit_value: ValueWithSpan
        );
    };
}

walk_with_all_hooks!(Visit, Visitor, Hooks, Caller, Called, Shared, [],);
walk_with_all_hooks!(VisitMut, VisitorMut, HooksMut, CallerMut, CalledMut, Mutable, [mut],);

/// Calls `act` for each expression, before those within it.
pub(crate) fn visit_expressions<B>(node: &impl Visit, act: impl FnMut(&Expr) -> ControlFlow<B>) -> ControlFlow<B> {
    struct Expressions<F>(F);

    impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for Expressions<F> {
        type Break = B;

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
            self.0(expr)
        }
    }

    node.visit(&mut Expressions(act))
}

/// Calls `act` for each name of a relation.
pub(crate) fn visit_relations<B>(node: &impl Visit, act: impl FnMut(&ObjectName) -> ControlFlow<B>) -> ControlFlow<B> {
    struct Relations<F>(F);

    impl<B, F: FnMut(&ObjectName) -> ControlFlow<B>> Visitor for Relations<F> {
        type Break = B;

        fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<B> {
            self.0(relation)
        }
    }

    node.visit(&mut Relations(act))
}
