//! The host under test with its deck, in folders of its own.

use serde_json::{Map, Value, json};

use super::children::{SoakChild, children};
use crate::{CapdeckRun, RunningHost, TestDirs, fake::RunningFake};

/// Unused sessions and unanswered questions end soon, so that the soak sees them end.
const IDLE_MS: u64 = 5000;

/// The deck; with every version one of its children has another definition.
fn config(children: &[SoakChild], version: u32) -> Value {
    let mut servers: Map<String, Value> =
        children.iter().map(|child| (child.id.to_owned(), child.entry.clone())).collect();
    let mut sound =
        children.iter().filter(|child| child.is_sound && child.entry.get("command").is_some());
    if let Some(changing) = sound.next_back().and_then(|child| servers.get_mut(child.id)) {
        changing["env"]["SOAK_VERSION"] = version.to_string().into();
    }
    json!({
        "mcpServers": servers, "serve": {"sessionIdleMs": IDLE_MS, "questionLifetimeMs": IDLE_MS},
    })
}

/// A running host and everything around it.
pub(super) struct SoakStage {
    pub(super) host: RunningHost,
    pub(super) children: Vec<SoakChild>,
    remote: Vec<RunningFake>,
    dirs: TestDirs,
    reloads: u32,
}

impl SoakStage {
    /// Writes the deck and starts the host.
    pub(super) fn open() -> Self {
        let dirs = TestDirs::new();
        let (children, remote) = children();
        dirs.write_config(&config(&children, 0));
        let host = CapdeckRun::new(&dirs).env("CAPDECK_LOG", "error").up(&[]);
        Self { host, children, remote, dirs, reloads: 0 }
    }

    /// Writes the deck with another definition of one child: the host reads it, and replaces that child.
    pub(super) fn reload(&mut self) {
        self.reloads += 1;
        self.dirs.write_config(&config(&self.children, self.reloads));
    }

    /// `127.0.0.1:PORT`.
    pub(super) fn authority(&self) -> String {
        self.host.url.trim_start_matches("http://").to_owned()
    }

    /// A text in the environment of every process of this host and of no other.
    pub(super) fn mark(&self) -> String {
        self.dirs.root().display().to_string()
    }

    /// Has every child called once, so that what is made once is there.
    pub(super) fn warm_up(&self) {
        let mut client = self.host.client("/mcp");
        client.initialize();
        // Connections to remote servers are kept for a while; without them the baseline is exact.
        for child in self.children.iter().filter(|child| child.entry.get("url").is_none()) {
            let name = format!("{}__echo", child.id);
            client.request(
                "tools/call",
                json!({"name": "call_tool", "arguments": {"name": name, "data": {}}}),
            );
        }
        // Code mode keeps a process ready from the first run on.
        client.request(
            "tools/call",
            json!({"name": "code_mode", "arguments": {"code": "return 1;"}}),
        );
        client.send("DELETE", "/mcp", &[], b"");
    }

    /// Ends the servers over HTTP, so that no connection to them is kept for later.
    pub(super) fn end_remote_servers(&mut self) {
        self.remote.clear();
    }
}
