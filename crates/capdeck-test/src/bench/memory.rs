//! Memory at rest and after work.

use serde_json::json;

use super::{BenchStage, MemoryFigures, load::http_load, process_usage::memory_of, stage::servers};
use crate::{FakePlan, TestDirs};

const CALLS: usize = 20_000;
const CALLERS: usize = 64;

/// `capdeck up` with nothing configured, with 100 capabilities listed, and after many calls.
pub fn measure_memory(stage: &BenchStage) -> MemoryFigures {
    let nothing = TestDirs::new();
    let empty = stage.up(&nothing);
    let empty_deck = memory_of(empty.id());
    drop(empty);

    let fake = FakePlan::default().start_http();
    let mut entries = servers(100, 10);
    let entry =
        json!({"name": "fake", "description": "A server of the benchmark", "url": fake.url});
    entries.insert("fake".to_owned(), entry);
    let dirs = stage.deck("direct", entries);
    let host = stage.up(&dirs);
    let mut client = host.client("/mcp");
    client.initialize();
    client.request("tools/list", json!({}));
    let after_first_list = memory_of(host.id());

    let call = |name: &str| json!({"name": name, "arguments": {"text": "hello"}});
    http_load(&format!("{}/mcp", host.url), &call("fake__echo"), CALLS, CALLERS);
    let after_load = memory_of(host.id());
    http_load(&fake.url, &call("echo"), CALLS, CALLERS);
    let direct_after_load = memory_of(fake.id());
    MemoryFigures { empty_deck, after_first_list, after_load, direct_after_load }
}
