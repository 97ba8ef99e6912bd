//! Configuration files as people leave them: generated, in all three formats.

use proptest::{collection::vec, prelude::*};
use serde_json::{Map, Value, json};

/// Decisions about layout, taken one after the other; the last is repeated.
#[derive(Debug)]
struct Choices {
    taken: Vec<u8>,
    at: usize,
}

impl Choices {
    fn pick<T: Copy>(&mut self, options: &[T]) -> T {
        let choice = self.taken.get(self.at).or(self.taken.last()).copied().unwrap_or(0);
        self.at += 1;
        options[usize::from(choice) % options.len()]
    }
}

fn choices() -> impl Strategy<Value = Choices> {
    vec(any::<u8>(), 1..200).prop_map(|taken| Choices { taken, at: 0 })
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z][a-z0-9_-]{0,8}", "[a-zé #:.\"'\\\\]{1,6}"]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        (-1000_i64..1000).prop_map(Value::from),
        "[ -~é\n\t]{0,12}".prop_map(Value::from),
        Just(json!("// no comment")),
        Just(json!("{ [ # \" ' ")),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            map(inner).prop_map(Value::Object),
        ]
    })
}

fn map(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    vec((key(), inner), 0..4).prop_map(Map::from_iter)
}

/// A root map with, in most cases, a container for servers somewhere in it.
fn root(container: &'static str) -> impl Strategy<Value = Map<String, Value>> {
    let servers = prop_oneof![
        map(map(value()).prop_map(Value::Object)).prop_map(|servers| Some(Value::Object(servers))),
        Just(Some(json!({}))),
        Just(None),
    ];
    (map(value()), servers, any::<prop::sample::Index>()).prop_map(move |(others, servers, at)| {
        let at = at.index(others.len() + 1);
        let mut root = Map::new();
        for (index, (key, value)) in others.into_iter().enumerate() {
            if let Some(servers) = servers.clone().filter(|_| index == at) {
                root.insert(container.to_owned(), servers);
            }
            root.entry(key).or_insert(value);
        }
        if let Some(servers) = servers {
            root.entry(container).or_insert(servers);
        }
        root
    })
}

/// Ways to end and to begin a file that have nothing to do with its format.
fn finish(text: String, choices: &mut Choices) -> String {
    let text = match choices.pick(&[0, 1, 2]) {
        0 => text,
        1 => text.trim_end_matches('\n').to_owned(),
        _ => text + "\n\n",
    };
    let text = if choices.pick(&[true, false, false]) { text.replace('\n', "\r\n") } else { text };
    if choices.pick(&[true, false, false, false]) { format!("\u{feff}{text}") } else { text }
}

/// JSON with comments, trailing commas and any layout.
pub(crate) fn json_file(container: &'static str) -> impl Strategy<Value = String> {
    let empty = prop_oneof![Just(""), Just("\n"), Just("  \r\n"), Just("// nothing\n"), Just("{}")];
    let full = (root(container), choices()).prop_map(|(root, mut choices)| {
        let text = if choices.pick(&[true, false, false, false]) {
            Value::Object(root).to_string()
        } else {
            json_text(&Value::Object(root), "", &mut choices)
        };
        finish(text + "\n", &mut choices)
    });
    prop_oneof![1 => empty.prop_map(str::to_owned), 9 => full]
}

fn json_text(value: &Value, indent: &str, choices: &mut Choices) -> String {
    let (open, close, children): (_, _, Vec<(String, &Value)>) = match value {
        Value::Array(items) => ('[', ']', items.iter().map(|item| (String::new(), item)).collect()),
        Value::Object(entries) => {
            let name = |key: &String| format!("{}: ", Value::from(key.as_str()));
            ('{', '}', entries.iter().map(|(key, value)| (name(key), value)).collect())
        }
        _ => return value.to_string(),
    };
    let deeper = format!("{indent}{}", choices.pick(&["  ", "\t", "    ", "", " "]));
    let is_broken = choices.pick(&[true, true, false]);
    let mut text = open.to_string();
    text.push_str(choices.pick(&["", "", " ", " /* inside */ "]));
    let count = children.len();
    for (index, (name, value)) in children.into_iter().enumerate() {
        if is_broken {
            text.push_str(choices.pick(&["", "", " // before", "\n// alone"]));
            text.push('\n');
            text.push_str(&deeper);
        }
        text.push_str(&name);
        text.push_str(&json_text(value, &deeper, choices));
        text.push_str(choices.pick(&["", "", "", " /* after */"]));
        if index + 1 < count || choices.pick(&[false, true]) {
            text.push(',');
        }
    }
    if is_broken {
        text.push_str(choices.pick(&["", "", " // last", "\n  // on its own"]));
        text.push('\n');
        text.push_str(indent);
    }
    text.push(close);
    text
}

/// TOML with sections, dotted keys and inline tables.
pub(crate) fn toml_file(container: &'static str) -> impl Strategy<Value = String> {
    let empty = prop_oneof![Just(""), Just("\n"), Just("# nothing\n"), Just("  \n# a\n\n# b")];
    let full = (root(container), choices()).prop_map(move |(root, mut choices)| {
        let (mut pairs, mut sections) = (String::new(), String::new());
        for (key, value) in &root {
            let is_section = value.is_object() && choices.pick(&[true, true, false]);
            if is_section {
                section(&toml_key(key), value, &mut sections, &mut choices);
            } else {
                pair(&toml_key(key), value, &mut pairs, &mut choices);
            }
        }
        finish(pairs + &sections, &mut choices)
    });
    prop_oneof![1 => empty.prop_map(str::to_owned), 9 => full]
}

fn section(path: &str, value: &Value, text: &mut String, choices: &mut Choices) {
    let Some(entries) = value.as_object() else { return };
    let (tables, plain): (Vec<_>, Vec<_>) =
        entries.iter().partition(|(_, value)| value.is_object());
    text.push_str(choices.pick(&["\n", "", "\n# a section\n", "\n\n# far\n\n"]));
    let needs_header = !plain.is_empty() || tables.is_empty();
    if needs_header || choices.pick(&[true, false]) {
        text.push_str(&format!("[{path}]{}", choices.pick(&["\n", " # header\n"])));
    }
    for (key, value) in plain {
        pair(&toml_key(key), value, text, choices);
    }
    for (key, value) in tables {
        section(&format!("{path}.{}", toml_key(key)), value, text, choices);
    }
}

fn pair(key: &str, value: &Value, text: &mut String, choices: &mut Choices) {
    text.push_str(choices.pick(&["", "", "  ", "# about it\n"]));
    let equals = choices.pick(&[" = ", "=", "  =  "]);
    let end = choices.pick(&["\n", "\n", " # beside\n", "\n\n"]);
    text.push_str(&format!("{key}{equals}{}{end}", toml_text(value, choices)));
}

fn toml_key(key: &str) -> String {
    let is_bare = key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if is_bare { key.to_owned() } else { Value::from(key).to_string() }
}

fn toml_text(value: &Value, choices: &mut Choices) -> String {
    match value {
        Value::String(text)
            if !text.contains(['\'', '\n', '\t']) && choices.pick(&[true, false]) =>
        {
            format!("'{text}'")
        }
        Value::String(text) if !text.contains(['"', '\\']) && choices.pick(&[true, false]) => {
            format!("\"\"\"\n{text}\"\"\"")
        }
        Value::Array(items) => {
            let gap = choices.pick(&["", " ", "\n  ", "\n  # inside\n"]);
            let items: Vec<String> =
                items.iter().map(|item| format!("{gap}{}", toml_text(item, choices))).collect();
            format!("[{}{}]", items.join(","), choices.pick(&["", "\n"]))
        }
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| {
                format!(
                    "{} = {}",
                    toml_key(key),
                    toml_text(value, &mut Choices { taken: vec![3], at: 0 })
                )
            };
            format!("{{ {} }}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        _ => value.to_string(),
    }
}

/// YAML in block style, with flow style and block texts inside.
pub(crate) fn yaml_file(container: &'static str) -> impl Strategy<Value = String> {
    let empty = prop_oneof![Just(""), Just("\n"), Just("# nothing\n"), Just("---\n"), Just("{}\n")];
    let full = (root(container), choices()).prop_map(|(root, mut choices)| {
        let mut text = choices.pick(&["", "", "---\n", "# first\n\n"]).to_owned();
        if root.is_empty() {
            text.push_str("{}\n");
        }
        yaml_block(&root, 0, &mut text, &mut choices);
        finish(text, &mut choices)
    });
    prop_oneof![1 => empty.prop_map(str::to_owned), 9 => full]
}

fn yaml_block(
    entries: &Map<String, Value>,
    depth: usize,
    text: &mut String,
    choices: &mut Choices,
) {
    let indent = " ".repeat(depth);
    let deeper = depth + choices.pick(&[2, 4, 1]);
    for (key, value) in entries {
        text.push_str(choices.pick(&["", "", "\n", "  # between\n"]));
        let key = if choices.pick(&[true, false])
            && key.chars().all(|c| c.is_ascii_lowercase())
            && key != "y"
            && key != "n"
        {
            key.clone()
        } else {
            Value::from(key.as_str()).to_string()
        };
        text.push_str(&format!("{indent}{key}:"));
        let beside = choices.pick(&["", "", "  # beside"]);
        match value {
            Value::Object(inner) if inner.is_empty() => {
                text.push_str(&format!("{}{beside}\n", choices.pick(&[" {}", ""])));
            }
            Value::Object(inner) if choices.pick(&[true, true, false]) => {
                text.push_str(&format!("{beside}\n"));
                yaml_block(inner, deeper, text, choices);
            }
            Value::Array(items) if !items.is_empty() && choices.pick(&[true, false]) => {
                text.push_str(&format!("{beside}\n"));
                for item in items {
                    text.push_str(&format!(
                        "{indent}{}- {item}\n",
                        choices.pick(&["", "  "]).repeat(0)
                    ));
                }
            }
            Value::String(words) if is_block_text(words) && choices.pick(&[true, false]) => {
                let mark = choices.pick(&["|", "|-", "|+", ">"]);
                text.push_str(&format!(
                    " {mark}\n{}{words}\n{}",
                    " ".repeat(deeper),
                    choices.pick(&["", "\n"])
                ));
            }
            _ => text.push_str(&format!(" {value}{beside}\n")),
        }
    }
}

fn is_block_text(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric())
}
