//! The flow guard: detects when a script passes data of one capability into a changing call of
//! another, by fingerprints of results. `docs/design/020-flow-guard.md` lists what it cannot
//! detect.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use capdeck_catalog::Tool;
use capdeck_definition::FlowMode;
use capdeck_sandbox::{CodeDiagnostic, CodeSeverity, DeckOperation};
use indexmap::IndexMap;
use parking_lot::Mutex;
use serde_json::{Value, value::RawValue};

/// In bytes.
const PIECE_BYTES: usize = 16;
/// One of these neighbouring pieces is stored. A shared part of `PIECE + WINDOW - 1` bytes is
/// always detected.
const PIECE_WINDOW: usize = 8;
/// Shorter texts are too common to prove anything.
const MIN_TEXT_BYTES: usize = 12;
/// Further fingerprints are not followed.
const MAX_FINGERPRINTS: usize = 200_000;
/// One bit each in a `u64`.
const MAX_SOURCES: usize = 64;

const BASE: u64 = 0x0100_0000_01b3;

const MAX_SESSIONS: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DataFlow {
    pub(crate) from: Vec<String>,
    pub(crate) asks: bool,
}

impl DataFlow {
    pub(crate) fn sources(&self) -> String {
        let quoted: Vec<String> = self.from.iter().map(|id| format!("`{id}`")).collect();
        quoted.join(", ")
    }
}

/// Follows the data of one session of code mode.
#[derive(Debug)]
pub struct FlowGuard {
    mode: FlowMode,
    seen: Mutex<DataFingerprints>,
    noticed: Mutex<Vec<String>>,
}

impl FlowGuard {
    pub(crate) fn new(mode: FlowMode) -> Self {
        Self { mode, seen: Mutex::default(), noticed: Mutex::default() }
    }

    /// The script's own texts are not data of others.
    pub(crate) fn begin(&self, code: &str) {
        self.seen.lock().ignore_text(code);
        self.noticed.lock().clear();
    }

    pub(crate) fn record_data(&self, source: &str, method: DeckOperation, data: &RawValue) {
        // Lists and descriptions come from the deck and are not data of the capability.
        let holds_data = matches!(
            method,
            DeckOperation::CallTool
                | DeckOperation::ReadResource
                | DeckOperation::GetPrompt
                | DeckOperation::Complete
        );
        if holds_data && let Ok(data) = serde_json::from_str::<Value>(data.get()) {
            self.seen.lock().add_source(source, &data);
        }
    }

    /// Whether a call passes data of others. Read-only calls are exempt. A capability has its own
    /// id and those of the sets that contain it.
    pub(crate) fn check(
        &self,
        ids: &[&str],
        name: &str,
        tool: Option<&Tool>,
        arguments: Option<&RawValue>,
    ) -> Option<DataFlow> {
        if tool.is_some_and(is_read_only) {
            return None;
        }
        let arguments: Value = serde_json::from_str(arguments?.get()).ok()?;
        let seen = self.seen.lock();
        let from: Vec<String> =
            seen.sources_of(ids, &arguments).into_iter().map(str::to_owned).collect();
        drop(seen);
        if from.is_empty() {
            return None;
        }
        let flow = DataFlow { from, asks: self.mode == FlowMode::Ask };
        let target = ids.first().copied().unwrap_or_default();
        let noticed = format!("`{target}.{name}` was called with data from {}", flow.sources());
        let mut all = self.noticed.lock();
        if !all.contains(&noticed) {
            all.push(noticed);
        }
        Some(flow)
    }

    pub(crate) fn diagnostics(&self) -> Vec<CodeDiagnostic> {
        let noticed = self.noticed.lock();
        let warnings = noticed.iter().map(|message| CodeDiagnostic {
            code: "DATA_FLOW".to_owned(),
            message: message.clone(),
            severity: CodeSeverity::Warning,
            line: None,
            column: None,
        });
        warnings.collect()
    }
}

fn is_read_only(tool: &Tool) -> bool {
    tool.annotation("readOnlyHint") == Some(true)
}

#[derive(Debug, Default)]
pub(crate) struct FlowGuards {
    sessions: Mutex<IndexMap<String, Arc<FlowGuard>>>,
}

impl FlowGuards {
    pub(crate) fn guard_for(
        &self,
        session: Option<&str>,
        mode: FlowMode,
    ) -> Option<Arc<FlowGuard>> {
        if mode == FlowMode::Off {
            return None;
        }
        let known = session.and_then(|id| self.sessions.lock().get(id).cloned());
        // A changed mode starts again with an empty guard.
        let known = known.filter(|guard| guard.mode == mode);
        Some(known.unwrap_or_else(|| Arc::new(FlowGuard::new(mode))))
    }

    pub(crate) fn keep(&self, session: &str, guard: &Arc<FlowGuard>) {
        let mut sessions = self.sessions.lock();
        sessions.shift_remove(session);
        sessions.insert(session.to_owned(), guard.clone());
        if sessions.len() > MAX_SESSIONS {
            sessions.shift_remove_index(0);
        }
    }
}

/// Fingerprints of texts: whether a text, or a long part of it, was seen before, and from which
/// source. Pieces are chosen by winnowing: of every few neighbouring hashes the smallest is stored,
/// so two texts that share a long enough part share one of them, at any position.
#[derive(Debug, Default)]
struct DataFingerprints {
    sources: Vec<String>,
    /// One bit per source.
    seen: HashMap<u64, u64>,
    known: HashSet<u64>,
}

impl DataFingerprints {
    fn ignore_text(&mut self, text: &str) {
        self.known.extend(pieces(text.as_bytes()));
        for word in text.split(|letter: char| "\"'`".contains(letter)) {
            self.known.extend(whole(word));
        }
    }

    fn add_source(&mut self, source: &str, answer: &Value) {
        let Some(bit) = self.bit(source) else { return };
        each_text(answer, &mut |text| {
            for hash in marks(text) {
                if self.seen.len() >= MAX_FINGERPRINTS && !self.seen.contains_key(&hash) {
                    continue;
                }
                if !self.known.contains(&hash) {
                    *self.seen.entry(hash).or_default() |= bit;
                }
            }
        });
    }

    /// The sources other than the target that have a text of these arguments, or a part of one,
    /// that the target never had.
    fn sources_of(&self, target: &[&str], arguments: &Value) -> Vec<&str> {
        let places = self.sources.iter().enumerate();
        let own = places.filter(|(_, source)| target.contains(&source.as_str()));
        let own = own.fold(0_u64, |own, (place, _)| own | 1 << place);
        let mut from = 0;
        each_text(arguments, &mut |text| {
            for hash in marks(text) {
                let seen = self.seen.get(&hash).copied().unwrap_or_default();
                if seen & own == 0 && !self.known.contains(&hash) {
                    from |= seen;
                }
            }
        });
        let is_from = |place: usize| from & (1_u64 << place) != 0;
        let sources = self.sources.iter().enumerate();
        sources.filter(|(place, _)| is_from(*place)).map(|(_, source)| source.as_str()).collect()
    }

    fn bit(&mut self, source: &str) -> Option<u64> {
        let place = match self.sources.iter().position(|known| known == source) {
            Some(place) => place,
            None if self.sources.len() < MAX_SOURCES => {
                self.sources.push(source.to_owned());
                self.sources.len() - 1
            }
            None => return None,
        };
        Some(1 << place)
    }
}

fn each_text(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, visit)),
        Value::Object(members) => members.values().for_each(|member| each_text(member, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn marks(text: &str) -> Vec<u64> {
    let mut marks: Vec<u64> = whole(text).into_iter().collect();
    let mut window: VecDeque<u64> = VecDeque::with_capacity(PIECE_WINDOW);
    for hash in pieces(text.as_bytes()) {
        window.push_back(hash);
        if window.len() > PIECE_WINDOW {
            window.pop_front();
        }
        let smallest = window.iter().min().copied();
        if window.len() == PIECE_WINDOW && smallest != marks.last().copied() {
            marks.extend(smallest);
        }
    }
    // A text shorter than one window is marked by its smallest piece.
    if (1..PIECE_WINDOW).contains(&window.len()) {
        marks.extend(window.iter().min());
    }
    marks
}

fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    let hash = || text.bytes().fold(1_u64, step);
    (text.len() >= MIN_TEXT_BYTES).then(|| mixed(hash()))
}

fn pieces(text: &[u8]) -> impl Iterator<Item = u64> {
    let power = (0..PIECE_BYTES).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let mut hash = 0_u64;
    text.iter().enumerate().filter_map(move |(place, byte)| {
        hash = step(hash, *byte);
        if let Some(left) = place.checked_sub(PIECE_BYTES).and_then(|left| text.get(left)) {
            hash = hash.wrapping_sub(power.wrapping_mul(u64::from(*left) + 1));
        }
        (place + 1 >= PIECE_BYTES).then(|| mixed(hash))
    })
}

fn step(hash: u64, byte: u8) -> u64 {
    hash.wrapping_mul(BASE).wrapping_add(u64::from(byte) + 1)
}

/// Spreads the bits, so that the smallest hash is any piece and not the one with the smallest
/// letters.
fn mixed(hash: u64) -> u64 {
    let mut mixed = hash ^ (hash >> 31);
    mixed = mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ (mixed >> 29)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(answers: &[(&str, Value)], code: &str) -> DataFingerprints {
        let mut seen = DataFingerprints::default();
        seen.ignore_text(code);
        for (source, answer) in answers {
            seen.add_source(source, answer);
        }
        seen
    }

    #[test]
    fn whole_texts_and_parts_of_them_are_found_again() {
        let letter = "Dear all, the launch code is 4711-alpha-beta-gamma, keep it to yourselves.";
        let answers = [("mail", json!({"items": [{"body": letter, "id": "a1b2c3d4e5f6"}]}))];
        let seen = seen(&answers, "");
        for arguments in [
            json!({"text": letter}),
            json!({"text": format!("fyi: {letter} (sent by a friend)")}),
            json!({"deep": [{"er": "launch code is 4711-alpha-beta"}]}),
            json!({"id": "a1b2c3d4e5f6"}),
        ] {
            assert_eq!(seen.sources_of(&["chat"], &arguments), ["mail"], "{arguments}");
            assert_eq!(seen.sources_of(&["mail"], &arguments), [""; 0], "{arguments}");
        }
        for arguments in [
            json!({"text": "something else altogether, long enough to have pieces"}),
            json!({"text": "launch code", "n": 4711}),
            json!({}),
        ] {
            assert_eq!(seen.sources_of(&["chat"], &arguments), [""; 0], "{arguments}");
        }
    }

    #[test]
    fn every_long_enough_part_is_noticed_wherever_it_stands() {
        let text: String = (0..400_u32).map(|n| char::from(b'a' + (n * n % 26) as u8)).collect();
        let seen = seen(&[("one", json!(text))], "");
        let length = PIECE_BYTES + PIECE_WINDOW - 1;
        for start in 0..text.len() - length {
            let part: String = text.chars().skip(start).take(length).collect();
            let arguments = json!(format!("#{part}!"));
            assert_eq!(seen.sources_of(&["other"], &arguments), ["one"], "{start}");
        }
    }

    #[test]
    fn what_the_script_says_itself_and_what_the_target_knows_is_no_flow() {
        let repository = "https://example.com/an-organisation/a-repository";
        let code = format!("await caplets.git.log({{ url: \"{repository}\" }})");
        let answers = [
            ("git", json!({"url": repository, "author": "somebody@example.org"})),
            ("people", json!("somebody@example.org")),
        ];
        let seen = seen(&answers, &code);
        assert_eq!(seen.sources_of(&["chat"], &json!(repository)), [""; 0]);
        assert_eq!(seen.sources_of(&["people"], &json!("somebody@example.org")), [""; 0]);
        assert_eq!(seen.sources_of(&["chat"], &json!("somebody@example.org")), ["git", "people"]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut seen = DataFingerprints::default();
        for round in 0..40 {
            let text: String =
                (0..60_000_u32).map(|n| char::from(b'a' + (n * (n + round) % 26) as u8)).collect();
            seen.add_source("big", &json!(text));
        }
        assert!(seen.seen.len() <= MAX_FINGERPRINTS);
        for source in 0..100 {
            seen.add_source(&format!("source-{source}"), &json!("the same text for everyone"));
        }
        assert_eq!(seen.sources.len(), MAX_SOURCES);
    }
}
