//! Server-sent events: what an HTTP server streams to us.

use std::collections::BTreeSet;

use capdeck_mcp::{RpcFrame, SseEvent, SseParser, SseSizeError};

use super::{json_rpc, split_reader::SplitReader};
use crate::{FuzzTarget, seeds};

/// Small enough to be met by many inputs.
const MAX_EVENT: usize = 3_000;

struct EventStreamTarget;

pub(crate) fn sse() -> Box<dyn FuzzTarget> {
    Box::new(EventStreamTarget)
}

impl FuzzTarget for EventStreamTarget {
    fn seeds(&self) -> Vec<Vec<u8>> {
        seeds::files("crates/capdeck-fuzz/seeds/sse", &[".txt"])
    }

    fn dictionary(&self) -> &'static [&'static str] {
        WORDS
    }

    fn max_bytes(&self) -> usize {
        16 * 1024
    }

    fn execute(&mut self, input: &[u8]) -> String {
        let whole = parse(input, 0);
        for largest in [1, 2, 500] {
            assert_eq!(
                parse(input, largest),
                whole,
                "pieces of up to {largest} bytes give other events"
            );
        }
        let (events, end) = whole;
        let mut kinds = BTreeSet::new();
        let mut data = 0;
        for event in &events {
            data += event.data.len();
            assert!(event.data.len() <= MAX_EVENT, "an event is larger than the limit");
            for text in [&event.id, &event.name].into_iter().flatten() {
                assert!(!text.contains(['\n', '\r']), "{event:?} holds a line break in a field");
            }
            assert!(event.id.as_ref().is_none_or(|id| !id.contains('\0')), "{event:?}");
            if event.is_message() {
                kinds.insert(RpcFrame::parse(&event.data).is_ok());
            }
        }
        assert!(data <= input.len(), "more data than bytes");
        let count = events.len().min(5);
        format!("{count} {kinds:?} {} {end:?}", events.iter().any(|event| event.retry.is_some()))
    }
}

fn parse(input: &[u8], largest: usize) -> (Vec<SseEvent>, Result<(), SseSizeError>) {
    let mut parser = SseParser::new(MAX_EVENT);
    let mut events = Vec::new();
    for piece in SplitReader::new(input, largest).pieces() {
        let pushed = parser.push(piece);
        events.extend(std::iter::from_fn(|| parser.pop()));
        if pushed.is_err() {
            return (events, pushed);
        }
    }
    (events, Ok(()))
}

const WORDS: &[&str] = &[
    "data:",
    "data: ",
    "data",
    "event: message\n",
    "event: endpoint\n",
    "id: 1\n",
    "id\n",
    "retry: 1000\n",
    "retry: 18446744073709551616\n",
    "retry: -1\n",
    "retry: +1\n",
    ": keep-alive\n",
    ":\n",
    "\n\n",
    "\r\n\r\n",
    "\r\r",
    "data: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\n",
    json_rpc::WORDS[0],
];
