//! A host and a program that uses its interface.

use capdeck_serve::{BucketRate, RateLimits};
use capdeck_test::{HttpClient, HttpReply};
use serde_json::{Value, json};

use crate::served::{Served, Setting};

pub(super) const KEY: &str = "open-sesame-and-more";

pub(super) struct Api {
    pub(super) served: Served,
    client: HttpClient,
}

/// An answer with its JSON.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) json: Value,
    pub(super) reply: HttpReply,
}

impl Api {
    pub(super) fn new() -> Self {
        Self::of(Setting::new())
    }

    pub(super) fn of(setting: Setting) -> Self {
        // What a test asks in a second is more than a person does in a minute.
        let much = BucketRate { per_minute: 100_000, burst: 10_000 };
        let rates = RateLimits {
            auth: much,
            api: much,
            mcp: much,
            concurrent: 2_000,
            sessions: 2_000,
            streams: 2_000,
        };
        let served = setting.rates(rates).serve();
        let client = served.client("/v1");
        Self { served, client }
    }

    /// The same for a person with a token.
    pub(super) fn with_token(mut self, token: &str) -> Self {
        self.sign_in(token);
        self
    }

    /// Sends this token from now on.
    pub(super) fn sign_in(&mut self, token: &str) {
        self.client.headers = vec![("Authorization".to_owned(), format!("Bearer {token}"))];
    }

    /// Sends no token from now on.
    pub(super) fn sign_out(&mut self) {
        self.client.headers.clear();
    }

    pub(super) fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let reply = self.client.send(method, path, headers, body);
        let json = serde_json::from_str(&reply.body).unwrap_or_default();
        Answer { status: reply.status, json, reply }
    }

    pub(super) fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub(super) fn delete(&mut self, path: &str) -> Answer {
        self.send("DELETE", path, &[], b"")
    }

    pub(super) fn json(&mut self, method: &str, path: &str, body: Value) -> Answer {
        self.json_with(method, path, &[], body)
    }

    pub(super) fn json_with(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Value,
    ) -> Answer {
        let mut headers = headers.to_vec();
        headers.push(("Content-Type", "application/json"));
        self.send(method, path, &headers, body.to_string().as_bytes())
    }

    /// A capsule of this name.
    pub(super) fn capsule(&mut self, name: &str) {
        self.json("POST", "/v1/capsules", json!({"name": name})).is(201);
    }

    /// An entry with this body.
    pub(super) fn entry(&mut self, capsule: &str, place: &str, content: &str) -> Answer {
        let path = format!("/v1/capsules/{capsule}/entries/{place}");
        self.json("PUT", &path, json!({"content": content}))
    }
}

impl Answer {
    /// The JSON, if the status is this one.
    #[track_caller]
    pub(super) fn is(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.reply.body);
        self.json
    }

    /// A problem of this status and code, in the form that all problems have.
    #[track_caller]
    pub(super) fn fails(&self, status: u16, code: &str) -> &Value {
        assert_eq!(
            (self.status, &self.json["code"]),
            (status, &json!(code)),
            "{}",
            self.reply.body
        );
        assert_eq!(self.reply.header("content-type"), Some("application/problem+json"));
        assert_eq!(self.json["type"], format!("urn:capdeck:problem:{code}"));
        assert_eq!(self.json["status"], status);
        let id = self.json["request_id"].as_str().unwrap();
        assert_eq!(self.reply.header("x-request-id"), Some(id));
        assert!(self.json["detail"].as_str().is_some_and(|text| !text.is_empty()));
        &self.json
    }
}

/// One member of each item of a page.
pub(super) fn each(page: &Value, member: &str) -> Vec<String> {
    let items = page["items"].as_array().unwrap();
    items.iter().map(|item| item[member].as_str().unwrap_or_default().to_owned()).collect()
}
