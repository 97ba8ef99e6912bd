//! `requestState`: what a client brings back of a text that was sealed for it.

use std::{io::Cursor, sync::Arc, time::Duration};

use capdeck_mcp::{
    TextSealer,
    server::{StdioOptions, serve_stdio},
};
use serde_json::Value;
use tokio::{io::AsyncReadExt, runtime::Runtime};

use super::{
    echo_service::{EchoService, KEPT_STATE},
    json_rpc,
};
use crate::{FuzzTarget, seeds};

/// The placeholder of the sealed text in an input.
const PLACEHOLDER: &[u8] = b"SEALED";

/// The request that the text is sealed for.
const FIRST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"a":[1,"x"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"f","version":"1"}}}}"#;

struct RequestStateTarget {
    runtime: Runtime,
    sealer: Arc<TextSealer>,
    sealed: String,
}

pub(crate) fn request_state() -> Box<dyn FuzzTarget> {
    let runtime = json_rpc::runtime();
    let sealer = Arc::new(TextSealer::new(&[7; 32]));
    let (answers, _) = runtime.block_on(serve(&sealer, FIRST.as_bytes()));
    let sealed = answers[0]["result"]["requestState"].as_str();
    let sealed = sealed.unwrap_or_else(|| panic!("the tool does not ask: {answers:?}")).to_owned();
    Box::new(RequestStateTarget { runtime, sealer, sealed })
}

impl FuzzTarget for RequestStateTarget {
    fn seeds(&self) -> Vec<Vec<u8>> {
        seeds::files("crates/capdeck-fuzz/seeds/request-state", &[".jsonl"])
    }

    fn dictionary(&self) -> &'static [&'static str] {
        json_rpc::WORDS
    }

    fn max_bytes(&self) -> usize {
        8 * 1024
    }

    fn execute(&mut self, input: &[u8]) -> String {
        // Changed texts never open; each execution changes another bit or another character.
        self.check_changed(input);
        let request = self.fill_in(input);
        let (answers, opened) = self.runtime.block_on(serve(&self.sealer, &request));
        for state in &opened {
            assert_eq!(state.text, KEPT_STATE, "a session got a state that it never gave");
            assert!(
                find(&request, self.sealed.as_bytes()),
                "a state was opened that is not in the request"
            );
            assert_eq!(state.name, "\"ask\"", "a state was opened for another tool");
            let arguments: Value = serde_json::from_str(&state.arguments).unwrap();
            let expected: Value = serde_json::from_str(r#"{"a":[1,"x"]}"#).unwrap();
            assert_eq!(arguments, expected, "a state was opened for other arguments");
        }
        let codes: Vec<String> =
            answers.iter().map(|answer| answer["error"]["code"].to_string()).take(4).collect();
        format!("{} {codes:?}", opened.len().min(3))
    }
}

/// A state that reached the session, with what it came with.
struct OpenedState {
    text: String,
    name: String,
    arguments: String,
}

impl RequestStateTarget {
    fn check_changed(&self, input: &[u8]) {
        let (first, second) = (number(input, 0), number(input, 1));
        let mut changed = self.sealed.clone().into_bytes();
        let at = first % changed.len();
        match second % 4 {
            0 => changed[at] ^= 1 << (second % 7),
            1 => drop(changed.remove(at)),
            2 => changed.insert(at, b"AB-_=+/ \n"[second % 9]),
            _ => changed.truncate(at),
        }
        let Ok(changed) = String::from_utf8(changed) else { return };
        if changed == self.sealed {
            return;
        }
        let request = FIRST.replacen(
            "\"arguments\"",
            &format!(
                "\"inputResponses\":{{}},\"requestState\":{},\"arguments\"",
                Value::from(changed)
            ),
            1,
        );
        let (_, opened) = self.runtime.block_on(serve(&self.sealer, request.as_bytes()));
        assert!(opened.is_empty(), "a changed state was opened");
    }

    /// The input with the sealed text in its places.
    fn fill_in(&self, input: &[u8]) -> Vec<u8> {
        let mut filled = Vec::new();
        let mut rest = input;
        while let Some(at) =
            rest.windows(PLACEHOLDER.len()).position(|window| window == PLACEHOLDER)
        {
            filled.extend_from_slice(&rest[..at]);
            filled.extend_from_slice(self.sealed.as_bytes());
            rest = &rest[at + PLACEHOLDER.len()..];
        }
        filled.extend_from_slice(rest);
        filled
    }
}

/// A number that depends on all of the input.
fn number(input: &[u8], salt: u64) -> usize {
    let mix = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    (input.iter().fold(0xcbf2_9ce4_8422_2325 ^ salt, mix) >> 20) as usize
}

fn find(text: &[u8], piece: &[u8]) -> bool {
    text.windows(piece.len()).any(|window| window == piece)
}

/// Serves the lines; gives the answers and the states that reached the session.
async fn serve(sealer: &Arc<TextSealer>, input: &[u8]) -> (Vec<Value>, Vec<OpenedState>) {
    let (writer, mut theirs) = tokio::io::duplex(1 << 20);
    let options = StdioOptions {
        finish_grace: Duration::from_millis(50),
        sealer: Arc::clone(sealer),
        ..StdioOptions::default()
    };
    let service = Arc::new(EchoService::default());
    let mut written = Vec::new();
    let serving = serve_stdio(Cursor::new(input.to_vec()), writer, service.clone(), options);
    let (served, read) = tokio::join!(serving, theirs.read_to_end(&mut written));
    served.unwrap();
    read.unwrap();
    let lines = written.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    // The service echoes what the client sent, byte for byte: also numbers and strings that Rust cannot hold.
    let answers = lines.map(|line| serde_json::from_slice(line).unwrap_or_default()).collect();
    let member = |params: &capdeck_mcp::RawObject, key: &str| {
        params.get(key).map(|value| value.get().to_owned()).unwrap_or_default()
    };
    // A legacy client's params are its own affair and pass as they are.
    let is_modern = |lines: &[u8]| !find(lines, b"initialize");
    let opened = service.take_seen().into_iter().filter_map(|seen| {
        // Only these may ask; what others say by that name is their own affair, too.
        let may_ask =
            ["tools/call", "prompts/get", "resources/read"].contains(&seen.method.as_str());
        let state = seen.params.get("requestState").filter(|_| may_ask && is_modern(input))?;
        Some(OpenedState {
            text: serde_json::from_str(state.get()).unwrap_or_default(),
            name: member(&seen.params, "name"),
            arguments: member(&seen.params, "arguments"),
        })
    });
    (answers, opened.collect())
}
