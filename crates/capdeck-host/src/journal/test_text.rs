//! A test file as text: YAML with readable code, and JSON, which is YAML, for the rest.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use super::test_file::{TestCell, TestFile};

impl TestFile {
    /// The file's text.
    pub fn to_yaml(&self) -> String {
        let mut text = format!("test: {}\ncells:\n", json(&self.test));
        for cell in &self.cells {
            cell.write(&mut text);
        }
        text.push_str("expect:");
        let expect = members(&self.expect);
        if expect.is_empty() {
            text.push_str(" {}");
        }
        text.push('\n');
        for (key, value) in expect {
            let _written = writeln!(text, "  {key}: {}", json(&value));
        }
        text
    }
}

impl TestCell {
    fn write(&self, text: &mut String) {
        let code = self.code.trim_end();
        // A block keeps the code readable; what a block cannot hold is a quoted text.
        let fits = |letter: char| !letter.is_control() || "\n\t".contains(letter);
        if code.starts_with([' ', '\t', '\n']) || code.is_empty() || !code.chars().all(fits) {
            let _written = writeln!(text, "  - code: {}", json(&self.code));
        } else {
            text.push_str("  - code: |\n");
            for line in code.lines() {
                let _written = writeln!(text, "      {line}");
            }
        }
        for (key, value) in members(self) {
            match (key.as_str(), &value) {
                ("code", _) => {}
                ("calls", Value::Array(calls)) => {
                    text.push_str("    calls:\n");
                    for call in calls {
                        let _written = writeln!(text, "      - {}", json(call));
                    }
                }
                _ => {
                    let _written = writeln!(text, "    {key}: {}", json(&value));
                }
            }
        }
    }
}

fn members(value: &impl Serialize) -> Vec<(String, Value)> {
    match serde_json::to_value(value) {
        Ok(Value::Object(members)) => members.into_iter().collect(),
        Ok(_) | Err(_) => Vec::new(),
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
