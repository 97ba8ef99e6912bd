//! What is wrong with a call's arguments, in a form an agent can correct itself from.

use std::fmt;

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind},
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    input_shape::{InputShape, template},
    nearest, signature,
};

/// Arguments that do not fit a tool's input schema. Never repeats the values that were sent.
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[error("{}", self.sentence())]
pub struct InvalidArguments {
    pub tool: String,
    /// At most [`InvalidArguments::MAX_ERRORS`].
    #[serde(rename = "schemaErrors")]
    pub errors: Vec<ArgumentError>,
    #[serde(rename = "requiredArgs")]
    pub required: Vec<String>,
    #[serde(rename = "acceptedArgs")]
    pub accepted: Vec<String>,
    /// Names that were sent and are not declared.
    #[serde(rename = "unexpectedArgs", skip_serializing_if = "Vec::is_empty")]
    pub unexpected: Vec<UnexpectedArgument>,
    /// The smallest arguments that have the right shape.
    #[serde(rename = "minimalArgsTemplate", skip_serializing_if = "Option::is_none")]
    pub template: Option<Map<String, Value>>,
    /// The arguments that the tool takes, without the call around them: `path: string, limit?: number`.
    #[serde(skip)]
    pub arguments: String,
}

/// One rule of the schema that is not met.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArgumentError {
    /// JSON pointer into the arguments; empty for the arguments themselves.
    pub path: String,
    /// The schema keyword, such as `required` or `enum`.
    pub rule: String,
    #[serde(flatten)]
    pub problem: ArgumentProblem,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ArgumentProblem {
    /// The JSON type or limit that was expected.
    Expected(Value),
    /// The only values that are allowed.
    Allowed(Value),
    Missing(String),
    /// The names that are not accepted.
    Unexpected(Vec<String>),
    Message(String),
}

/// A name that was sent and is not declared, with the one that was probably meant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnexpectedArgument {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

impl InvalidArguments {
    /// Errors reported at once; more would not help to correct a call.
    pub const MAX_ERRORS: usize = 8;

    pub(super) fn new(
        tool: &str,
        shape: &InputShape,
        arguments: &Value,
        errors: Vec<ArgumentError>,
    ) -> Self {
        let accepted = shape.accepted();
        let given = arguments.as_object().into_iter().flat_map(Map::keys);
        let missing = |name: &&str| arguments.get(name).is_none();
        let unexpected = given
            .filter(|name| !accepted.contains(&name.as_str()))
            .map(|name| UnexpectedArgument {
                name: name.clone(),
                nearest: nearest(name, accepted.iter().copied().filter(missing)).map(str::to_owned),
            })
            .collect();
        Self {
            tool: tool.to_owned(),
            errors,
            required: sorted(shape.required()),
            accepted: sorted(accepted),
            unexpected,
            template: template(shape),
            arguments: signature::render(shape),
        }
    }

    fn sentence(&self) -> String {
        let problems: Vec<String> = self.errors.iter().take(3).map(ToString::to_string).collect();
        let meant: Vec<String> = self
            .unexpected
            .iter()
            .filter_map(|argument| {
                let nearest = argument.nearest.as_ref()?;
                Some(format!("; did you mean `{nearest}` instead of `{}`?", argument.name))
            })
            .collect();
        let tool = &self.tool;
        format!("invalid arguments for `{tool}`: {}{}", problems.join("; "), meant.concat())
    }
}

fn sorted(mut names: Vec<&str>) -> Vec<String> {
    names.sort_unstable();
    names.into_iter().map(str::to_owned).collect()
}

impl ArgumentError {
    pub(super) fn not_an_object() -> Self {
        let problem = ArgumentProblem::Expected(json!("object"));
        Self { path: String::new(), rule: "type".to_owned(), problem }
    }

    pub(super) fn from_schema(error: &ValidationError<'_>) -> Self {
        Self {
            path: error.instance_path().as_str().to_owned(),
            rule: error.kind().keyword().to_owned(),
            problem: ArgumentProblem::from_schema(error),
        }
    }
}

impl ArgumentProblem {
    fn from_schema(error: &ValidationError<'_>) -> Self {
        use ValidationErrorKind as Kind;
        let limit = |limit: &u64| Self::Expected(json!(limit));
        match error.kind() {
            Kind::Required { property } => {
                Self::Missing(property.as_str().map_or_else(|| property.to_string(), str::to_owned))
            }
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => Self::Unexpected(unexpected.clone()),
            Kind::Enum { options } => Self::Allowed(options.as_ref().clone()),
            Kind::Constant { expected_value } => Self::Allowed(json!([expected_value])),
            Kind::Type { kind: TypeKind::Single(name) } => Self::Expected(json!(name.as_str())),
            Kind::Type { kind: TypeKind::Multiple(names) } => {
                Self::Expected(names.iter().map(|name| Value::from(name.as_str())).collect())
            }
            Kind::Format { format } => Self::Expected(json!(format)),
            Kind::Pattern { pattern } => Self::Expected(json!(pattern)),
            Kind::Minimum { limit }
            | Kind::Maximum { limit }
            | Kind::ExclusiveMinimum { limit }
            | Kind::ExclusiveMaximum { limit } => Self::Expected(limit.clone()),
            Kind::MinLength { limit: most }
            | Kind::MaxLength { limit: most }
            | Kind::MinItems { limit: most }
            | Kind::MaxItems { limit: most }
            | Kind::MinProperties { limit: most }
            | Kind::MaxProperties { limit: most } => limit(most),
            // Masked, so that a value that was sent (it may be a secret) is not repeated.
            _ => Self::Message(error.masked().to_string()),
        }
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.path.is_empty() { "the arguments" } else { &self.path };
        match &self.problem {
            ArgumentProblem::Missing(name) => write!(formatter, "`{name}` is missing in {place}"),
            ArgumentProblem::Unexpected(names) => {
                write!(formatter, "`{}` is not accepted in {place}", names.join("`, `"))
            }
            ArgumentProblem::Allowed(values) => {
                write!(formatter, "{place} must be one of {values}")
            }
            ArgumentProblem::Expected(value) if self.rule == "type" => match value {
                Value::String(name) => write!(formatter, "{place} must be of type `{name}`"),
                names => write!(formatter, "{place} must be of a type in {names}"),
            },
            ArgumentProblem::Expected(value) => {
                write!(formatter, "{place} breaks `{}`: {value}", self.rule)
            }
            ArgumentProblem::Message(message) => write!(formatter, "{place}: {message}"),
        }
    }
}
