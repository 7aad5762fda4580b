//! Whether a text can be in the encoding that was named, from its first bytes.
//!
//! Text of one byte per character that is read as UTF-16 is a few long lines of Chinese characters: below a header it
//! would load as no row at all. UTF-16 that is read as UTF-8 or Latin-1 has a zero byte beside each character. Neither
//! may load silently, and no real text may be refused: the rules here ask for what no language writes. Who is refused
//! all the same can put a byte order mark before the text, which settles what it is.
//!
//! Not here: which of several encodings of one byte per character a text is in; nobody can know.

use encoding_rs::{UTF_16BE, UTF_16LE};

use super::Encoding;

/// Text behind a mark of UTF-16 is refused only from this many bytes on, since there the mark says what it is.
const MARKED_BYTES_MIN: usize = 64;
/// Bytes of text that tell by themselves, and that shares are taken of.
const SHARE_BYTES_MIN: usize = 16;
/// Characters of a text that a message shows.
const SHOWN_CHARS: usize = 20;

/// Which of two bytes is the high one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

impl Order {
    const BOTH: [Order; 2] = [Order::Little, Order::Big];

    fn of(encoding: Encoding) -> Option<Self> {
        match encoding.0 {
            found if found == UTF_16LE => Some(Self::Little),
            found if found == UTF_16BE => Some(Self::Big),
            _ => None,
        }
    }

    fn option(self) -> &'static str {
        match self {
            Self::Little => "utf-16le",
            Self::Big => "utf-16be",
        }
    }

    fn units(self, text: &[u8]) -> impl Iterator<Item = u16> {
        text.as_chunks::<2>().0.iter().map(move |&pair| match self {
            Self::Little => u16::from_le_bytes(pair),
            Self::Big => u16::from_be_bytes(pair),
        })
    }
}

/// Why a text without a byte order mark that begins with `head` cannot be in the encoding `named`, and what to do.
pub(super) fn about_named(head: &[u8], named: Encoding) -> Option<String> {
    if is_utf_32(head) {
        return Some(String::from(
            "the text looks like UTF-32, which is not supported; convert it to UTF-8 (iconv -f UTF-32LE or -f UTF-32BE)",
        ));
    }
    let Some(order) = Order::of(named) else {
        let order = Order::BOTH.into_iter().find(|order| looks_like_utf_16(head, *order))?;
        let name = order.option();
        return Some(format!("the text looks like UTF-16 without a byte order mark; set ENCODING '{name}'"));
    };
    let other = if order == Order::Little { Order::Big } else { Order::Little };
    if looks_like_utf_16(head, other) && !looks_like_utf_16(head, order) || is_swapped(head, order) {
        return Some(format!(
            "ENCODING '{}' was given, but the bytes of each character are the other way round; set ENCODING '{}'",
            order.option(),
            other.option()
        ));
    }
    has_bytes_for_characters(head, order).then(|| {
        format!(
            "ENCODING '{}' was given, but the text has one byte per character: it begins {:?}; leave ENCODING out if it \
             is UTF-8, or name what it is in (if it is UTF-16 indeed, put a byte order mark before it)",
            order.option(),
            shown(head)
        )
    })
}

/// Why the text `head` that stands behind a byte order mark of `marked` cannot be in that encoding, and what to do.
pub(super) fn about_marked(head: &[u8], marked: Encoding) -> Option<String> {
    let order = Order::of(marked)?;
    (head.len() >= MARKED_BYTES_MIN && has_bytes_for_characters(head, order)).then(|| {
        format!(
            "the text begins with the byte order mark of {}, but then has one byte per character: {:?}; take the mark \
             (its first two bytes) off",
            marked.name(),
            shown(head)
        )
    })
}

/// Whether `text` is no UTF-16, but has one byte per character, or is UTF-8.
fn has_bytes_for_characters(text: &[u8], order: Order) -> bool {
    let written = text.strip_suffix(b"\x1a").unwrap_or(text);
    // A zero byte is half of an ASCII character, or of one whose number is a multiple of 256. Other control characters
    // are halves of letters of Greek, Cyrillic, Arabic and all of their kind.
    let is_text = |byte: &u8| *byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r');
    if written.is_empty() || !written.iter().all(is_text) {
        return false;
    }
    // A word in Devanagari has a tab for the high half of each letter.
    let high = |unit: u16| unit >> 8;
    if order.units(written).all(|unit| high(unit) == 0x09) {
        return false;
    }
    let is_long = written.len() >= SHARE_BYTES_MIN;
    if str::from_utf8(written).map_or_else(|error| error.error_len().is_none(), |_| true) {
        // A few Chinese characters may happen to be letters all over, but hardly lines of them.
        let is_line_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let is_of_table = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b',' | b';' | b'\t' | b'|');
        let ends = written.last().is_some_and(is_line_end) || written.iter().any(is_of_table);
        return is_long || ends && written.iter().any(is_line_end);
    }
    // Of Chinese text in UTF-16 half of the bytes look like ASCII. Hardly any text has characters of the first extension
    // of Chinese (from U+3400 on), or for private use: there are the digits, capitals and letters beyond ASCII.
    let ascii = written.iter().filter(|byte| byte.is_ascii()).count();
    let units = written.len() / 2;
    let strange = order.units(written).filter(|unit| matches!(high(*unit), 0x34..=0x4c | 0xe0..=0xf8)).count();
    is_long && (ascii * 10 >= written.len() * 9 || strange * 8 >= units)
}

/// Whether `text`, in UTF-16 of the `order` that was named, has what is no character, or hardly one, but a line end or
/// delimiter the other way round, and has no line end as it is.
fn is_swapped(text: &[u8], order: Order) -> bool {
    let is_there = |wanted: &[u16]| order.units(text).any(|unit| wanted.contains(&unit));
    is_there(&[0x0a00, 0x0d00, 0x0900, 0x2c00, 0x3b00]) && !is_there(&[0x000a, 0x000d])
}

/// Whether `text` is UTF-16 of this order, and nothing that has one byte per character: nearly all characters have a zero
/// byte on one side, or, where there is more than ASCII, much of what separates fields and records has one.
fn looks_like_utf_16(text: &[u8], order: Order) -> bool {
    let is_separator = |byte: &u8| matches!(byte, b'\n' | b'\r' | b',' | b';');
    let (mut units, mut narrow, mut separators) = (0, 0, 0);
    for unit in order.units(text) {
        let [high, low] = unit.to_be_bytes();
        units += 1;
        narrow += usize::from(high == 0 && low != 0);
        separators += usize::from(high == 0 && is_separator(&low));
    }
    if units < 2 || narrow * 10 >= units * 9 {
        return units >= 2;
    }
    let is_ascii = |byte: &&u8| matches!(**byte, b' '..=b'~' | b'\n' | b'\r');
    let ascii = text.iter().filter(is_ascii).count();
    let others = text.iter().filter(|byte| **byte != 0).count() - ascii;
    let bytes_alike = text.iter().filter(|byte| is_separator(byte)).count();
    others * 9 > ascii && separators > 0 && separators * 3 > bytes_alike
}

/// Whether `text` has four bytes per character.
fn is_utf_32(text: &[u8]) -> bool {
    let units = text.as_chunks::<4>().0;
    let little = |unit: &[u8; 4]| matches!(unit, [low, high, 0, 0] if (*low, *high) != (0, 0));
    let big = |unit: &[u8; 4]| matches!(unit, [0, 0, high, low] if (*low, *high) != (0, 0));
    units.len() >= 2 && text.len().is_multiple_of(4) && (units.iter().all(little) || units.iter().all(big))
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).chars().take(SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What people write in several scripts: an encoding of one or two bytes per character, and a text.
    const PROSE: [(&str, &str); 12] = [
        ("windows-1252", "Zoë Brøndby aus Köln hat für zwölf Flaschen Öl 13,50 € gezahlt, jede mit Korken"),
        ("windows-1251", "Привет мир, это обычный русский текст без особых примет и с точкой в конце."),
        ("koi8-r", "Привет мир, это обычный русский текст без особых примет и с точкой в конце."),
        ("iso-8859-7", "Καλημέρα κόσμε, αυτό είναι ένα συνηθισμένο κείμενο"),
        ("windows-1256", "مرحبا بالعالم هذا نص عادي باللغة العربية"),
        ("windows-1255", "שלום עולם זהו טקסט רגיל בעברית"),
        ("gbk", "中华人民共和国的首都是北京，上海是一座很大的城市。人们在那里工作和生活，一年四季都有游客。"),
        ("big5", "中華民國的首都是臺北，上海是一座很大的城市。人們在那裡工作和生活。"),
        ("shift_jis", "東京は日本の首都です。大阪と京都も大きな町で、毎年たくさんの人が訪れます。カタカナも。"),
        ("euc-kr", "서울은 대한민국의 수도이다. 부산과 인천도 큰 도시이며 많은 사람이 살고 있다."),
        ("utf-8", "नमस्ते दुनिया यह हिन्दी में एक साधारण वाक्य है"),
        ("utf-8", "สวัสดีชาวโลก นี่คือข้อความธรรมดาในภาษาไทย"),
    ];

    fn named(name: &str) -> Encoding {
        Encoding::named(name).unwrap_or_else(|error| panic!("{error}"))
    }

    fn wide(text: &str, order: Order) -> Vec<u8> {
        let bytes = match order {
            Order::Little => u16::to_le_bytes,
            Order::Big => u16::to_be_bytes,
        };
        text.encode_utf16().flat_map(bytes).collect()
    }

    /// Texts of people as they are, as one word, as a header with rows, and as a long header.
    fn texts(prose: &str) -> [String; 6] {
        let characters: Vec<char> = prose.chars().collect();
        let words: Vec<String> = match prose.split_whitespace().map(str::to_owned).collect::<Vec<_>>() {
            words if words.len() > 3 => words,
            _ => characters.chunks(4).map(|word| word.iter().collect()).collect(),
        };
        let row = |number: usize| format!("{number},{},\"{prose}\",{}.5\n", words[number % words.len()], number * 77);
        let table: String = (0..9).map(row).collect();
        [
            prose.to_owned(),
            words[0].clone(),
            format!("{}\n{}", words[0], words[words.len() - 1]),
            table.clone(),
            table.replace('\n', "\r\n").replace(',', ";"),
            words.iter().cycle().take(90).cloned().collect::<Vec<_>>().join(","),
        ]
    }

    fn head(bytes: &[u8]) -> &[u8] {
        &bytes[..bytes.len().min(512)]
    }

    #[test]
    fn what_is_named_rightly_is_taken() {
        for (encoding, prose) in PROSE {
            for text in texts(prose) {
                for order in Order::BOTH {
                    let bytes = wide(&text, order);
                    assert_eq!(about_named(head(&bytes), named(order.option())), None, "{text}");
                    assert_eq!(about_marked(head(&bytes), named(order.option())), None, "{text}");
                }
                for name in [encoding, "utf-8", "gb18030"] {
                    let bytes = named(name).0.encode(&text).0;
                    assert_eq!(about_named(head(&bytes), named(name)), None, "{text}");
                }
            }
        }
        // Nothing, half a character, and short values that happen to look like ASCII.
        for text in ["", "上海", "慢", "汉字漢字"] {
            assert_eq!(about_named(&wide(text, Order::Little), named("utf-16le")), None, "{text}");
            assert_eq!(about_marked(&wide(text, Order::Little), named("utf-16le")), None, "{text}");
        }
        assert_eq!(about_named(b"", named("utf-16le")), None);
        assert_eq!(about_named(b"a", named("utf-16le")), None);
        // NUL bytes are part of values; see the option NUL_BYTES.
        for text in ["a,b\n1,x\0\n", "abcd\0\n", "a\n\0\n", "a\0,b\nc,\0d\n", "a\0\0\0\nb\0\0\0\n"] {
            assert_eq!(about_named(text.as_bytes(), named("utf-8")), None, "{text:?}");
        }
    }

    #[test]
    fn bytes_for_characters_are_no_utf_16() {
        for (encoding, prose) in PROSE {
            for text in &texts(prose)[3..5] {
                for order in Order::BOTH {
                    for name in [encoding, "utf-8"] {
                        let bytes = named(name).0.encode(text).0;
                        for skipped in 0..2 {
                            let (bytes, wide) = (&bytes[skipped..], named(order.option()));
                            // Some of them are halves of pairs that stand alone, which the decoder tells.
                            let is_valid = !wide.0.decode_without_bom_handling(bytes).1;
                            let problem = about_named(head(bytes), wide);
                            assert!(!is_valid || problem.is_some(), "{name}: {text}");
                        }
                    }
                }
            }
        }
        assert!(about_marked("id,name\n1,x\n2,y\n".repeat(9).as_bytes(), named("utf-16le")).is_some());
        for text in [
            "a\n1\n2\n",
            "id,name\n1,x\n",
            "x\r\n1\r\n",
            "a\tb\n1\t2\n",
            "a,b\n1,2\n\x1a",
            "a,b\n11,2",
            "only letters in a line",
        ] {
            for order in Order::BOTH {
                assert!(about_named(text.as_bytes(), named(order.option())).is_some(), "{text:?}");
            }
        }
    }

    #[test]
    fn utf_16_is_told_from_everything_else() {
        for (_, prose) in PROSE {
            for text in &texts(prose)[3..] {
                for order in Order::BOTH {
                    let bytes = wide(text, order);
                    let advice = format!("set ENCODING '{}'", order.option());
                    let other = if order == Order::Little { "utf-16be" } else { "utf-16le" };
                    for name in ["utf-8", "latin1", "shift_jis", "gbk", other] {
                        let problem = about_named(head(&bytes), named(name));
                        assert!(problem.as_ref().is_some_and(|it| it.ends_with(&advice)), "{name}: {problem:?} {text}");
                    }
                }
            }
        }
        for text in ["a\n1\n", "id,name\n1,Zoë\n", "id"] {
            for order in Order::BOTH {
                assert!(about_named(&wide(text, order), named("utf-8")).is_some(), "{text:?}");
            }
        }
    }

    #[test]
    fn utf_32_is_told() {
        for text in ["a\n1\n", "id,name\n1,Zoë\n"] {
            for bytes in [u32::to_le_bytes, u32::to_be_bytes] {
                let bytes: Vec<u8> = text.chars().flat_map(|character| bytes(character.into())).collect();
                for name in ["utf-8", "latin1", "utf-16le", "utf-16be"] {
                    let problem = about_named(&bytes, named(name));
                    assert!(problem.is_some_and(|it| it.contains("UTF-32")), "{name}: {text}");
                }
            }
        }
    }
}
