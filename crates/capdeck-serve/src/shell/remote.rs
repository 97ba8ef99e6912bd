//! The shell of a running host, over its socket.

use std::path::Path;

use async_trait::async_trait;
use capdeck_host::{CallContext, CallError, ErrorCode, ShellPlace};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use serde_json::value::RawValue;
use tokio::{
    net::unix::{OwnedReadHalf, OwnedWriteHalf},
    sync::Mutex,
};

use super::{
    Shell, ShellCall,
    protocol::{PROTOCOL, Reply, Request},
};
use crate::local_socket::{self, NoHost, Reader};

pub struct RemoteShell(Mutex<Connection>);

struct Connection {
    reader: Reader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    is_lost: bool,
}

impl RemoteShell {
    /// Connects to the host that listens at `path`.
    pub async fn connect(path: &Path, can_be_asked: bool) -> Result<Self, NoHost> {
        let (reading, writer) = local_socket::connect(path).await?.into_split();
        let mut connection =
            Connection { reader: local_socket::reader(reading), writer, is_lost: false };
        local_socket::greeted(&mut connection.reader, PROTOCOL).await?;
        let opening = Request::Open { can_be_asked };
        let opened = local_socket::write(&mut connection.writer, &opening).await;
        opened.map_err(|_| NoHost::Silent)?;
        Ok(Self(Mutex::new(connection)))
    }

    /// True when the host ended during a request.
    pub async fn is_lost(&self) -> bool {
        self.0.lock().await.is_lost
    }

    async fn ask(&self, request: &Request, context: &CallContext) -> Result<Reply, CallError> {
        let mut connection = self.0.lock().await;
        connection.ask(request, context).await
    }
}

impl Connection {
    async fn ask(&mut self, request: &Request, context: &CallContext) -> Result<Reply, CallError> {
        if local_socket::write(&mut self.writer, request).await.is_err() {
            return Err(self.lost());
        }
        let mut questions = FuturesUnordered::new();
        loop {
            let reply = tokio::select! {
                reply = local_socket::read(&mut self.reader) => reply,
                Some(answer) = questions.next() => {
                    if local_socket::write(&mut self.writer, &answer).await.is_err() {
                        return Err(self.lost());
                    }
                    continue;
                }
            };
            match reply {
                Ok(Reply::Progress(params)) => context.caller.progress(params),
                Ok(Reply::Question { question, method, params }) => {
                    let caller = context.caller.clone();
                    questions.push(async move {
                        match caller.request(&method, params).await {
                            Ok(result) => Request::Answer { question, result },
                            Err(error) => Request::NoAnswer { question, error: error.into() },
                        }
                    });
                }
                Ok(Reply::Failed(failure)) => return Err(failure.into()),
                Ok(answer) => return Ok(answer),
                Err(_) => return Err(self.lost()),
            }
        }
    }

    fn lost(&mut self) -> CallError {
        self.is_lost = true;
        CallError::new(ErrorCode::ServerUnavailable, "the host stopped before it responded")
            .hint("the call may have been made; check before you repeat it")
    }
}

#[async_trait]
impl Shell for RemoteShell {
    async fn find(&self, words: &[String], context: &CallContext) -> Result<ShellPlace, CallError> {
        let words = words.iter().take(2).cloned().collect();
        match self.ask(&Request::Find { words }, context).await? {
            Reply::Found(place) => Ok(place),
            other => Err(astray(&other)),
        }
    }

    async fn preview(&self, call: &ShellCall, context: &CallContext) -> Result<bool, CallError> {
        match self.ask(&Request::Preview(call.clone()), context).await? {
            Reply::Previewed { asks } => Ok(asks),
            other => Err(astray(&other)),
        }
    }

    async fn call(
        &self,
        call: &ShellCall,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        match self.ask(&Request::Call(call.clone()), context).await? {
            Reply::Result(result) => Ok(result),
            other => Err(astray(&other)),
        }
    }
}

fn astray(reply: &Reply) -> CallError {
    let message = format!("unexpected response of the host: {reply:?}");
    CallError::new(ErrorCode::InternalError, message)
}
