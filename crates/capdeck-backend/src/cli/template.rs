//! Puts a call's arguments into a declared command: `$input.path` inside strings.
//!
//! Each declared string stays one argument of the program, whatever the value holds: there is no shell
//! to read spaces, quotes or `;`. A value that begins an argument passes the guard against options.

use serde_json::{Map, Value};

use crate::{CallError, ErrorCode, arguments::scalar_text, option_guard::OptionGuard};

/// Replaces the references in an argument of a program.
pub(super) fn fill_word(
    template: &str,
    arguments: &Map<String, Value>,
    guard: &mut OptionGuard<'_>,
) -> Result<String, CallError> {
    guard.pass_word(template);
    fill_guarded(template, arguments, Some(guard))
}

/// Replaces the references in a text that is no argument of a program.
pub(super) fn fill(template: &str, arguments: &Map<String, Value>) -> Result<String, CallError> {
    fill_guarded(template, arguments, None)
}

fn fill_guarded(
    template: &str,
    arguments: &Map<String, Value>,
    guard: Option<&OptionGuard<'_>>,
) -> Result<String, CallError> {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("$input") {
        filled.push_str(before);
        let path = after.strip_prefix('.').map(path_at_start).unwrap_or_default();
        if path.is_empty() {
            return Err(CallError::new(
                ErrorCode::ConfigInvalid,
                format!("`$input` stands alone in a command: `{template}`"),
            )
            .hint("name the argument, such as `$input.name`"));
        }
        let (value, text) = value_at(path, arguments)?;
        if let Some(guard) = guard.filter(|_| filled.is_empty()) {
            guard.check(path, value, &text)?;
        }
        filled.push_str(&text);
        rest = after.get(path.len() + 1..).unwrap_or_default();
    }
    filled.push_str(rest);
    Ok(filled)
}

/// True when a text needs a call's arguments before it can be used.
pub(crate) fn has_input(template: &str) -> bool {
    template.contains("$input")
}

/// The longest run of path characters. A full stop at its end belongs to the sentence around it:
/// no path ends so, and `$input.major.$input.minor` then works.
fn path_at_start(text: &str) -> &str {
    let is_path_byte = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    let length = text.bytes().take_while(|byte| is_path_byte(byte)).count();
    text.get(..length).unwrap_or_default().trim_end_matches('.')
}

fn value_at<'a>(
    path: &str,
    arguments: &'a Map<String, Value>,
) -> Result<(&'a Value, String), CallError> {
    let missing = || {
        CallError::new(ErrorCode::RequestInvalid, format!("argument `{path}` is missing"))
            .hint(format!("call the tool with a value for `{path}`"))
    };
    let mut steps = path.split('.');
    let mut value = steps.next().and_then(|step| arguments.get(step)).ok_or_else(missing)?;
    for step in steps {
        value = value.as_object().and_then(|members| members.get(step)).ok_or_else(missing)?;
    }
    if value.is_null() {
        return Err(missing());
    }
    let text = scalar_text(value).ok_or_else(|| {
        CallError::new(
            ErrorCode::RequestInvalid,
            format!("argument `{path}` must be a string, a number or a boolean"),
        )
    })?;
    if text.contains('\0') {
        return Err(CallError::new(
            ErrorCode::RequestInvalid,
            format!("argument `{path}` holds a NUL character, which no program can be given"),
        ));
    }
    Ok((value, text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(template: &str) -> Result<String, String> {
        let arguments = json!({
            "name": "a b; rm -rf /", "deep": {"er": {"est": 7}}, "yes": true, "half": 0.5, "two": 2.0,
            "big": 12345678901234567u64, "list": [1], "none": null, "dash-ed": "d", "major": 1,
            "flag": "--force", "again": "$input.name", "nul": "a\u{0}b",
        });
        fill(template, arguments.as_object().unwrap()).map_err(|error| error.message)
    }

    #[test]
    fn references_are_replaced_inside_strings() {
        for (template, expected) in [
            ("plain", "plain"),
            ("$input.name", "a b; rm -rf /"),
            ("--x=$input.yes,$input.half", "--x=true,0.5"),
            ("$input.deep.er.est", "7"),
            ("$input.two", "2"),
            ("$input.big", "12345678901234567"),
            ("$input.dash-ed/x", "d/x"),
            ("v$input.major.$input.two.", "v1.2."),
            ("$input.flag", "--force"),
            ("$input.again", "$input.name"),
            ("é$input.yesé", "étrueé"),
            ("$HOME $(id) `id`", "$HOME $(id) `id`"),
        ] {
            assert_eq!(filled(template).as_deref(), Ok(expected), "{template}");
        }
    }

    #[test]
    fn what_cannot_be_filled_is_named() {
        for (template, message) in [
            ("x $input", "`$input` stands alone in a command: `x $input`"),
            ("$inputs", "`$input` stands alone in a command: `$inputs`"),
            ("$input.", "`$input` stands alone in a command: `$input.`"),
            ("$input.nope", "argument `nope` is missing"),
            ("$input.none", "argument `none` is missing"),
            ("$input.deep.nope.x", "argument `deep.nope.x` is missing"),
            ("$input.list.0", "argument `list.0` is missing"),
            ("$input.list", "argument `list` must be a string, a number or a boolean"),
            ("$input.deep", "argument `deep` must be a string, a number or a boolean"),
            ("$input.nul", "argument `nul` holds a NUL character, which no program can be given"),
        ] {
            assert_eq!(filled(template), Err(message.to_owned()), "{template}");
        }
    }
}
