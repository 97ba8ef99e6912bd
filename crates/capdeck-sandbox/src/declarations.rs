//! The description of the `code_mode` tool, and TypeScript declarations of tools on demand.
//!
//! The description has a fixed budget: capability names fill it in the given order, and the rest is found by search.
//! It has no tool types; a script requests those it needs.

mod for_check;
mod schema_type;

use capdeck_catalog::{estimate_tokens, one_line};
use serde_json::Value;

pub(crate) use self::for_check::declarations_for_check;
use self::schema_type::{NamedTypes, key};
use crate::DeckOperation;

/// The maximum text of one `types` result; further tools are only named.
const MAX_TYPES_LENGTH: usize = 40_000;

const MAX_DOC_LENGTH: usize = 200;

const MAX_LINE_LENGTH: usize = 80;

/// Names in the first sentence, which is all that some clients show or search.
const MAX_FIRST_NAMES: usize = 5;

const LEAD: &str = "Runs TypeScript against your capabilities";

const GUIDE: &str = r#"; only what it returns (or its last value) and its logs come back. Top-level `await` and `return` work: do loops, filters and joins in one run. No network, files or imports.

```ts
declare const caplets: {
  search(query: string, page?: Page): Promise<List>; // tools of all capabilities
  types(id: string, tool?: string): Promise<string>; // declarations
  artifacts: { read(ref: string, range?: { offset?: number; length?: number }): Promise<any> };
  [id: string]: Handle;
};
type Page = { limit?: number; cursor?: string };
type List = { items: any[]; nextCursor?: string };
type Options = { fields?: string[] };
interface Handle {
  [tool: string]: (args?: object, options?: Options) => Promise<any>; // the data, or throws
  callTool(name: string, args?: object, options?: Options): Promise<{ ok: boolean; data?: any; error?: any; meta: any }>; // never throws
  tools(page?: Page): Promise<List>;
}
```
Also on a handle: inspect, check, searchTools, describeTool, resources, searchResources, resourceTemplates, readResource, prompts, searchPrompts, getPrompt, complete. Other names: `caplets["my-api"]["a-tool"](…)`.
Search, read the types, then call. Pass `meta.sessionId` as `sessionId` to keep variables.
"#;

#[derive(Debug, Clone, Copy)]
pub struct CapabilityLine<'a> {
    pub id: &'a str,
    pub doc: &'a str,
    /// When to use it, and when not.
    pub hints: [Option<&'a str>; 2],
}

/// Returns the description of the `code_mode` tool within a token budget (an upper bound).
///
/// `lines` are ordered by relevance; as many as possible are named, with their line while there is space, and with their
/// hints when there is space after that.
pub fn tool_text(lines: &[CapabilityLine<'_>], budget: usize) -> String {
    let ending = |left: usize| match left {
        0 => String::new(),
        left if left == lines.len() => {
            format!("\n{left} capabilities: `Object.keys(caplets)` or `caplets.search` finds them.")
        }
        left => format!("\n… and {left} more: `caplets.search` finds them."),
    };
    let guide = format!("{LEAD}{}{GUIDE}", first_names(lines, budget));
    let mut text = format!("{guide}Capabilities:");
    let mut parts: Vec<String> = Vec::new();
    for line in lines {
        let with_doc = format!("\n- {}{}", line.id, doc_part(line.doc));
        let bare = format!("\n- {}", line.id);
        let left = lines.len() - parts.len() - 1;
        let fitting = [with_doc, bare]
            .into_iter()
            .find(|part| estimate_tokens(&format!("{text}{part}{}", ending(left))) <= budget);
        let Some(part) = fitting else { break };
        text.push_str(&part);
        parts.push(part);
    }
    if parts.is_empty() {
        text.truncate(guide.trim_end().len());
    }
    let ending = ending(lines.len() - parts.len());
    if parts.len() == lines.len() {
        for (index, line) in lines.iter().enumerate() {
            add_hints(&mut parts, index, line, |parts| {
                let text = format!("{guide}Capabilities:{}{ending}", parts.concat());
                estimate_tokens(&text) <= budget
            });
        }
        if !parts.is_empty() {
            text = format!("{guide}Capabilities:{}", parts.concat());
        }
    }
    text + &ending
}

/// Adds the hints of a capability to its line if the whole still fits.
fn add_hints(
    parts: &mut [String],
    index: usize,
    line: &CapabilityLine<'_>,
    fits: impl Fn(&[String]) -> bool,
) {
    let labels = ["use when", "avoid when"];
    let hints = labels.into_iter().zip(line.hints).filter_map(|(label, hint)| {
        Some(format!("; {label} {}", summary_line(hint?, MAX_LINE_LENGTH)))
    });
    let hints: String = hints.collect();
    if hints.is_empty() {
        return;
    }
    let Some(part) = parts.get(index).cloned() else { return };
    if let Some(place) = parts.get_mut(index) {
        place.push_str(&hints);
    }
    if !fits(parts)
        && let Some(place) = parts.get_mut(index)
    {
        *place = part;
    }
}

/// ` (a, b and more)`, where the budget has room for it beside the guide and a list.
fn first_names(lines: &[CapabilityLine<'_>], budget: usize) -> String {
    let names: Vec<&str> = lines.iter().take(MAX_FIRST_NAMES).map(|line| line.id).collect();
    let more = if lines.len() > names.len() { " and more" } else { "" };
    let text = format!(" ({}{more})", names.join(", "));
    let list: usize = names.iter().map(|name| estimate_tokens(name)).sum();
    let needed = estimate_tokens(&format!("{LEAD}{text}{GUIDE}")) + list;
    if names.is_empty() || needed > budget { String::new() } else { text }
}

fn doc_part(doc: &str) -> String {
    let line = summary_line(doc, MAX_LINE_LENGTH);
    if line.is_empty() { line } else { format!(": {line}") }
}

#[derive(Debug, Clone, Copy)]
pub struct ToolSignature<'a> {
    pub name: &'a str,
    pub description: Option<&'a str>,
    pub input_schema: &'a Value,
    pub output_schema: Option<&'a Value>,
}

pub fn tool_types(id: &str, tools: &[ToolSignature<'_>]) -> String {
    let mut text =
        format!("// caplets{}\ninterface {} {{\n", member_of(id), schema_type::pascal(id));
    let mut types = NamedTypes::default();
    let mut left_out = Vec::new();
    for tool in tools {
        let method = method(id, tool, &mut types, "");
        if text.len() + method.len() + types.size() > MAX_TYPES_LENGTH && tools.len() > 1 {
            left_out.push(tool.name);
        } else {
            text.push_str(&method);
        }
    }
    text.push_str("}\n");
    text.push_str(&types.declarations());
    if !left_out.is_empty() {
        let names = summary_line(&left_out.join(", "), MAX_TYPES_LENGTH / 10);
        text.push_str(&format!(
            "// {} more, by `caplets.types({}, name)`: {names}\n",
            left_out.len(),
            Value::from(id)
        ));
    }
    text
}

/// Declares a tool as a method. `options` is the text of a second parameter, if shown.
fn method(id: &str, tool: &ToolSignature<'_>, types: &mut NamedTypes, options: &str) -> String {
    let doc = tool.description.map_or_else(String::new, |doc| {
        let doc = summary_line(doc, MAX_DOC_LENGTH).replace("*/", "* /");
        if doc.is_empty() { doc } else { format!("  /** {doc} */\n") }
    });
    let optional = match tool.input_schema.get("required").and_then(Value::as_array) {
        Some(required) if !required.is_empty() => "",
        _ => "?",
    };
    let input = types.type_of(tool.input_schema, 1);
    let output =
        tool.output_schema.map_or_else(|| "any".to_owned(), |schema| types.type_of(schema, 1));
    if is_covered(id, tool.name) {
        let name = Value::from(tool.name);
        return format!(
            "{doc}  callTool(name: {name}, args{optional}: {input}{options}): Promise<{{ ok: boolean; data?: {output}; error?: any; meta: any }}>;\n"
        );
    }
    format!("{doc}  {}(args{optional}: {input}{options}): Promise<{output}>;\n", key(tool.name))
}

/// Returns the call of a tool as a script expression, with arguments such as `path: string, limit?: number`.
pub fn call_text(id: &str, tool: &str, arguments: &str) -> String {
    let handle = format!("caplets{}", member_of(id));
    let object = if arguments.is_empty() { String::new() } else { format!("{{ {arguments} }}") };
    if !is_covered(id, tool) {
        return format!("{handle}{}({object})", member_of(tool));
    }
    let name = Value::from(tool);
    match object.is_empty() {
        true => format!("{handle}.callTool({name})"),
        false => format!("{handle}.callTool({name}, {object})"),
    }
}

/// Returns whether this member of a handle is not the tool: a built-in method, or a member of every object.
pub(crate) fn is_covered(id: &str, tool: &str) -> bool {
    DeckOperation::ON_CAPABILITY.iter().any(|method| method.script_name() == tool)
        || ["id", "call", "then", "toJSON", "constructor"].contains(&tool)
        // Functions of `caplets` with the name of a capability have their own members.
        || ["search", "types", "artifacts", "debug"].contains(&id)
}

/// Returns the member access of a name in a script: `.name`, or `["a-name"]`.
pub fn member_of(name: &str) -> String {
    let key = key(name);
    if key == name { format!(".{name}") } else { format!("[{key}]") }
}

pub fn type_of(schema: &Value) -> String {
    let mut types = NamedTypes::default();
    let kind = types.type_of(schema, 0);
    let named = types.declarations();
    if named.is_empty() { kind } else { format!("{kind}\n{}", named.trim_end()) }
}

/// A text on one line, cut after a sentence where that keeps enough of it.
fn summary_line(text: &str, longest: usize) -> String {
    let line = one_line(text);
    if line.len() <= longest {
        return line;
    }
    let cut = line.get(..line.floor_char_boundary(longest)).unwrap_or_default();
    match cut.rfind(". ") {
        Some(end) if end > longest / 3 => cut.get(..=end).unwrap_or_default().to_owned(),
        _ => format!("{}…", cut.trim_end()),
    }
}

#[cfg(test)]
mod tests;
