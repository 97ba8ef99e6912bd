//! What the fake server does, as JSON.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fake_mcp_server;

/// The script of one fake server. The default is a well-behaved server that offers everything.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct FakePlan {
    /// `serverInfo.name`.
    pub name: String,
    pub instructions: Option<String>,
    /// Which era of the protocol the server speaks.
    pub era: FakeEra,
    /// The revision to answer `initialize` with. `None` repeats what the client asked for.
    pub protocol_version: Option<String>,
    /// Waits before reading anything.
    pub start_delay_ms: u64,
    /// Ends with this code before reading anything.
    pub exit_at_start: Option<i32>,
    /// This many bytes to stderr at the start.
    pub chatter_bytes: usize,
    /// One line to stderr at the start.
    pub stderr_line: Option<String>,
    pub ignore_sigterm: bool,
    /// Goes on running after stdin closes.
    pub ignore_stdin_close: bool,
    /// Starts a program that outlives its parent unless the whole group is killed.
    pub spawn_grandchild: bool,
    /// What happens to `server/discover`.
    pub discover: FakeFault,
    /// What happens to `initialize`.
    pub initialize: FakeFault,
    /// What happens to `tools/list`.
    pub list: FakeFault,
    /// What happens to every `tools/call` of every tool.
    pub call: FakeFault,
    /// The tools named after what they do. See `behaviour.rs`.
    pub behaviours: bool,
    /// Offers resources, templates, prompts, completions and logging as well.
    pub everything: bool,
    /// This many more tools, `tool_00000` and on, which answer like `echo`.
    pub tools: usize,
    /// More tool definitions, sent as they are.
    pub extra_tools: Vec<Value>,
    /// More entries of each list, `{"tools": […], "resources": […], "resourceTemplates": […], "prompts": […]}`, read again for
    /// every list. A file that is not like this makes lists fail.
    pub list_file: Option<PathBuf>,
    /// Lists `for_<capability>` for each of sampling, elicitation and roots that the client declares.
    pub gated_tools: bool,
    /// Tools per page. `None` sends one page.
    pub page_size: Option<usize>,
    /// Never ends the list: each page names a next one.
    pub endless_pages: bool,
    /// Sends the first tool twice.
    pub duplicate_tools: bool,
    /// Writes every received message, and `{"started": PID}`, as a line of this file.
    pub record: Option<PathBuf>,
    /// Answers every HTTP `tools/call` with this status and no body.
    pub http_call_status: Option<u16>,
    /// Answers HTTP requests without this header and value with 401.
    pub http_required_header: Option<(String, String)>,
    /// Forgets an HTTP session after this many of its requests, and answers 404 from then on.
    pub http_forget_session_after: Option<usize>,
    /// Answers every HTTP request with 307 to this address.
    pub http_redirect: Option<String>,
}

/// The eras a fake server can speak.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FakeEra {
    /// A handshake first; `server/discover` is an unknown method.
    #[default]
    Legacy,
    /// No sessions; `initialize` is refused.
    Modern,
    /// Each request in the era it is written in.
    Both,
}

/// One way to treat a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FakeFault {
    /// Answers as it should.
    #[default]
    None,
    /// Never answers.
    Hang,
    /// Ends the process.
    Crash,
    /// Answers with an unknown id.
    WrongId,
    /// Answers with a line that is no JSON.
    BadJson,
    /// Answers with one line of 20 MB.
    HugeLine,
    /// Answers with a JSON-RPC error.
    Error,
    /// Answers with neither a result nor an error.
    NoOutcome,
    /// Answers with a result that is a text.
    TextResult,
}

impl Default for FakePlan {
    fn default() -> Self {
        Self {
            name: "fake".to_owned(),
            instructions: None,
            era: FakeEra::Legacy,
            protocol_version: None,
            start_delay_ms: 0,
            exit_at_start: None,
            chatter_bytes: 0,
            stderr_line: None,
            ignore_sigterm: false,
            ignore_stdin_close: false,
            spawn_grandchild: false,
            discover: FakeFault::None,
            initialize: FakeFault::None,
            list: FakeFault::None,
            call: FakeFault::None,
            behaviours: true,
            everything: true,
            tools: 0,
            extra_tools: Vec::new(),
            list_file: None,
            gated_tools: false,
            page_size: None,
            endless_pages: false,
            duplicate_tools: false,
            record: None,
            http_call_status: None,
            http_required_header: None,
            http_forget_session_after: None,
            http_redirect: None,
        }
    }
}

impl FakePlan {
    /// The plan as the one argument the program takes.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap()
    }

    /// The program and its arguments for a stdio server with this plan.
    pub fn command(&self) -> (PathBuf, Vec<String>) {
        (fake_mcp_server(), vec!["--plan".to_owned(), self.to_json()])
    }

    /// An `mcpServers` entry of a deck's config that starts a stdio server with this plan.
    pub fn deck_entry(&self) -> Value {
        let (program, arguments) = self.command();
        serde_json::json!({"name": self.name, "description": "A server of the test", "command": program, "args": arguments})
    }

    /// Starts this plan as an HTTP server; see [`RunningFake`].
    pub fn start_http(&self) -> RunningFake {
        self.start_http_telling(Stdio::inherit())
    }

    /// The same, with its standard error going somewhere else.
    pub fn start_http_telling(&self, errors: Stdio) -> RunningFake {
        use std::io::{BufRead, BufReader};
        let mut command = Command::new(fake_mcp_server());
        command.args(["--http", "--plan", &self.to_json()]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let started: Value =
            serde_json::from_str(&line).expect("the fake server prints its address");
        let text = |key: &str| started[key].as_str().unwrap().to_owned();
        RunningFake { url: text("url"), sse_url: text("sse"), child }
    }
}

/// A fake server on HTTP. Killed when dropped.
#[derive(Debug)]
pub struct RunningFake {
    child: std::process::Child,
    /// The Streamable HTTP endpoint.
    pub url: String,
    /// The endpoint of the older HTTP+SSE transport.
    pub sse_url: String,
}

impl RunningFake {
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for RunningFake {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _already_gone = self.child.wait();
    }
}
