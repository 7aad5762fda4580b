//! Fields that find their columns by the names in the header of their file: files of other orders, and of other columns.
//!
//! A name is a column's if it is the same, or else if it differs in the case of ASCII letters only and could be no other
//! column's. Columns that a file does not have are NULL in its rows, or have their default. Not here: reading headers
//! (`span/preamble`).

use longshore_format::sniff::normalized;

use super::{ComputedValue, FieldTarget, InputFile};

/// How the names in a file's header decide what becomes of its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldNames {
    /// The columns that fields may go to, by their names in files.
    pub columns: Vec<(String, FieldTarget)>,
    /// What becomes of fields of other names.
    pub others: OtherFields,
    /// Whether the names of headers are made lower case, of letters, digits and underscores, before.
    pub normalize: bool,
}

/// What becomes of fields whose names are no column's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherFields {
    /// The file is refused.
    Refuse,
    /// They are read over, unchecked.
    ReadOver,
}

impl FieldNames {
    /// What becomes of the fields that a header calls `header`.
    ///
    /// # Errors
    /// A sentence about the header: a name that is no column's, or two of the same column.
    pub fn fields(&self, header: &[String]) -> Result<Vec<Option<FieldTarget>>, String> {
        let names: Vec<String> =
            if self.normalize { header.iter().map(|name| normalized(name)).collect() } else { header.to_vec() };
        let places = match_names(&names, self.columns.iter().map(|(name, _)| name.as_str()));
        let mut fields: Vec<Option<FieldTarget>> = Vec::with_capacity(names.len());
        for (index, place) in places.iter().enumerate() {
            let name = &header[index];
            let number = index + 1;
            if let Some(place) = place {
                if let Some(other) = places[..index].iter().position(|earlier| *earlier == Some(*place)) {
                    return Err(format!(
                        "the header names fields {} and {number} {:?}; fields of one name cannot be told apart by name",
                        other + 1,
                        name
                    ));
                }
                fields.push(Some(self.columns[*place].1.clone()));
            } else if self.others == OtherFields::ReadOver {
                fields.push(None);
            } else if name.is_empty() {
                return Err(format!("the header gives field {number} no name, by which its column could be found"));
            } else {
                let known: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
                return Err(format!(
                    "the header names field {number} {name:?}, and there is no such column; the columns are {}: list \
                     those to load, or add this one",
                    known.join(", ")
                ));
            }
        }
        Ok(fields)
    }

    /// Sets the fields of `input`; columns with a default that get none take that.
    pub(crate) fn apply(&self, input: &mut InputFile, fields: Vec<Option<FieldTarget>>) {
        for (_, target) in &self.columns {
            let has_field = fields.iter().flatten().any(|field| field.column == target.column);
            if let Some(default) = target.default.as_ref().filter(|_| !has_field) {
                input.computed.push((target.column, ComputedValue::Text(default.clone())));
            }
        }
        input.fields = fields;
    }
}

/// The place among `columns` of each of `names`: of the same name, or else of one that differs in case only and that no
/// name has exactly, if there is one such.
pub(crate) fn match_names<'a>(names: &[String], columns: impl Iterator<Item = &'a str>) -> Vec<Option<usize>> {
    let columns: Vec<&str> = columns.collect();
    let place = |name: &String| {
        let exact = columns.iter().position(|column| column == name);
        exact.or_else(|| {
            let alike = |column: &str| column.eq_ignore_ascii_case(name) && !names.iter().any(|name| name == column);
            let mut alike = columns.iter().enumerate().filter(|(_, column)| alike(column));
            match (alike.next(), alike.next()) {
                (Some((place, _)), None) => Some(place),
                _ => None,
            }
        })
    };
    names.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(columns: &[&str], others: OtherFields, normalize: bool) -> FieldNames {
        let column = |(index, name): (usize, &&str)| ((*name).to_owned(), FieldTarget::new(index));
        FieldNames { columns: columns.iter().enumerate().map(column).collect(), others, normalize }
    }

    fn found(names: &FieldNames, header: &[&str]) -> Result<Vec<Option<usize>>, String> {
        let header: Vec<String> = header.iter().map(|name| (*name).to_owned()).collect();
        names.fields(&header).map(|fields| fields.iter().map(|field| field.as_ref().map(|f| f.column)).collect())
    }

    #[test]
    fn names_find_their_columns() {
        let strict = names(&["a", "B", "b", "c d"], OtherFields::Refuse, false);
        assert_eq!(found(&strict, &["b", "a", "B"]), Ok(vec![Some(2), Some(0), Some(1)]));
        assert_eq!(found(&strict, &["A", "C D"]), Ok(vec![Some(0), Some(3)]));
        assert!(found(&strict, &["a", "x"]).unwrap_err().starts_with("the header names field 2 \"x\""));
        assert!(found(&strict, &["a", ""]).unwrap_err().contains("field 2 no name"));
        assert!(found(&strict, &["a", "b", "a"]).unwrap_err().contains("fields 1 and 3 \"a\""));
        let lax = names(&["a_b", "c"], OtherFields::ReadOver, true);
        assert_eq!(found(&lax, &["x", "A b", "", "C"]), Ok(vec![None, Some(0), None, Some(1)]));
        assert_eq!(found(&names(&["x", "X"], OtherFields::ReadOver, false), &["y"]), Ok(vec![None]));
        assert_eq!(found(&names(&["id", "ID"], OtherFields::ReadOver, false), &["Id"]), Ok(vec![None]));
    }
}
