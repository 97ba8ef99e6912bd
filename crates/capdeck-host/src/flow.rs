//! The flow guard: detects when a script passes data of one capability into a changing call of
//! another, by fingerprints of results. `docs/design/020-flow-guard.md` lists what it cannot
//! detect.

mod fingerprints;

use std::sync::Arc;

use capdeck_catalog::Tool;
use capdeck_definition::FlowMode;
use capdeck_sandbox::{CodeDiagnostic, CodeSeverity, DeckOperation};
use indexmap::IndexMap;
use parking_lot::Mutex;
use serde_json::{Value, value::RawValue};

use self::fingerprints::DataFingerprints;

const MAX_SESSIONS: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DataFlow {
    pub(crate) from: Vec<String>,
    pub(crate) asks: bool,
}

impl DataFlow {
    pub(crate) fn sources(&self) -> String {
        let quoted: Vec<String> = self.from.iter().map(|id| format!("`{id}`")).collect();
        quoted.join(", ")
    }
}

/// Follows the data of one session of code mode.
#[derive(Debug)]
pub struct FlowGuard {
    mode: FlowMode,
    seen: Mutex<DataFingerprints>,
    noticed: Mutex<Vec<String>>,
}

impl FlowGuard {
    pub(crate) fn new(mode: FlowMode) -> Self {
        Self { mode, seen: Mutex::default(), noticed: Mutex::default() }
    }

    /// The script's own texts are not data of others.
    pub(crate) fn begin(&self, code: &str) {
        self.seen.lock().ignore_text(code);
        self.noticed.lock().clear();
    }

    pub(crate) fn record_data(&self, source: &str, method: DeckOperation, data: &RawValue) {
        // Lists and descriptions come from the deck and are not data of the capability.
        let holds_data = matches!(
            method,
            DeckOperation::CallTool
                | DeckOperation::ReadResource
                | DeckOperation::GetPrompt
                | DeckOperation::Complete
        );
        if holds_data && let Ok(data) = serde_json::from_str::<Value>(data.get()) {
            self.seen.lock().add_source(source, &data);
        }
    }

    /// Whether a call passes data of others. Read-only calls are exempt. A capability has its own
    /// id and those of the sets that contain it.
    pub(crate) fn check(
        &self,
        ids: &[&str],
        name: &str,
        tool: Option<&Tool>,
        arguments: Option<&RawValue>,
    ) -> Option<DataFlow> {
        if tool.is_some_and(is_read_only) {
            return None;
        }
        let arguments: Value = serde_json::from_str(arguments?.get()).ok()?;
        let seen = self.seen.lock();
        let from: Vec<String> =
            seen.sources_of(ids, &arguments).into_iter().map(str::to_owned).collect();
        drop(seen);
        if from.is_empty() {
            return None;
        }
        let flow = DataFlow { from, asks: self.mode == FlowMode::Ask };
        let target = ids.first().copied().unwrap_or_default();
        let noticed = format!("`{target}.{name}` was called with data from {}", flow.sources());
        let mut all = self.noticed.lock();
        if !all.contains(&noticed) {
            all.push(noticed);
        }
        Some(flow)
    }

    pub(crate) fn diagnostics(&self) -> Vec<CodeDiagnostic> {
        let noticed = self.noticed.lock();
        let warnings = noticed.iter().map(|message| CodeDiagnostic {
            code: "DATA_FLOW".to_owned(),
            message: message.clone(),
            severity: CodeSeverity::Warning,
            line: None,
            column: None,
        });
        warnings.collect()
    }
}

fn is_read_only(tool: &Tool) -> bool {
    tool.annotation("readOnlyHint") == Some(true)
}

#[derive(Debug, Default)]
pub(crate) struct FlowGuards {
    sessions: Mutex<IndexMap<String, Arc<FlowGuard>>>,
}

impl FlowGuards {
    pub(crate) fn of(&self, session: Option<&str>, mode: FlowMode) -> Option<Arc<FlowGuard>> {
        if mode == FlowMode::Off {
            return None;
        }
        let known = session.and_then(|id| self.sessions.lock().get(id).cloned());
        // A changed mode starts again with an empty guard.
        let known = known.filter(|guard| guard.mode == mode);
        Some(known.unwrap_or_else(|| Arc::new(FlowGuard::new(mode))))
    }

    pub(crate) fn keep(&self, session: &str, guard: &Arc<FlowGuard>) {
        let mut sessions = self.sessions.lock();
        sessions.shift_remove(session);
        sessions.insert(session.to_owned(), guard.clone());
        if sessions.len() > MAX_SESSIONS {
            sessions.shift_remove_index(0);
        }
    }
}
