//! `chaos`: faults put between the host and an MCP server on purpose, for trying out what happens then.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::is_default;

/// Faults to inject. Every number is a probability from 0 to 1, drawn once for each request.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Chaos")]
pub struct ChaosConfig {
    /// The same seed gives the same faults in the same order. Without one they differ each time.
    pub seed: Option<u64>,
    /// How long each request waits before it is sent.
    pub delay_ms: Option<ChaosDelay>,
    /// The request or its answer never arrives.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(range(min = 0, max = 1))]
    pub drop: f64,
    /// The answer is cut in the middle.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(range(min = 0, max = 1))]
    pub truncate: f64,
    /// The answer is not a message.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(range(min = 0, max = 1))]
    pub malformed: f64,
    /// A list change is announced before the answer. It may come together with another fault.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(range(min = 0, max = 1))]
    pub list_change: f64,
    /// The server has forgotten the session.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(range(min = 0, max = 1))]
    pub expire: f64,
    /// The methods concerned. Absent means all but the handshake.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1)))]
    pub only: Vec<String>,
}

/// A delay: always the same, or drawn between two bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ChaosDelay {
    Always(#[schemars(range(max = MAX_DELAY_MS))] u64),
    Between(DelayRange),
}

/// The bounds of a delay in milliseconds, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayRange {
    #[schemars(range(max = MAX_DELAY_MS))]
    pub min: u64,
    #[schemars(range(max = MAX_DELAY_MS))]
    pub max: u64,
}

/// A longer delay than any timeout anyone sets would only be a mistake.
const MAX_DELAY_MS: u64 = 600_000;

impl ChaosConfig {
    /// What it does, in a few words: `delay 200 ms, drop 0.1 (only tools/call)`.
    pub fn summary(&self) -> String {
        let delay = self.delay_ms.map(|delay| match delay {
            ChaosDelay::Always(delay) => format!("delay {delay} ms"),
            ChaosDelay::Between(range) => format!("delay {} to {} ms", range.min, range.max),
        });
        let faults = [
            ("drop", self.drop),
            ("truncate", self.truncate),
            ("malformed", self.malformed),
            ("list change", self.list_change),
            ("expire", self.expire),
        ];
        let faults = faults.into_iter().filter(|(_, share)| *share > 0.0);
        let parts: Vec<String> = delay
            .into_iter()
            .chain(faults.map(|(name, share)| format!("{name} {share}")))
            .collect();
        match (parts.is_empty(), self.only.as_slice()) {
            (true, _) => "nothing".to_owned(),
            (false, []) => parts.join(", "),
            (false, only) => format!("{} (only {})", parts.join(", "), only.join(", ")),
        }
    }

    /// True when it does nothing at all.
    pub fn is_idle(&self) -> bool {
        Self { seed: None, only: Vec::new(), ..self.clone() } == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_names_what_happens() {
        let chaos: ChaosConfig = serde_json::from_str(
            r#"{"delayMs": {"min": 1, "max": 2}, "drop": 0.1, "listChange": 1, "only": ["tools/call"]}"#,
        )
        .unwrap();
        assert_eq!(chaos.summary(), "delay 1 to 2 ms, drop 0.1, list change 1 (only tools/call)");
        let idle: ChaosConfig =
            serde_json::from_str(r#"{"seed": 1, "only": ["tools/call"]}"#).unwrap();
        assert!(idle.is_idle() && !chaos.is_idle());
        assert_eq!(idle.summary(), "nothing");
    }
}
