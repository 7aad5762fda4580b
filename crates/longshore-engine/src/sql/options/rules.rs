//! All options in one table: names, where they have a meaning, what values they take, what they mean.
//!
//! The parser of options, its refusals, the completion of the shell and the book's page of options follow this table.

use super::Use;
use crate::sql::slips;

/// An option of COPY, `read_csv` and their like, as users are told of it.
#[derive(Debug, Clone, Copy)]
pub struct OptionRule {
    /// In upper case; `read_csv` takes it in any case.
    pub name: &'static str,
    /// What it takes, in words.
    pub values: &'static str,
    /// What holds where nothing is said.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// The words it takes, where it takes one of several.
    pub words: &'static [&'static str],
    pub(super) places: &'static [Use],
}

const READING: &[Use] = &[Use::CopyFrom, Use::ReadCsv];
const LOADING: &[Use] = &[Use::CopyFrom, Use::CopyQuery];
const REJECTING: &[Use] = &[Use::CopyFrom, Use::CopyQuery, Use::ReadCsv];
const WRITING: &[Use] = &[Use::CopyTo, Use::Export];
const TEXT: &[Use] = &[Use::CopyFrom, Use::ReadCsv, Use::CopyTo, Use::Export];
const EVERYWHERE: &[Use] = &[Use::CopyFrom, Use::CopyQuery, Use::ReadCsv, Use::CopyTo, Use::Export];

const fn rule(
    name: &'static str,
    places: &'static [Use],
    values: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> OptionRule {
    OptionRule { name, values, default, meaning, words: &[], places }
}

impl OptionRule {
    const fn one_of(mut self, words: &'static [&'static str]) -> Self {
        self.words = words;
        self
    }

    /// Where it has a meaning: `COPY FROM`, `COPY TO`, ...
    pub fn places(&self) -> impl Iterator<Item = &'static str> {
        self.places.iter().map(|place| place.name())
    }
}

/// All options, in the order in which they are explained.
pub const OPTIONS: &[OptionRule] = &[
    rule(
        "FORMAT",
        TEXT,
        "`csv`, `tsv`, `text`, `json`, `jsonl`, `fixed`, `logfmt`, `pattern`, `parquet`, `arrow`, `binary`, \
         `native`",
        "`csv` for text",
        "what the file is; `text` and `binary` are PostgreSQL's. `COPY TO` writes `csv`, `tsv`, `text`, `json`, `jsonl`, \
         `parquet`, `arrow`, `binary`, and what the ending of the name says where nothing is said; `EXPORT DATABASE` `native` (its default), \
         `csv`, `parquet`",
    )
    .one_of(&["csv", "tsv", "text", "json", "jsonl", "fixed", "logfmt", "pattern", "parquet", "arrow", "binary", "native"]),
    rule(
        "DELIMITER",
        TEXT,
        "text of up to 16 bytes",
        "`,`; a tab for `tsv` and `text`",
        "between fields; written is one ASCII character",
    ),
    rule(
        "QUOTE",
        TEXT,
        "one ASCII character, or `NONE`",
        "`\"`",
        "around fields; may also stand within one, as in PostgreSQL",
    ),
    rule("ESCAPE", TEXT, "one ASCII character", "the quote", "before a quote or itself, inside quotes"),
    rule(
        "ESCAPE_RULE",
        READING,
        "`quotes`, `everything`, `letters`",
        "`quotes`",
        "`everything`: `ESCAPE` protects any character, outside quotes too; `letters`: and `\\n`, `\\t` and their like \
         stand for line feed, tab and their like",
    )
    .one_of(&["quotes", "everything", "letters"]),
    rule("COMMENT", READING, "text of up to 16 bytes", "none", "lines that begin with it are no records"),
    rule("SKIP", READING, "number", "`0`", "lines before the header or the first record that are not data"),
    rule(
        "HEADER",
        TEXT,
        "`true`, `false`, `match`",
        "`false`",
        "skip the first record, or write one; `match` also compares it with the columns",
    )
    .one_of(&["true", "false", "match"]),
    rule(
        "SHORT_RECORDS",
        READING,
        "`reject`, `pad`",
        "`reject`",
        "records with too few fields; `pad`: those that lack are NULL, or what `DEFAULTS` says",
    )
    .one_of(&["reject", "pad"]),
    rule(
        "LONG_RECORDS",
        READING,
        "`reject`, `truncate`, `truncate_empty`",
        "`reject`",
        "records with too many fields; `truncate`: those that are too many are dropped; `truncate_empty`: only if they are \
         empty",
    )
    .one_of(&["reject", "truncate", "truncate_empty"]),
    rule(
        "STRAY_QUOTES",
        READING,
        "`toggle`, `error`, `literal`",
        "`toggle`",
        "a quote within an unquoted field: as in PostgreSQL, an error, or a character like any other",
    )
    .one_of(&["toggle", "error", "literal"]),
    rule(
        "LINE_ENDS",
        READING,
        "`standard`, `any`",
        "`standard`",
        "what ends a record: line feeds with or without a carriage return; `any`: a lone carriage return as well",
    )
    .one_of(&["standard", "any"]),
    rule(
        "SKIP_BLANK_LINES",
        READING,
        "`true`, `false`",
        "`false`; `true` for `fixed`, `logfmt`, `pattern`",
        "an empty line is no record",
    )
    .one_of(&["true", "false"]),
    rule(
        "TRAILING_DELIMITER",
        READING,
        "`auto`, `true`, `false`",
        "`auto`",
        "records end with one more delimiter, as in dbgen's files; `auto`: all do if the first does",
    )
    .one_of(&["auto", "true", "false"]),
    rule("MAX_RECORD_SIZE", READING, "bytes", "1 GiB", "a longer record is an error"),
    rule("NUL_BYTES", READING, "`keep`, `error`, `strip`", "`keep`", "what becomes of NUL bytes in fields")
        .one_of(&["keep", "error", "strip"]),
    rule(
        "PLACES",
        READING,
        "`'0-10,10-25'`, or widths: `'10,15'`",
        "none",
        "`FORMAT fixed`: start and end of each field, in characters; `25-` goes to the end of the line",
    ),
    rule(
        "PATTERN",
        READING,
        "regular expression, or `common`, `combined`, `syslog`, ...",
        "none",
        "`FORMAT pattern`: the named groups of the expression are the columns of their names",
    ),
    rule(
        "PATHS",
        READING,
        "`(column 'path', ...)`",
        "the column's name",
        "`FORMAT json`, `jsonl`: where a column is found, as in `'address.lines[0]'`; objects and arrays are their text",
    ),
    rule(
        "LAYOUT",
        READING,
        "`lines`, `values`, `array`",
        "what the head of the file has",
        "`FORMAT json`: a record on each line, records one behind the other, or the elements of an array",
    )
    .one_of(&["lines", "values", "array"]),
    rule(
        "UNKNOWN_KEYS",
        READING,
        "`ignore`, `reject`",
        "`ignore`",
        "`FORMAT json`, `jsonl`, `logfmt`: keys that no column takes",
    )
    .one_of(&["ignore", "reject"]),
    rule(
        "NULL",
        TEXT,
        "text, `('a', 'b')`, or by column",
        "empty; `\\N` for `text`",
        "stands for NULL where it is not quoted; a quoted empty field is an empty string",
    ),
    rule("QUOTED_NULLS", READING, "`true`, `false`, or by column", "`false`", "quoted NULL text is NULL as well"),
    rule("FORCE_NULL", READING, "`(columns)` or `*`", "none", "quoted NULL text is NULL as well"),
    rule("FORCE_NOT_NULL", READING, "`(columns)` or `*`", "none", "NULL text is an ordinary value"),
    rule(
        "DEFAULTS",
        READING,
        "`(column 'value', ...)`",
        "NULL",
        "the value of a column that a record lacks (with `SHORT_RECORDS pad`, in JSON) or that is not loaded",
    ),
    rule("TRIM", READING, "`true`, `false`, or by column", "`false`", "blanks around fields do not belong to them"),
    rule("DECIMAL_SEPARATOR", READING, "character, or by column", "`.`", "before the fraction of a number"),
    rule("THOUSANDS_SEPARATOR", READING, "character, or by column", "none", "may stand between groups of digits"),
    rule(
        "DATE_FORMAT",
        READING,
        "format, `('a', 'b')`, or by column",
        "`iso`",
        "`strptime` style (`%d.%m.%Y`), or `iso`, `us`, `eu`, `epoch`, `epoch_ms`, `epoch_us`; of several the first that \
         fits",
    ),
    rule("TIME_FORMAT", READING, "format, `('a', 'b')`, or by column", "`iso`", "likewise"),
    rule("TIMESTAMP_FORMAT", READING, "format, `('a', 'b')`, or by column", "`iso`", "likewise, with and without zone"),
    rule(
        "DATE_ORDER",
        READING,
        "`iso`, `mdy`, `dmy`",
        "what the values tell",
        "what `01/02/2024` means where no value of its column tells; `iso`: no date, since only ISO's way to write dates \
         counts",
    )
    .one_of(&["iso", "mdy", "dmy"]),
    rule("TRUE_VALUES", READING, "text, `('a', 'b')`, or by column", "PostgreSQL's", "words for true"),
    rule("FALSE_VALUES", READING, "text, `('a', 'b')`, or by column", "PostgreSQL's", "words for false"),
    rule("FORCE_QUOTE", WRITING, "`(columns)` or `*`", "none", "quote every value that is not NULL"),
    rule(
        "ENCODING",
        TEXT,
        "any label of the WHATWG standard: `latin1`, `utf-16`, `shift_jis`, ...",
        "`utf8`, or what a byte order mark says",
        "of the text; written is `utf8`",
    ),
    rule(
        "ENCODING_ERRORS",
        READING,
        "`error`, `replace`",
        "`error`",
        "bytes that are no text in the encoding; `replace` puts U+FFFD there",
    )
    .one_of(&["error", "replace"]),
    rule(
        "COMPRESSION",
        TEXT,
        "`auto`, `none`, `gzip`, `zstd`, `lz4`, `bzip2`, `xz`, `zip`, `snappy`",
        "`auto`: by content; written by the ending of the name",
        "what the file is compressed with; text is written with `gzip` and `zstd`, Parquet with `zstd` (its default), `snappy`, \
         `gzip`, `lz4`",
    )
    .one_of(&["auto", "none", "gzip", "zstd", "lz4", "bzip2", "xz", "zip", "snappy"]),
    rule(
        "PARTITION_BY",
        &[Use::CopyTo],
        "column, or `(columns)`",
        "none",
        "write a folder with a file for each value of the columns, as in `year=2024/data_0.csv`",
    ),
    rule(
        "OVERWRITE",
        WRITING,
        "`true`, `false`",
        "`false`",
        "a folder that is there is replaced in one step when all is written: an export, or what `PARTITION_BY` has written",
    )
    .one_of(&["true", "false"]),
    rule(
        "FILENAME",
        READING,
        "nothing, or the name of a column",
        "none",
        "that column (`filename`) takes the name of the file",
    ),
    rule(
        "ROW_NUMBER",
        READING,
        "nothing, or the name of a column",
        "none",
        "that column (`row_number`), a `BIGINT`, takes the number of the record in its file, from 1",
    ),
    rule(
        "HIVE_PARTITIONING",
        READING,
        "`true`, `false`",
        "`false`",
        "folders such as `year=2024` are columns of that value",
    )
    .one_of(&["true", "false"]),
    rule(
        "UNION_BY_NAME",
        READING,
        "`true`, `false`",
        "`false`",
        "each file's header says which column its fields go to; columns that a file does not have are NULL in its rows",
    )
    .one_of(&["true", "false"]),
    rule("ENDPOINT", READING, "address", "`AWS_ENDPOINT_URL`, or Amazon", "the S3-compatible store of `s3://` files"),
    rule("REGION", READING, "text", "`AWS_REGION`", "of the store"),
    rule("ACCESS_KEY_ID", READING, "text", "`AWS_ACCESS_KEY_ID`", "who asks the store"),
    rule(
        "SECRET_ACCESS_KEY",
        READING,
        "text",
        "`AWS_SECRET_ACCESS_KEY`",
        "what requests are signed with; shown in no message, and kept in no history",
    ),
    rule("SESSION_TOKEN", READING, "text", "`AWS_SESSION_TOKEN`", "of credentials that expire; a secret as well"),
    rule(
        "PATH_STYLE",
        READING,
        "`true`, `false`",
        "`true`",
        "the bucket stands in the path of the store's addresses, not in the name of the host",
    )
    .one_of(&["true", "false"]),
    rule("ANONYMOUS", READING, "`true`, `false`", "`false`", "requests are not signed: for public buckets")
        .one_of(&["true", "false"]),
    rule(
        "ON_ERROR",
        REJECTING,
        "`stop`, `ignore`, `table 'name'`, `file 'path'`",
        "`stop`",
        "records that cannot be taken: end the load, leave them out, and tell of each in a table or a CSV file",
    ),
    rule(
        "REJECT_LIMIT",
        REJECTING,
        "number, or percentage as in `'0.5%'`",
        "none",
        "records that may be left out; one more is an error",
    ),
    rule(
        "FOREIGN_KEYS",
        &[Use::CopyFrom],
        "`unified`, `post`",
        "`unified` where it can be",
        "whether foreign keys are checked as rows are loaded, or when all are there",
    )
    .one_of(&["unified", "post"]),
    rule(
        "ONCE",
        &[Use::CopyFrom],
        "`true`, `false`",
        "`false`",
        "load only the files that were not loaded into the table before: see [COPY](docs/src/sql/copy-from.md)",
    )
    .one_of(&["true", "false"]),
    rule(
        "ON_CHANGE",
        &[Use::CopyFrom],
        "`error`, `ignore`, `append`, `continue`",
        "`error`",
        "with `ONCE`, a file that has changed since it was loaded: an error; left as it was loaded; loaded as a whole, beside \
         the rows that it gave before; loaded behind its last loaded record, if it has only grown",
    )
    .one_of(&["error", "ignore", "append", "continue"]),
    rule("FREEZE", &[Use::CopyFrom], "`true`, `false`", "`false`", "changes nothing: rows need no freezing here")
        .one_of(&["true", "false"]),
    rule("DRY_RUN", LOADING, "`true`, `false`", "`false`", "check everything, load nothing").one_of(&["true", "false"]),
    rule(
        "AUTO",
        &[Use::CopyFrom],
        "`true`, `false`",
        "`false`",
        "find out what the file is; make the table if there is none, with the columns that are found out",
    )
    .one_of(&["true", "false"]),
    rule(
        "STRICT",
        READING,
        "`true`, `false`",
        "`false` where the dialect is found out",
        "records that are not whole are errors, and are not repaired: see [files](docs/src/guide/files.md)",
    )
    .one_of(&["true", "false"]),
    rule(
        "TYPES",
        READING,
        "`(column TYPE, ...)`; `types => {column: 'TYPE'}`",
        "found out",
        "types that win over those that are found out",
    ),
    rule(
        "NORMALIZE_NAMES",
        READING,
        "`true`, `false`",
        "`false`",
        "names of a header become lower case, of letters, digits and underscores",
    )
    .one_of(&["true", "false"]),
    rule("MODE", READING, "`exact`, `fast`, `safe`", "`exact`", "how the file is split among workers: see below")
        .one_of(&["exact", "fast", "safe"]),
    rule(
        "ON_CONFLICT",
        LOADING,
        "`stop`, `reject`, `keep_first`, `keep_last`, `update`",
        "`stop`",
        "rows whose key is there already, in the table or before them in the files: an error; left out as rejects; left \
         out; in place of the row that is there; their values for the row that is there",
    )
    .one_of(&["stop", "reject", "keep_first", "keep_last", "update"]),
    rule(
        "ON_CONFLICT_KEY",
        LOADING,
        "name of a constraint or an index",
        "every one that is unique",
        "the key that `ON_CONFLICT` is about; others then end the load",
    ),
    rule(
        "MERGE",
        LOADING,
        "`chunk`, `copy`, `insert`",
        "`chunk`; `copy` where rows are left out",
        "how loaded rows become part of the table",
    )
    .one_of(&["chunk", "copy", "insert"]),
    rule(
        "MERGE_MODE",
        &[Use::CopyFrom],
        "`short`, `interleaved`",
        "`short`",
        "when loaded rows become part of the table and its indexes: all in the end, or as they come, so that little is left \
         to do in the end, but their keys are taken for others all the while",
    )
    .one_of(&["short", "interleaved"]),
    rule("THREADS", EVERYWHERE, "number", "all processors", "workers"),
    rule("PIECE_SIZE", READING, "bytes", "chosen", "what a worker parses at a time"),
    rule("SPAN_SIZE", READING, "bytes", "chosen", "what a worker claims at a time"),
];

/// The rule of the option `name`.
pub(super) fn rule_of(name: &str) -> Option<&'static OptionRule> {
    OPTIONS.iter().find(|rule| rule.name == name)
}

/// The options that have a meaning in `place`.
pub(super) fn known(place: Use) -> impl Iterator<Item = &'static str> {
    OPTIONS.iter().filter(move |rule| rule.places.contains(&place)).map(|rule| rule.name)
}

/// The option of `place` that someone meant who wrote `name`, if one is close enough.
pub(super) fn meant(name: &str, place: Use) -> Option<&'static str> {
    slips::closest(name, known(place))
}

#[cfg(test)]
mod tests;
