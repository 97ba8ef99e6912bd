//! A server's question to the person, asked field by field at the terminal.

use capdeck_host::RawMembers;
use serde_json::{Map, Value, json};

use crate::{
    arguments::plain,
    plain_text::{lines, one_line},
    printer::TerminalUser,
};

/// Asks what an `elicitation/create` request of the capability `id` wants to know. The answer is the request's result.
pub(crate) fn ask(id: &str, params: &RawMembers, person: &mut dyn TerminalUser) -> Value {
    let params = serde_json::to_value(params).unwrap_or_default();
    let text = |key: &str| params[key].as_str().unwrap_or_default();
    person.say(&format!("`{}` asks: {}", one_line(id), lines(text("message"))));
    if text("mode") == "url" {
        let url = one_line(text("url"));
        person.say(&format!("open this address yourself if you trust it: {url}"));
        return match person.line("press Enter when done, or type no: ") {
            Some(answer) if answer.trim().is_empty() => json!({ "action": "accept" }),
            _ => json!({ "action": "decline" }),
        };
    }
    let schema = &params["requestedSchema"];
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let fields = schema["properties"].as_object().cloned().unwrap_or_default();
    if fields.is_empty() {
        return match person.line("agree? [y/N] ") {
            Some(answer) if is_yes(&answer) == Some(true) => {
                json!({ "action": "accept", "content": {} })
            }
            _ => json!({ "action": "decline" }),
        };
    }
    person.say("an empty answer takes the default, skips what is optional, and declines the rest");
    let mut content = Map::new();
    for (key, schema) in &fields {
        let is_required = required.iter().any(|name| name.as_str() == Some(key));
        match ask_field(key, schema, is_required, person) {
            QuestionAnswer::Value(value) => drop(content.insert(key.clone(), value)),
            QuestionAnswer::LeftOut => {}
            QuestionAnswer::Declined => return json!({ "action": "decline" }),
        }
    }
    json!({ "action": "accept", "content": content })
}

enum QuestionAnswer {
    Value(Value),
    LeftOut,
    Declined,
}

fn ask_field(
    key: &str,
    schema: &Value,
    is_required: bool,
    person: &mut dyn TerminalUser,
) -> QuestionAnswer {
    let text = |key: &str| schema.get(key).and_then(Value::as_str).map(one_line);
    let name = text("title").unwrap_or_else(|| one_line(key));
    if let Some(description) = text("description") {
        person.say(&format!("  {description}"));
    }
    let (kind, several) = match schema.get("type").and_then(Value::as_str) {
        Some("array") => (schema.get("items").unwrap_or(&Value::Null), true),
        _ => (schema, false),
    };
    let choices = choices(kind);
    for (number, choice) in (1..).zip(&choices) {
        person.say(&format!("  {number}. {}", one_line(&choice.label)));
    }
    let default = schema.get("default");
    let mut notes = vec![match (choices.is_empty(), several) {
        (true, _) => text("type").unwrap_or_else(|| "text".to_owned()),
        (false, false) => "one of these".to_owned(),
        (false, true) => "any of these, separated by commas".to_owned(),
    }];
    if let Some(default) = default {
        notes.push(format!("default {}", one_line(&default.to_string())));
    } else if !is_required {
        notes.push("optional".to_owned());
    }
    let prompt = format!("{name} ({}): ", notes.join(", "));
    loop {
        let Some(answer) = person.line(&prompt) else { return QuestionAnswer::Declined };
        let answer = answer.trim();
        if answer.is_empty() {
            return match (default, is_required) {
                (Some(default), _) => QuestionAnswer::Value(default.clone()),
                (None, false) => QuestionAnswer::LeftOut,
                (None, true) => QuestionAnswer::Declined,
            };
        }
        let read = if several {
            answer.split(',').map(|part| read(part.trim(), kind, &choices)).collect()
        } else {
            read(answer, kind, &choices)
        };
        match read {
            Ok(value) => return QuestionAnswer::Value(value),
            Err(problem) => person.say(&format!("  {problem}")),
        }
    }
}

struct AnswerChoice {
    value: Value,
    label: String,
}

/// The values a field is limited to, with their titles.
fn choices(schema: &Value) -> Vec<AnswerChoice> {
    let titled = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array);
    if let Some(titled) = titled {
        let choice = |entry: &Value| {
            let value = entry.get("const")?.clone();
            let title = entry.get("title").and_then(Value::as_str).map(str::to_owned);
            Some(AnswerChoice { label: title.unwrap_or_else(|| plain(&value)), value })
        };
        return titled.iter().filter_map(choice).collect();
    }
    let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    let names = schema.get("enumNames").and_then(Value::as_array);
    values
        .enumerate()
        .map(|(place, value)| {
            let name = names.and_then(|names| names.get(place)).and_then(Value::as_str);
            let label = name.map_or_else(|| plain(value), str::to_owned);
            AnswerChoice { value: value.clone(), label }
        })
        .collect()
}

fn read(answer: &str, schema: &Value, choices: &[AnswerChoice]) -> Result<Value, String> {
    if !choices.is_empty() {
        let by_number = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let named = choices.iter().find(|one| plain(&one.value) == answer || one.label == answer);
        let chosen = named.or_else(|| by_number.and_then(|place| choices.get(place)));
        return chosen
            .map(|choice| choice.value.clone())
            .ok_or_else(|| "choose one of the list, by number or by name".to_owned());
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer") => {
            answer.parse::<i64>().map(Value::from).map_err(|_| "a whole number, please".to_owned())
        }
        Some("number") => {
            let number = answer.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
            number.map(Value::Number).ok_or_else(|| "a number, please".to_owned())
        }
        Some("boolean") => {
            is_yes(answer).map(Value::from).ok_or_else(|| "yes or no, please".to_owned())
        }
        _ => Ok(Value::from(answer)),
    }
}

fn is_yes(answer: &str) -> Option<bool> {
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
