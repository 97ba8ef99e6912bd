//! Memory at rest, under work and afterwards.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    BenchStage, MemoryFigures, TreeMemory, TreeMoment,
    calls::deck_url,
    load::http_load,
    process_usage::{memory_of, tree_memory},
    stage::servers,
};
use crate::{FakePlan, RunningHost, TestDirs};

const CALLS: usize = 20_000;
const CALLERS: usize = 64;
/// A host gives back what only its start needed after two seconds.
const REST: Duration = Duration::from_secs(3);
/// How often memory is read under load. Reading it holds a process up for a moment.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);

/// `capdeck up` with nothing configured, with 101 capabilities listed, under many calls and after them.
pub fn measure_memory(stage: &BenchStage) -> MemoryFigures {
    let nothing = TestDirs::new();
    let empty = stage.up(&nothing);
    thread::sleep(REST);
    let empty_deck = memory_of(empty.id());
    let mut trees = vec![moment("nothing configured", tree_memory(empty.id()))];
    drop(empty);

    let fake = FakePlan::default().start_http();
    let mut entries = servers(100, 10);
    entries.insert("fake".to_owned(), deck_url(&fake));
    let dirs = stage.deck("direct", entries);
    // The servers answer once beforehand: a host asks none of them again whose tools it knows.
    stage.fill_cache(&dirs);
    let host = stage.up(&dirs);
    let mut client = host.client("/mcp");
    client.initialize();
    client.request("tools/list", json!({}));
    thread::sleep(REST);
    let after_first_list = memory_of(host.id());
    trees.push(moment("101 capabilities, first `tools/list` answered", tree_memory(host.id())));

    let call = |name: &str| json!({"name": name, "arguments": {"text": "hello"}});
    let calls = stage.samples(CALLS);
    let under_load = largest_under_load(&host, &call("fake__echo"), calls);
    trees.push(moment("under calls from 64 callers, at the largest", under_load));
    let after_load = memory_of(host.id());
    trees.push(moment("after these calls", tree_memory(host.id())));
    http_load(&fake.url, &call("echo"), calls, CALLERS);
    let direct_after_load = memory_of(fake.id());
    MemoryFigures { empty_deck, after_first_list, after_load, direct_after_load, trees }
}

/// Makes calls and reads the memory of all processes meanwhile.
fn largest_under_load(host: &RunningHost, params: &Value, calls: usize) -> TreeMemory {
    let (sender, receiver) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            http_load(&format!("{}/mcp", host.url), params, calls, CALLERS);
            drop(sender);
        });
        let mut largest = tree_memory(host.id());
        while receiver.recv_timeout(SAMPLE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            let now = tree_memory(host.id());
            largest = if now.pss > largest.pss { now } else { largest };
        }
        largest
    })
}

fn moment(when: &str, memory: TreeMemory) -> TreeMoment {
    TreeMoment { when: when.to_owned(), memory }
}
