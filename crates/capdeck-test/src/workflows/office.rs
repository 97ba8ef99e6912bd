//! The office that the workflows work in: an issue tracker, customers, billing, builds and releases, all made up by rule.
//!
//! Every run starts from the same data, so the facts to be found are known. Changes, such as labels, last as long as the server.

mod data;
mod tools;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub(super) use data::{FREEZE, RELEASE, builds, customers, failed_tests, invoices, issues};

/// Items on a page at most.
const PAGE: usize = 40;

/// Issues in an export; together they are about a megabyte.
const EXPORTED: usize = 2_400;

/// One server of the office.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfficeService {
    Tracker,
    Customers,
    Billing,
    Builds,
    Releases,
}

impl OfficeService {
    pub const ALL: [Self; 5] =
        [Self::Tracker, Self::Customers, Self::Billing, Self::Builds, Self::Releases];

    /// Its name, as the deck and the server's argument have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tracker => "tracker",
            Self::Customers => "customers",
            Self::Billing => "billing",
            Self::Builds => "builds",
            Self::Releases => "releases",
        }
    }

    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Tracker => "Issues of the product: list, read, label, comment, close.",
            Self::Customers => "Customers and their contacts.",
            Self::Billing => "Invoices, payments and reminders.",
            Self::Builds => "Builds of every branch and their failed tests.",
            Self::Releases => "Planned releases and freezes.",
        }
    }

    /// The definitions of its tools.
    pub(super) fn tools(self) -> Value {
        tools::of(self)
    }
}

/// The data, and what was changed about it.
pub(super) struct OfficeData {
    issues: Vec<Value>,
    comments: BTreeMap<u64, Vec<String>>,
}

impl OfficeData {
    pub(super) fn new() -> Self {
        Self { issues: issues(), comments: BTreeMap::new() }
    }

    /// Calls a tool. The error is for the model to read.
    pub(super) fn call(
        &mut self,
        service: OfficeService,
        tool: &str,
        arguments: &Value,
    ) -> Result<Value, String> {
        let text = |name: &str| arguments[name].as_str();
        let number = |name: &str| arguments[name].as_u64();
        match (service, tool) {
            (OfficeService::Tracker, "list_issues") => {
                let fits = |issue: &&Value| {
                    let labels = issue["labels"].as_array().map_or(0, Vec::len);
                    text("state").is_none_or(|state| issue["state"] == state)
                        && text("label").is_none_or(|label| has_label(issue, label))
                        && arguments["unlabelled"].as_bool().is_none_or(|no| no == (labels == 0))
                };
                page(self.issues.iter().filter(fits).cloned().collect(), "issues", arguments)
            }
            (OfficeService::Tracker, "export_issues") => {
                Ok(json!({"issues": exported(&self.issues)}))
            }
            (OfficeService::Tracker, "list_labels") => Ok(
                json!({"labels": ["bug", "documentation", "feature", "performance", "release-blocker"]}),
            ),
            (OfficeService::Tracker, "get_issue") => {
                self.issue(number("id")).map(|issue| issue.clone())
            }
            (OfficeService::Tracker, "add_label") => {
                let issue = self.issue(number("id"))?;
                let label = text("label").ok_or("`label` is missing")?;
                let labels = issue["labels"].as_array_mut().ok_or("the issue has no labels")?;
                if !labels.iter().any(|held| held == label) {
                    labels.push(json!(label));
                }
                Ok(json!({"id": issue["id"], "labels": issue["labels"]}))
            }
            (OfficeService::Tracker, "close_issue") => {
                let issue = self.issue(number("id"))?;
                issue["state"] = json!("closed");
                Ok(json!({"id": issue["id"], "state": "closed"}))
            }
            (OfficeService::Tracker, "comment") => {
                let id = self.issue(number("id"))?["id"].as_u64().unwrap_or_default();
                let comments = self.comments.entry(id).or_default();
                comments.push(text("text").ok_or("`text` is missing")?.to_owned());
                Ok(json!({"id": id, "comments": comments.len()}))
            }
            (OfficeService::Customers, "list_customers") => {
                let fits = |customer: &&Value| {
                    text("region").is_none_or(|region| customer["region"] == region)
                };
                page(customers().iter().filter(fits).cloned().collect(), "customers", arguments)
            }
            (OfficeService::Customers, "get_customer") => one(customers(), "id", &arguments["id"]),
            (OfficeService::Customers, "find_contact") => {
                one(customers(), "email", &arguments["email"])
            }
            (OfficeService::Billing, "list_invoices") => {
                let fits = |invoice: &&Value| {
                    text("status").is_none_or(|status| invoice["status"] == status)
                        && text("customer").is_none_or(|customer| invoice["customer"] == customer)
                };
                page(invoices().iter().filter(fits).cloned().collect(), "invoices", arguments)
            }
            (OfficeService::Billing, "get_invoice") => {
                one(invoices(), "number", &arguments["number"])
            }
            (OfficeService::Billing, "send_reminder") => {
                let invoice = one(invoices(), "number", &arguments["number"])?;
                Ok(json!({"number": invoice["number"], "sent": true}))
            }
            (OfficeService::Builds, "list_builds") => {
                let fits =
                    |build: &&Value| text("branch").is_none_or(|branch| build["branch"] == branch);
                page(builds().iter().filter(fits).cloned().collect(), "builds", arguments)
            }
            (OfficeService::Builds, "get_build") => one(builds(), "id", &arguments["id"]),
            (OfficeService::Builds, "list_failed_tests") => {
                let build = one(builds(), "id", &arguments["id"])?;
                Ok(json!({"tests": failed_tests(&build)}))
            }
            (OfficeService::Releases, "get_release")
                if text("version") == RELEASE["version"].as_str() =>
            {
                Ok(RELEASE.clone())
            }
            (OfficeService::Releases, "get_release") => Err("there is no such release".to_owned()),
            (OfficeService::Releases, "list_freezes") => Ok(json!({"freezes": [FREEZE.clone()]})),
            _ => Err(format!("there is no tool `{tool}`")),
        }
    }

    fn issue(&mut self, id: Option<u64>) -> Result<&mut Value, String> {
        let found = self.issues.iter_mut().find(|issue| issue["id"].as_u64() == id);
        found.filter(|_| id.is_some()).ok_or_else(|| "there is no such issue".to_owned())
    }
}

pub(super) fn has_label(issue: &Value, label: &str) -> bool {
    issue["labels"].as_array().is_some_and(|labels| labels.iter().any(|held| held == label))
}

/// The issues again and again, a megabyte of them: what a careless API gives to those who ask for everything.
fn exported(issues: &[Value]) -> Vec<&Value> {
    issues.iter().cycle().take(EXPORTED).collect()
}

fn one(items: Vec<Value>, key: &str, wanted: &Value) -> Result<Value, String> {
    let found = items.into_iter().find(|item| item[key] == *wanted);
    found.ok_or_else(|| format!("there is nothing with the {key} {wanted}"))
}

/// A page of a list. The cursor is a position, as text.
fn page(items: Vec<Value>, name: &str, arguments: &Value) -> Result<Value, String> {
    let start = match arguments.get("cursor").and_then(Value::as_str) {
        Some(cursor) => cursor.parse::<usize>().map_err(|_| "unknown cursor")?,
        None => 0,
    };
    let limit = arguments["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok());
    let end = start.saturating_add(limit.unwrap_or(PAGE).clamp(1, PAGE)).min(items.len());
    let shown = items.get(start..end).unwrap_or_default();
    let mut page = json!({name: shown, "total": items.len()});
    if end < items.len() {
        page["nextCursor"] = json!(end.to_string());
    }
    Ok(page)
}
