//! Shows a tool's progress to the person who waits for it.

use async_trait::async_trait;
use capdeck_host::{CallError, Caller, NoCaller, RawObject};
use serde_json::value::RawValue;
use std::sync::{Mutex, PoisonError};

use crate::{plain_text::one_line, printer::Progress};

/// A caller at a terminal: hears progress, cannot be asked anything.
#[derive(Debug, Default)]
pub(crate) struct Watcher(Mutex<Option<Progress>>);

impl Watcher {
    /// Shows progress from now on.
    pub(crate) fn show(&self, progress: Progress) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    pub(crate) fn hide(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

#[async_trait]
impl Caller for Watcher {
    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, params: RawObject) {
        let text = |key: &str| {
            let value: serde_json::Value = serde_json::from_str(params.get(key)?.get()).ok()?;
            Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        };
        let done = match (text("progress"), text("total")) {
            (Some(done), Some(total)) => format!("{done}/{total} "),
            (Some(done), None) => format!("{done} "),
            (None, _) => String::new(),
        };
        if let Some(shown) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            shown.say(&one_line(&format!("{done}{}", text("message").unwrap_or_default())));
        }
    }

    fn notify(&self, _method: &str, _params: Option<RawObject>) {}

    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
    ) -> Result<Box<RawValue>, CallError> {
        NoCaller.request(method, params).await
    }
}
