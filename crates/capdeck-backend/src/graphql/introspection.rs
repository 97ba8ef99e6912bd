//! Parses an introspection result into a schema. The result is untrusted.

mod build;
mod response;

pub(super) use self::build::parse;

pub(super) const INTROSPECTION_QUERY: &str = "query IntrospectionQuery { __schema { \
    queryType { name } mutationType { name } subscriptionType { name } \
    types { kind name description specifiedByURL isOneOf \
    fields(includeDeprecated: true) { name description args(includeDeprecated: true) { ...Input } \
    type { ...Reference } isDeprecated deprecationReason } \
    inputFields(includeDeprecated: true) { ...Input } interfaces { name } \
    enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } \
    possibleTypes { name } } \
    directives { name isRepeatable locations args(includeDeprecated: true) { ...Input } } } } \
    fragment Input on __InputValue { name description type { ...Reference } defaultValue isDeprecated \
    deprecationReason } \
    fragment Reference on __Type { kind name ofType { kind name ofType { kind name ofType { kind name \
    ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } }";

/// The query for servers of the oldest specification.
pub(super) const LEGACY_INTROSPECTION_QUERY: &str = "query IntrospectionQuery { __schema { \
    queryType { name } mutationType { name } subscriptionType { name } \
    types { kind name description \
    fields(includeDeprecated: true) { name description args { ...Input } type { ...Reference } isDeprecated \
    deprecationReason } \
    inputFields { ...Input } interfaces { name } \
    enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } \
    possibleTypes { name } } \
    directives { name locations args { ...Input } } } } \
    fragment Input on __InputValue { name description type { ...Reference } defaultValue } \
    fragment Reference on __Type { kind name ofType { kind name ofType { kind name ofType { kind name \
    ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } }";
