//! Shapes of queries that are left out as long as they are known to give wrong rows, each with its reason.

/// A shape that the generator makes unless it stands in [`KNOWN_WRONG`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `NOT IN` with a subquery, and `IN` with one as a value.
    NotIn,
    /// RIGHT and FULL joins with `USING` or NATURAL.
    MergedOuter,
    /// RIGHT and FULL joins.
    RightJoin,
    /// Columns of one name that come of different relations.
    SameNames,
    /// `EXCEPT ALL` and `INTERSECT ALL`.
    SetAll,
    /// `OVER (w ORDER BY ...)`.
    WindowOfWindow,
    /// ORDER BY in a subquery with LIMIT or an ordered aggregate above it.
    OrderedSubquery,
    /// Comparisons of floating-point columns with decimals.
    DoubleAndDecimal,
    /// Floating-point numbers that become whole ones.
    DoubleToWhole,
    /// Operators without parentheses.
    Precedence,
    /// A constant beside aggregates without GROUP BY.
    ConstantOverGroups,
    /// RETURNING that fails.
    FailingReturning,
    /// A SELECT that fails while it runs, within a block.
    FailingQuery,
    /// ON CONFLICT DO UPDATE that meets a new row of its own.
    ConflictTwice,
}

/// The shapes that are left out.
pub const KNOWN_WRONG: &[(Shape, &str)] = &[];

/// Parts of internal errors that are known, each with when it comes: a refusal where there should be rows.
pub const KNOWN_ERRORS: &[(&str, &str)] =
    &[("Selectivity is out of limit", "the estimate of a comparison of a cast column")];

/// Whether queries have this shape. `LONGSHORE_WITNESS_ALL=1` makes all shapes.
#[must_use]
pub fn is_made(shape: Shape) -> bool {
    std::env::var_os("LONGSHORE_WITNESS_ALL").is_some() || KNOWN_WRONG.iter().all(|(known, _)| *known != shape)
}
