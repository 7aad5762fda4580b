//! Aggregates of intervals.
