//! Values in the names of folders, as Hive and Spark write them: `year=2024/month=01/part-0.csv`.

use super::FoundFile;
use crate::error::SourceError;
use crate::percent;

/// What stands for NULL in the name of a folder.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The names and values in the folders of `path`, in order.
pub(super) fn partitions(path: &str) -> Vec<(String, Option<String>)> {
    let Some((folders, _)) = path.rsplit_once('/') else { return Vec::new() };
    folders
        .split('/')
        .filter_map(|folder| folder.split_once('='))
        .filter(|(name, _)| !name.is_empty())
        .map(|(name, value)| (decode(name), (value != NULL).then(|| decode(value))))
        .collect()
}

/// The names that the folders of all `files` give values for, in order.
///
/// # Errors
/// When two files differ in them, or one has a name twice.
pub fn partition_names(files: &[FoundFile]) -> Result<Vec<String>, SourceError> {
    let names = |file: &FoundFile| -> Vec<String> { file.partitions.iter().map(|(name, _)| name.clone()).collect() };
    let Some(first) = files.first() else { return Ok(Vec::new()) };
    let expected = names(first);
    let unfit = |file: &FoundFile, problem| Err(SourceError::Unfit { file: file.location.to_string(), problem });
    for (index, name) in expected.iter().enumerate() {
        if expected[..index].contains(name) {
            return unfit(first, format!("its folders name {name:?} twice"));
        }
    }
    for file in files {
        let found = names(file);
        if found != expected {
            let (found, expected) = (found.join(", "), expected.join(", "));
            let problem = format!(
                "its folders name ({found}), and those of {} name ({expected}); load them apart",
                first.location
            );
            return unfit(file, problem);
        }
    }
    Ok(expected)
}

/// `text` with `%41` as the byte that it stands for; what is not so encoded stays as it is.
fn decode(text: &str) -> String {
    String::from_utf8(percent::decode(text)).unwrap_or_else(|_| text.to_owned())
}
