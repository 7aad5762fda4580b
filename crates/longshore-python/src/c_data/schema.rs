//! Types and fields as `struct ArrowSchema`, and back.

use std::ffi::{CStr, CString, c_char};
use std::sync::Arc;

use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, IntervalUnit, Schema, TimeUnit, UnionMode};

use super::CSchema;

/// The flag of fields that may have NULL.
const NULLABLE: i64 = 2;
/// The flag of maps whose keys are sorted.
const KEYS_SORTED: i64 = 4;

/// What a schema of ours points to.
struct Kept {
    _format: CString,
    _name: CString,
    children: Box<[*mut CSchema]>,
    dictionary: *mut CSchema,
}

unsafe extern "C" fn release(schema: *mut CSchema) {
    // SAFETY: the caller hands in a schema of ours that is not released, whose private data `CSchema::new` has boxed.
    let kept = unsafe { Box::from_raw((*schema).private_data.cast::<Kept>()) };
    for child in kept.children.iter().chain(std::iter::once(&kept.dictionary)).filter(|child| !child.is_null()) {
        // SAFETY: `CSchema::new` has boxed it, and nobody else frees it; what was taken out of it is released.
        drop(unsafe { Box::from_raw(*child) });
    }
    // SAFETY: as above.
    unsafe { (*schema).release = None };
}

fn boxed(schema: CSchema) -> *mut CSchema {
    Box::into_raw(Box::new(schema))
}

fn boxed_fields<'a>(fields: impl Iterator<Item = &'a FieldRef>) -> Result<Vec<*mut CSchema>, ArrowError> {
    let fields = fields.map(|field| CSchema::of_field(field)).collect::<Result<Vec<_>, _>>()?;
    Ok(fields.into_iter().map(boxed).collect())
}

impl CSchema {
    /// The columns of a table.
    pub(crate) fn of_table(schema: &Schema) -> Result<Self, ArrowError> {
        Self::new("", &DataType::Struct(schema.fields().clone()), false)
    }

    fn of_field(field: &Field) -> Result<Self, ArrowError> {
        Self::new(field.name(), field.data_type(), field.is_nullable())
    }

    fn new(name: &str, data_type: &DataType, is_nullable: bool) -> Result<Self, ArrowError> {
        let children: Vec<*mut Self> = match data_type {
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::FixedSizeList(item, _)
            | DataType::ListView(item)
            | DataType::LargeListView(item)
            | DataType::Map(item, _) => vec![boxed(Self::of_field(item)?)],
            DataType::Struct(fields) => boxed_fields(fields.iter())?,
            DataType::Union(fields, _) => boxed_fields(fields.iter().map(|(_, field)| field))?,
            _ => Vec::new(),
        };
        let (index, dictionary) = match data_type {
            DataType::Dictionary(index, values) => (index.as_ref(), boxed(Self::new("", values, true)?)),
            other => (other, std::ptr::null_mut()),
        };
        let format = CString::new(format(index)?).unwrap_or_default();
        // C has no strings with NUL in them.
        let name = CString::new(name.replace('\0', "")).unwrap_or_default();
        let mut flags = if is_nullable { NULLABLE } else { 0 };
        if matches!(data_type, DataType::Map(_, true)) {
            flags |= KEYS_SORTED;
        }
        let (format_at, name_at) = (format.as_ptr(), name.as_ptr());
        let mut kept =
            Box::new(Kept { _format: format, _name: name, children: children.into_boxed_slice(), dictionary });
        Ok(Self {
            format: format_at,
            name: name_at,
            metadata: std::ptr::null(),
            flags,
            n_children: kept.children.len() as i64,
            children: kept.children.as_mut_ptr(),
            dictionary,
            release: Some(release),
            private_data: Box::into_raw(kept).cast(),
        })
    }

    /// The field that it describes.
    pub(crate) fn field(&self) -> Result<Field, ArrowError> {
        let field = Field::new(text(self.name)?, self.data_type()?, self.flags & NULLABLE != 0);
        Ok(match self.extension_name()? {
            Some(name) => field.with_metadata([(EXTENSION_TYPE_NAME_KEY.to_owned(), name)].into()),
            None => field,
        })
    }

    /// The name of the extension type whose values it has, if it says so.
    fn extension_name(&self) -> Result<Option<String>, ArrowError> {
        if self.metadata.is_null() {
            return Ok(None);
        }
        let mut rest = self.metadata.cast::<u8>();
        // SAFETY: the specification has the number of pairs there, for as long as the schema is not released.
        let pairs = unsafe { metadata_length(&mut rest) }?;
        for _ in 0..pairs {
            // SAFETY: as many pairs of a key and a value follow, each behind its length.
            let (key, value) = unsafe { (metadata_text(&mut rest)?, metadata_text(&mut rest)?) };
            if key == EXTENSION_TYPE_NAME_KEY.as_bytes() {
                let name = str::from_utf8(value).map_err(|_| broken("the name of a type is no UTF-8"))?;
                return Ok(Some(name.to_owned()));
            }
        }
        Ok(None)
    }

    fn children(&self) -> Result<Fields, ArrowError> {
        (0..usize::try_from(self.n_children).unwrap_or(0)).map(|at| self.child(at)?.field()).collect()
    }

    fn child(&self, at: usize) -> Result<&Self, ArrowError> {
        if self.children.is_null() || at as i64 >= self.n_children {
            return Err(broken("a child is missing"));
        }
        // SAFETY: the specification has `n_children` valid pointers there, for as long as the schema is not released.
        unsafe { (*self.children.add(at)).as_ref() }.ok_or_else(|| broken("a child is missing"))
    }

    fn item(&self) -> Result<Arc<Field>, ArrowError> {
        Ok(Arc::new(self.child(0)?.field()?))
    }

    /// The type that it describes.
    pub(crate) fn data_type(&self) -> Result<DataType, ArrowError> {
        if self.release.is_none() {
            return Err(broken("the schema was released"));
        }
        let format = text(self.format)?;
        let data_type = match format {
            "+l" => DataType::List(self.item()?),
            "+L" => DataType::LargeList(self.item()?),
            "+vl" => DataType::ListView(self.item()?),
            "+vL" => DataType::LargeListView(self.item()?),
            "+s" => DataType::Struct(self.children()?),
            "+m" => DataType::Map(self.item()?, self.flags & KEYS_SORTED != 0),
            other => match other.strip_prefix("+w:") {
                Some(size) => DataType::FixedSizeList(self.item()?, size.parse().map_err(|_| unknown(other))?),
                None => plain(other).ok_or_else(|| unknown(other))?,
            },
        };
        // SAFETY: it is null or a valid schema, for as long as this one is not released.
        match unsafe { self.dictionary.as_ref() } {
            Some(values) => Ok(DataType::Dictionary(Box::new(data_type), Box::new(values.data_type()?))),
            None => Ok(data_type),
        }
    }
}

fn text<'a>(at: *const c_char) -> Result<&'a str, ArrowError> {
    if at.is_null() {
        return Ok("");
    }
    // SAFETY: the specification has a string there that NUL ends, for as long as the schema is not released; the callers
    // keep it no longer.
    unsafe { CStr::from_ptr(at) }.to_str().map_err(|_| broken("a name is no UTF-8"))
}

/// The length at `rest`, which is then behind it.
///
/// # Safety
/// There are four bytes at `rest`.
unsafe fn metadata_length(rest: &mut *const u8) -> Result<usize, ArrowError> {
    // SAFETY: the caller says so; they need not be aligned.
    let length = unsafe { rest.cast::<i32>().read_unaligned() };
    // SAFETY: as above.
    *rest = unsafe { rest.add(size_of::<i32>()) };
    usize::try_from(length).map_err(|_| broken("a length in metadata is negative"))
}

/// The key or value at `rest`, which is then behind it.
///
/// # Safety
/// There is a length at `rest` and behind it as many bytes, which live as long as the caller keeps them.
unsafe fn metadata_text<'a>(rest: &mut *const u8) -> Result<&'a [u8], ArrowError> {
    // SAFETY: the caller says so.
    let length = unsafe { metadata_length(rest) }?;
    // SAFETY: as above.
    let text = unsafe { std::slice::from_raw_parts(*rest, length) };
    // SAFETY: as above.
    *rest = unsafe { rest.add(length) };
    Ok(text)
}

/// What is wrong with what another library handed in.
pub(super) fn broken(problem: &str) -> ArrowError {
    ArrowError::CDataInterface(format!("this is no Arrow data: {problem}"))
}

fn unknown(format: &str) -> ArrowError {
    ArrowError::CDataInterface(format!("Arrow data of the format {format:?} is not supported; cast the column before"))
}

fn unit(letter: char) -> Option<TimeUnit> {
    Some(match letter {
        's' => TimeUnit::Second,
        'm' => TimeUnit::Millisecond,
        'u' => TimeUnit::Microsecond,
        'n' => TimeUnit::Nanosecond,
        _ => return None,
    })
}

fn letter(unit: TimeUnit) -> char {
    match unit {
        TimeUnit::Second => 's',
        TimeUnit::Millisecond => 'm',
        TimeUnit::Microsecond => 'u',
        TimeUnit::Nanosecond => 'n',
    }
}

/// The types whose format is always the same.
const FIXED: &[(&str, DataType)] = &[
    ("n", DataType::Null),
    ("b", DataType::Boolean),
    ("c", DataType::Int8),
    ("C", DataType::UInt8),
    ("s", DataType::Int16),
    ("S", DataType::UInt16),
    ("i", DataType::Int32),
    ("I", DataType::UInt32),
    ("l", DataType::Int64),
    ("L", DataType::UInt64),
    ("e", DataType::Float16),
    ("f", DataType::Float32),
    ("g", DataType::Float64),
    ("z", DataType::Binary),
    ("Z", DataType::LargeBinary),
    ("vz", DataType::BinaryView),
    ("u", DataType::Utf8),
    ("U", DataType::LargeUtf8),
    ("vu", DataType::Utf8View),
    ("tdD", DataType::Date32),
    ("tdm", DataType::Date64),
    ("tts", DataType::Time32(TimeUnit::Second)),
    ("ttm", DataType::Time32(TimeUnit::Millisecond)),
    ("ttu", DataType::Time64(TimeUnit::Microsecond)),
    ("ttn", DataType::Time64(TimeUnit::Nanosecond)),
    ("tDs", DataType::Duration(TimeUnit::Second)),
    ("tDm", DataType::Duration(TimeUnit::Millisecond)),
    ("tDu", DataType::Duration(TimeUnit::Microsecond)),
    ("tDn", DataType::Duration(TimeUnit::Nanosecond)),
    ("tiM", DataType::Interval(IntervalUnit::YearMonth)),
    ("tiD", DataType::Interval(IntervalUnit::DayTime)),
    ("tin", DataType::Interval(IntervalUnit::MonthDayNano)),
];

/// The type of a format that needs no children.
fn plain(format: &str) -> Option<DataType> {
    if let Some((_, data_type)) = FIXED.iter().find(|(known, _)| *known == format) {
        return Some(data_type.clone());
    }
    if let Some(bytes) = format.strip_prefix("w:") {
        return bytes.parse().ok().map(DataType::FixedSizeBinary);
    }
    if let Some(digits) = format.strip_prefix("d:") {
        let mut parts = digits.split(',');
        let (precision, scale) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        return Some(match parts.next() {
            Some("32") => DataType::Decimal32(precision, scale),
            Some("64") => DataType::Decimal64(precision, scale),
            None | Some("128") => DataType::Decimal128(precision, scale),
            Some("256") => DataType::Decimal256(precision, scale),
            Some(_) => return None,
        });
    }
    let (units, zone) = format.strip_prefix("ts")?.split_once(':')?;
    let mut letters = units.chars();
    let unit = unit(letters.next()?)?;
    let zone = (!zone.is_empty()).then(|| zone.into());
    letters.next().is_none().then_some(DataType::Timestamp(unit, zone))
}

fn format(data_type: &DataType) -> Result<String, ArrowError> {
    if let Some((format, _)) = FIXED.iter().find(|(_, known)| known == data_type) {
        return Ok((*format).to_owned());
    }
    Ok(match data_type {
        DataType::FixedSizeBinary(bytes) => format!("w:{bytes}"),
        DataType::Decimal32(precision, scale) => format!("d:{precision},{scale},32"),
        DataType::Decimal64(precision, scale) => format!("d:{precision},{scale},64"),
        DataType::Decimal128(precision, scale) => format!("d:{precision},{scale}"),
        DataType::Decimal256(precision, scale) => format!("d:{precision},{scale},256"),
        DataType::Timestamp(unit, zone) => format!("ts{}:{}", letter(*unit), zone.as_deref().unwrap_or_default()),
        DataType::List(_) => "+l".to_owned(),
        DataType::LargeList(_) => "+L".to_owned(),
        DataType::ListView(_) => "+vl".to_owned(),
        DataType::LargeListView(_) => "+vL".to_owned(),
        DataType::FixedSizeList(_, size) => format!("+w:{size}"),
        DataType::Struct(_) => "+s".to_owned(),
        DataType::Map(..) => "+m".to_owned(),
        DataType::Union(fields, mode) => {
            let kind = if *mode == UnionMode::Dense { 'd' } else { 's' };
            let ids: Vec<String> = fields.iter().map(|(id, _)| id.to_string()).collect();
            format!("+u{kind}:{}", ids.join(","))
        }
        other => {
            return Err(ArrowError::CDataInterface(format!("values of type {other} cannot be handed on as Arrow")));
        }
    })
}
