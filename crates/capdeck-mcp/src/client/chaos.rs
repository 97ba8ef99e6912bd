//! Injected faults between a client and its server.
//!
//! They are applied between a request and its transport, so that they work for every transport. Damaged responses go through
//! the same reader as real ones.

use std::{future::pending, ops::RangeInclusive, sync::Arc, time::Duration};

use parking_lot::Mutex;

use super::{
    ClientError,
    call::{ClientTransport, PendingCall, ResponseResult},
    message_hub::{MessageHub, MessageOrigin},
};
use crate::encode;

/// The faults to inject; each share is between 0 and 1.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FaultSettings {
    /// The same seed gives the same faults in the same order.
    pub seed: Option<u64>,
    pub delay: Option<RangeInclusive<Duration>>,
    pub drop: f64,
    pub truncate: f64,
    pub malformed: f64,
    /// A list change is announced before the response.
    pub list_change: f64,
    pub expire: f64,
    /// The affected methods; empty means all except the handshake.
    pub only: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct FaultPlan {
    delay: Duration,
    list_change: bool,
    fault: Option<InjectedFault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InjectedFault {
    LoseRequest,
    LoseAnswer,
    Truncate,
    Malformed,
    Expire,
}

/// Without these requests there is no connection to test.
const HANDSHAKE: [&str; 2] = ["initialize", "server/discover"];

const LIST_CHANGED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// Lets a transport exchange a request for its response, with the fault that its plan has.
pub(super) async fn exchange(
    hub: &Arc<MessageHub>,
    transport: &Arc<dyn ClientTransport>,
    faults: &FaultSource,
    call: &Arc<PendingCall>,
    body: Vec<u8>,
) -> ResponseResult {
    let Some(plan) = faults.plan(&call.method) else {
        return transport.exchange(call, body).await;
    };
    if plan != FaultPlan::default() {
        tracing::debug!(method = call.method, ?plan, "chaos");
    }
    tokio::time::sleep(plan.delay).await;
    match plan.fault {
        // The deadline or the caller ends the wait.
        Some(InjectedFault::LoseRequest) => return pending().await,
        Some(InjectedFault::Expire) => {
            if let Some(error) = transport.lose_session() {
                return Err(error);
            }
        }
        _ => {}
    }
    let outcome = transport.exchange(call, body).await;
    if plan.list_change {
        hub.receive(LIST_CHANGED, None, MessageOrigin::Session, transport);
    }
    let answer = match (plan.fault, &outcome) {
        (Some(InjectedFault::LoseAnswer), Ok(_) | Err(ClientError::Rpc(_))) => {
            return pending().await;
        }
        (Some(InjectedFault::Truncate | InjectedFault::Malformed), Ok(result)) => {
            Ok(result.clone())
        }
        (
            Some(InjectedFault::Truncate | InjectedFault::Malformed),
            Err(ClientError::Rpc(error)),
        ) => Err(error.clone()),
        // There is no response to damage.
        _ => return outcome,
    };
    let mut frame = encode::response(&call.id.into(), &answer);
    if plan.fault == Some(InjectedFault::Truncate) {
        frame.truncate(frame.len() / 2);
    } else {
        frame.splice(.., *b"this is not a message");
    }
    if let Some(outcome) = transport.take_answer(call, &frame) {
        return outcome;
    }
    hub.receive(&frame, None, MessageOrigin::Connection, transport);
    pending().await
}

/// Draws faults in an order that a seed repeats. Shared by the connections of one server, so that a fault that ends a
/// connection is not repeated at the start of the next.
#[derive(Debug)]
pub struct FaultSource {
    chaos: FaultSettings,
    state: Mutex<u64>,
}

impl FaultSource {
    /// Starts at the seed, or at a random value without one.
    pub fn new(chaos: FaultSettings) -> Self {
        let state = chaos.seed.unwrap_or_else(|| getrandom::u64().unwrap_or_default());
        Self { chaos, state: Mutex::new(state) }
    }

    pub fn chaos(&self) -> &FaultSettings {
        &self.chaos
    }

    /// Returns the plan for the next request with this method; `None` when chaos excludes it.
    fn plan(&self, method: &str) -> Option<FaultPlan> {
        let concerned = match self.chaos.only.as_slice() {
            [] => !HANDSHAKE.contains(&method),
            only => only.iter().any(|only| only == method),
        };
        if !concerned {
            return None;
        }
        // Always the same number of draws, so that one share does not shift the faults of another.
        let [delay, fault, change] = {
            let mut state = self.state.lock();
            [(); 3].map(|()| share(next(&mut state)))
        };
        Some(FaultPlan {
            delay: self.delay(delay),
            list_change: change < self.chaos.list_change,
            fault: self.fault(fault),
        })
    }

    fn delay(&self, draw: f64) -> Duration {
        let Some(range) = &self.chaos.delay else { return Duration::ZERO };
        *range.start() + range.end().saturating_sub(*range.start()).mul_f64(draw)
    }

    /// Each request has at most one of these, so each occurs as often as its share.
    fn fault(&self, draw: f64) -> Option<InjectedFault> {
        let FaultSettings { drop, truncate, malformed, expire, .. } = self.chaos;
        let faults = [
            (drop / 2.0, InjectedFault::LoseRequest),
            (drop / 2.0, InjectedFault::LoseAnswer),
            (truncate, InjectedFault::Truncate),
            (malformed, InjectedFault::Malformed),
            (expire, InjectedFault::Expire),
        ];
        let mut end = 0.0;
        faults.into_iter().find_map(|(share, fault)| {
            end += share;
            (draw < end).then_some(fault)
        })
    }
}

/// SplitMix64. A seed in a file must always mean the same faults, which a crate's default generator does not
/// guarantee. It need not be unpredictable.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn share(drawn: u64) -> f64 {
    let top = u32::try_from(drawn >> 32).unwrap_or_default();
    f64::from(top) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn source(seed: u64) -> FaultSource {
        FaultSource::new(FaultSettings {
            seed: Some(seed),
            delay: Some(Duration::from_millis(10)..=Duration::from_millis(20)),
            drop: 0.2,
            truncate: 0.1,
            malformed: 0.1,
            list_change: 0.5,
            expire: 0.1,
            only: Vec::new(),
        })
    }

    fn plans(seed: u64, count: usize) -> Vec<FaultPlan> {
        let source = source(seed);
        (0..count).map(|_| source.plan("tools/call").unwrap()).collect()
    }

    #[test]
    fn a_seed_repeats_its_faults_and_another_has_others() {
        assert_eq!(plans(7, 50), plans(7, 50));
        assert_ne!(plans(7, 50), plans(8, 50));
        let unseeded = || {
            let source = FaultSource::new(FaultSettings { drop: 0.5, ..FaultSettings::default() });
            (0..64).map(|_| source.plan("m").unwrap()).collect::<Vec<_>>()
        };
        assert_ne!(unseeded(), unseeded());
    }

    /// Files store seeds, so their meaning must not change.
    #[test]
    fn a_seed_means_the_same_for_ever() {
        use InjectedFault::{Expire, LoseAnswer, LoseRequest, Malformed};
        let faults: Vec<Option<InjectedFault>> =
            plans(7, 6).into_iter().map(|plan| plan.fault).collect();
        let expected =
            [Some(LoseRequest), Some(Expire), Some(Malformed), Some(LoseAnswer), None, None];
        assert_eq!(faults, expected);
    }

    #[test]
    fn every_fault_comes_about_as_often_as_its_share() {
        let mut counts: HashMap<Option<&str>, u32> = HashMap::new();
        let mut changes = 0;
        for plan in plans(1, 10_000) {
            assert!(
                plan.delay >= Duration::from_millis(10) && plan.delay <= Duration::from_millis(20)
            );
            changes += u32::from(plan.list_change);
            let name = plan.fault.map(|fault| match fault {
                InjectedFault::LoseRequest => "lose request",
                InjectedFault::LoseAnswer => "lose answer",
                InjectedFault::Truncate => "truncate",
                InjectedFault::Malformed => "malformed",
                InjectedFault::Expire => "expire",
            });
            *counts.entry(name).or_default() += 1;
        }
        for (fault, expected) in [
            (None, 5_000),
            (Some("lose request"), 1_000),
            (Some("lose answer"), 1_000),
            (Some("truncate"), 1_000),
            (Some("malformed"), 1_000),
            (Some("expire"), 1_000),
        ] {
            let seen = counts.get(&fault).copied().unwrap_or_default();
            assert!(seen.abs_diff(expected) < 200, "{fault:?}: {seen}, not {expected}");
        }
        assert!(changes.abs_diff(5_000) < 200, "{changes}");
    }

    #[test]
    fn the_handshake_is_spared_unless_it_is_named() {
        let all = source(1);
        assert!(all.plan("initialize").is_none() && all.plan("server/discover").is_none());
        assert!(all.plan("tools/list").is_some());
        let only = FaultSource::new(FaultSettings {
            drop: 1.0,
            only: vec!["initialize".to_owned()],
            ..FaultSettings::default()
        });
        assert!(only.plan("initialize").is_some() && only.plan("tools/list").is_none());
    }
}
