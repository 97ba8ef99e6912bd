//! A deck with the server under test beside a good one.

use std::{fs, path::PathBuf, process::Command, time::Duration};

use capdeck_test::{CapdeckRun, FakePlan, StdioClient, TestDirs};
use serde_json::{Value, json};

/// `capdeck serve` over two servers: `bad`, which follows the plan of the test, and `good`.
pub(crate) struct Scene {
    pub(crate) client: StdioClient,
    pub(crate) dirs: TestDirs,
}

impl Scene {
    /// Starts with short limits, so that a test of a limit is over soon.
    pub(crate) fn start(plan: FakePlan) -> Self {
        Self::start_with(plan, json!({}), json!({}))
    }

    /// The same with more members in the entry of `bad` and with these client capabilities.
    pub(crate) fn start_with(mut plan: FakePlan, entry: Value, capabilities: Value) -> Self {
        let dirs = TestDirs::new();
        plan.record = Some(dirs.root().join("record.jsonl"));
        let mut bad = plan.deck_entry();
        bad.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
        Self::start_entry(dirs, bad, capabilities)
    }

    /// With `bad` reached at an address.
    pub(crate) fn start_at(url: &str, entry: Value) -> Self {
        let mut bad = json!({"name": "bad", "description": "A server of the test", "url": url});
        bad.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
        Self::start_entry(TestDirs::new(), bad, json!({}))
    }

    fn start_entry(dirs: TestDirs, entry: Value, capabilities: Value) -> Self {
        let mut bad = json!({"startupTimeoutMs": 3_000, "callTimeoutMs": 1_500});
        bad.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
        let good = FakePlan { name: "good".to_owned(), ..FakePlan::default() }.deck_entry();
        dirs.write_config(&json!({
            "options": {"exposure": "direct", "surfaceTokens": 100_000_000},
            "mcpServers": {"bad": bad, "good": good},
        }));
        let mut client = CapdeckRun::new(&dirs).serve(&[]).with_patience(Duration::from_secs(20));
        client.initialize_with(capabilities);
        Self { client, dirs }
    }

    /// Calls a tool under its deck name; gives the result.
    pub(crate) fn call(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        let reply = self.client.request("tools/call", params);
        reply.get("result").unwrap_or_else(|| panic!("no result: {reply}")).clone()
    }

    /// The text of a call that must work.
    pub(crate) fn text(&mut self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments);
        assert_ne!(result["isError"], json!(true), "`{name}` failed: {result}");
        result["content"][0]["text"].as_str().expect("a text").to_owned()
    }

    /// The message of a call that must fail.
    pub(crate) fn failure(&mut self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments);
        assert_eq!(result["isError"], json!(true), "`{name}` did not fail: {result}");
        result["content"][0]["text"].as_str().expect("a text").to_owned()
    }

    /// The other server is as well as ever.
    pub(crate) fn good_still_answers(&mut self) {
        assert_eq!(self.text("good__echo", json!({"still": "here"})), r#"{"still":"here"}"#);
    }

    /// Every tool name, all pages.
    pub(crate) fn tool_names(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        let mut params = json!({});
        loop {
            let page = self.client.request("tools/list", params)["result"].clone();
            let tools = page["tools"].as_array().expect("`tools/list` has tools");
            names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
            match page.get("nextCursor") {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => return names,
            }
        }
    }

    /// What the bad server was sent, over all its lives.
    pub(crate) fn record(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.record_path()).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    fn record_path(&self) -> PathBuf {
        self.dirs.root().join("record.jsonl")
    }
}

/// True while a process of this id runs.
pub(crate) fn is_alive(id: u32) -> bool {
    let state = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // A zombie is dead; its parent has not reaped it yet.
    state
        .rsplit(')')
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

/// Waits until a process is gone; false when it outlives ten seconds.
pub(crate) fn is_gone_soon(id: u32) -> bool {
    let mut watch = Command::new("sh");
    let script = r#"for _ in $(seq 200); do [ -d "/proc/$0" ] || exit 0; grep -q ' Z ' "/proc/$0/stat" && exit 0; sleep 0.05; done; exit 1"#;
    watch.args(["-c", script, &id.to_string()]).status().unwrap().success()
}
