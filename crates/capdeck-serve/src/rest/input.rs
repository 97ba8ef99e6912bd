//! Parses queries and bodies with the schemas of the OpenAPI document.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use jsonschema::Validator;
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{ApiError, ApiResult};
use crate::transport::http::MAX_SIGN_IN_BYTES;

const MAX_BODY_BYTES: usize = 1024 * 1024;
const MAX_ARCHIVE_BYTES: usize = 256 * 1024 * 1024;
const MAX_PROBLEMS: usize = 5;

#[derive(Debug)]
pub(super) struct InputValidator {
    pub(super) schema: Value,
    validator: Option<Validator>,
}

pub(super) trait OperationBody: Sized + Send + 'static {
    const LIMIT: usize = MAX_BODY_BYTES;
    const IS_REQUIRED: bool = true;
    /// Accepted media types; empty without a body.
    const MEDIA_TYPES: &'static [&'static str];

    /// The JSON schema, if any.
    fn schema(_: &mut SchemaGenerator) -> Option<Schema> {
        None
    }

    /// `check` validates the schema.
    fn read(bytes: Bytes, check: Option<&InputValidator>) -> ApiResult<Self>;
}

/// An operation without a query.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct NoQuery {}

/// An operation without a body. A sent body is rejected, because it would have no effect.
#[derive(Debug)]
pub(super) struct NoBody;

/// A JSON body. Where none is required, an empty body is read as an object without members.
#[derive(Debug)]
pub(super) struct JsonBody<T, const LIMIT: usize = MAX_BODY_BYTES, const IS_REQUIRED: bool = true>(
    pub(super) T,
);

/// A JSON body of a public operation.
pub(super) type SmallJsonBody<T> = JsonBody<T, MAX_SIGN_IN_BYTES>;

pub(super) type OptionalJsonBody<T> = JsonBody<T, MAX_BODY_BYTES, false>;

/// A tar archive, compressed or not.
#[derive(Debug)]
pub(super) struct ArchiveBody(pub(super) Bytes);

impl OperationBody for NoBody {
    const MEDIA_TYPES: &'static [&'static str] = &[];

    fn read(bytes: Bytes, _: Option<&InputValidator>) -> ApiResult<Self> {
        if bytes.is_empty() {
            Ok(Self)
        } else {
            Err(ApiError::invalid("this operation takes no body"))
        }
    }
}

impl<T, const LIMIT: usize, const IS_REQUIRED: bool> OperationBody
    for JsonBody<T, LIMIT, IS_REQUIRED>
where
    T: DeserializeOwned + JsonSchema + Send + 'static,
{
    const LIMIT: usize = LIMIT;
    const IS_REQUIRED: bool = IS_REQUIRED;
    const MEDIA_TYPES: &'static [&'static str] = &["application/json"];

    fn schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(generator.subschema_for::<T>())
    }

    fn read(bytes: Bytes, check: Option<&InputValidator>) -> ApiResult<Self> {
        let bytes = if IS_REQUIRED || !bytes.is_empty() { &bytes } else { &b"{}"[..] };
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|error| ApiError::invalid(format!("the body is not JSON: {error}")))?;
        check.map_or(Ok(()), |check| check.validate("the body", &value))?;
        read_value("the body", value).map(Self)
    }
}

impl OperationBody for ArchiveBody {
    const LIMIT: usize = MAX_ARCHIVE_BYTES;
    const MEDIA_TYPES: &'static [&'static str] = &["application/gzip", "application/x-tar"];

    fn read(bytes: Bytes, _: Option<&InputValidator>) -> ApiResult<Self> {
        if bytes.is_empty() {
            return Err(ApiError::invalid("the body is empty; send a tar archive"));
        }
        Ok(Self(bytes))
    }
}

impl InputValidator {
    pub(super) fn closed(mut schema: Value) -> Self {
        schema["additionalProperties"] = Value::Bool(false);
        Self::of(schema)
    }

    pub(super) fn of(schema: Value) -> Self {
        // A test compiles the schemas of all operations.
        let validator = jsonschema::options().offline().build(&schema).ok();
        Self { schema, validator }
    }

    #[cfg(test)]
    pub(super) fn is_valid(&self) -> bool {
        self.validator.is_some()
    }

    fn validate(&self, what: &str, value: &Value) -> ApiResult<()> {
        let Some(validator) = &self.validator else { return Ok(()) };
        if validator.is_valid(value) {
            return Ok(());
        }
        // For an empty schema, the validator does not name the member.
        if let (Some(members), None) = (value.as_object(), self.schema.get("properties"))
            && let Some(first) = members.keys().next()
        {
            return Err(ApiError::invalid(format!("{what} is invalid: unknown member `{first}`")));
        }
        let problems: Vec<String> = validator
            .iter_errors(value)
            .take(MAX_PROBLEMS)
            .map(|error| match error.instance_path().to_string() {
                place if place.is_empty() => error.to_string(),
                place => format!("`{place}`: {error}"),
            })
            .collect();
        Err(ApiError::invalid(format!("{what} is invalid: {}", problems.join("; "))))
    }
}

pub(super) fn inline_schema<T: JsonSchema>() -> Value {
    inline_generator().into_root_schema_for::<T>().to_value()
}

pub(super) fn inline_generator() -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator()
}

pub(super) fn check_media_type(
    headers: &HeaderMap,
    taken: &'static [&'static str],
    is_empty: bool,
    is_required: bool,
) -> ApiResult<()> {
    let is_unsaid = is_empty && headers.get(header::CONTENT_TYPE).is_none();
    if taken.is_empty() || is_unsaid && !is_required {
        return Ok(());
    }
    let sent = headers.get(header::CONTENT_TYPE).and_then(|sent| sent.to_str().ok());
    let essence = sent.and_then(|sent| sent.split(';').next()).unwrap_or_default().trim();
    if taken.iter().any(|one| essence.eq_ignore_ascii_case(one)) {
        return Ok(());
    }
    let names = taken.join("` or `");
    let detail = format!("the `Content-Type` of the body must be `{names}`");
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail))
}

/// Parses a query by its schema: converts numbers and booleans, rejects unknown parameters.
pub(super) fn read_query<Q: DeserializeOwned>(
    raw: Option<&str>,
    check: &InputValidator,
) -> ApiResult<Q> {
    let mut given: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in url::form_urlencoded::parse(raw.unwrap_or_default().as_bytes()) {
        given.entry(name.into_owned()).or_default().push(value.into_owned());
    }
    let known = check.schema.get("properties").and_then(Value::as_object);
    let mut members = Map::new();
    for (name, values) in given {
        let Some(schema) = known.and_then(|known| known.get(&name)) else {
            let names: Vec<String> =
                known.into_iter().flatten().map(|(name, _)| format!("`{name}`")).collect();
            let names = match names.is_empty() {
                true => "this operation has none".to_owned(),
                false => format!("known: {}", names.join(", ")),
            };
            let detail = format!("there is no parameter `{}`; {names}", name.escape_debug());
            return Err(ApiError::invalid(detail));
        };
        members.insert(name.clone(), parameter(&name, schema, values)?);
    }
    let value = Value::Object(members);
    check.validate("the query", &value)?;
    read_value("the query", value)
}

fn parameter(name: &str, schema: &Value, mut values: Vec<String>) -> ApiResult<Value> {
    let item = schema.get("items");
    if let Some(item) = item.filter(|_| is_type(schema, "array")) {
        let items = values.into_iter().map(|value| single(name, item, value));
        return items.collect::<Result<_, _>>().map(Value::Array);
    }
    match (values.pop(), values.is_empty()) {
        (Some(value), true) => single(name, schema, value),
        _ => Err(ApiError::invalid(format!("`{name}` must occur once"))),
    }
}

fn single(name: &str, schema: &Value, value: String) -> ApiResult<Value> {
    if is_type(schema, "integer") {
        let number: u64 = value
            .parse()
            .map_err(|_| ApiError::invalid(format!("`{name}` must be a whole number")))?;
        return Ok(number.into());
    }
    if is_type(schema, "boolean") {
        let flag = value.parse::<bool>();
        return flag
            .map(Value::Bool)
            .map_err(|_| ApiError::invalid(format!("`{name}` must be `true` or `false`")));
    }
    Ok(Value::String(value))
}

fn is_type(schema: &Value, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == name,
        Some(Value::Array(several)) => several.iter().any(|one| one == name),
        _ => false,
    }
}

fn read_value<T: DeserializeOwned>(what: &str, value: Value) -> ApiResult<T> {
    serde_json::from_value(value)
        .map_err(|error| ApiError::invalid(format!("{what} is invalid: {error}")))
}
