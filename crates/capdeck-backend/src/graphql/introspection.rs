//! Parses an introspection result into a schema. The result is untrusted.

use apollo_compiler::{
    Name, Node, Schema,
    ast::{self, Definition, Directive, DirectiveList, DirectiveLocation, Selection, Type, Value},
    collections::{IndexMap, IndexSet},
    parser::Parser,
    schema::{
        self, Component, ComponentName, DirectiveDefinition, EnumType, EnumValueDefinition,
        ExtendedType, FieldDefinition, InputObjectType, InputValueDefinition, InterfaceType,
        ObjectType, ScalarType, UnionType,
    },
};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};

use super::schema::SchemaError;
use crate::api_connection::ImportProblems;

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

pub(super) fn parse(text: &str, problems: &mut ImportProblems) -> Result<Schema, SchemaError> {
    let answer: IntrospectionResponse = serde_json::from_str(text)
        .map_err(|error| SchemaError::NotIntrospection { reason: error.to_string() })?;
    let schema = answer.schema.or(answer.data.and_then(|data| data.schema));
    match (schema, answer.errors.unwrap_or_default().into_iter().next()) {
        (Some(schema), _) => Ok(SchemaBuilder { problems }.schema(schema)),
        (None, Some(error)) => Err(SchemaError::Refused { message: error.message }),
        (None, None) => {
            Err(SchemaError::NotIntrospection { reason: "it has no `__schema`".to_owned() })
        }
    }
}

struct SchemaBuilder<'a> {
    problems: &'a mut ImportProblems,
}

impl SchemaBuilder<'_> {
    fn schema(&mut self, answer: IntrospectionSchema) -> Schema {
        let mut schema = Schema::new();
        let definition = schema.schema_definition.make_mut();
        definition.query = self.root(answer.query_type, "queryType");
        definition.mutation = self.root(answer.mutation_type, "mutationType");
        definition.subscription = self.root(answer.subscription_type, "subscriptionType");
        for one in answer.types {
            let Some(name) = self.name(&one.name, "a type") else {
                continue;
            };
            match schema.types.get(&name) {
                Some(known) if known.is_built_in() => continue,
                Some(_) => {
                    self.problems.add(&name, "it is defined twice; the first one counts");
                    continue;
                }
                None => {}
            }
            if let Some(built) = self.type_definition(&name, one) {
                schema.types.insert(name, built);
            }
        }
        for directive in answer.directives.unwrap_or_default() {
            if let Some(built) = self.directive(directive) {
                schema.directive_definitions.entry(built.name.clone()).or_insert(Node::new(built));
            }
        }
        schema
    }

    fn root(&mut self, answer: Option<IntrospectionNode>, place: &str) -> Option<ComponentName> {
        let name = answer?.name;
        (!name.is_empty()).then(|| self.name(&name, place))?.map(ComponentName::from)
    }

    fn type_definition(&mut self, name: &Name, answer: IntrospectionNode) -> Option<ExtendedType> {
        let description = text(answer.description);
        let name = name.clone();
        let mut directives = schema::DirectiveList::default();
        Some(match answer.kind.as_str() {
            "SCALAR" => {
                if let Some(url) = answer.specified_by {
                    directives.push(directive("specifiedBy", Some(("url", url))));
                }
                ScalarType { description, name, directives }.into()
            }
            "OBJECT" => {
                let fields = self.fields(&name, answer.fields);
                let implements_interfaces = self.names(&name, answer.interfaces);
                ObjectType { description, name, implements_interfaces, directives, fields }.into()
            }
            "INTERFACE" => {
                let fields = self.fields(&name, answer.fields);
                let implements_interfaces = self.names(&name, answer.interfaces);
                InterfaceType { description, name, implements_interfaces, directives, fields }
                    .into()
            }
            "UNION" => {
                let members = self.names(&name, answer.possible_types);
                UnionType { description, name, directives, members }.into()
            }
            "ENUM" => {
                let values = self.values(&name, answer.enum_values);
                EnumType { description, name, directives, values }.into()
            }
            "INPUT_OBJECT" => {
                if answer.is_one_of == Some(true) {
                    directives.push(directive("oneOf", None));
                }
                let fields = self.inputs(&name, answer.input_fields);
                let fields =
                    fields.into_iter().map(|field| (field.name.clone(), Component::from(field)));
                let fields = fields.collect();
                InputObjectType { description, name, directives, fields }.into()
            }
            kind => {
                self.problems.add(name, format!("there is no kind of type `{kind}`"));
                return None;
            }
        })
    }

    fn fields(
        &mut self,
        owner: &Name,
        answers: Option<Vec<IntrospectionNode>>,
    ) -> IndexMap<Name, Component<FieldDefinition>> {
        let mut fields = IndexMap::default();
        for answer in answers.unwrap_or_default() {
            let place = format!("{owner}.{}", answer.name);
            let Some(name) = self.name(&answer.name, &place) else { continue };
            let Some(ty) = self.reference(answer.ty.as_ref(), &place) else { continue };
            let arguments = self.inputs(&place, answer.args);
            let directives = deprecation(answer.is_deprecated, answer.deprecation_reason);
            let description = text(answer.description);
            if fields.contains_key(&name) {
                self.problems.add(place, "it is defined twice; the first one counts");
                continue;
            }
            let field =
                FieldDefinition { description, name: name.clone(), arguments, ty, directives };
            fields.insert(name, Component::new(field));
        }
        fields
    }

    fn inputs(
        &mut self,
        owner: &str,
        answers: Option<Vec<IntrospectionNode>>,
    ) -> Vec<Node<InputValueDefinition>> {
        let mut known = IndexSet::default();
        let mut inputs = Vec::new();
        for answer in answers.unwrap_or_default() {
            let place = format!("{owner}.{}", answer.name);
            let Some(name) = self.name(&answer.name, &place) else { continue };
            let Some(ty) = self.reference(answer.ty.as_ref(), &place) else { continue };
            if !known.insert(name.clone()) {
                self.problems.add(place, "it is defined twice; the first one counts");
                continue;
            }
            let default_value = answer.default_value.as_deref().and_then(|literal| {
                let value = parse_literal(literal);
                if value.is_none() {
                    self.problems.add(&place, format!("its default `{literal}` is not a value"));
                }
                value
            });
            inputs.push(Node::new(InputValueDefinition {
                description: text(answer.description),
                name,
                ty: Node::new(ty),
                default_value,
                directives: deprecation(answer.is_deprecated, answer.deprecation_reason),
            }));
        }
        inputs
    }

    fn values(
        &mut self,
        owner: &Name,
        answers: Option<Vec<IntrospectionNode>>,
    ) -> IndexMap<Name, Component<EnumValueDefinition>> {
        let mut values = IndexMap::default();
        for answer in answers.unwrap_or_default() {
            let Some(value) = self.name(&answer.name, &format!("{owner}.{}", answer.name)) else {
                continue;
            };
            let directives = deprecation(answer.is_deprecated, answer.deprecation_reason);
            let description = text(answer.description);
            let definition = EnumValueDefinition { description, value: value.clone(), directives };
            values.entry(value).or_insert(Component::new(definition));
        }
        values
    }

    fn names(
        &mut self,
        owner: &Name,
        answers: Option<Vec<IntrospectionNode>>,
    ) -> IndexSet<ComponentName> {
        let names = answers.unwrap_or_default().into_iter().map(|answer| answer.name);
        let names = names.filter(|name| !name.is_empty());
        names.filter_map(|name| self.name(&name, owner)).map(ComponentName::from).collect()
    }

    fn directive(&mut self, answer: IntrospectionNode) -> Option<DirectiveDefinition> {
        let place = format!("@{}", answer.name);
        let name = self.name(&answer.name, &place)?;
        let locations = answer.locations.iter().filter_map(|name| location(name)).collect();
        let arguments = self.inputs(&place, answer.args);
        let repeatable = answer.is_repeatable == Some(true);
        Some(DirectiveDefinition { description: None, name, arguments, repeatable, locations })
    }

    fn reference(&mut self, answer: Option<&IntrospectionTypeRef>, place: &str) -> Option<Type> {
        let ty = answer.and_then(reference);
        if ty.is_none() {
            self.problems.add(place, "its type is missing, or is nested too deeply");
        }
        ty
    }

    /// Accepts only valid names. Other names could inject text into the generated documents.
    fn name(&mut self, name: &str, place: &str) -> Option<Name> {
        let checked = Name::new(name).ok();
        if checked.is_none() {
            self.problems.add(place, format!("`{}` is not a name", name.escape_debug()));
        }
        checked
    }
}

/// The JSON parser bounds this recursion.
fn reference(answer: &IntrospectionTypeRef) -> Option<Type> {
    match (answer.kind.as_str(), &answer.of_type, &answer.name) {
        ("NON_NULL", Some(inner), _) => Some(reference(inner)?.non_null()),
        ("LIST", Some(inner), _) => Some(reference(inner)?.list()),
        ("NON_NULL" | "LIST", None, _) => None,
        (_, _, Some(name)) => Some(Type::Named(Name::new(name).ok()?)),
        (_, _, None) => None,
    }
}

fn text(text: Option<String>) -> Option<Node<str>> {
    text.filter(|text| !text.is_empty()).map(Node::from)
}

fn deprecation(is_deprecated: Option<bool>, reason: Option<String>) -> DirectiveList {
    let mut directives = DirectiveList::default();
    if is_deprecated == Some(true) {
        directives.push(directive("deprecated", reason.map(|reason| ("reason", reason))));
    }
    directives
}

fn directive(name: &'static str, argument: Option<(&'static str, String)>) -> Directive {
    let argument = argument.map(|(name, text)| {
        let name = Name::new_static_unchecked(name);
        Node::new(ast::Argument { name, value: Node::new(Value::String(text)) })
    });
    let arguments = argument.into_iter().collect();
    Directive { name: Name::new_static_unchecked(name), arguments }
}

/// Locations in executable documents; schema locations are of no use to a client.
fn location(name: &str) -> Option<DirectiveLocation> {
    Some(match name {
        "QUERY" => DirectiveLocation::Query,
        "MUTATION" => DirectiveLocation::Mutation,
        "SUBSCRIPTION" => DirectiveLocation::Subscription,
        "FIELD" => DirectiveLocation::Field,
        "FRAGMENT_DEFINITION" => DirectiveLocation::FragmentDefinition,
        "FRAGMENT_SPREAD" => DirectiveLocation::FragmentSpread,
        "INLINE_FRAGMENT" => DirectiveLocation::InlineFragment,
        "VARIABLE_DEFINITION" => DirectiveLocation::VariableDefinition,
        _ => return None,
    })
}

#[derive(Debug, Deserialize)]
struct IntrospectionResponse {
    data: Option<IntrospectionData>,
    #[serde(rename = "__schema")]
    schema: Option<IntrospectionSchema>,
    errors: Option<Vec<IntrospectionError>>,
}

#[derive(Debug, Deserialize)]
struct IntrospectionData {
    #[serde(rename = "__schema")]
    schema: Option<IntrospectionSchema>,
}

#[derive(Debug, Deserialize)]
struct IntrospectionError {
    #[serde(default)]
    message: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct IntrospectionSchema {
    query_type: Option<IntrospectionNode>,
    mutation_type: Option<IntrospectionNode>,
    subscription_type: Option<IntrospectionNode>,
    #[serde(default)]
    types: Vec<IntrospectionNode>,
    directives: Option<Vec<IntrospectionNode>>,
}

/// A type, field, input, enum value or directive. Every member may be missing.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct IntrospectionNode {
    #[serde(default)]
    kind: String,
    #[serde(default, deserialize_with = "or_empty")]
    name: String,
    description: Option<String>,
    #[serde(rename = "specifiedByURL", alias = "specifiedByUrl")]
    specified_by: Option<String>,
    is_one_of: Option<bool>,
    fields: Option<Vec<Self>>,
    input_fields: Option<Vec<Self>>,
    interfaces: Option<Vec<Self>>,
    enum_values: Option<Vec<Self>>,
    possible_types: Option<Vec<Self>>,
    args: Option<Vec<Self>>,
    #[serde(rename = "type")]
    ty: Option<IntrospectionTypeRef>,
    default_value: Option<String>,
    is_deprecated: Option<bool>,
    deprecation_reason: Option<String>,
    is_repeatable: Option<bool>,
    #[serde(default)]
    locations: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct IntrospectionTypeRef {
    kind: String,
    name: Option<String>,
    of_type: Option<Box<IntrospectionTypeRef>>,
}

fn or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

const MAX_LITERAL_DEPTH: usize = 32;

/// Parses a constant, such as the default of an argument. `None` for anything else.
fn parse_literal(text: &str) -> Option<Node<Value>> {
    let mut parser = Parser::new().recursion_limit(MAX_LITERAL_DEPTH);
    let document = parser.parse_ast(format!("{{ f(a: {text}\n) }}"), "default").ok()?;
    // The text must not close the bracket and add its own content.
    let [Definition::OperationDefinition(operation)] = document.definitions.as_slice() else {
        return None;
    };
    let [Selection::Field(field)] = operation.selection_set.as_slice() else { return None };
    match field.arguments.as_slice() {
        [argument] if field.selection_set.is_empty() && field.directives.is_empty() => {
            is_constant(&argument.value).then(|| argument.value.clone())
        }
        _ => None,
    }
}

fn is_constant(value: &Value) -> bool {
    match value {
        Value::Variable(_) => false,
        Value::List(items) => items.iter().all(|item| is_constant(item)),
        Value::Object(members) => members.iter().all(|(_, member)| is_constant(member)),
        _ => true,
    }
}

pub(super) fn literal_json(value: &Value) -> Json {
    match value {
        Value::Null | Value::Variable(_) => Json::Null,
        Value::Enum(name) => name.as_str().into(),
        Value::String(text) => text.as_str().into(),
        Value::Boolean(truth) => (*truth).into(),
        Value::Int(number) => number_json(number.as_str()),
        Value::Float(number) => number_json(number.as_str()),
        Value::List(items) => items.iter().map(|item| literal_json(item)).collect(),
        Value::Object(members) => {
            let member =
                |(name, value): &(Name, Node<Value>)| (name.to_string(), literal_json(value));
            members.iter().map(member).collect::<Map<_, _>>().into()
        }
    }
}

/// Numbers beyond JSON's range become strings.
fn number_json(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|_beyond| text.into())
}
