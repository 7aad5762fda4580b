//! Scripts, run statement by statement on a server of PostgreSQL and on a database of ours: PostgreSQL's own regression
//! files, and those that follow its manual (`manual`).
//!
//! The regression files come with PostgreSQL's source (`src/test/regress`), which `scripts/postgres-regression.sh` brings; they are
//! not copied here. Statements about what Longshore has no place for (roles, triggers, procedural languages, operators of
//! one's own, geometry ...) and those that name what such a statement would have made are left out on both sides.

pub mod compare;
pub mod files;
pub mod order;
pub mod run;
pub mod scope;
pub mod script;
pub mod text_format;
