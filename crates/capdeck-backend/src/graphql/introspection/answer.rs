//! The shape of an introspection result. Every member that may be missing is optional.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    pub(super) data: Option<Data>,
    #[serde(rename = "__schema")]
    pub(super) schema: Option<SchemaAnswer>,
    #[serde(default)]
    pub(super) errors: Option<Vec<ErrorAnswer>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Data {
    #[serde(rename = "__schema")]
    pub(super) schema: Option<SchemaAnswer>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ErrorAnswer {
    #[serde(default)]
    pub(super) message: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SchemaAnswer {
    pub(super) query_type: Option<NameAnswer>,
    pub(super) mutation_type: Option<NameAnswer>,
    pub(super) subscription_type: Option<NameAnswer>,
    #[serde(default)]
    pub(super) types: Vec<TypeAnswer>,
    #[serde(default)]
    pub(super) directives: Option<Vec<DirectiveAnswer>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NameAnswer {
    pub(super) name: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TypeAnswer {
    pub(super) kind: String,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    #[serde(rename = "specifiedByURL", alias = "specifiedByUrl")]
    pub(super) specified_by: Option<String>,
    pub(super) is_one_of: Option<bool>,
    pub(super) fields: Option<Vec<FieldAnswer>>,
    pub(super) input_fields: Option<Vec<InputAnswer>>,
    pub(super) interfaces: Option<Vec<NameAnswer>>,
    pub(super) enum_values: Option<Vec<ValueAnswer>>,
    pub(super) possible_types: Option<Vec<NameAnswer>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FieldAnswer {
    pub(super) name: String,
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) args: Option<Vec<InputAnswer>>,
    #[serde(rename = "type")]
    pub(super) ty: ReferenceAnswer,
    pub(super) is_deprecated: Option<bool>,
    pub(super) deprecation_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InputAnswer {
    pub(super) name: String,
    pub(super) description: Option<String>,
    #[serde(rename = "type")]
    pub(super) ty: ReferenceAnswer,
    pub(super) default_value: Option<String>,
    pub(super) is_deprecated: Option<bool>,
    pub(super) deprecation_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ValueAnswer {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) is_deprecated: Option<bool>,
    pub(super) deprecation_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReferenceAnswer {
    pub(super) kind: String,
    pub(super) name: Option<String>,
    pub(super) of_type: Option<Box<ReferenceAnswer>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DirectiveAnswer {
    pub(super) name: String,
    pub(super) is_repeatable: Option<bool>,
    #[serde(default)]
    pub(super) locations: Vec<String>,
    #[serde(default)]
    pub(super) args: Option<Vec<InputAnswer>>,
}
