//! A host with a registry, capsules that can be found or not, and agents with tokens.

use std::time::Duration;

use capdeck_auth::inbound::{
    ApprovalMode, ApprovalTerms, DecisionMaker, DeckGrant, EventCaller, GrantPolicy, GrantQuery,
    GrantRecipient, GrantRule, GrantTarget, NewCredential, NewRequest, OperatorRole, PageRequest,
    RequestDecision, RequestSource, Role, Scopes, capsule_key,
};
use capdeck_definition::Exposure;
use capdeck_host::{
    CapsuleAuthor, CapsuleCall, CapsuleCaller, CapsuleServiceExt as _, CapsuleVisibility,
    CreateCapsuleRequest, ListCapsulesRequest, RegistryAuditFilter, WriteRequest,
};
use capdeck_test::{FakePlan, HttpClient};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    event_stream::EventStream,
    modern_client::ModernClient,
    served::{Served, Setting},
};

pub(super) struct Office {
    pub(super) served: Served,
}

/// An agent with a token.
pub(super) struct Agent {
    pub(super) principal: String,
    pub(super) token: String,
}

impl Office {
    /// A host with these capsules.
    pub(super) fn with(capsules: &[(&str, CapsuleVisibility)]) -> Self {
        let setting = Setting::of(&FakePlan::default()).exposure(Exposure::Direct).registry();
        let office = Self { served: setting.serve() };
        for (name, visibility) in capsules {
            let create = CreateCapsuleRequest {
                name: (*name).to_owned(),
                description: Some(format!("what {name} is about")),
                visibility: Some(*visibility),
            };
            office.ask(None, create);
        }
        office.served.host.reload();
        office
    }

    /// The same where programs decide, too.
    pub(super) fn supervised(capsules: &[(&str, CapsuleVisibility)]) -> Self {
        let office = Self::with(capsules);
        office.decide_by(ApprovalMode::Supervisor, Vec::new());
        office
    }

    pub(super) fn decide_by(&self, mode: ApprovalMode, rules: Vec<GrantRule>) {
        let registry = self.served.registry();
        // All agents of a test are on this machine.
        let policy = GrantPolicy { mode, rules, shared_address: true };
        self.served.wait(registry.approval().set_policy(&caller(), policy)).unwrap();
    }

    /// Asks as the owner of the machine.
    pub(super) fn ask(&self, capsule: Option<&str>, operation: impl CapsuleCall) -> Value {
        let capsules = self.served.host.capsules().unwrap();
        let owner = CapsuleCaller::local(CapsuleAuthor::client("owner"));
        let response = self.served.wait(capsules.ask(owner.request(capsule, operation)));
        serde_json::to_value(response.unwrap()).unwrap()
    }

    pub(super) fn write(&self, capsule: &str, uri: &str, body: &str) {
        let (uri, content) = (uri.to_owned(), Some(body.to_owned()));
        let write = WriteRequest { uri, content, ..WriteRequest::default() };
        self.ask(Some(capsule), write);
    }

    /// An agent that a person granted these targets, with a token for the same scopes.
    pub(super) fn agent(&self, name: &str, targets: &[GrantTarget], scopes: &str) -> Agent {
        let (first, more) = targets.split_first().unwrap();
        let agent = self.agent_with(name, first, scopes, scopes);
        for target in more {
            self.grant_to(&agent, target, scopes);
        }
        agent
    }

    /// An agent whose token is for other scopes than its grant.
    pub(super) fn agent_with(
        &self,
        name: &str,
        target: &GrantTarget,
        granted: &str,
        scopes: &str,
    ) -> Agent {
        let (principal, _) = self.grant(new(name), target, granted, None);
        self.connected(principal, scopes)
    }

    /// An agent whose grant ends at this time.
    pub(super) fn agent_until(
        &self,
        name: &str,
        target: &GrantTarget,
        scopes: &str,
        end: Timestamp,
    ) -> Agent {
        let (principal, _) = self.grant(new(name), target, scopes, Some(end));
        self.connected(principal, scopes)
    }

    fn connected(&self, principal: String, scopes: &str) -> Agent {
        let new = NewCredential {
            principal: principal.clone(),
            scopes: Scopes::parse(scopes).unwrap(),
            audience: None,
            expires_at: in_an_hour(),
        };
        let registry = self.served.registry();
        let opened = self.served.wait(registry.tokens().open_connection(&caller(), new)).unwrap();
        Agent { principal, token: opened.token.expose().to_owned() }
    }

    /// The ids of what an agent was granted, the oldest first.
    pub(super) fn grants_of(&self, agent: &Agent) -> Vec<String> {
        let registry = self.served.registry();
        let held = GrantQuery {
            principal: Some(agent.principal.clone()),
            live_only: true,
            ..GrantQuery::default()
        };
        let grants = registry.grants().list(&held, &PageRequest::default()).unwrap();
        grants.items.into_iter().rev().map(|grant| grant.id).collect()
    }

    /// One more grant for an agent; its id.
    pub(super) fn grant_to(&self, agent: &Agent, target: &GrantTarget, scopes: &str) -> String {
        self.grant(GrantRecipient::Principal { id: agent.principal.clone() }, target, scopes, None)
            .1
    }

    fn grant(
        &self,
        holder: GrantRecipient,
        target: &GrantTarget,
        scopes: &str,
        wanted_until: Option<Timestamp>,
    ) -> (String, String) {
        let registry = self.served.registry();
        let new = NewRequest {
            source: RequestSource::Dashboard,
            holder,
            requested_by: "local".to_owned(),
            target: self.keyed(target.clone()),
            scopes: Scopes::parse(scopes).unwrap(),
            reason: None,
            wanted_until,
        };
        let filed = self.served.wait(registry.grants().file_request(&caller(), new)).unwrap();
        let approve = RequestDecision::Approve(ApprovalTerms::default());
        let (caller, person) = (caller(), person());
        let decided = registry.grants().decide(&caller, &person, &filed.id, approve);
        let decided = self.served.wait(decided).unwrap();
        (decided.principal, decided.grant.unwrap())
    }

    /// A target with the key of the capsule whose id it has.
    fn keyed(&self, mut target: GrantTarget) -> GrantTarget {
        if let GrantTarget::Capsule { capsule, .. } = &mut target {
            let list = ListCapsulesRequest { with_counts: false };
            let all = self.ask(None, list)["capsules"].clone();
            let found = all.as_array().unwrap().iter().find(|one| one["id"] == capsule.as_str());
            *capsule = capsule_key(capsule, found.unwrap()["uid"].as_str().unwrap());
        }
        target
    }

    /// A person takes a grant back.
    pub(super) fn take_back(&self, grant: &str) {
        let registry = self.served.registry();
        self.served.wait(registry.grants().revoke(&caller(), &person(), grant)).unwrap();
    }

    /// Ends the connection of an agent, with its token.
    pub(super) fn end(&self, agent: &Agent) {
        let registry = self.served.registry();
        let standing = registry.authenticate(&agent.token).unwrap();
        self.served
            .wait(registry.tokens().revoke_credential(&caller(), &standing.credential))
            .unwrap();
    }

    /// A client of the older protocol after its handshake.
    pub(super) fn client(&self, path: &str, agent: &Agent) -> HttpClient {
        let mut client = self.served.client(path);
        client.headers.push(("Authorization".to_owned(), format!("Bearer {}", agent.token)));
        client.initialize();
        client
    }

    pub(super) fn modern(&self, path: &'static str, agent: &Agent) -> ModernClient {
        ModernClient::new(&self.served, path, json!({})).with_token(&agent.token)
    }

    /// What a client of the older protocol hears.
    pub(super) fn stream(&self, path: &str, agent: &Agent, client: &HttpClient) -> EventStream {
        let headers = [
            ("Mcp-Session-Id", client.session.clone().unwrap()),
            ("MCP-Protocol-Version", "2025-11-25".to_owned()),
            ("Authorization", format!("Bearer {}", agent.token)),
        ];
        EventStream::get_with(self.served.authority(), path, &headers)
    }

    /// What happened while something was done, as the registry's audit has it: action and outcome, or what went wrong.
    pub(super) fn lines_of<T>(&self, work: impl FnOnce() -> T) -> (T, Vec<String>) {
        let before = self.lines().len();
        let done = work();
        (done, self.lines().split_off(before))
    }

    fn lines(&self) -> Vec<String> {
        let filter = capdeck_host::AuditFilter { limit: 1_000, ..Default::default() };
        let answer = self.ask(None, RegistryAuditFilter(filter));
        let lines = answer["lines"].as_array().unwrap().iter();
        lines
            .map(|line| {
                let action = line["action"].as_str().unwrap();
                let outcome = line["error_code"].as_str().or(line["outcome"].as_str()).unwrap();
                format!("{action} {outcome}")
            })
            .collect()
    }
}

/// A role on a part of a capsule; on all of it when no prefix is named.
pub(super) fn on(capsule: &str, role: Role, prefixes: &[&str]) -> GrantTarget {
    GrantTarget::Capsule {
        capsule: capsule.to_owned(),
        role,
        uri_prefixes: prefixes.iter().map(|prefix| (*prefix).to_owned()).collect(),
        denied_prefixes: Vec::new(),
    }
}

/// One capability of the deck, whole.
pub(super) fn deck_of(capability: &str) -> GrantTarget {
    GrantTarget::Deck(DeckGrant {
        capabilities: vec![capability.to_owned()],
        ..DeckGrant::default()
    })
}

/// The result of a tool call, good or bad.
pub(super) fn call(client: &mut HttpClient, tool: &str, arguments: Value) -> Value {
    let answer = client.request("tools/call", json!({"name": tool, "arguments": arguments}));
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].clone()
}

/// The facts of a tool call that must work.
#[track_caller]
pub(super) fn facts(client: &mut HttpClient, tool: &str, arguments: Value) -> Value {
    let result = call(client, tool, arguments);
    assert_ne!(result["isError"], true, "{result}");
    result["structuredContent"].clone()
}

/// The code of a tool call that must fail.
#[track_caller]
pub(super) fn refused(client: &mut HttpClient, tool: &str, arguments: Value) -> String {
    let result = call(client, tool, arguments);
    assert_eq!(result["isError"], true, "{result}");
    result["structuredContent"]["error"]["code"].as_str().unwrap().to_owned()
}

pub(super) fn manage(client: &mut HttpClient, arguments: Value) -> Value {
    facts(client, "capsol_manage", arguments)
}

/// The ids of the capsules that an agent is notified of.
pub(super) fn listed(client: &mut HttpClient) -> Vec<String> {
    let answer = facts(client, "capsol_capsules", json!({"action": "list"}));
    let capsules = answer["capsules"].as_array().unwrap().iter();
    capsules.map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

/// The names of the tools that an agent is notified of.
pub(super) fn tools(client: &mut HttpClient) -> Vec<String> {
    let answer = client.request("tools/list", json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap().iter();
    tools.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

pub(super) fn in_an_hour() -> Timestamp {
    Timestamp::now() + Duration::from_secs(3600)
}

fn new(name: &str) -> GrantRecipient {
    GrantRecipient::New { name: name.to_owned(), client_id: Some(format!("{name}-id")) }
}

fn caller() -> EventCaller {
    EventCaller::new("local", None)
}

fn person() -> DecisionMaker {
    DecisionMaker::Operator {
        id: "local".to_owned(),
        role: OperatorRole::Admin,
        readable: Vec::new(),
    }
}
