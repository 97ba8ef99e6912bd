//! Declarations for the type check of one cell: only the capabilities and tools that it names.
//!
//! The checker declares `$caplets`, and treats everything undeclared as `any`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{ToolSignature, is_covered, method, schema_type::NamedTypes};
use crate::{host_interface::CapabilityDirectory, protocol::CapabilityUse};

/// The maximum declaration of one tool with its types; a longer one becomes `any`.
const MAX_DECLARATION_LENGTH: usize = 200_000;

const OPTIONS: &str = ", options?: $caplets.CallOptions";

pub(crate) fn declarations_for_check(
    uses: &[CapabilityUse],
    earlier: &[(String, String)],
    directory: &dyn CapabilityDirectory,
) -> String {
    let mut named: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for used in uses {
        named.entry(&used.capability).or_default().extend(used.tool());
    }
    for (capability, tool) in earlier {
        named.entry(capability).or_default().insert(tool);
    }
    let mut text = String::new();
    let mut members = String::new();
    for (capability, tools) in named {
        let tools = tools.into_iter().filter_map(|tool| declared(capability, tool, directory));
        let (methods, types): (Vec<String>, Vec<String>) = tools.unzip();
        if methods.is_empty() {
            continue;
        }
        let space = namespace(capability);
        text.push_str(&format!("declare namespace {space} {{\ninterface $Tools {{\n"));
        text.extend(methods);
        text.push_str("}\n");
        text.extend(types);
        text.push_str("}\n");
        let name = Value::from(capability);
        members.push_str(&format!("  readonly {name}: $caplets.Handle<{space}.$Tools>;\n"));
    }
    format!("{text}interface Capabilities {{\n{members}}}\n")
}

/// The declaration of a tool as a method, and its types.
fn declared(
    capability: &str,
    tool: &str,
    directory: &dyn CapabilityDirectory,
) -> Option<(String, String)> {
    // Another member of the handle hides a tool of the same name.
    if is_covered(capability, tool) {
        return None;
    }
    let schemas = directory.schemas(capability, tool)?;
    let shape = ToolSignature {
        name: tool,
        description: None,
        input_schema: &schemas.input,
        output_schema: schemas.output.as_ref(),
    };
    let mut types = NamedTypes::default();
    let method = method(capability, &shape, &mut types, OPTIONS);
    let space = namespace(tool);
    let (method, types) = match types.declarations() {
        types if types.is_empty() => (method, types),
        types => {
            let inside =
                format!("namespace {space} {{\ninterface $Tool {{\n{method}}}\n{types}}}\n");
            (format!("  {}: {space}.$Tool[{}];\n", Value::from(tool), Value::from(tool)), inside)
        }
    };
    (method.len() + types.len() <= MAX_DECLARATION_LENGTH).then_some((method, types))
}

/// A separate namespace for each name: tools may define the same type differently.
fn namespace(name: &str) -> String {
    let part = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter.to_string()
        } else {
            format!("_{:x}_", u32::from(letter))
        }
    };
    format!("${}", name.chars().map(part).collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{envelope::CodeLocation, host_interface::ToolSchemas, protocol::MemberUse};

    struct Deck;

    impl CapabilityDirectory for Deck {
        fn capabilities(&self) -> Vec<String> {
            Vec::new()
        }

        fn tools(&self, _: &str) -> Option<Vec<String>> {
            None
        }

        fn schemas(&self, capability: &str, tool: &str) -> Option<ToolSchemas> {
            let input = match (capability, tool) {
                ("my-api", "get" | "check") => {
                    json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}})
                }
                ("my-api", "put-it") => {
                    json!({"type": "object", "properties": {"node": {"$ref": "#/$defs/node"}}, "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}})
                }
                _ => return None,
            };
            Some(ToolSchemas { input, output: None })
        }

        fn check_arguments(&self, _: &str, _: &str, _: &Value) -> Vec<String> {
            Vec::new()
        }
    }

    fn used(capability: &str, name: &str, tool: Option<&str>) -> CapabilityUse {
        let (name, tool) = (name.to_owned(), tool.map(str::to_owned));
        let location = CodeLocation { line: 1, column: 1 };
        let member = Some(MemberUse { name, location, tool, arguments: None });
        CapabilityUse { capability: capability.to_owned(), member, location, guarded: false }
    }

    #[test]
    fn only_what_is_named_is_declared() {
        let uses = [
            used("my-api", "get", None),
            used("my-api", "callTool", Some("get")),
            used("my-api", "check", None),
            used("unknown", "get", None),
        ];
        assert_eq!(
            declarations_for_check(&uses, &[], &Deck),
            "declare namespace $my_2d_api {\ninterface $Tools {\n  get(args: {\n    id: number;\n  }, options?: $caplets.CallOptions): Promise<any>;\n}\n}\n\
             interface Capabilities {\n  readonly \"my-api\": $caplets.Handle<$my_2d_api.$Tools>;\n}\n"
        );
    }

    #[test]
    fn types_of_a_tool_stand_in_its_own_namespace() {
        let earlier = [("my-api".to_owned(), "put-it".to_owned())];
        let text = declarations_for_check(&[], &earlier, &Deck);
        assert!(text.contains("\"put-it\": $put_2d_it.$Tool[\"put-it\"];"), "{text}");
        assert!(text.contains("namespace $put_2d_it {\ninterface $Tool {"), "{text}");
        assert!(text.contains("type Node = {"), "{text}");
    }
}
