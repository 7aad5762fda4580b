//! Actions about columns: ADD, DROP, SET and DROP of DEFAULT and NOT NULL, TYPE.

use longshore_storage::{Column, ColumnType};
use sqlparser::ast::{
    AlterColumnOperation, ColumnDef, ColumnOption, ColumnOptionDef, CreateTableOptions, DataType, DropBehavior, Expr,
    Ident, TableConstraint,
};

use super::draft::{Draft, DraftColumn, DraftKey, Values};
use crate::catalog::{Origin, Role, columns_read, next_of};
use crate::sql::{build, names, types};
use crate::statement::Context;
use crate::statement::create::{self, Definition};
use crate::{Error, ErrorKind};

impl Draft {
    pub(super) fn add_column(
        &mut self,
        context: &Context<'_>,
        definition: &ColumnDef,
        if_not_exists: bool,
    ) -> Result<(), Error> {
        let name = names::identifier(&definition.name)?;
        if self.position(&name).is_some() {
            if if_not_exists {
                return Ok(());
            }
            return Err(Error::exists(format!(
                "column {name} of table {} exists already; ADD COLUMN IF NOT EXISTS ignores that",
                self.name
            )));
        }
        let at = self.columns.len();
        let Definition { schema, mut rules, sequences, .. } =
            self.defined(context, std::slice::from_ref(definition), &[])?;
        self.sequences.extend(sequences);
        let (column, rule) = (schema.columns()[at].clone(), rules.columns.swap_remove(at));
        let values = match &rule.origin {
            Origin::Default(value) | Origin::Generated(value) => {
                Values::Converted(Box::new(build::cast(value.as_ref().clone(), column.column_type)))
            }
            Origin::Identity { sequence, .. } => {
                Values::Converted(Box::new(build::cast(next_of(sequence), column.column_type)))
            }
            Origin::Null => Values::New,
        };
        self.columns.push(DraftColumn { column, rule, values, is_dropped: false });
        let given = definition.options.iter().filter_map(|option| match &option.option {
            ColumnOption::ForeignKey(key) => option.name.as_ref().or(key.name.as_ref()),
            _ => option.name.as_ref(),
        });
        self.take_constraints(context, rules, given)
    }

    pub(super) fn drop_column(
        &mut self,
        ident: &Ident,
        if_exists: bool,
        behavior: Option<DropBehavior>,
    ) -> Result<(), Error> {
        let at = match self.column(ident) {
            Ok((at, _)) => at,
            Err(_) if if_exists => return Ok(()),
            Err(error) => return Err(error),
        };
        if self.schema().columns().len() == 1 {
            return Err(Error::invalid(format!(
                "table {}: its only column cannot be dropped; drop the table, or add a column first",
                self.name
            )));
        }
        self.cascades |= behavior == Some(DropBehavior::Cascade);
        for generated in self.generated_from(at) {
            let of = &self.columns[generated].column.name;
            if behavior != Some(DropBehavior::Cascade) {
                return Err(Error::new(
                    ErrorKind::Dependent,
                    format!(
                        "cannot drop column {} of table {} because other objects depend on it: column {of} is generated from \
                         it; use DROP ... CASCADE to drop both",
                        self.columns[at].column.name, self.name
                    ),
                ));
            }
            let of = build::quoted(of);
            self.drop_column(&of, true, behavior)?;
        }
        // As in PostgreSQL, what is about the column and others goes with it.
        let described = self.described();
        let is_about = |key: &DraftKey| {
            let mut exprs = key.key.definition.iter().flat_map(|definition| definition.expressions());
            key.key.columns.contains(&at) || exprs.any(|expr| columns_read(expr, &described).contains(&at))
        };
        let (lost, keys): (Vec<DraftKey>, Vec<_>) = std::mem::take(&mut self.keys).into_iter().partition(is_about);
        self.keys = keys;
        self.references.retain(|own| !own.reference.columns.contains(&at));
        self.release(&format!("column {}", self.columns[at].column.name), &lost, behavior)?;
        self.checks.retain(|check| !check.check.columns.contains(&at));
        self.columns[at].is_dropped = true;
        Ok(())
    }

    pub(super) fn alter_column(
        &mut self,
        context: &Context<'_>,
        ident: &Ident,
        operation: AlterColumnOperation,
    ) -> Result<(), Error> {
        let (at, name) = self.column(ident)?;
        match operation {
            AlterColumnOperation::SetNotNull => self.columns[at].column.nullable = false,
            AlterColumnOperation::DropNotNull => {
                self.check_may_be_null(at)?;
                self.columns[at].column.nullable = true;
                self.columns[at].rule.not_null = None;
            }
            AlterColumnOperation::SetDefault { value } => {
                self.refuse_identity(at)?;
                self.columns[at].rule.origin = self.default_of(context, at, value)?;
            }
            AlterColumnOperation::DropDefault => {
                self.refuse_identity(at)?;
                self.columns[at].rule.origin = Origin::Null;
            }
            AlterColumnOperation::SetDataType { data_type, using, .. } => {
                self.set_type(context, at, &data_type, using)?;
            }
            AlterColumnOperation::AddGenerated { .. } => {
                return Err(Error::internal(format!("column {name}: ADD GENERATED is read otherwise")));
            }
        }
        Ok(())
    }

    /// The generated columns that are computed from a column.
    fn generated_from(&self, at: usize) -> Vec<usize> {
        let described = self.described();
        let is_from = |(_, column): &(usize, &DraftColumn)| match &column.rule.origin {
            Origin::Generated(expr) if !column.is_dropped && !column.column.is_hidden() => {
                columns_read(expr, &described).contains(&at)
            }
            _ => false,
        };
        self.columns.iter().enumerate().filter(is_from).map(|(generated, _)| generated).collect()
    }

    fn check_may_be_null(&self, at: usize) -> Result<(), Error> {
        let name = &self.columns[at].column.name;
        let primary = self.keys.iter().find(|key| key.key.role == Role::Primary && key.key.columns.contains(&at));
        if let Some(primary) = primary {
            return Err(Error::new(
                ErrorKind::InvalidTable,
                format!(
                    "column {name} of table {} is part of the primary key {}, so it is NOT NULL; drop that constraint first",
                    self.name, primary.key.name
                ),
            ));
        }
        Ok(())
    }

    fn refuse_identity(&self, at: usize) -> Result<(), Error> {
        match &self.columns[at].rule.origin {
            Origin::Identity { .. } => Err(Error::syntax(format!(
                "column {} of table {} is GENERATED AS IDENTITY and has no other default",
                self.columns[at].column.name, self.name
            ))),
            Origin::Generated(_) => Err(Error::new(
                ErrorKind::Syntax,
                format!(
                    "column \"{}\" of relation \"{}\" is a generated column; ALTER COLUMN ... DROP EXPRESSION makes it one \
                     like others",
                    self.columns[at].column.name, self.name
                ),
            )),
            Origin::Null | Origin::Default(_) => Ok(()),
        }
    }

    /// A default for a column of the type that it has by now.
    fn default_of(&self, context: &Context<'_>, at: usize, value: Expr) -> Result<Origin, Error> {
        let (name, column_type) = ("the column with a default", self.columns[at].column.column_type);
        let options = vec![ColumnOptionDef { name: None, option: ColumnOption::Default(value) }];
        let mut defined = self.defined(context, &[column_def(name, column_type, options)], &[])?;
        Ok(defined.rules.columns.swap_remove(self.columns.len()).origin)
    }

    fn set_type(
        &mut self,
        context: &Context<'_>,
        at: usize,
        data_type: &DataType,
        using: Option<Expr>,
    ) -> Result<(), Error> {
        let name = self.columns[at].column.name.clone();
        let from = self.columns[at].column.column_type;
        let to = types::column_type(data_type)
            .map_err(|error: Error| error.reworded(|message| format!("column {name}: {message}")))?;
        // What the type of a user demanded goes with it.
        self.checks.retain(|check| check.check.columns != [at] || check.check.user_type().is_none());
        if from == to && using.is_none() {
            return Ok(());
        }
        if matches!(self.columns[at].rule.origin, Origin::Identity { .. }) {
            return Err(Error::unsupported(format!(
                "column {name} of table {} is GENERATED AS IDENTITY, whose type does not change",
                self.name
            )));
        }
        if let Some(generated) = self.generated_from(at).first() {
            return Err(Error::unsupported(format!(
                "cannot alter type of a column used by a generated column: column \"{name}\" is used by generated column \
                 \"{}\"",
                self.columns[*generated].column.name
            )));
        }
        if using.is_none() && !is_assignable(from, to) {
            return Err(Error::new(
                ErrorKind::TypeMismatch,
                format!(
                    "column {name} of table {} is {from} and does not become {to} by itself; say how, for instance USING \
                     CAST({} AS {to})",
                    self.name,
                    names::quoted(&name)
                ),
            ));
        }
        self.unsettle_hidden_columns(at);
        if using.is_none() && is_stored_alike(from, to) {
            self.columns[at].column.column_type = to;
        } else {
            let value = using.unwrap_or_else(|| Expr::Identifier(Ident::with_quote('"', &name)));
            let value = build::cast(value, to);
            self.columns[at].column.column_type = to;
            self.columns[at].values = Values::Converted(Box::new(value));
            for key in self.keys.iter_mut().filter(|key| key.key.columns.contains(&at)) {
                key.from = None;
            }
            for check in self.checks.iter_mut().filter(|check| check.check.columns.contains(&at)) {
                check.is_new = true;
            }
            self.doubt_references(at);
        }
        if let Origin::Default(default) = self.columns[at].rule.origin.clone() {
            self.columns[at].rule.origin = self.default_of(context, at, *default)?;
        }
        Ok(())
    }

    /// What CREATE TABLE would make of the columns that there are, of further ones, and of constraints. Columns have the
    /// numbers that they have here.
    pub(super) fn defined(
        &self,
        context: &Context<'_>,
        further: &[ColumnDef],
        constraints: &[TableConstraint],
    ) -> Result<Definition, Error> {
        let described = self.described().into_iter().enumerate().map(|(at, Column { name, column_type, .. })| {
            // No statement names it so.
            let is_unseen = self.columns[at].is_dropped || self.columns[at].column.is_hidden();
            let name = if is_unseen { format!("\u{1}unseen {at}") } else { name };
            column_def(&name, column_type, Vec::new())
        });
        let mut columns: Vec<ColumnDef> = described.collect();
        columns.extend(further.iter().cloned());
        let catalog = &context.database.catalog;
        let options = CreateTableOptions::None;
        let is_new = |name: &str| self.sequences.iter().any(|sequence| sequence.name == name);
        let is_taken = |name: &str| catalog.is_taken(name) || is_new(name);
        let defined = create::definition(&self.name, &columns, constraints, &options, &is_taken)?;
        defined.check(context, &self.name, |name| catalog.sequence(name).is_some() || is_new(name))?;
        Ok(defined)
    }
}

fn column_def(name: &str, column_type: ColumnType, options: Vec<ColumnOptionDef>) -> ColumnDef {
    ColumnDef { name: build::quoted(name), data_type: types::data_type(column_type), options }
}

/// Whether values of a type become those of another one without being asked to, as an INSERT lets them in PostgreSQL.
fn is_assignable(from: ColumnType, to: ColumnType) -> bool {
    use ColumnType::{
        BigInt, Char, Date, Decimal, Double, Integer, Interval, Real, SmallInt, Text, Time, TimeTz, Timestamp,
        TimestampTz, Varchar,
    };
    let (from, to) = (from.unrounded(), to.unrounded());
    let is_number = |of| matches!(of, SmallInt | Integer | BigInt | Decimal { .. } | Real | Double);
    let is_text = |of| matches!(of, Char(_) | Varchar(_) | Text);
    let is_moment = |of| matches!(of, Date | Timestamp | TimestampTz);
    from == to
        || is_text(to)
        || is_number(from) && is_number(to)
        || is_moment(from) && is_moment(to)
        || matches!(
            (from, to),
            (Timestamp | TimestampTz | TimeTz | Interval, Time) | (Time | TimestampTz, TimeTz) | (Time, Interval)
        )
}

/// Whether every value of a type is stored as the same value of another one.
fn is_stored_alike(from: ColumnType, to: ColumnType) -> bool {
    use ColumnType::{Decimal, Text, Varchar};
    if let (Some((one, before)), Some((other, after))) = (from.time_type(), to.time_type()) {
        return one == other && before <= after;
    }
    match (from, to) {
        (Varchar(_), Text) => true,
        (Varchar(before), Varchar(after)) => before <= after,
        (Decimal { precision: before, scale }, Decimal { precision: after, scale: same }) => {
            scale == same && before <= after && from.physical() == to.physical()
        }
        _ => false,
    }
}
