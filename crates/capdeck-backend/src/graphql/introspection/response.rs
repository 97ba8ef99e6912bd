//! The shape of an introspection result. Every member that may be missing is optional.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct IntrospectionResponse {
    pub(super) data: Option<IntrospectionData>,
    #[serde(rename = "__schema")]
    pub(super) schema: Option<IntrospectionSchema>,
    #[serde(default)]
    pub(super) errors: Option<Vec<IntrospectionError>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct IntrospectionData {
    #[serde(rename = "__schema")]
    pub(super) schema: Option<IntrospectionSchema>,
}

#[derive(Debug, Deserialize)]
pub(super) struct IntrospectionError {
    #[serde(default)]
    pub(super) message: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct IntrospectionSchema {
    pub(super) query_type: Option<IntrospectionName>,
    pub(super) mutation_type: Option<IntrospectionName>,
    pub(super) subscription_type: Option<IntrospectionName>,
    #[serde(default)]
    pub(super) types: Vec<IntrospectionType>,
    #[serde(default)]
    pub(super) directives: Option<Vec<IntrospectionDirective>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct IntrospectionName {
    pub(super) name: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct IntrospectionType {
    pub(super) kind: String,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    #[serde(rename = "specifiedByURL", alias = "specifiedByUrl")]
    pub(super) specified_by: Option<String>,
    pub(super) is_one_of: Option<bool>,
    pub(super) fields: Option<Vec<IntrospectionField>>,
    pub(super) input_fields: Option<Vec<IntrospectionInput>>,
    pub(super) interfaces: Option<Vec<IntrospectionName>>,
    pub(super) enum_values: Option<Vec<IntrospectionEnumValue>>,
    pub(super) possible_types: Option<Vec<IntrospectionName>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct IntrospectionField {
    pub(super) name: String,
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) args: Option<Vec<IntrospectionInput>>,
    #[serde(rename = "type")]
    pub(super) ty: IntrospectionTypeRef,
    pub(super) is_deprecated: Option<bool>,
    pub(super) deprecation_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct IntrospectionInput {
    pub(super) name: String,
    pub(super) description: Option<String>,
    #[serde(rename = "type")]
    pub(super) ty: IntrospectionTypeRef,
    pub(super) default_value: Option<String>,
    pub(super) is_deprecated: Option<bool>,
    pub(super) deprecation_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct IntrospectionEnumValue {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) is_deprecated: Option<bool>,
    pub(super) deprecation_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct IntrospectionTypeRef {
    pub(super) kind: String,
    pub(super) name: Option<String>,
    pub(super) of_type: Option<Box<IntrospectionTypeRef>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct IntrospectionDirective {
    pub(super) name: String,
    pub(super) is_repeatable: Option<bool>,
    #[serde(default)]
    pub(super) locations: Vec<String>,
    #[serde(default)]
    pub(super) args: Option<Vec<IntrospectionInput>>,
}
