//! Tiny texts of JSON are known for what they are, whatever keys their records have.

use longshore_format::json::Layout;
use longshore_format::sniff::{Family, Given, sniff};
use longshore_testing::Random;

fn family(text: &str) -> Family {
    sniff(text.as_bytes(), true, &Given::default()).family.value
}

/// An object with some of a few keys.
fn object(random: &mut Random) -> String {
    let mut members: Vec<String> = Vec::new();
    for key in ["a", "b", "c d", "e"] {
        if random.once_in(2) {
            let value = random.pick(&["1", "-2.5e3", "\"x, y\"", "null", "true", "[1, {\"z\": 2}]", "{}", "\"\\\"\""]);
            let blank = random.pick(&["", " "]);
            members.push(format!("\"{key}\":{blank}{value}"));
        }
    }
    format!("{{{}}}", members.join(random.pick(&[",", ", "])))
}

#[test]
fn lines_of_objects_with_different_keys() {
    let mut random = Random::new(31);
    for _ in 0..4000 {
        let objects: Vec<String> = (0..=random.below(4)).map(|_| object(&mut random)).collect();
        if objects.iter().all(|object| object == "{}") {
            continue;
        }
        let end = random.pick(&["\n", "\r\n"]);
        let mut text = objects.join(end);
        if random.once_in(2) {
            text.push_str(end);
        }
        assert_eq!(family(&text), Family::JsonLines, "{text}");
    }
}

#[test]
fn a_bad_record_among_few_is_no_reason_to_take_it_for_another_format() {
    for text in
        ["{\"a\": 1}\n{\"b\": }\n", "{\"a\": 1, \"b\": 2}\n{\"c\": 3,\n", "{\"a\": 1}\nnothing\n{\"a\": 2, \"b\": 1}\n"]
    {
        assert_eq!(family(text), Family::JsonLines, "{text}");
    }
    for text in ["{a},1\n{b},2\n", "[x] 1\n[y] 2\n", "[1] first\n[2] second\n"] {
        assert_eq!(family(text), Family::Delimited, "{text}");
    }
}

#[test]
fn arrays_and_values_over_lines_of_objects_with_different_keys() {
    let mut random = Random::new(32);
    for _ in 0..2000 {
        let objects: Vec<String> = (0..=random.below(4)).map(|_| object(&mut random)).collect();
        if objects.iter().all(|object| object == "{}") {
            continue;
        }
        let array = format!("[{}]", objects.join(random.pick(&[",", ",\n", " , "])));
        assert_eq!(family(&array).json_layout(), Some(Layout::Array), "{array}");
    }
}
