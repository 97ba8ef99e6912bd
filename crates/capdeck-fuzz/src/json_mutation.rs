//! Changes of a JSON value that leave it JSON: other kinds, other names, parts of other values.

use serde_json::{Map, Value, json};

use crate::RandomSource;

/// Changes one place of a value. `donor` is another value of the same format to take parts from.
pub(crate) fn mutate_json(
    value: &mut Value,
    donor: &Value,
    dictionary: &[&str],
    random: &mut RandomSource,
) {
    let source = match random.chance(1, 2) {
        true => donor.clone(),
        false => value.clone(),
    };
    let chosen = random.below(count(value));
    let place = nth(value, chosen);
    match random.below(8) {
        0 => *place = odd_value(random),
        1 => *place = Value::String(odd_text(dictionary, random)),
        2 | 3 => *place = part(&source, random),
        4 => {
            let inner = place.take();
            *place = match random.below(3) {
                0 => json!([inner]),
                1 => json!({ odd_text(dictionary, random): inner }),
                _ => Value::Array(vec![inner; random.small(40)]),
            };
        }
        _ => match place {
            Value::Object(members) => change_members(members, &source, dictionary, random),
            Value::Array(items) => change_items(items, &source, random),
            Value::String(text) => change_text(text, dictionary, random),
            Value::Number(_) => *place = odd_number(random),
            other => *other = odd_value(random),
        },
    }
}

fn change_members(
    members: &mut Map<String, Value>,
    source: &Value,
    dictionary: &[&str],
    random: &mut RandomSource,
) {
    let keys: Vec<String> = members.keys().cloned().collect();
    let key = keys.get(random.below(keys.len())).cloned().unwrap_or_default();
    match random.below(4) {
        0 => drop(members.shift_remove(&key)),
        1 => {
            if let Some(inner) = members.shift_remove(&key) {
                members.insert(odd_text(dictionary, random), inner);
            }
        }
        2 => drop(members.insert(odd_text(dictionary, random), part(source, random))),
        _ => {
            // Members of the same value under another name: repeated tools, parameters, types.
            if let Some(inner) = members.get(&key).cloned() {
                for number in 0..random.small(20) {
                    members.insert(format!("{key}{number}"), inner.clone());
                }
            }
        }
    }
}

fn change_items(items: &mut Vec<Value>, source: &Value, random: &mut RandomSource) {
    let at = random.below(items.len());
    match random.below(4) {
        0 if !items.is_empty() => drop(items.remove(at)),
        1 if !items.is_empty() => items.insert(at, items[at].clone()),
        2 if !items.is_empty() => {
            let other = random.below(items.len());
            items.swap(at, other);
        }
        _ => items.insert(at, part(source, random)),
    }
}

fn change_text(text: &mut String, dictionary: &[&str], random: &mut RandomSource) {
    let mut letters: Vec<char> = text.chars().collect();
    let at = random.below(letters.len() + 1);
    match random.below(4) {
        0 => drop(letters.drain(random.range(letters.len()))),
        1 => letters.truncate(at),
        2 => letters = letters.repeat(random.small(50)),
        _ => drop(letters.splice(at..at, odd_text(dictionary, random).chars())),
    }
    *text = letters.into_iter().collect();
}

fn odd_text(dictionary: &[&str], random: &mut RandomSource) -> String {
    const ODD: &[&str] = &[
        "",
        " ",
        "\0",
        "\u{202e}x",
        "\r\nX: y",
        "\u{1b}[1m",
        "a\u{301}",
        "ß",
        "İ",
        "..",
        "../../x",
        "/",
        "#",
        "#/",
        "#/components/schemas/A",
        "$ref",
        "%zz",
        "{a}",
        "${A}",
        "${",
        "{{a}}",
        "[",
        "*",
        "(a|a)*$",
        "file:///etc/passwd",
        "http://[::1]:99999/",
        "https://u:p@x/?a#b",
        "javascript:alert(1)",
        "2026-13-40T25:61:61Z",
        "__proto__",
        "\u{1f600}",
    ];
    match random.chance(1, 2) && !dictionary.is_empty() {
        true => random.pick(dictionary).to_owned(),
        false => random.pick(ODD).to_owned(),
    }
}

fn odd_number(random: &mut RandomSource) -> Value {
    match random.below(10) {
        0 => json!(0),
        1 => json!(-1),
        2 => json!(1),
        3 => json!(u64::MAX),
        4 => json!(i64::MIN),
        5 => json!(1e308),
        6 => json!(-0.5),
        7 => json!(9_007_199_254_740_993_u64),
        8 => json!(1_u64 << random.below(64)),
        _ => json!(random.small(1_000_000)),
    }
}

fn odd_value(random: &mut RandomSource) -> Value {
    match random.below(9) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(false),
        3 => json!([]),
        4 => json!({}),
        5 => json!(""),
        6 => json!([[]]),
        7 => json!({"a": {"a": null}}),
        _ => odd_number(random),
    }
}

/// A part of a value: of any size, most often a small one.
fn part(value: &Value, random: &mut RandomSource) -> Value {
    let chosen = random.below(count(value));
    nth(&mut value.clone(), chosen).clone()
}

/// How many values there are in a value, itself included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum::<usize>(),
        _ => 0,
    }
}

/// The value with this number in reading order.
fn nth(value: &mut Value, mut number: usize) -> &mut Value {
    if number == 0 {
        return value;
    }
    number -= 1;
    let inner: Vec<&mut Value> = match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(members) => members.values_mut().collect(),
        _ => unreachable!("the number is below the count"),
    };
    for child in inner {
        let size = count(child);
        if number < size {
            return nth(child, number);
        }
        number -= size;
    }
    unreachable!("the number is below the count")
}
