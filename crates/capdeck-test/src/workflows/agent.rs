//! A scripted agent: makes tool calls in one of the views, and counts what a model would have read and written.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{OfficeService, WorkflowRun};
use crate::StdioClient;

/// How the tools are offered to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolView {
    Direct,
    Progressive,
    Search,
    CodeMode,
}

impl ToolView {
    pub const ALL: [Self; 4] = [Self::Direct, Self::Progressive, Self::Search, Self::CodeMode];

    /// The name as a deck has it.
    pub fn exposure(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Progressive => "progressive",
            Self::Search => "search",
            Self::CodeMode => "code_mode",
        }
    }
}

/// An agent at work.
pub(super) struct WorkflowAgent<'a> {
    client: StdioClient,
    way: ToolView,
    count: &'a dyn Fn(&str) -> usize,
    surface_tokens: usize,
    calls: usize,
    /// Tokens of what the model wrote.
    written: usize,
    /// Tokens of what the model read.
    read: usize,
}

impl<'a> WorkflowAgent<'a> {
    /// Connects, and reads what every conversation begins with: the tools and the instructions.
    pub(super) fn start(
        mut client: StdioClient,
        way: ToolView,
        count: &'a dyn Fn(&str) -> usize,
    ) -> Self {
        let welcome = client.initialize();
        let mut surface_tokens = welcome["instructions"].as_str().map_or(0, count);
        let listed = client.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().expect("`tools/list` has tools");
        surface_tokens += tools.iter().map(|tool| count(&tool.to_string())).sum::<usize>();
        Self { client, way, count, surface_tokens, calls: 0, written: 0, read: 0 }
    }

    /// Finds out how the tools are called, as far as the view does not say it from the start.
    pub(super) fn learn(&mut self, services: &[OfficeService], questions: &[&str]) {
        match self.way {
            ToolView::Direct => {}
            ToolView::Progressive => {
                for service in services {
                    self.tool(service.name(), json!({"operation": "tools"}));
                }
            }
            ToolView::Search => {
                for question in questions {
                    self.tool("search", json!({"query": question}));
                }
            }
            ToolView::CodeMode => {
                let ids: Vec<&str> = services.iter().map(|service| service.name()).collect();
                let ids = json!(ids);
                self.run(&format!(
                    "const texts = await Promise.all({ids}.map((id) => caplets.types(id)));\nreturn texts.join(\"\\n\")"
                ));
            }
        }
    }

    /// Calls a tool of a server in the way the view offers.
    pub(super) fn call(&mut self, service: OfficeService, tool: &str, arguments: Value) -> Value {
        let service = service.name();
        let result = match self.way {
            ToolView::Direct => self.tool(&format!("{service}__{tool}"), arguments),
            ToolView::Progressive => {
                let asked = json!({"operation": "call_tool", "name": tool, "args": arguments});
                self.tool(service, asked)
            }
            ToolView::Search | ToolView::CodeMode => {
                let asked = json!({"name": format!("{service}__{tool}"), "data": arguments});
                self.tool("call_tool", asked)
            }
        };
        result["structuredContent"].clone()
    }

    /// All items of a list that comes in pages.
    pub(super) fn all(
        &mut self,
        service: OfficeService,
        tool: &str,
        arguments: &Value,
        items: &str,
    ) -> Vec<Value> {
        let mut found = Vec::new();
        let mut arguments = arguments.clone();
        loop {
            let page = self.call(service, tool, arguments.clone());
            let listed = page[items].as_array();
            found
                .extend(listed.unwrap_or_else(|| panic!("no `{items}` in {page}")).iter().cloned());
            match page.get("nextCursor") {
                Some(cursor) => arguments["cursor"] = cursor.clone(),
                None => return found,
            }
        }
    }

    /// Runs a script of code mode and gives what it returns.
    pub(super) fn run(&mut self, script: &str) -> Value {
        let result = self.tool("code_mode", json!({"code": script}));
        let envelope = &result["structuredContent"];
        assert_eq!(envelope["ok"], json!(true), "the script failed: {envelope}");
        envelope["value"].clone()
    }

    /// What the work came to.
    pub(super) fn finish(self, milliseconds: f64) -> WorkflowRun {
        WorkflowRun {
            way: self.way,
            calls: self.calls,
            surface_tokens: self.surface_tokens,
            written_tokens: self.written,
            read_tokens: self.read,
            milliseconds,
        }
    }

    fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.calls += 1;
        self.written += (self.count)(name) + (self.count)(&arguments.to_string());
        let asked = json!({"name": name, "arguments": arguments});
        let answer = self.client.request("tools/call", asked);
        let result = answer.get("result").unwrap_or_else(|| panic!("`{name}`: {answer}")).clone();
        assert_ne!(result["isError"], json!(true), "`{name}` failed: {result}");
        // A model reads the content; what is structured says the same again, for programs.
        let blocks = result["content"].as_array().into_iter().flatten();
        let texts = blocks.filter_map(|block| block["text"].as_str());
        self.read += texts.map(self.count).sum::<usize>();
        result
    }
}
