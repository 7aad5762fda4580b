//! From a parsed statement to a plan.
//!
//! The [`planner`] knows what a statement sees; [`plan`] makes its plan, which the other parts rewrite where `DataFusion`
//! means something else than PostgreSQL does. Plans of prepared statements are kept in the [`plan_cache`]. Not here: the
//! optimizer's rules (`optimizer`), running a plan (`execution`).

pub(super) mod advisory;
pub(super) mod cast_types;
pub(super) mod common_types;
pub(super) mod compared_texts;
pub(super) mod context_provider;
pub(super) mod enums;
pub(super) mod exact_numbers;
pub(super) mod expressions;
pub(super) mod frames;
pub(super) mod function_registry;
mod function_types;
pub(super) mod generated;
pub(super) mod grouped_keys;
mod identity;
pub(super) mod implied;
pub(super) mod insert_of_query;
mod kinds;
pub(super) mod lateral_functions;
mod limits;
pub(super) mod literals;
pub(super) mod long_statements;
pub(super) mod matched_types;
mod merged_columns;
pub(super) mod multisets;
pub(super) mod names;
pub(super) mod null_logic;
mod nullable_subqueries;
pub(super) mod operator_types;
pub(super) mod order;
pub(super) mod origin;
mod outer_names;
pub(super) mod outer_types;
mod padded_texts;
pub(super) mod parameter_types;
pub(super) mod plan;
pub(super) mod plan_cache;
pub(super) mod planner;
pub(super) mod random;
mod range_frames;
pub(super) mod rules;
pub(super) mod samples;
pub(super) mod sequences;
pub(super) mod short_aliases;
mod shown_oids;
pub(super) mod stars;
pub(super) mod storage;
pub(super) mod system_functions;
pub(super) mod system_tables;
pub(super) mod table_functions;
pub(super) mod text_reader;
pub(super) mod time_operators;
pub(super) mod time_types;
mod type_calls;
pub(super) mod type_names;
pub(super) mod unnesting;
pub(super) mod values;
pub(super) mod whole_rows;
