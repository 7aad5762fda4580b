//! The names that encodings go by.

use encoding_rs::Encoding;

/// The encoding called `name`, in any case and with `_`, `-` or nothing between its parts.
pub(super) fn find(name: &str) -> Option<&'static Encoding> {
    let name = name.trim().to_ascii_lowercase();
    if let Some(found) = Encoding::for_label_no_replacement(name.as_bytes()) {
        return Some(found);
    }
    let plain: String = name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).collect();
    if let Some(found) = Encoding::for_label_no_replacement(plain.as_bytes()) {
        return Some(found);
    }
    let digits = plain.find(|c: char| c.is_ascii_digit()).unwrap_or(plain.len());
    let (word, number) = plain.split_at(digits);
    let label = match (word, number) {
        ("win" | "windows" | "cp" | "ms", "932") | ("sjis" | "mskanji", "") => String::from("shift_jis"),
        ("cp" | "ms" | "windows", "949") | ("uhc", "") => String::from("euc-kr"),
        ("cp" | "ms" | "windows", "936") | ("euccn", "") => String::from("gbk"),
        ("cp" | "ms" | "windows", "950") => String::from("big5"),
        ("win" | "windows" | "cp", number) => format!("windows-{number}"),
        ("latin", "7") => String::from("iso-8859-13"),
        ("latin", "8") => String::from("iso-8859-14"),
        ("latin", "9") => String::from("iso-8859-15"),
        ("latin", "10") => String::from("iso-8859-16"),
        ("iso", _) if number.starts_with("8859") && number.len() > 4 => format!("iso-8859-{}", &number[4..]),
        ("koi", "8" | "8r") => String::from("koi8-r"),
        ("koi", "8u") => String::from("koi8-u"),
        ("utf", "8sig") => String::from("utf-8"),
        ("utf", "16" | "16le") => String::from("utf-16le"),
        ("utf", "16be") => String::from("utf-16be"),
        ("mac" | "macroman", "") => String::from("macintosh"),
        ("eucjis" | "eucjp", _) => String::from("euc-jp"),
        _ => return None,
    };
    Encoding::for_label_no_replacement(label.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn encodings_go_by_many_names() {
        for (name, right) in [
            ("utf8", "UTF-8"),
            ("UTF-8", "UTF-8"),
            ("utf_8_sig", "UTF-8"),
            ("UTF-16LE", "UTF-16LE"),
            ("utf16be", "UTF-16BE"),
            ("utf_16", "UTF-16LE"),
            ("latin1", "windows-1252"),
            ("Latin-1", "windows-1252"),
            ("LATIN2", "ISO-8859-2"),
            ("LATIN9", "ISO-8859-15"),
            ("iso_8859_15", "ISO-8859-15"),
            ("ISO88595", "ISO-8859-5"),
            ("WIN1251", "windows-1251"),
            ("cp1250", "windows-1250"),
            ("windows_1257", "windows-1257"),
            ("SJIS", "Shift_JIS"),
            ("cp932", "Shift_JIS"),
            ("EUC_JP", "EUC-JP"),
            ("UHC", "EUC-KR"),
            ("KOI8R", "KOI8-R"),
            ("koi8-u", "KOI8-U"),
            ("GB18030", "gb18030"),
            ("mac_roman", "macintosh"),
            ("BIG5", "Big5"),
        ] {
            assert_eq!(find(name).map(encoding_rs::Encoding::name), Some(right), "{name}");
        }
        for unknown in ["", "utf-7", "ebcdic", "cp437", "hz-gb-2312", "latin99", "utf32"] {
            assert_eq!(find(unknown), None, "{unknown}");
        }
    }
}
