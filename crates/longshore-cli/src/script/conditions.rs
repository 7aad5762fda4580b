//! What `\if`, `\elif`, `\else` and `\endif` leave out.

/// The conditions that are open, the innermost last.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    open: Vec<Branch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Branch {
    /// Its statements run.
    Taken,
    /// No branch has run yet.
    Waiting,
    /// One has run, or none is to run.
    Done,
    /// The same behind `\else`.
    Last { taken: bool },
}

/// A meta-command that its conditions do not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Misplaced(pub(crate) &'static str);

impl Conditions {
    /// Whether statements run.
    pub(crate) fn is_active(&self) -> bool {
        self.open.iter().all(|branch| matches!(branch, Branch::Taken | Branch::Last { taken: true }))
    }

    /// Whether a condition is open.
    pub(crate) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether the condition of an `\elif` matters.
    pub(crate) fn asks(&self) -> bool {
        self.open.last() == Some(&Branch::Waiting)
    }

    /// `\if`
    pub(crate) fn begin(&mut self, holds: bool) {
        let branch = match (self.is_active(), holds) {
            (true, true) => Branch::Taken,
            (true, false) => Branch::Waiting,
            (false, _) => Branch::Done,
        };
        self.open.push(branch);
    }

    /// `\elif`
    ///
    /// # Errors
    ///
    /// No `\if` before it, or an `\else`.
    pub(crate) fn otherwise_if(&mut self, holds: bool) -> Result<(), Misplaced> {
        let branch = self.open.last_mut().ok_or(Misplaced("\\elif: no matching \\if"))?;
        *branch = match *branch {
            Branch::Waiting if holds => Branch::Taken,
            Branch::Waiting => Branch::Waiting,
            Branch::Taken | Branch::Done => Branch::Done,
            Branch::Last { .. } => return Err(Misplaced("\\elif: cannot occur after \\else")),
        };
        Ok(())
    }

    /// `\else`
    ///
    /// # Errors
    ///
    /// No `\if` before it, or another `\else`.
    pub(crate) fn otherwise(&mut self) -> Result<(), Misplaced> {
        let branch = self.open.last_mut().ok_or(Misplaced("\\else: no matching \\if"))?;
        if matches!(branch, Branch::Last { .. }) {
            return Err(Misplaced("\\else: cannot occur after \\else"));
        }
        *branch = Branch::Last { taken: *branch == Branch::Waiting };
        Ok(())
    }

    /// `\endif`
    ///
    /// # Errors
    ///
    /// No `\if` before it.
    pub(crate) fn end(&mut self) -> Result<(), Misplaced> {
        self.open.pop().map(|_| ()).ok_or(Misplaced("\\endif: no matching \\if"))
    }
}

/// Whether a meta-command is one of those that are heeded where nothing runs.
pub(super) fn is_condition(text: &str) -> bool {
    let name = text.split(char::is_whitespace).next().unwrap_or_default();
    matches!(name, "\\if" | "\\elif" | "\\else" | "\\endif")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_branch_is_taken() {
        let mut conditions = Conditions::default();
        conditions.begin(false);
        assert!(!conditions.is_active() && conditions.asks());
        conditions.otherwise_if(true).expect("a branch");
        assert!(conditions.is_active());
        // An inner condition.
        conditions.begin(false);
        assert!(!conditions.is_active());
        conditions.otherwise().expect("a branch");
        assert!(conditions.is_active());
        conditions.end().expect("a condition");
        conditions.otherwise().expect("a branch");
        assert!(!conditions.is_active());
        // Nothing within what is left out runs.
        conditions.begin(true);
        assert!(!conditions.is_active());
        conditions.end().expect("a condition");
        assert_eq!(conditions.otherwise(), Err(Misplaced("\\else: cannot occur after \\else")));
        conditions.end().expect("a condition");
        assert!(conditions.is_active() && !conditions.is_open());
        assert!(conditions.end().is_err() && conditions.otherwise().is_err() && conditions.otherwise_if(true).is_err());
    }
}
