//! `mcpServers` as other clients write them.

use capdeck_definition::{Backend, BackendAuth, McpServer, McpTransport, PinMode};

use crate::folder::{Folder, codes};

fn servers(json: &str) -> Vec<(String, String, McpServer)> {
    let deck = Folder::with(&[("config.json", json)]).deck();
    assert_eq!(codes(&deck), [""; 0]);
    deck.definitions
        .iter()
        .map(|found| {
            let Backend::Mcp(server) = &found.backend else { panic!("not an MCP server") };
            (found.name.clone(), found.description.clone(), server.clone())
        })
        .collect()
}

#[test]
fn a_local_server_is_described_by_its_package_and_never_by_its_arguments() {
    let found = servers(
        r#"{ "mcpServers": {
            "files": { "command": "/usr/bin/npx", "args": ["-y", "@acme/files", "--key", "secret"], "env": { "A": "b" } },
            "own": { "command": "./run.sh", "args": ["secret"] }
        } }"#,
    );
    assert_eq!(found[0].0, "files");
    assert_eq!(found[0].1, "MCP server `files`, the package @acme/files run by npx");
    assert_eq!(found[0].2.args, ["-y", "@acme/files", "--key", "secret"]);
    assert_eq!(found[0].2.env["A"], "b");
    assert_eq!(found[0].2.effective_transport(), McpTransport::Stdio);
    assert_eq!(found[1].1, "MCP server `own`, started with run.sh");
}

#[test]
fn a_remote_server_keeps_its_credentials() {
    let found = servers(
        r#"{ "mcpServers": {
            "bearer": { "type": "streamable-http", "url": "https://a.example.com/mcp", "headers": { "authorization": "bearer ${env:TOKEN}" } },
            "key": { "type": "sse", "url": "https://b.example.com/sse", "headers": { "X-Key": "$env:KEY" } },
            "both": { "url": "https://c.example.com", "headers": { "Authorization": "Bearer t", "X-Team": "blue" } },
            "whole": { "url": "https://d.example.com", "headers": { "Authorization": "${AUTHORIZATION}" } },
            "basic": { "url": "https://f.example.com", "headers": { "Authorization": "Basic YTpi" } },
            "none": { "httpUrl": "https://e.example.com/mcp", "headers": {} }
        } }"#,
    );
    let auth: Vec<Option<BackendAuth>> =
        found.iter().map(|(_, _, server)| server.auth.clone()).collect();
    let headers = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Some(BackendAuth::Headers { headers: pairs.collect() })
    };
    assert_eq!(auth[0], Some(BackendAuth::Bearer { token: "${TOKEN}".to_owned() }));
    assert_eq!(auth[1], headers(&[("X-Key", "$env:KEY")]));
    assert_eq!(auth[2], headers(&[("Authorization", "Bearer t"), ("X-Team", "blue")]));
    assert_eq!(auth[3], headers(&[("Authorization", "${AUTHORIZATION}")]));
    assert_eq!(auth[4], headers(&[("Authorization", "Basic YTpi")]));
    assert_eq!(auth[5], None);
    assert_eq!(found[0].2.effective_transport(), McpTransport::Http);
    assert_eq!(found[1].2.effective_transport(), McpTransport::Sse);
    assert_eq!(found[5].2.url.as_deref(), Some("https://e.example.com/mcp"));
    assert_eq!(found[0].1, "MCP server `bearer` at a.example.com");
}

#[test]
fn full_entries_beside_client_entries_keep_their_rules() {
    let folder = Folder::with(&[(
        "config.yaml",
        "mcpServers:\n  client: { command: a }\n  half: { name: Half, command: b }\n",
    )]);
    let deck = folder.deck();
    assert_eq!(crate::folder::ids(&deck), ["client"]);
    assert_eq!(codes(&deck), ["missing-key"]);
}

#[test]
fn what_guards_a_server_holds_in_a_client_entry_too() {
    let folder = Folder::with(&[(
        "config.yaml",
        "mcpServers:\n  mine: { command: a, pins: block, tools: { except: [wipe] } }\n  copied: { command: b, tools: ['*'] }\n",
    )]);
    let deck = folder.deck();
    assert_eq!(codes(&deck), ["ignored-key"], "only the list of another client is left out");
    let [mine, copied] = deck.definitions.as_slice() else { panic!("two servers") };
    assert_eq!((mine.pins, copied.pins), (Some(PinMode::Block), None));
    assert!(mine.tailoring.is_some());
    assert!(copied.tailoring.is_none());
}
