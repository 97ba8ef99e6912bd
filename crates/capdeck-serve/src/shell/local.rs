//! The shell of a session in this process.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_host::{
    CallConsent, CallContext, CallError, CallForm, Session, ShellTarget, ToolRequest, calls, shell,
};
use serde_json::value::RawValue;

use super::{ShellCall, ToolShell};

pub struct LocalShell(Arc<Session>);

impl LocalShell {
    pub fn new(session: Arc<Session>) -> Self {
        Self(session)
    }
}

#[async_trait]
impl ToolShell for LocalShell {
    async fn find(
        &self,
        words: &[String],
        context: &CallContext,
    ) -> Result<ShellTarget, CallError> {
        shell::find_command(&self.0.request(context), words).await
    }

    async fn preview(&self, call: &ShellCall, context: &CallContext) -> Result<bool, CallError> {
        calls::preview(self.0.request(context), &request(call)).await
    }

    async fn call(
        &self,
        call: &ShellCall,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let timeout = call.timeout_ms.map(Duration::from_millis);
        let context = CallContext { timeout: timeout.or(context.timeout), ..context.clone() };
        calls::call(self.0.request(&context), &request(call)).await
    }
}

fn request(call: &ShellCall) -> ToolRequest {
    ToolRequest {
        capability: call.capability.clone(),
        tool: call.tool.clone(),
        arguments: Some(call.arguments.clone()),
        fields: call.fields.clone(),
        consent: if call.consent { CallConsent::Given } else { CallConsent::NotAsked },
        unformatted: call.unformatted,
        form: CallForm::CommandLine,
        ..ToolRequest::default()
    }
}
