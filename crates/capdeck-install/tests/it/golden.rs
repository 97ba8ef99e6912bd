//! The files of ten agents before and after, as they are kept in `tests/connect/golden`.

use std::{fs, path::PathBuf};

use capdeck_install::{
    AgentClient, ClientScope, LaunchTarget, OverwritePolicy, plan_connect, plan_disconnect,
};

use crate::connect::Place;

const CLIENTS: [(&str, ClientScope, &str); 10] = [
    ("claude-code", ClientScope::Project, "json"),
    ("claude-desktop", ClientScope::User, "json"),
    ("cursor", ClientScope::Project, "json"),
    ("vscode", ClientScope::Project, "json"),
    ("codex", ClientScope::User, "toml"),
    ("gemini-cli", ClientScope::User, "json"),
    ("windsurf", ClientScope::User, "json"),
    ("opencode", ClientScope::Project, "jsonc"),
    ("zed", ClientScope::User, "json"),
    ("goose", ClientScope::User, "yaml"),
];

/// With `CAPDECK_UPDATE_DOCS=1` the files are written instead, to be looked at.
#[test]
fn the_files_of_ten_agents_become_what_they_should() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/connect/golden"));
    for (client, scope, ending) in CLIENTS {
        let file = |name: &str| folder.join(client).join(format!("{name}.{ending}"));
        let before = fs::read_to_string(file("before")).unwrap();
        for (state, url) in [("program", None), ("url", Some("http://127.0.0.1:7717/mcp"))] {
            let place = Place::new();
            let project = place.folders.project.clone().unwrap();
            // Where an agent knows two names, the file that is there counts.
            if ending == "jsonc" {
                fs::write(project.join("opencode.jsonc"), &before).unwrap();
            }
            let target = place.target(client, scope);
            fs::create_dir_all(target.file.parent().unwrap()).unwrap();
            fs::write(&target.file, &before).unwrap();
            let command = "capdeck".to_owned();
            let word = target.client.project_word().filter(|_| scope == ClientScope::Project);
            let words =
                ["serve"].into_iter().chain(word.iter().flat_map(|word| ["--project", word]));
            let launch = match url {
                Some(url) => LaunchTarget::Url { url: url.to_owned(), command },
                None => LaunchTarget::Program { command, args: words.map(str::to_owned).collect() },
            };
            let entry = target.client.entry("capdeck", &launch);
            let plan =
                plan_connect(&target, &entry, &[], OverwritePolicy::Keep, &place.records).unwrap();
            plan.apply(&place.records).unwrap();
            let after = fs::read_to_string(&target.file).unwrap();
            #[expect(
                clippy::disallowed_methods,
                reason = "the switch of this test, not of the product"
            )]
            if std::env::var_os("CAPDECK_UPDATE_DOCS").is_some() {
                fs::write(file(state), &after).unwrap();
            }
            let golden = fs::read_to_string(file(state)).unwrap_or_default();
            assert_eq!(after, golden, "{client}, {state}");

            let plan = plan_disconnect(&target, OverwritePolicy::Keep, &place.records).unwrap();
            plan.apply(&place.records).unwrap();
            assert_eq!(fs::read_to_string(&target.file).unwrap(), before, "{client}, {state}");
        }
    }
}

/// The guide's table says what the product does.
#[test]
fn the_guide_has_every_agent() {
    let guide = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/connect.md"));
    let guide = fs::read_to_string(guide).unwrap();
    for client in AgentClient::all() {
        let start = format!("| `{}` | {} |", client.id, client.name);
        let row = guide.lines().find(|line| line.starts_with(&start)).unwrap_or_default();
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, _, _, user, project, key, scope, _] = cells[..] else {
            panic!("no row for {}", client.id)
        };
        assert!(key.starts_with(&format!("`{}`", client.key())), "{row}");
        assert_eq!(scope, client.default_scope.as_str(), "{row}");
        let place = Place::new();
        for (cell, scope) in [(user, ClientScope::User), (project, ClientScope::Project)] {
            let file = client.file(scope, &place.folders);
            let name = cell.split('`').nth(1).unwrap_or_default().trim_start_matches("~/");
            let ends = file.as_ref().is_none_or(|file| !name.is_empty() && file.ends_with(name));
            assert!(ends && file.is_some() != name.is_empty(), "{row}");
        }
    }
}
