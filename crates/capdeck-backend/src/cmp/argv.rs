//! From an intent and its arguments to the words of a command. No value ever adds one, except the elements of an array
//! where the author left a whole word for it.

use capdeck_definition::{CmpIntent, CommandPiece, CommandWord};
use serde_json::{Map, Value};

use crate::{CallError, ErrorCode, arguments::scalar_text, option_guard::OptionGuard};

/// The program and its arguments.
pub(super) fn argv(
    intent: &CmpIntent,
    arguments: &Map<String, Value>,
) -> Result<Vec<String>, CallError> {
    let (program, schema) = (intent.command.program(), intent.input_schema());
    let mut values =
        ArgvBuilder { intent, arguments, guard: OptionGuard::new(&program, Some(&schema)) };
    let mut filled: Vec<String> = Vec::new();
    // An option whose value may yet be left out.
    let mut flag: Option<usize> = None;
    for word in intent.command.words() {
        values.guard.pass_word(&word.to_string());
        match values.fill(word)? {
            Some(words) => {
                flag = word.is_long_flag().then_some(filled.len());
                filled.extend(words);
            }
            None => {
                // `--count {count}` goes as a whole; `--count={count}` is a word of its own.
                if let Some(flag) = flag.take().filter(|_| !starts_with_dash(word)) {
                    filled.truncate(flag);
                }
            }
        }
    }
    Ok(filled)
}

fn starts_with_dash(word: &CommandWord) -> bool {
    matches!(word.pieces.first(), Some(CommandPiece::Text(text)) if text.starts_with('-'))
}

struct ArgvBuilder<'a> {
    intent: &'a CmpIntent,
    arguments: &'a Map<String, Value>,
    guard: OptionGuard<'a>,
}

impl ArgvBuilder<'_> {
    /// The words that one word of the template becomes; `None` when it holds a parameter without a value.
    fn fill(&self, word: &CommandWord) -> Result<Option<Vec<String>>, CallError> {
        if let Some(name) = word.only_param() {
            let Some(value) = self.value(name)? else { return Ok(None) };
            return match value {
                Value::Array(items) => items
                    .iter()
                    .map(|item| self.first(name, item))
                    .collect::<Result<_, _>>()
                    .map(Some),
                single => Ok(Some(vec![self.first(name, single)?])),
            };
        }
        let mut filled = String::new();
        for piece in &word.pieces {
            match piece {
                CommandPiece::Text(text) => filled.push_str(text),
                CommandPiece::Param(name) => match self.value(name)? {
                    Some(Value::Array(items)) => {
                        for (index, item) in items.iter().enumerate() {
                            filled.push_str(if index > 0 { "," } else { "" });
                            let text = self.part(name, item, &filled)?;
                            filled.push_str(&text);
                        }
                    }
                    Some(single) => {
                        let text = self.part(name, single, &filled)?;
                        filled.push_str(&text);
                    }
                    None => return Ok(None),
                },
            }
        }
        Ok(Some(vec![filled]))
    }

    /// A value that begins a word. A default is the author's own, whatever it begins with.
    fn first(&self, name: &str, value: &Value) -> Result<String, CallError> {
        let text = text_of(name, value)?;
        if self.arguments.get(name).is_some_and(|given| !given.is_null()) {
            self.guard.check(name, value, &text)?;
        }
        Ok(text)
    }

    /// A value that follows what a word already holds.
    fn part(&self, name: &str, value: &Value, before: &str) -> Result<String, CallError> {
        if before.is_empty() { self.first(name, value) } else { text_of(name, value) }
    }

    /// What was given, else the default. An array without elements is no value.
    fn value(&self, name: &str) -> Result<Option<&Value>, CallError> {
        let param = self.intent.params.get(name);
        let given = self.arguments.get(name).filter(|value| !value.is_null());
        let value = given.or_else(|| param.and_then(|param| param.default.as_ref()));
        let is_list = param.is_some_and(|param| param.kind.items().is_some());
        match value {
            Some(Value::Array(items)) if is_list && items.is_empty() => self.none(name),
            Some(value) if value.is_array() == is_list => Ok(Some(value)),
            Some(_) => Err(CallError::new(
                ErrorCode::RequestInvalid,
                format!("argument `{name}` must {}be a list", if is_list { "" } else { "not " }),
            )),
            None => self.none(name),
        }
    }

    fn none(&self, name: &str) -> Result<Option<&Value>, CallError> {
        if self.intent.params.get(name).is_none_or(|param| param.required) {
            return Err(CallError::new(
                ErrorCode::RequestInvalid,
                format!("argument `{name}` is missing"),
            )
            .hint(format!("call the tool with a value for `{name}`")));
        }
        Ok(None)
    }
}

/// A value as text: an object as JSON, anything else as it is.
fn text_of(name: &str, value: &Value) -> Result<String, CallError> {
    let text = scalar_text(value).unwrap_or_else(|| value.to_string());
    if text.contains('\0') {
        return Err(CallError::new(
            ErrorCode::RequestInvalid,
            format!("argument `{name}` holds a NUL character, which no program can be given"),
        ));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
