//! A tool call as requested, and the form in which the caller writes it.

use std::{borrow::Cow, sync::Arc};

use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::{RawMembers, shell_word};
use capdeck_sandbox::call_text;
use serde_json::value::{RawValue, to_raw_value};

use crate::{CallConsent, FlowGuard};

/// The argument of capability files that requests an unformatted result. It never reaches a
/// backend.
const UNFORMATTED: &str = "_capa_raw";

/// A requested tool call.
#[derive(Debug, Clone, Default)]
pub struct ToolRequest {
    pub capability: String,
    pub tool: String,
    /// The arguments object, unchanged. `None` when the caller sent none.
    pub arguments: Option<Box<RawValue>>,
    /// The caller's `_meta` without its progress token.
    pub meta: Option<RawMembers>,
    /// Other members of the request, passed through.
    pub rest: RawMembers,
    /// Dotted paths of the structured result to keep; empty keeps everything.
    pub fields: Vec<String>,
    /// The person's consent at the command line. Only the command line sets this.
    pub consent: CallConsent,
    /// Follows data between the calls of a script; other callers have none.
    pub flow: Option<Arc<FlowGuard>>,
    /// A program reads the whole result, of any size; nothing that comes over a wire sets this.
    pub whole: bool,
    /// Return the result as the backend gave it, although a capability file names a formatter.
    pub unformatted: bool,
    /// How the caller writes this call; hints use the same form.
    pub form: CallForm,
}

/// The form of a call on the surface it came from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CallForm {
    #[default]
    OwnName,
    ListedName(String),
    Script,
    CommandLine,
}

impl ToolRequest {
    /// The request without the reserved argument, which sets [`Self::unformatted`]. The name is
    /// reserved only where `is_reserved` returns true.
    pub(super) fn without_reserved(&self, is_reserved: impl FnOnce() -> bool) -> Cow<'_, Self> {
        // Almost no call has it, and parsing arguments is expensive.
        let Some(text) = self.arguments.as_deref().filter(|text| text.get().contains(UNFORMATTED))
        else {
            return Cow::Borrowed(self);
        };
        if !is_reserved() {
            return Cow::Borrowed(self);
        }
        let Ok(mut arguments) = serde_json::from_str::<RawMembers>(text.get()) else {
            return Cow::Borrowed(self);
        };
        let Some(asked) = arguments.shift_remove(UNFORMATTED) else { return Cow::Borrowed(self) };
        let Ok(arguments) = to_raw_value(&arguments) else { return Cow::Borrowed(self) };
        let unformatted = matches!(asked.get(), "true" | "\"true\"");
        Cow::Owned(Self {
            arguments: Some(arguments),
            unformatted: self.unformatted || unformatted,
            ..self.clone()
        })
    }
}

impl CallForm {
    pub(crate) fn signature(&self, id: &str, tool: &str, arguments: &str) -> String {
        match self {
            Self::OwnName => format!("{tool}({arguments})"),
            Self::ListedName(name) => format!("{name}({arguments})"),
            Self::Script => call_text(id, tool, arguments),
            Self::CommandLine => format!("{}({arguments})", shell_word(tool)),
        }
    }
}

pub(crate) fn nearest_of(error: &CallError) -> Option<&str> {
    let near = error.data.as_ref().and_then(|data| data.get("nearest")?.as_str());
    near.filter(|_| error.code == ErrorCode::ToolNotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &str) -> (bool, String) {
        let arguments = Some(RawValue::from_string(arguments.to_owned()).unwrap());
        let request = ToolRequest { arguments, ..ToolRequest::default() };
        let read = request.without_reserved(|| true);
        (read.unformatted, read.arguments.as_deref().unwrap().get().to_owned())
    }

    #[test]
    fn the_reserved_argument_is_removed_and_obeyed() {
        for yes in ["true", "\"true\""] {
            let given = format!("{{\"a\":1.0,\"_capa_raw\":{yes},\"b\":2}}");
            assert_eq!(read(&given), (true, "{\"a\":1.0,\"b\":2}".to_owned()));
        }
        assert_eq!(read("{\"_capa_raw\":false}"), (false, "{}".to_owned()));
        for same in ["{\"a\":\"_capa_raw\"}", "[\"_capa_raw\"]", "{}"] {
            assert_eq!(read(same), (false, same.to_owned()));
        }
    }
}
