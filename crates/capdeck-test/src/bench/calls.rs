//! What one more hop costs each call.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    BenchPeer, BenchStage, CallFigures, LoadFigures, PeerLoad,
    load::{PipeServer, http_load},
    peer::PeerGateway,
    process_usage::processor_time,
    stage::alone,
};
use crate::{FakePlan, HttpClient, TestDirs, fake::RunningFake};

pub(super) const CALLERS: [usize; 3] = [1, 16, 64];
const CALLS: usize = 6_000;
const WARM_UP: usize = 500;
/// Both sides, and a peer, take turns this often, so that a busy moment hits all.
const ROUNDS: usize = 3;

/// The same echo call over pipes and over HTTP, with and without Capdeck between; over HTTP to a stdio server through a peer, too.
pub fn measure_calls(stage: &BenchStage, peer: Option<&BenchPeer>) -> Vec<CallFigures> {
    let mut rows = over_pipes(stage);
    rows.extend(over_http(stage));
    rows.extend(over_http_to_pipes(stage, peer));
    rows
}

fn over_pipes(stage: &BenchStage) -> Vec<CallFigures> {
    let plan = FakePlan::default();
    let dirs = deck_of(stage, plan.deck_entry());
    let mut direct = PipeServer::start(alone(&plan));
    let mut capdeck = PipeServer::start(stage.serve(&dirs));
    let (direct_call, capdeck_call) = (echo("echo").to_string(), echo("fake__echo").to_string());
    assert_echo(&capdeck.ask("tools/call", echo("fake__echo")));
    direct.load(&direct_call, WARM_UP, 1);
    capdeck.load(&capdeck_call, WARM_UP, 1);
    let (id, calls) = (capdeck.id(), stage.samples(CALLS));
    let mut sides = MeasuredSides {
        direct: Box::new(|callers| direct.load(&direct_call, calls, callers)),
        capdeck: (id, Box::new(|callers| capdeck.load(&capdeck_call, calls, callers))),
        peer: None,
    };
    CALLERS.map(|callers| sides.compare("stdio", callers)).into()
}

fn over_http(stage: &BenchStage) -> Vec<CallFigures> {
    let fake = FakePlan::default().start_http();
    let dirs = deck_of(stage, deck_url(&fake));
    compare_over_http("http", stage, &fake, &dirs, None)
}

fn over_http_to_pipes(stage: &BenchStage, peer: Option<&BenchPeer>) -> Vec<CallFigures> {
    let plan = FakePlan::default();
    let dirs = deck_of(stage, plan.deck_entry());
    let gateway = peer.map(|peer| (peer.name.clone(), PeerGateway::start(peer, &plan)));
    compare_over_http("http, stdio server behind", stage, &plan.start_http(), &dirs, gateway)
}

/// The server over HTTP by itself, the host over this deck, and a peer if there is one.
fn compare_over_http(
    what: &str,
    stage: &BenchStage,
    fake: &RunningFake,
    dirs: &TestDirs,
    gateway: Option<(String, PeerGateway)>,
) -> Vec<CallFigures> {
    let host = stage.up(dirs);
    let url = format!("{}/mcp", host.url);
    let calls = stage.samples(CALLS);
    let (direct_call, capdeck_call) = (echo("echo"), echo("fake__echo"));
    warm_up(&fake.url, &direct_call);
    warm_up(&url, &capdeck_call);
    if let Some((_, gateway)) = &gateway {
        warm_up(&gateway.url, &direct_call);
    }
    let through_peer = |(name, gateway): &(String, PeerGateway)| {
        let (url, call) = (gateway.url.clone(), direct_call.clone());
        let load: Load<'_> = Box::new(move |callers| http_load(&url, &call, calls, callers));
        (name.clone(), gateway.id(), load)
    };
    let mut sides = MeasuredSides {
        direct: Box::new(|callers| http_load(&fake.url, &direct_call, calls, callers)),
        capdeck: (host.id(), Box::new(|callers| http_load(&url, &capdeck_call, calls, callers))),
        peer: gateway.as_ref().map(through_peer),
    };
    CALLERS.map(|callers| sides.compare(what, callers)).into()
}

pub(super) fn warm_up(url: &str, call: &Value) {
    let mut client = HttpClient::new(url);
    client.initialize();
    assert_echo(&client.request("tools/call", call.clone()).to_string());
    client.end_session();
    http_load(url, call, WARM_UP, 1);
}

/// Makes calls with this many callers.
type Load<'a> = Box<dyn FnMut(usize) -> LoadFigures + 'a>;

/// What is compared, each with the process whose time is measured.
pub(super) struct MeasuredSides<'a> {
    pub(super) direct: Load<'a>,
    pub(super) capdeck: (u32, Load<'a>),
    pub(super) peer: Option<(String, u32, Load<'a>)>,
}

impl MeasuredSides<'_> {
    /// Lets all sides take turns.
    pub(super) fn compare(&mut self, transport: &str, callers: usize) -> CallFigures {
        let (mut direct, mut capdeck) = (Vec::new(), MeasuredRounds::default());
        let mut peer = MeasuredRounds::default();
        for _ in 0..ROUNDS {
            direct.push((self.direct)(callers));
            capdeck.add(self.capdeck.0, || (self.capdeck.1)(callers));
            if let Some((_, id, load)) = &mut self.peer {
                peer.add(*id, || load(callers));
            }
        }
        CallFigures {
            transport: transport.to_owned(),
            callers,
            direct: middle(direct),
            capdeck_cpu_us: capdeck.cpu_us(),
            capdeck: middle(capdeck.loads),
            peer: self.peer.as_ref().map(|(name, ..)| PeerLoad {
                name: name.clone(),
                cpu_us: peer.cpu_us(),
                load: middle(peer.loads),
            }),
        }
    }
}

/// Loads through one process, and the processor time it took.
#[derive(Default)]
struct MeasuredRounds {
    loads: Vec<LoadFigures>,
    used: Duration,
}

impl MeasuredRounds {
    fn add(&mut self, id: u32, load: impl FnOnce() -> LoadFigures) {
        let before = processor_time(id);
        self.loads.push(load());
        self.used += processor_time(id).saturating_sub(before);
    }

    fn cpu_us(&self) -> f64 {
        let calls: usize = self.loads.iter().map(|load| load.calls).sum();
        self.used.as_secs_f64() * 1e6 / calls as f64
    }
}

/// The round whose median is the middle one.
pub(super) fn middle(mut rounds: Vec<LoadFigures>) -> LoadFigures {
    rounds.sort_by(|one, other| one.p50_us.total_cmp(&other.p50_us));
    rounds.swap_remove(rounds.len() / 2)
}

/// A deck with one capability, `fake`, whose tools are offered by name.
pub(super) fn deck_of(stage: &BenchStage, entry: Value) -> TestDirs {
    stage.deck("direct", [("fake".to_owned(), entry)].into_iter().collect())
}

/// A server over HTTP as an entry of a deck.
pub(super) fn deck_url(fake: &RunningFake) -> Value {
    json!({"name": "fake", "description": "A server of the benchmark", "url": fake.url})
}

pub(super) fn echo(name: &str) -> Value {
    json!({"name": name, "arguments": {"text": "hello", "count": 3}})
}

/// A load of refusals would be fast and worthless.
pub(super) fn assert_echo(answer: &str) {
    assert!(answer.contains("hello") && !answer.contains("isError"), "no echo: {answer}");
}
