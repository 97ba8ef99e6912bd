//! MCP on standard input and output.

use std::{
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream as StdUnixStream,
    },
    sync::Arc,
};

use capdeck_host::{Host, SessionScope};
use capdeck_mcp::server::{self, SessionFactory, StdioOptions};
use rustix::fs::FileType;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{UnixStream, unix::pipe},
};

use crate::mcp::{CapsuleMcpService, CapsuleReference, McpService, sealer};

/// Serves one client on stdin and stdout until stdin ends, then closes every connection of the host.
pub async fn serve_stdio(host: Host, scope: SessionScope) -> io::Result<()> {
    let options =
        StdioOptions { sealer: Arc::new(sealer(&host, &scope)), ..StdioOptions::default() };
    serve(McpService::new(host.clone(), scope), options, host).await
}

/// The same for one capsule. The client works in the host's project.
pub async fn serve_capsule_stdio(host: Host, capsule: &CapsuleReference) -> io::Result<()> {
    let service = CapsuleMcpService::in_project(host.clone(), capsule.id.clone());
    serve(service, StdioOptions::default(), host).await
}

async fn serve(
    service: Arc<dyn SessionFactory>,
    options: StdioOptions,
    host: Host,
) -> io::Result<()> {
    let outcome = server::serve_stdio(reader()?, writer()?, service, options).await;
    host.close().await;
    outcome
}

/// The runtime can poll pipes (most clients) and sockets (Node). Anything else is read in a thread, which costs two thread
/// switches per message.
fn reader() -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    Ok(match kind(&stdin)? {
        FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(stdin)?),
        FileType::Socket => Box::new(socket(stdin)?),
        _ => Box::new(tokio::io::stdin()),
    })
}

fn writer() -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
    let stdout = io::stdout().as_fd().try_clone_to_owned()?;
    Ok(match kind(&stdout)? {
        FileType::Fifo => Box::new(pipe::Sender::from_owned_fd(stdout)?),
        FileType::Socket => Box::new(socket(stdout)?),
        _ => Box::new(tokio::io::stdout()),
    })
}

fn kind(file: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(file)?.st_mode))
}

fn socket(file: OwnedFd) -> io::Result<UnixStream> {
    let stream = StdUnixStream::from(file);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}
