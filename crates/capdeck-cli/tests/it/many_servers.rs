//! Files with thousands of servers, by the command.

use std::fmt::Write as _;

use capdeck_test::TestDirs;

use crate::{json, run};

fn capability_file(count: usize) -> String {
    (0..count).fold("servers:\n".to_owned(), |mut text, number| {
        writeln!(text, "- {{id: s{number}, type: mcp, def: {{cmd: x}}}}").unwrap();
        text
    })
}

#[test]
fn a_project_with_5_000_servers_is_validated_and_listed() {
    let dirs = TestDirs::new();
    dirs.write("project/capabilities.yaml", capability_file(5_000));
    run(&dirs, &["trust", "--yes"]).success();
    run(&dirs, &["validate"]).success();
    let listed = json(&dirs, &["list"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 5_000);
}

#[test]
fn a_project_with_50_000_servers_is_refused_and_says_why() {
    let dirs = TestDirs::new();
    dirs.write("project/capabilities.yaml", capability_file(50_000));
    let refused = run(&dirs, &["validate"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stdout.contains("file-too-large"), "{}", refused.stdout);
    // Small enough in bytes, and still too many.
    let entries: Vec<String> =
        (0..50_000).map(|number| format!("\"{number:x}\":{{\"url\":\"\"}}")).collect();
    let config = format!("{{\"mcpServers\":{{{}}}}}", entries.join(","));
    assert!(config.len() < 1 << 20, "{}", config.len());
    dirs.write("config/config.json", config);
    let refused = run(&dirs, &["validate"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stdout.contains("more than 200000 keys and values"), "{}", refused.stdout);
}
