//! A host with capsules, and clients of them.

use capdeck_definition::Exposure;
use capdeck_host::{
    AddShareRequest, AuditFilter, CapsuleAuthor, CapsuleCall, CapsuleCaller, CapsuleError,
    CapsuleServiceExt as _, CreateCapsuleRequest, RevokeShareRequest, Role, ShareExpiry,
    WriteRequest,
};
use capdeck_test::HttpClient;
use serde_json::{Value, json};

use crate::served::{Served, Setting};

pub(super) struct Stage {
    pub(super) served: Served,
}

pub(super) struct Token {
    pub(super) share: String,
    pub(super) secret: String,
}

impl Stage {
    pub(super) fn with(capsules: &[&str]) -> Self {
        Self::of(Setting::new(), capsules)
    }

    pub(super) fn of(setting: Setting, capsules: &[&str]) -> Self {
        let stage = Self { served: setting.serve() };
        for name in capsules {
            stage.create(name);
        }
        stage
    }

    pub(super) fn create(&self, name: &str) {
        let description = Some(format!("what {name} is about"));
        let name = name.to_owned();
        let create = CreateCapsuleRequest { name, description, visibility: None };
        self.ask(None, create).unwrap();
    }

    /// A host whose deck offers everything directly, with these capsules in it.
    pub(super) fn deck(capsules: &[&str]) -> Self {
        let stage = Self::of(Setting::new().exposure(Exposure::Direct), capsules);
        stage.served.host.reload();
        stage
    }

    /// Asks as the owner of the machine.
    pub(super) fn ask(
        &self,
        capsule: Option<&str>,
        operation: impl CapsuleCall,
    ) -> Result<Value, CapsuleError> {
        let capsules = self.served.host.capsules().unwrap();
        let caller = CapsuleCaller::local(CapsuleAuthor::client("owner"));
        let response = self.served.wait(capsules.ask(caller.request(capsule, operation)))?;
        Ok(serde_json::to_value(response).unwrap())
    }

    pub(super) fn write(&self, capsule: &str, uri: &str, body: &str) {
        let (uri, content) = (uri.to_owned(), Some(body.to_owned()));
        let write = WriteRequest { uri, content, ..WriteRequest::default() };
        self.ask(Some(capsule), write).unwrap();
    }

    pub(super) fn share(&self, capsule: &str, role: Role, allow: &[&str], deny: &[&str]) -> Token {
        let texts = |prefixes: &[&str]| prefixes.iter().map(|text| (*text).to_owned()).collect();
        let add = AddShareRequest {
            name: "guest".to_owned(),
            role,
            uri_prefixes: texts(allow),
            denied_prefixes: texts(deny),
            expires_at: ShareExpiry::Default,
        };
        let share = self.ask(Some(capsule), add).unwrap();
        let text = |key: &str| share[key].as_str().unwrap().to_owned();
        Token { share: text("id"), secret: text("token") }
    }

    pub(super) fn revoke(&self, token: &Token) {
        self.ask(None, RevokeShareRequest { id: token.share.clone() }).unwrap();
    }

    /// A client of the machine's owner.
    pub(super) fn client(&self, path: &str) -> HttpClient {
        let mut client = self.served.client(path);
        client.initialize();
        client
    }

    /// A client that has not said hello yet.
    pub(super) fn stranger(&self, path: &str, token: &Token) -> HttpClient {
        let mut client = self.served.client(path);
        client.headers.push(("Authorization".to_owned(), format!("Bearer {}", token.secret)));
        client
    }

    /// A client with the token of a share.
    pub(super) fn guest(&self, path: &str, token: &Token) -> HttpClient {
        let mut client = self.stranger(path, token);
        client.initialize();
        client
    }

    /// The lines of a capsule's audit, oldest first, without those of looking at it.
    pub(super) fn audit(&self, capsule: &str) -> Vec<Value> {
        let tail = AuditFilter { limit: 100, ..AuditFilter::default() };
        let answer = self.ask(Some(capsule), tail).unwrap();
        let lines = answer["lines"].as_array().unwrap().iter();
        lines.filter(|line| line["action"] != "audit.query").cloned().collect()
    }
}

/// The result of a tool call, good or bad.
pub(super) fn call(client: &mut HttpClient, tool: &str, arguments: Value) -> Value {
    let answer = client.request("tools/call", json!({"name": tool, "arguments": arguments}));
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].clone()
}

/// The facts of a tool call that must work.
pub(super) fn facts(client: &mut HttpClient, tool: &str, arguments: Value) -> Value {
    let result = call(client, tool, arguments);
    assert_ne!(result["isError"], true, "{result}");
    result["structuredContent"].clone()
}

/// The error of a tool call that must fail.
pub(super) fn error(client: &mut HttpClient, tool: &str, arguments: Value) -> Value {
    let result = call(client, tool, arguments);
    assert_eq!(result["isError"], true, "{result}");
    result["structuredContent"]["error"].clone()
}

/// One member of each item of a list.
pub(super) fn each(list: &Value, key: &str) -> Vec<String> {
    let items = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    items.iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
}
