//! The tools of a server with parameters that are also sent as headers, learned from its lists.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{HeaderParams, ParamHeader, RawObject, raw};

const MAX_TOOLS: usize = 10_000;

#[derive(Default)]
pub(super) struct ToolHeaders {
    changes: AtomicU64,
    known: Mutex<ToolHeaderState>,
    /// Held while the list is read only for its headers, so that concurrent first calls read it once.
    pub(super) listing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct ToolHeaderState {
    /// The change count at which the list was read completely.
    listed: Option<u64>,
    annotated: HashMap<String, Arc<HeaderParams>>,
}

#[derive(Deserialize)]
struct ToolListPage<'a> {
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "nextCursor")]
    next_cursor: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ToolListItem<'a> {
    name: String,
    #[serde(borrow, default, rename = "inputSchema")]
    input_schema: Option<&'a RawValue>,
}

impl ToolHeaders {
    pub(super) fn forget(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn is_listed(&self) -> bool {
        self.known.lock().listed == Some(self.changes.load(Ordering::Relaxed))
    }

    /// The server has no list; calls have no parameter headers.
    pub(super) fn give_up(&self) {
        self.known.lock().listed = Some(self.changes.load(Ordering::Relaxed));
    }

    pub(super) fn of_call(&self, params: &RawObject) -> Vec<ParamHeader> {
        if self.known.lock().annotated.is_empty() {
            return Vec::new();
        }
        let name = raw::text_member(params, "name").unwrap_or_default();
        let tool = self.known.lock().annotated.get(&name).cloned();
        let arguments = params.get("arguments").map(AsRef::as_ref);
        tool.map(|tool| tool.headers(arguments)).unwrap_or_default()
    }

    /// Learns from one page of the list and removes invalid tools; the rest stays as written. Also returns the cursor
    /// of the next page.
    pub(super) fn learn(
        &self,
        is_first: bool,
        answer: Box<RawValue>,
    ) -> (Box<RawValue>, Option<Box<RawValue>>) {
        let Ok(page) = serde_json::from_str::<ToolListPage<'_>>(answer.get()) else {
            return (answer, None);
        };
        let tools = page.tools.map(RawValue::get).unwrap_or_default();
        let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(tools) else {
            return (answer, None);
        };
        let next = page.next_cursor.filter(|cursor| cursor.get() != "null").map(ToOwned::to_owned);
        let mut kept = Vec::with_capacity(items.len());
        {
            let mut known = self.known.lock();
            if is_first {
                known.annotated.clear();
            }
            kept.extend(items.iter().copied().filter(|item| known.learn(item)));
            if next.is_none() {
                known.listed = Some(self.changes.load(Ordering::Relaxed));
            }
        }
        if kept.len() == items.len() {
            return (answer, next);
        }
        (without(&answer, tools, &kept).unwrap_or(answer), next)
    }
}

impl ToolHeaderState {
    fn learn(&mut self, item: &RawValue) -> bool {
        let Ok(ToolListItem { name, input_schema: Some(schema) }) =
            serde_json::from_str(item.get())
        else {
            return true;
        };
        match HeaderParams::from_schema(schema) {
            Ok(params) if params.is_empty() => true,
            Ok(params) => {
                if self.annotated.len() < MAX_TOOLS {
                    self.annotated.insert(name, Arc::new(params));
                }
                true
            }
            Err(error) => {
                tracing::warn!(tool = name, %error, "a tool of the server is left out");
                false
            }
        }
    }
}

/// Returns the response with a shorter tool list; `tools` is a part of its text.
fn without(answer: &RawValue, tools: &str, kept: &[&RawValue]) -> Option<Box<RawValue>> {
    let text = answer.get();
    let start = (tools.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let (head, rest) = text.split_at_checked(start)?;
    let (_, tail) = rest.split_at_checked(tools.len())?;
    let kept: Vec<&str> = kept.iter().map(|tool| tool.get()).collect();
    RawValue::from_string(format!("{head}[{}]{tail}", kept.join(","))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learn(tools: &ToolHeaders, text: &str) -> (String, Option<String>) {
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        let (answer, next) = tools.learn(true, raw);
        (answer.get().to_owned(), next.map(|next| next.get().to_owned()))
    }

    #[test]
    fn broken_tools_go_and_the_rest_stays_byte_for_byte() {
        let good = r#"{ "name":"good" , "inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}"#;
        let bad = r#"{"name":"bad","inputSchema":{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}}"#;
        let plain = r#"{"name":"plain","x":1.50}"#;
        let list = format!("{{\"x\": 1,\"tools\" : [{good}, {bad} ,{plain}], \"y\":[ ]}}");
        let tools = ToolHeaders::default();
        let (shorter, next) = learn(&tools, &list);
        assert_eq!(shorter, format!("{{\"x\": 1,\"tools\" : [{good},{plain}], \"y\":[ ]}}"));
        assert!(next.is_none() && tools.is_listed());
        let call = |name: &str| {
            let params = format!(r#"{{"name":"{name}","arguments":{{"a":"v"}}}}"#);
            tools.of_call(&serde_json::from_str(&params).unwrap())
        };
        assert_eq!((call("good").len(), call("plain").len()), (1, 0));
        tools.forget();
        assert!(!tools.is_listed());
    }

    #[test]
    fn a_list_without_faults_is_given_back_as_it_came() {
        let tools = ToolHeaders::default();
        for odd in [r#"{"tools": [ {"name":"a"} , 7]}"#, r#"{"tools":{}}"#, "[]", "7"] {
            assert_eq!(learn(&tools, odd).0, odd);
        }
        let (_, next) = learn(&ToolHeaders::default(), r#"{"tools":[],"nextCursor":"x"}"#);
        assert_eq!(next.as_deref(), Some(r#""x""#));
    }
}
