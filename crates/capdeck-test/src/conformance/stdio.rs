//! The fixture on its pipes.

use std::{io, sync::Arc};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Stdout, duplex},
    sync::Mutex,
};

use super::{
    fixture::{ConformanceFixture, FixtureService},
    forced_era::{EraRefusal, ForcedEra},
};
use serde_json::json;

/// What may wait between the pipes and the server.
const BUFFER: usize = 1 << 16;

/// Serves until the client closes its side.
pub async fn serve_stdio(
    fixture: Arc<ConformanceFixture>,
    era: Option<ForcedEra>,
) -> io::Result<()> {
    let service = Arc::new(FixtureService(fixture));
    let options = capdeck_mcp::server::StdioOptions::default();
    let (stdin, stdout) = (tokio::io::stdin(), tokio::io::stdout());
    let Some(era) = era else {
        return capdeck_mcp::server::serve_stdio(stdin, stdout, service, options).await;
    };
    // The server half answers both eras, so what the forced one does not have is answered in front of it.
    let stdout = Arc::new(Mutex::new(stdout));
    let (server_in, to_server) = duplex(BUFFER);
    let (from_server, server_out) = duplex(BUFFER);
    let served =
        async { capdeck_mcp::server::serve_stdio(server_in, server_out, service, options).await };
    let (served, sorted, copied) =
        tokio::join!(served, sort(era, to_server, &stdout), copy(from_server, &stdout));
    served.and(sorted).and(copied)
}

/// Answers what is refused and passes on the rest.
async fn sort(era: ForcedEra, mut server: DuplexStream, stdout: &Mutex<Stdout>) -> io::Result<()> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        if let Some(EraRefusal { id, error }) = era.refuse(line.as_bytes()) {
            let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
            write(stdout, &answer.to_string()).await?;
        } else {
            server.write_all(format!("{line}\n").as_bytes()).await?;
        }
    }
    Ok(())
}

async fn copy(server: DuplexStream, stdout: &Mutex<Stdout>) -> io::Result<()> {
    let mut lines = BufReader::new(server).lines();
    while let Some(line) = lines.next_line().await? {
        write(stdout, &line).await?;
    }
    Ok(())
}

async fn write(stdout: &Mutex<Stdout>, line: &str) -> io::Result<()> {
    let mut stdout = stdout.lock().await;
    stdout.write_all(format!("{line}\n").as_bytes()).await?;
    stdout.flush().await
}
