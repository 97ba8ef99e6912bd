//! One badly behaved client: a new kind of misbehaviour each round, on a connection of its own.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    children::{CALL_TIMEOUT, START_TIMEOUT},
    code, legacy, modern,
    stage::SoakStage,
    tally::SoakTally,
    wire::RawConnection,
};
use crate::HttpReply;

/// What one client knows.
pub(super) struct SoakClient {
    pub(super) number: usize,
    pub(super) authority: String,
    pub(super) random: RandomNumbers,
    /// Children by id, and whether a call reaches a tool.
    children: Vec<(&'static str, bool)>,
    tally: Arc<SoakTally>,
    timeout: Duration,
}

/// One kind of misbehaviour: its name, how often it is chosen, and what it does.
pub(super) type MisbehaviourKind = (&'static str, u64, fn(&mut SoakClient, &'static str));

/// Draws numbers; each client its own.
pub(super) struct RandomNumbers(u64);

impl SoakClient {
    pub(super) fn new(
        number: usize,
        stage: &SoakStage,
        tally: Arc<SoakTally>,
        timeout: Duration,
    ) -> Self {
        let seed = u64::try_from(number).unwrap_or_default();
        Self {
            number,
            authority: stage.authority(),
            random: RandomNumbers(seed.wrapping_mul(0x9e37_79b9)),
            children: stage.children.iter().map(|child| (child.id, child.is_sound)).collect(),
            tally,
            timeout,
        }
    }

    /// Round after round until it is over.
    pub(super) fn misbehave(mut self, over: &AtomicBool) {
        let kinds: Vec<MisbehaviourKind> =
            legacy::KINDS.iter().chain(modern::KINDS).chain(code::KINDS).copied().collect();
        let all: u64 = kinds.iter().map(|(_, weight, _)| weight).sum();
        while !over.load(Ordering::Relaxed) {
            let mut drawn = self.random.below(all);
            let chosen = kinds.iter().find(|(_, weight, _)| {
                let is_it = drawn < *weight;
                drawn = drawn.saturating_sub(*weight);
                is_it
            });
            if let Some((name, _, act)) = chosen {
                self.tally.round(name);
                act(&mut self, name);
            }
            self.pause(500, 2500);
        }
    }

    pub(super) fn pause(&mut self, least: u64, most: u64) {
        thread::sleep(Duration::from_millis(least + self.random.below(most - least)));
    }

    pub(super) fn connect(&self, path: &str) -> Option<RawConnection> {
        RawConnection::open(&self.authority, path)
    }

    /// A child whose tools can be reached.
    pub(super) fn sound_child(&mut self) -> &'static str {
        let sound: Vec<&str> =
            self.children.iter().filter(|(_, is_sound)| *is_sound).map(|(id, _)| *id).collect();
        self.random.one_of(&sound)
    }

    pub(super) fn any_child(&mut self) -> &'static str {
        let all: Vec<&str> = self.children.iter().map(|(id, _)| *id).collect();
        self.random.one_of(&all)
    }

    /// Waits for an answer that a fault of the client's own has to get at once.
    pub(super) fn expect(
        &self,
        kind: &'static str,
        wire: &mut RawConnection,
        fits: impl Fn(&HttpReply) -> bool,
    ) -> Option<HttpReply> {
        self.expect_within(kind, wire, Duration::ZERO, fits)
    }

    /// Waits for the answer to a call: the child may take as long as its definition allows.
    pub(super) fn expect_call(
        &self,
        kind: &'static str,
        wire: &mut RawConnection,
        fits: impl Fn(&HttpReply) -> bool,
    ) -> Option<HttpReply> {
        self.expect_within(kind, wire, START_TIMEOUT + CALL_TIMEOUT, fits)
    }

    fn expect_within(
        &self,
        kind: &'static str,
        wire: &mut RawConnection,
        deadline: Duration,
        fits: impl Fn(&HttpReply) -> bool,
    ) -> Option<HttpReply> {
        let started = Instant::now();
        let Some(reply) = wire.reply() else {
            let took = started.elapsed();
            self.tally.wrong(kind, &format!("{} -> no answer after {took:.1?}", wire.sent));
            return None;
        };
        let took = started.elapsed();
        self.tally.answered(kind, took);
        if took > deadline + self.timeout {
            self.tally.late(kind, &format!("{took:.1?}: {} -> {}", wire.sent, reply.body));
        }
        if !fits(&reply) {
            let RawConnection { sent, .. } = wire;
            self.tally.wrong(kind, &format!("{sent} -> {} {}", reply.status, reply.body));
        }
        Some(reply)
    }
}

impl RandomNumbers {
    /// A number below a bound.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }

    pub(super) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        let place = usize::try_from(self.below(u64::try_from(choices.len()).unwrap_or(1)));
        choices[place.unwrap_or(0)]
    }
}

/// The first message of a reply.
pub(super) fn message(reply: &HttpReply) -> Value {
    reply.messages().pop().unwrap_or_default()
}
