//! How files are found and opened: stores, compression, encoding, and what is told of them in columns.

use longshore_source::{Compression, Encoding, EncodingErrors, OpenOptions, StoreOptions};

use super::given::Given;
use super::{OptionValue, Use};
use crate::Error;

/// What was said about files.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourceOptions {
    /// How to open each.
    pub(crate) open: OpenOptions,
    /// The column that takes the name of the file.
    pub(crate) filename: Option<String>,
    /// The column that takes the number of the record in its file.
    pub(crate) row_number: Option<String>,
    /// Whether folders such as `year=2024` are columns.
    pub(crate) hive_partitioning: bool,
}

/// The options about stores.
pub(super) const OF_STORES: [&str; 7] =
    ["ENDPOINT", "REGION", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "PATH_STYLE", "ANONYMOUS"];

/// The options whose values nobody else shall see: they stand in no message, and in no record of statements.
const SECRETS: [&str; 2] = ["SECRET_ACCESS_KEY", "SESSION_TOKEN"];

/// Whether the value of the option `name`, in any case, is a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    SECRETS.iter().any(|secret| secret.eq_ignore_ascii_case(name))
}

impl SourceOptions {
    pub(super) fn new(given: &Given<'_>, place: Use) -> Result<Self, Error> {
        let mut open = OpenOptions::default();
        let is_written = matches!(place, Use::CopyTo | Use::Export);
        if let Some(name) = given.text("ENCODING")? {
            open.encoding = Encoding::named(&name).map_err(|problem| given.bad("ENCODING", &problem))?;
            if is_written && open.encoding != Encoding::UTF_8 {
                return Err(Error::unsupported(format!(
                    "option ENCODING: text is written as utf8 only, not as {name}; convert the file then, for instance \
                     with iconv -f utf-8 -t {name}"
                )));
            }
        }
        if let Some(name) = given.text("COMPRESSION")?.filter(|_| !is_written) {
            open.compression = Compression::named(&name).map_err(|problem| given.bad("COMPRESSION", &problem))?;
        }
        let errors = given.choice("ENCODING_ERRORS", |name| match name {
            "error" => Some(EncodingErrors::Stop),
            "replace" => Some(EncodingErrors::Replace),
            _ => None,
        })?;
        open.encoding_errors = errors.unwrap_or(open.encoding_errors);
        open.store = store(given)?;
        Ok(Self {
            open,
            filename: column(given, "FILENAME", "filename")?,
            row_number: column(given, "ROW_NUMBER", "row_number")?,
            hive_partitioning: given.flag("HIVE_PARTITIONING")?.unwrap_or(false),
        })
    }
}

impl SourceOptions {
    /// What nobody else shall see.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let store = &self.open.store;
        [&store.secret_access_key, &store.session_token].into_iter().flatten().cloned().collect()
    }
}

/// `FILENAME`, `FILENAME true`, or `FILENAME column`: the column, which is called `usual` where that is not said.
fn column(given: &Given<'_>, option: &str, usual: &str) -> Result<Option<String>, Error> {
    match given.item(option).map(|item| &item.value) {
        None => Ok(None),
        Some(OptionValue::None) => Ok(Some(usual.to_owned())),
        Some(OptionValue::Word(word)) if word == "true" => Ok(Some(usual.to_owned())),
        Some(OptionValue::Word(word)) if word == "false" => Ok(None),
        Some(OptionValue::Word(name) | OptionValue::Text(name)) if !name.is_empty() => Ok(Some(name.clone())),
        Some(_) => Err(given.bad(option, "the name of a column is expected")),
    }
}

/// Where objects are, and who asks for them.
fn store(given: &Given<'_>) -> Result<StoreOptions, Error> {
    let store = StoreOptions {
        endpoint: given.text("ENDPOINT")?,
        region: given.text("REGION")?,
        access_key_id: given.text("ACCESS_KEY_ID")?,
        secret_access_key: given.text("SECRET_ACCESS_KEY")?,
        session_token: given.text("SESSION_TOKEN")?,
        path_style: given.flag("PATH_STYLE")?,
        anonymous: given.flag("ANONYMOUS")?.unwrap_or(false),
    };
    let http = |endpoint: &String| ["http://", "https://"].iter().any(|scheme| endpoint.starts_with(scheme));
    if store.endpoint.as_ref().is_some_and(|endpoint| !http(endpoint)) {
        return Err(given.bad("ENDPOINT", "an address is expected, as in 'https://host:9000'"));
    }
    let credentials = ["ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"];
    if let (true, Some(name)) = (store.anonymous, credentials.iter().find(|name| given.item(name).is_some())) {
        return Err(
            given.bad("ANONYMOUS", &format!("requests without a signature take no {name}; leave one of them out"))
        );
    }
    match (&store.access_key_id, &store.secret_access_key) {
        (Some(_), None) => Err(given.bad("ACCESS_KEY_ID", "SECRET_ACCESS_KEY must be given with it")),
        (None, Some(_)) => Err(given.bad("SECRET_ACCESS_KEY", "ACCESS_KEY_ID must be given with it")),
        _ => Ok(store),
    }
}
