//! Checks a call's arguments before anything is called, and explains what is wrong with them.

mod invalid_arguments;

use jsonschema::{Draft, Validator};
use serde_json::Value;

pub use invalid_arguments::{ArgumentError, ArgumentProblem, InvalidArguments, UnexpectedArgument};

use crate::{Tool, input_shape::InputShape};

/// A tool's input schema, compiled once.
#[derive(Debug)]
pub struct ArgumentCheck {
    tool: String,
    shape: InputShape,
    validator: Option<Validator>,
    problem: Option<String>,
}

impl ArgumentCheck {
    /// Compiles the schema. Never fails: a schema that does not compile accepts everything and
    /// [`problem`](Self::problem) says so, because a server's broken schema must not block its tool.
    pub fn compile(tool: &Tool) -> Self {
        let mut check = Self {
            tool: tool.name().to_owned(),
            shape: InputShape::default(),
            validator: None,
            problem: None,
        };
        let Some(raw) = tool.input_schema() else { return check };
        let schema: Value = match serde_json::from_str(raw.get()) {
            Ok(schema) => schema,
            Err(error) => {
                check.problem = Some(format!("the input schema cannot be read: {error}"));
                return check;
            }
        };
        match jsonschema::options().with_draft(draft(&schema)).offline().build(&schema) {
            Ok(validator) => check.validator = Some(validator),
            Err(error) => check.problem = Some(format!("the input schema is not sound: {error}")),
        }
        check.shape = InputShape { root: schema };
        check
    }

    /// Why arguments are not checked, when the schema itself is broken.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Accepts the arguments, or tells everything needed to correct them.
    pub fn check(&self, arguments: &Value) -> Result<(), Box<InvalidArguments>> {
        if !arguments.is_object() {
            let error = ArgumentError::not_an_object();
            return Err(Box::new(InvalidArguments::new(
                &self.tool,
                &self.shape,
                arguments,
                vec![error],
            )));
        }
        let Some(validator) = &self.validator else { return Ok(()) };
        // The quick answer is several times cheaper than collecting errors, and nearly always right.
        if validator.is_valid(arguments) {
            return Ok(());
        }
        // Models write `null` for what they leave out. It passes on as it is: the server knows what it means by it.
        if without_nulls(arguments).is_some_and(|given| validator.is_valid(&given)) {
            return Ok(());
        }
        let errors = validator
            .iter_errors(arguments)
            .take(InvalidArguments::MAX_ERRORS)
            .map(|error| ArgumentError::from_schema(&error))
            .collect();
        Err(Box::new(InvalidArguments::new(&self.tool, &self.shape, arguments, errors)))
    }
}

/// True when the checker can use this regular expression as a `pattern`.
pub fn is_sound_pattern(pattern: &str) -> bool {
    let schema = serde_json::json!({ "pattern": pattern });
    jsonschema::options().with_draft(Draft::Draft202012).offline().build(&schema).is_ok()
}

/// The arguments that were given a value, when some were not.
fn without_nulls(arguments: &Value) -> Option<Value> {
    let members = arguments.as_object()?;
    let given = || members.iter().filter(|(_, value)| !value.is_null());
    (given().count() < members.len())
        .then(|| given().map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// The draft a schema asks for. MCP's default, 2020-12, is used for unknown names too.
fn draft(schema: &Value) -> Draft {
    let name = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let known = [
        ("draft-04", Draft::Draft4),
        ("draft-06", Draft::Draft6),
        ("draft-07", Draft::Draft7),
        ("2019-09", Draft::Draft201909),
    ];
    known
        .iter()
        .find(|(part, _)| name.contains(part))
        .map_or(Draft::Draft202012, |(_, draft)| *draft)
}

#[cfg(test)]
mod tests;
