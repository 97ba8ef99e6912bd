//! What a client and a script are told about capabilities: the tool's text, and types on demand.
//!
//! The text of the tool costs the same with one capability or a thousand: names fill what its budget leaves, in the order given, and the
//! rest is found by searching. Types of tools are not in it; a script asks for those it needs.

mod for_check;
mod schema_type;

use capdeck_catalog::estimate_tokens;
use serde_json::Value;

pub(crate) use self::for_check::declarations_for_check;
use self::schema_type::{Types, key};

/// Longest text of one answer to `types`; further tools are named.
const LONGEST_TYPES: usize = 40_000;

/// Longest documentation of one tool or argument.
const LONGEST_DOC: usize = 200;

/// Longest line about one capability in the tool's text.
const LONGEST_LINE: usize = 80;

/// What does not depend on any capability.
const GUIDE: &str = r#"Runs TypeScript against your capabilities and gives back only what it returns (or its last value) and logs. Top-level `await` and `return` work; do several steps, loops, filters and joins in one run. No network, files or imports: everything goes through `caplets`.

```ts
declare const caplets: {
  search(query: string, page?: Page): Promise<{ items: any[]; nextCursor?: string }>; // tools of all capabilities
  types(id: string, tool?: string): Promise<string>; // declarations with arguments
  artifacts: { read(ref: string, range?: { offset?: number; length?: number }): Promise<any> };
  [id: string]: Handle;
};
type Page = { limit?: number; cursor?: string };
type Result = { ok: true; data: any; meta?: any } | { ok: false; error: { code: string; message: string; details?: any; hint?: string } };
interface Handle {
  [tool: string]: (args?: object, options?: { fields?: string[] }) => Promise<any>; // the data, or throws
  callTool(name: string, args?: object, options?: { fields?: string[] }): Promise<Result>; // never throws
  tools(page?: Page): Promise<{ items: any[]; nextCursor?: string }>;
  describeTool(name: string): Promise<Result>;
}
```
Also on a handle: inspect, check, searchTools, resources, searchResources, resourceTemplates, readResource, prompts, searchPrompts, getPrompt, complete. Names that are no identifiers: `caplets["my-api"]["a-tool"](…)`.
Search, read the types of what you need, then call. Pass `meta.sessionId` as `sessionId` to go on with the same variables.
"#;

/// A capability as the tool's text shows it.
#[derive(Debug, Clone, Copy)]
pub struct CapabilityLine<'a> {
    pub id: &'a str,
    pub doc: &'a str,
}

/// The description of the `code_mode` tool, within a budget of tokens (by a bound from above).
///
/// `lines` come most relevant first; as many as fit are named, with their line while there is room for lines.
pub fn tool_text(lines: &[CapabilityLine<'_>], budget: usize) -> String {
    let ending = |left: usize| match left {
        0 => String::new(),
        left if left == lines.len() => {
            format!("\n{left} capabilities: `Object.keys(caplets)` or `caplets.search` finds them.")
        }
        left => format!("\n… and {left} more: `caplets.search` finds them."),
    };
    let mut text = format!("{GUIDE}Capabilities:");
    let mut shown = 0;
    for line in lines {
        let with_doc = format!("\n- {}{}", line.id, doc_part(line.doc));
        let bare = format!("\n- {}", line.id);
        let left = lines.len() - shown - 1;
        let fitting = [with_doc, bare]
            .into_iter()
            .find(|part| estimate_tokens(&format!("{text}{part}{}", ending(left))) <= budget);
        let Some(part) = fitting else { break };
        text.push_str(&part);
        shown += 1;
    }
    if shown == 0 {
        text.truncate(GUIDE.trim_end().len());
    }
    text.push_str(&ending(lines.len() - shown));
    text
}

fn doc_part(doc: &str) -> String {
    let line = one_line(doc, LONGEST_LINE);
    if line.is_empty() { line } else { format!(": {line}") }
}

/// A tool as its types are made of.
#[derive(Debug, Clone, Copy)]
pub struct ToolShape<'a> {
    pub name: &'a str,
    pub description: Option<&'a str>,
    pub input_schema: &'a Value,
    pub output_schema: Option<&'a Value>,
}

/// TypeScript declarations of a capability's tools.
pub fn tool_types(id: &str, tools: &[ToolShape<'_>]) -> String {
    let mut text = format!("// caplets{}\ninterface {} {{\n", member(id), schema_type::pascal(id));
    let mut types = Types::default();
    let mut left_out = Vec::new();
    for tool in tools {
        let method = method(tool, &mut types, "");
        if text.len() + method.len() + types.size() > LONGEST_TYPES && tools.len() > 1 {
            left_out.push(tool.name);
        } else {
            text.push_str(&method);
        }
    }
    text.push_str("}\n");
    text.push_str(&types.declarations());
    if !left_out.is_empty() {
        let names = one_line(&left_out.join(", "), LONGEST_TYPES / 10);
        text.push_str(&format!(
            "// {} more, by `caplets.types({}, name)`: {names}\n",
            left_out.len(),
            Value::from(id)
        ));
    }
    text
}

/// A tool as a method. `options` is the text of a second parameter, if it is shown.
fn method(tool: &ToolShape<'_>, types: &mut Types, options: &str) -> String {
    let doc = tool.description.map_or_else(String::new, |doc| {
        let doc = one_line(doc, LONGEST_DOC).replace("*/", "* /");
        if doc.is_empty() { doc } else { format!("  /** {doc} */\n") }
    });
    let optional = match tool.input_schema.get("required").and_then(Value::as_array) {
        Some(required) if !required.is_empty() => "",
        _ => "?",
    };
    let input = types.of(tool.input_schema, 1);
    let output = tool.output_schema.map_or_else(|| "any".to_owned(), |schema| types.of(schema, 1));
    format!("{doc}  {}(args{optional}: {input}{options}): Promise<{output}>;\n", key(tool.name))
}

fn member(id: &str) -> String {
    let key = key(id);
    if key == id { format!(".{id}") } else { format!("[{key}]") }
}

/// The first sentence of a text, or as much of it as fits, in one line.
fn one_line(text: &str, longest: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
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
