//! Injected faults are shown in every report about a capability.

use capdeck_test::{FakePlan, TestDirs};
use serde_json::{Value, json};

use crate::{capdeck, json, run};

const SUMMARY: &str = "delay 5 ms, drop 0.1 (only tools/call)";

fn with_chaos() -> TestDirs {
    let dirs = TestDirs::new();
    let mut entry = FakePlan::default().deck_entry();
    entry["chaos"] = json!({"delayMs": 5, "drop": 0.1, "only": ["tools/call"]});
    let servers = json!({"shaky": entry, "sound": FakePlan::default().deck_entry()});
    dirs.write_config(&json!({ "mcpServers": servers }));
    dirs
}

#[test]
fn every_look_at_a_capability_shows_its_chaos() {
    let dirs = with_chaos();
    let listed = json(&dirs, &["list"])["items"].clone();
    assert_eq!((&listed[0]["chaos"], listed[1].get("chaos")), (&json!(SUMMARY), None));
    for command in ["inspect", "why"] {
        assert_eq!(json(&dirs, &[command, "shaky"])["chaos"], SUMMARY, "{command}");
        assert_eq!(json(&dirs, &[command, "sound"]).get("chaos"), None, "{command}");
        assert!(run(&dirs, &[command, "shaky"]).stdout.contains(SUMMARY), "{command}");
    }
    let list = run(&dirs, &["list"]);
    let warning = format!("`shaky` has faults injected by `chaos`: {SUMMARY}");
    assert!(list.stderr.contains(&warning), "{}", list.stderr);
}

#[test]
fn the_doctor_warns_and_says_where_to_remove_it() {
    let dirs = with_chaos();
    let report = capdeck(&dirs).args(["doctor", "--json"]).run().json();
    let items = report["items"].as_array().unwrap();
    let found: Vec<&Value> = items.iter().filter(|item| item["check"] == "chaos").collect();
    let [found] = found.as_slice() else { panic!("one finding: {report}") };
    assert_eq!(found["status"], "warning");
    assert_eq!(found["message"], format!("shaky has faults injected on purpose: {SUMMARY}"));
    assert!(found["fix"].as_str().unwrap().contains("config.json"), "{found}");
}
