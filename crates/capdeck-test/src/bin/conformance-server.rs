//! `conformance-server (--http PORT | --stdio) [--era legacy|modern|both]`: what the official suite expects.
//!
//! Over HTTP it prints one JSON line with its `url` once it listens; port 0 picks one.
#![expect(
    clippy::print_stdout,
    reason = "a test program: its output is the protocol or its address"
)]

use std::{io, process::ExitCode};

use capdeck_mcp::Era;
use capdeck_test::conformance::{ConformanceFixture, ForcedEra, serve_http, serve_stdio};

const USAGE: &str = "usage: conformance-server (--http PORT | --stdio) [--era legacy|modern|both]";

struct ServerArguments {
    /// `None` means the pipes.
    port: Option<u16>,
    era: Option<ForcedEra>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use io::Write as _;
            writeln!(io::stderr(), "{error}").ok();
            ExitCode::FAILURE
        }
    }
}

async fn run() -> io::Result<()> {
    let usage = || io::Error::new(io::ErrorKind::InvalidInput, USAGE);
    let ServerArguments { port, era } = parse(std::env::args().skip(1)).ok_or_else(usage)?;
    let fixture = ConformanceFixture::new();
    match port {
        Some(port) => {
            serve_http(fixture, era, port, |address| {
                println!(r#"{{"url":"http://{address}/mcp"}}"#);
            })
            .await
        }
        None => serve_stdio(fixture, era).await,
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Option<ServerArguments> {
    let (mut transport, mut era) = (None, None);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--http" => transport = Some(Some(words.next()?.parse().ok()?)),
            "--stdio" => transport = Some(None),
            "--era" => {
                era = match words.next()?.as_str() {
                    "legacy" => Some(ForcedEra(Era::Legacy)),
                    "modern" => Some(ForcedEra(Era::Modern)),
                    "both" => None,
                    _ => return None,
                }
            }
            _ => return None,
        }
    }
    Some(ServerArguments { port: transport?, era })
}
