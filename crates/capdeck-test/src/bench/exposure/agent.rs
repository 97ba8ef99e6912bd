//! A scripted agent that does a scenario in one of the ways, and counts what a model would have read and written.

use serde_json::{Value, json};

use super::{
    figures::ExposureRun,
    scenario::{ExposureScenario, ScenarioCall},
};
use crate::{CapdeckRun, StdioClient, TestDirs, bench::BenchStage};

/// An agent at work.
pub(super) struct ExposureAgent<'a> {
    stage: &'a BenchStage,
    dirs: &'a TestDirs,
    client: StdioClient,
    way: &'a str,
    count: &'a dyn Fn(&str) -> usize,
    run: ExposureRun,
}

impl<'a> ExposureAgent<'a> {
    /// Connects, and reads what every conversation begins with: the tools and the instructions.
    pub(super) fn start(
        stage: &'a BenchStage,
        dirs: &'a TestDirs,
        way: &'a str,
        count: &'a dyn Fn(&str) -> usize,
    ) -> Self {
        let mut client = CapdeckRun::at(stage.capdeck(), dirs).serve(&[]);
        let welcome = client.initialize();
        let mut standing = welcome["instructions"].as_str().map_or(0, count);
        let mut params = json!({});
        loop {
            let page = client.request("tools/list", params);
            let tools = page["result"]["tools"].as_array().expect("`tools/list` has tools");
            standing += tools.iter().map(|tool| count(&tool.to_string())).sum::<usize>();
            match page["result"].get("nextCursor") {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => break,
            }
        }
        let run = ExposureRun { way: way.to_owned(), standing, ..ExposureRun::default() };
        Self { stage, dirs, client, way, count, run }
    }

    /// Finds out how the tools are called, as far as the way does not say it from the start, then calls them.
    pub(super) fn work(mut self, scenario: &ExposureScenario) -> ExposureRun {
        let servers: Vec<&str> = scenario.servers.iter().map(|(id, _)| *id).collect();
        let steps = (scenario.calls)();
        match self.way {
            "progressive" => {
                for id in &servers {
                    self.tool(id, &json!({"operation": "tools"}));
                }
            }
            "on_demand" => {
                let skills: Vec<String> = servers.iter().map(|id| format!("@{id}")).collect();
                let before = self.run.read;
                let setup = self.tool("setup_tools", &json!({ "skills": skills }));
                self.run.setup = self.run.read - before;
                let setup = setup["structuredContent"]["tools"].as_array().into_iter().flatten();
                self.run.signatures = setup.filter_map(Value::as_str).map(self.count).sum();
            }
            "search" => {
                for step in &steps {
                    self.tool("search", &json!({"query": step.question, "limit": 5}));
                }
            }
            "code_mode" => {
                self.script(&search_script(&steps));
                self.script(&work_script(&steps));
            }
            "none" => {
                for id in &servers {
                    self.shell(&["sh", id]);
                }
            }
            _ => {}
        }
        if self.way != "code_mode" {
            for step in &steps {
                self.step(step);
            }
        }
        self.run
    }

    fn step(&mut self, step: &ScenarioCall) {
        let ScenarioCall { server, tool, arguments, .. } = step;
        match self.way {
            "direct" => drop(self.tool(&format!("{server}__{tool}"), arguments)),
            "progressive" => {
                let asked = json!({"operation": "call_tool", "name": tool, "args": arguments});
                self.tool(server, &asked);
            }
            "search" => {
                let name = format!("{server}__{tool}");
                self.tool("call_tool", &json!({ "name": name, "data": arguments }));
            }
            "none" => {
                self.shell(&["sh", server, tool, "--help"]);
                let flags = flags(arguments);
                let words: Vec<&str> = ["sh", server, tool]
                    .into_iter()
                    .chain(flags.iter().map(String::as_str))
                    .collect();
                self.shell(&words);
            }
            _ => {
                let name = format!("{server}.{tool}");
                self.tool("call_tool", &json!({ "name": name, "data": arguments }));
            }
        }
    }

    fn script(&mut self, code: &str) {
        self.tool("code_mode", &json!({ "code": code }));
    }

    fn tool(&mut self, name: &str, arguments: &Value) -> Value {
        self.run.calls += 1;
        self.run.written += (self.count)(name) + (self.count)(&arguments.to_string());
        let answer =
            self.client.request("tools/call", json!({"name": name, "arguments": arguments}));
        let result = answer.get("result").unwrap_or_else(|| panic!("`{name}`: {answer}"));
        assert_ne!(result["isError"], json!(true), "`{name}` failed: {result}");
        // A model reads the content; what is structured says the same again, for programs.
        let blocks = result["content"].as_array().into_iter().flatten();
        let texts = blocks.filter_map(|block| block["text"].as_str());
        self.run.read += texts.map(self.count).sum::<usize>();
        result.clone()
    }

    /// A command that an agent types, and what it prints.
    fn shell(&mut self, words: &[&str]) {
        self.run.calls += 1;
        self.run.written += (self.count)(&format!("capdeck {}", words.join(" ")));
        let finished = CapdeckRun::at(self.stage.capdeck(), self.dirs).args(words).run().success();
        self.run.read += (self.count)(&finished.stdout);
    }
}

/// One run that finds the tools and reads how they are called.
fn search_script(steps: &[ScenarioCall]) -> String {
    let questions: Vec<&str> = steps.iter().map(|step| step.question).collect();
    let questions = json!(questions);
    format!(
        "const found = await Promise.all({questions}.map((one) => caplets.search(one, {{ limit: 5 }})));\nreturn found.flatMap((one) => one.items.map((item) => item.signature))"
    )
}

/// One run that makes all calls.
fn work_script(steps: &[ScenarioCall]) -> String {
    let lines = steps.iter().map(|step| {
        let ScenarioCall { server, tool, arguments, .. } = step;
        format!("out.push(await caplets.{server}.callTool({}, {arguments}));", json!(tool))
    });
    format!("const out = [];\n{}\nreturn out", lines.collect::<Vec<_>>().join("\n"))
}

/// Arguments as flags: plain ones by themselves, others as JSON.
fn flags(arguments: &Value) -> Vec<String> {
    let members = arguments.as_object().into_iter().flatten();
    let flag = |(name, value): (&String, &Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("--{name}={text}")
    };
    members.map(flag).collect()
}
