//! How the caller of a tool writes its call, so that every hint shows a call that the caller can make.

use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::shell_word;
use capdeck_sandbox::call_text;

/// The form of a call on the surface that it came from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CallForm {
    /// By the tool's own name: wrapper tools and the REST API.
    #[default]
    OwnName,
    /// By the name under which the client sees the tool.
    ListedName(String),
    /// As an expression of a script.
    Script,
    /// As a word of a command line.
    CommandLine,
}

impl CallForm {
    /// The call with its arguments, which are given as `path: string, limit?: number`.
    pub(crate) fn signature(&self, id: &str, tool: &str, arguments: &str) -> String {
        match self {
            Self::OwnName => format!("{tool}({arguments})"),
            Self::ListedName(name) => format!("{name}({arguments})"),
            Self::Script => call_text(id, tool, arguments),
            Self::CommandLine => format!("{}({arguments})", shell_word(tool)),
        }
    }
}

/// The tool's own name that an error suggests.
pub(crate) fn nearest_of(error: &CallError) -> Option<&str> {
    let near = error.data.as_ref().and_then(|data| data.get("nearest")?.as_str());
    near.filter(|_| error.code == ErrorCode::ToolNotFound)
}
