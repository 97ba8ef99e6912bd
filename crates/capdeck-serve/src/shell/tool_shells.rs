//! The shell of a session in this process, and the shell of a running host, over its socket.

use std::{path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_host::{
    CallConsent, CallContext, CallError, CallForm, ErrorCode, Session, ShellTarget, ShellTool,
    ToolRequest, calls, shell,
};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use serde_json::value::RawValue;
use tokio::{
    net::unix::{OwnedReadHalf, OwnedWriteHalf},
    sync::Mutex,
};

use super::{
    ShellCall, ShellResult, ToolShell,
    connection::{PROTOCOL, ShellReply, ShellRequest},
};
use crate::local_socket::{self, FrameReader, HostUnreachable};

pub struct LocalShell(Arc<Session>);

impl LocalShell {
    pub fn new(session: Arc<Session>) -> Self {
        Self(session)
    }
}

#[async_trait]
impl ToolShell for LocalShell {
    async fn find(&self, words: &[String], context: &CallContext) -> ShellResult<ShellTarget> {
        shell::find_command(&self.0.request(context), words).await
    }

    async fn find_call_target(
        &self,
        words: &[String],
        context: &CallContext,
    ) -> ShellResult<ShellTool> {
        shell::find_call_target(&self.0.request(context), words).await
    }

    async fn preview(&self, call: &ShellCall, context: &CallContext) -> ShellResult<bool> {
        calls::preview(self.0.request(context), &request(call)).await
    }

    async fn call(&self, call: &ShellCall, context: &CallContext) -> ShellResult<Box<RawValue>> {
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

pub struct RemoteShell(Mutex<ShellConnection>);

struct ShellConnection {
    reader: FrameReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    is_lost: bool,
}

impl RemoteShell {
    /// Connects to the host that listens at `path`.
    pub async fn connect(path: &Path, can_be_asked: bool) -> Result<Self, HostUnreachable> {
        let (reading, writer) = local_socket::connect(path).await?.into_split();
        let mut connection =
            ShellConnection { reader: local_socket::reader(reading), writer, is_lost: false };
        local_socket::read_greeting(&mut connection.reader, PROTOCOL).await?;
        let opening = ShellRequest::Open { can_be_asked };
        let opened = local_socket::write(&mut connection.writer, &opening).await;
        opened.map_err(|_| HostUnreachable::Silent)?;
        Ok(Self(Mutex::new(connection)))
    }

    /// True when the host ended during a request.
    pub async fn is_lost(&self) -> bool {
        self.0.lock().await.is_lost
    }

    async fn ask(&self, request: &ShellRequest, context: &CallContext) -> ShellResult<ShellReply> {
        let mut connection = self.0.lock().await;
        connection.ask(request, context).await
    }
}

impl ShellConnection {
    async fn ask(
        &mut self,
        request: &ShellRequest,
        context: &CallContext,
    ) -> ShellResult<ShellReply> {
        if local_socket::write(&mut self.writer, request).await.is_err() {
            return Err(self.mark_lost());
        }
        let mut questions = FuturesUnordered::new();
        loop {
            let reply = tokio::select! {
                reply = local_socket::read(&mut self.reader) => reply,
                Some(answer) = questions.next() => {
                    if local_socket::write(&mut self.writer, &answer).await.is_err() {
                        return Err(self.mark_lost());
                    }
                    continue;
                }
            };
            match reply {
                Ok(ShellReply::Progress(params)) => context.caller.progress(params),
                Ok(ShellReply::Question { question, method, params }) => {
                    let caller = context.caller.clone();
                    questions.push(async move {
                        match caller.request(&method, params).await {
                            Ok(result) => ShellRequest::Answer { question, result },
                            Err(error) => ShellRequest::NoAnswer { question, error: error.into() },
                        }
                    });
                }
                Ok(ShellReply::Failed(failure)) => return Err(failure.into()),
                Ok(answer) => return Ok(answer),
                Err(_) => return Err(self.mark_lost()),
            }
        }
    }

    fn mark_lost(&mut self) -> CallError {
        self.is_lost = true;
        CallError::new(ErrorCode::ServerUnavailable, "the host stopped before it responded")
            .hint("the call may have been made; check before you repeat it")
    }
}

#[async_trait]
impl ToolShell for RemoteShell {
    async fn find(&self, words: &[String], context: &CallContext) -> ShellResult<ShellTarget> {
        let words = words.iter().take(2).cloned().collect();
        match self.ask(&ShellRequest::Find { words }, context).await? {
            ShellReply::Found(place) => Ok(place),
            other => Err(unexpected_reply(&other)),
        }
    }

    async fn find_call_target(
        &self,
        words: &[String],
        context: &CallContext,
    ) -> ShellResult<ShellTool> {
        let words = words.iter().take(2).cloned().collect();
        match self.ask(&ShellRequest::FindCallTarget { words }, context).await? {
            ShellReply::Found(ShellTarget::Tool(tool)) => Ok(*tool),
            other => Err(unexpected_reply(&other)),
        }
    }

    async fn preview(&self, call: &ShellCall, context: &CallContext) -> ShellResult<bool> {
        match self.ask(&ShellRequest::Preview(call.clone()), context).await? {
            ShellReply::Previewed { asks } => Ok(asks),
            other => Err(unexpected_reply(&other)),
        }
    }

    async fn call(&self, call: &ShellCall, context: &CallContext) -> ShellResult<Box<RawValue>> {
        match self.ask(&ShellRequest::Call(call.clone()), context).await? {
            ShellReply::Result(result) => Ok(result),
            other => Err(unexpected_reply(&other)),
        }
    }
}

fn unexpected_reply(reply: &ShellReply) -> CallError {
    let message = format!("unexpected response of the host: {reply:?}");
    CallError::new(ErrorCode::InternalError, message)
}
