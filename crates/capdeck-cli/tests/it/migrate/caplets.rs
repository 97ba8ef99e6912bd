//! `capdeck migrate caplets`: a made-up but complete home of Caplets, taken over, used, and put back.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use capdeck_storage::sha256_hex;
use capdeck_test::{FakePlan, TestDirs};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use serde_json::{Value, json};

use super::{assert_same, at_home, item, tree};
use crate::echo_file;

/// A secret of the database and one of an older version.
const SECRETS: [&str; 4] =
    ["canary-stored-value", "canary-older-value", "canary-access", "canary-refresh"];

const KEY: [u8; 32] = [7; 32];

/// What Caplets 0.35 and later keep in their database, as far as it is read.
const SCHEMA: &str = "
    CREATE TABLE caplet_records (record_key TEXT PRIMARY KEY, caplet_id TEXT NOT NULL, current_revision_key TEXT);
    CREATE TABLE caplet_revisions (revision_key TEXT PRIMARY KEY, record_key TEXT, name TEXT, description TEXT,
        body TEXT, schema_url TEXT, content TEXT, source_revision TEXT);
    CREATE TABLE caplet_revision_tags (revision_key TEXT, position INTEGER, value TEXT);
    CREATE TABLE caplet_revision_backends (revision_key TEXT, position INTEGER, family TEXT, child_id TEXT, config TEXT);
    CREATE TABLE caplet_bundle_entries (revision_key TEXT, path TEXT, blob_hash TEXT, executable INTEGER);
    CREATE TABLE caplet_asset_blobs (hash TEXT PRIMARY KEY, payload BLOB, object_key TEXT);
    CREATE TABLE caplet_installations (record_key TEXT, status TEXT, source_kind TEXT, source_identity TEXT,
        channel TEXT, updated_at TEXT, detached_at TEXT);
    CREATE TABLE vault_values (vault_key TEXT PRIMARY KEY, version INTEGER, algorithm TEXT, nonce TEXT,
        ciphertext TEXT, auth_tag TEXT);
    CREATE TABLE vault_access_grants (subject_kind TEXT, subject_key TEXT, record_key TEXT, caplet_id TEXT,
        vault_key TEXT, reference_name TEXT, origin_kind TEXT, origin_path TEXT);
    CREATE TABLE backend_auth_states (server TEXT PRIMARY KEY, token_bundle TEXT);
";

/// A value as the vault of Caplets encrypts it.
fn sealed(value: &str) -> Value {
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &KEY).unwrap());
    let mut bytes = value.as_bytes().to_vec();
    let nonce: [u8; 12] = sha256_hex(value).as_bytes()[..12].try_into().unwrap();
    let place = Nonce::assume_unique_for_key(nonce);
    let tag = key.seal_in_place_separate_tag(place, Aad::empty(), &mut bytes).unwrap();
    json!({
        "version": 1, "algorithm": "aes-256-gcm", "nonce": URL_SAFE_NO_PAD.encode(nonce),
        "ciphertext": URL_SAFE_NO_PAD.encode(&bytes), "authTag": URL_SAFE_NO_PAD.encode(tag.as_ref()),
        "valueBytes": value.len(), "createdAt": "2026-01-01T00:00:00.000Z",
        "updatedAt": "2026-01-01T00:00:00.000Z",
    })
}

/// A capability that says how long the secret is that it is given.
fn counting(name: &str, reference: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Says how long its secret is.\ncliTools:\n  actions:\n    count:\n      \
         command: sh\n      args: [-c, 'printf %s \"$TOKEN\" | wc -c']\n      env: {{ TOKEN: \"$vault:{reference}\" }}\n---\n"
    )
}

/// A whole home: deck, config, database, vault, sign-ins, agents, and a project.
fn home() -> TestDirs {
    let dirs = TestDirs::new();
    let deck = "home/.config/caplets";
    dirs.write(format!("{deck}/notes.md"), counting("Notes", "OLDER_TOKEN"));
    dirs.write(
        format!("{deck}/kit/CAPLET.md"),
        "---\nname: Kit\ndescription: Several in one.\ncapletSet:\n  capletsRoot: ./members\n---\n",
    );
    dirs.write(format!("{deck}/shared/echo/CAPLET.md"), echo_file("Echo"));
    fs::create_dir(dirs.root().join(deck).join("kit/members")).unwrap();
    symlink("../../shared/echo", dirs.root().join(deck).join("kit/members/echo")).unwrap();
    let config = json!({
        "$schema": "https://caplets.dev/config.schema.json",
        "version": 1,
        "serve": { "port": 5387 },
        "telemetry": false,
        "options": { "exposure": "direct" },
        "mcpServers": {
            "fake": described(FakePlan::default().deck_entry()),
            "linear": described(json!({
                "url": "https://mcp.linear.example/mcp",
                "auth": { "type": "oauth2", "clientId": "client-1", "clientSecret": "$vault:STORED_TOKEN" },
            })),
        },
    });
    dirs.write(format!("{deck}/config.json"), serde_json::to_string_pretty(&config).unwrap());
    write_state(&dirs);
    write_agents(&dirs);
    dirs
}

fn described(mut entry: Value) -> Value {
    entry["name"] = json!("A server");
    entry["description"] = json!("Tools of a server for tests.");
    entry
}

fn write_state(dirs: &TestDirs) {
    let state = "home/.local/state";
    let key = format!("caplets-vault-key-v1.{}\n", URL_SAFE_NO_PAD.encode(KEY));
    dirs.write(format!("{state}/caplets/vault/vault-key"), key);
    dirs.write(
        format!("{state}/caplets/vault/values/OLDER_TOKEN.json"),
        sealed(SECRETS[1]).to_string(),
    );
    let notes = dirs.home().join(".config/caplets/notes.md");
    let grants = json!([{
        "storedKey": "OLDER_TOKEN", "referenceName": "OLDER_TOKEN", "capletId": "notes",
        "origin": { "kind": "global-file", "path": notes },
    }]);
    dirs.write(format!("{state}/caplets/vault/access-grants.json"), grants.to_string());
    for file in ["vault-key", "values/OLDER_TOKEN.json", "access-grants.json"] {
        let path = dirs.home().join(".local/state/caplets/vault").join(file);
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    write_database(&dirs.home().join(".local/state/caplets.sqlite3"), dirs);
}

fn write_database(path: &Path, dirs: &TestDirs) {
    let database = rusqlite::Connection::open(path).unwrap();
    database.execute_batch(SCHEMA).unwrap();
    let run = |text: &str, values: &[&dyn rusqlite::ToSql]| {
        database.execute(text, values).unwrap();
    };
    let actions = json!({ "actions": { "count": {
        "command": "./count.sh", "cwd": ".", "env": { "TOKEN": "${vault:TOKEN}" },
    } } });
    run("INSERT INTO caplet_records VALUES ('r1', 'stored', 'v2')", &[]);
    run(
        "INSERT INTO caplet_revisions VALUES ('v2', 'r1', 'Stored', 'Says how long its secret is.', '# Stored\n',
         NULL, ?1, ?2)",
        &[&json!({ "exposure": "direct" }).to_string(), &"a".repeat(40)],
    );
    run("INSERT INTO caplet_revision_tags VALUES ('v2', 0, 'tests')", &[]);
    run(
        "INSERT INTO caplet_revision_backends VALUES ('v2', 0, 'cliTools', NULL, ?1)",
        &[&actions.to_string()],
    );
    run("INSERT INTO caplet_bundle_entries VALUES ('v2', 'count.sh', 'b1', 1)", &[]);
    let script = b"#!/bin/sh\nprintf %s \"$TOKEN\" | wc -c\n".to_vec();
    run("INSERT INTO caplet_asset_blobs VALUES ('b1', ?1, NULL)", &[&script]);
    run(
        "INSERT INTO caplet_installations VALUES ('r1', 'active', 'git', 'https://git.example/team/caplets', 'main',
         '2026-01-01', NULL)",
        &[],
    );
    // Files come before the database, as they do in Caplets.
    run("INSERT INTO caplet_records VALUES ('r2', 'notes', 'v3')", &[]);
    run(
        "INSERT INTO caplet_revisions VALUES ('v3', 'r2', 'Other', 'Another one.', '', NULL, '{}', NULL)",
        &[],
    );
    let value = sealed(SECRETS[0]);
    let text = |key: &str| value[key].as_str().unwrap().to_owned();
    run(
        "INSERT INTO vault_values VALUES ('STORED_TOKEN', 1, 'aes-256-gcm', ?1, ?2, ?3)",
        &[&text("nonce"), &text("ciphertext"), &text("authTag")],
    );
    run(
        "INSERT INTO vault_access_grants VALUES ('record', 'r1', 'r1', NULL, 'STORED_TOKEN', 'TOKEN', 'stored-record', NULL)",
        &[],
    );
    let config = dirs.home().join(".config/caplets/config.json");
    run(
        "INSERT INTO vault_access_grants VALUES ('file', 'linear', NULL, 'linear', 'STORED_TOKEN', 'STORED_TOKEN',
         'global-config', ?1)",
        &[&config.to_str().unwrap()],
    );
    let bundle = json!({
        "server": "linear", "authType": "oauth2", "accessToken": SECRETS[2], "refreshToken": SECRETS[3],
        "expiresAt": "2099-01-01T00:00:00.000Z", "scope": "read write", "clientId": "client-1",
        "issuer": "https://sso.linear.example",
        "metadata": { "token_endpoint": "https://sso.linear.example/token" },
    });
    run("INSERT INTO backend_auth_states VALUES ('linear', ?1)", &[&bundle.to_string()]);
}

fn write_agents(dirs: &TestDirs) {
    dirs.write(
        "home/.cursor/mcp.json",
        "{\n  // mine\n  \"mcpServers\": {\n    \"caplets\": { \"command\": \"caplets\", \"args\": [\"attach\", \"http://127.0.0.1:5387\"] },\n    \"other\": { \"command\": \"other\" }\n  }\n}\n",
    );
    dirs.write(
        "home/.codex/config.toml",
        "model = \"x\" # keep\n\n[mcp_servers.caplets]\ncommand = \"npx\"\nargs = [\"-y\", \"caplets@latest\", \"serve\"]\n",
    );
}

#[test]
fn what_would_be_taken_is_shown_and_nothing_is_written() {
    let dirs = home();
    let before = tree(&dirs);
    let shown = at_home(&dirs).args(["migrate", "--dry-run"]).run().success();
    assert_same(&before, &tree(&dirs));
    assert!(shown.stderr.contains("nothing was written"), "{}", shown.stderr);
    for secret in SECRETS {
        assert!(!shown.stderr.contains(secret) && !shown.stdout.contains(secret), "{secret}");
    }
    let answer = at_home(&dirs).args(["migrate", "caplets", "--dry-run", "--json"]).run();
    let answer = answer.success().json();
    for (kind, name, status) in [
        ("capability", "notes", "take"),
        ("capability", "kit", "take"),
        ("file", "shared", "take"),
        ("capability", "fake", "take"),
        ("capability", "linear", "take"),
        ("capability", "stored", "take"),
        ("option", "options.exposure", "take"),
        ("option", "serve", "leave"),
        ("secret", "STORED_TOKEN", "take"),
        ("secret", "OLDER_TOKEN", "take"),
        ("sign-in", "linear", "take"),
        ("agent", "Cursor", "take"),
        ("agent", "Codex", "take"),
    ] {
        assert_eq!(item(&answer, kind, name)["status"], status, "{kind} {name}: {answer:#}");
    }
    assert_eq!(answer["items"][0]["status"], "found");
    assert_same(&before, &tree(&dirs));
}

#[test]
fn a_home_is_taken_over_used_and_put_back() {
    let dirs = home();
    let before = tree(&dirs);
    let doctor = at_home(&dirs).args(["doctor", "--json"]).run().json().to_string();
    assert!(doctor.contains("a set-up of Caplets is here and not taken over"), "{doctor}");
    let refused = at_home(&dirs).args(["migrate", "caplets"]).run();
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    assert_same(&before, &tree(&dirs));

    let taken = at_home(&dirs).args(["migrate", "caplets", "--yes"]).run().success();
    for secret in SECRETS {
        assert!(!taken.stderr.contains(secret) && !taken.stdout.contains(secret), "{secret}");
    }
    // The other program is gone.
    fs::remove_dir_all(dirs.home().join(".config/caplets")).unwrap();
    fs::rename(dirs.home().join(".local/state"), dirs.root().join("kept-state")).unwrap();

    let mut client = at_home(&dirs).serve(&["--exposure", "direct"]);
    client.initialize();
    let tools = client.request("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    for name in ["notes__count", "stored__count", "fake__echo", "kit__echo"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    for (tool, secret) in [("stored__count", SECRETS[0]), ("notes__count", SECRETS[1])] {
        let called = client.request("tools/call", json!({ "name": tool, "arguments": {} }));
        let text = called["result"].to_string();
        assert!(text.contains(&secret.len().to_string()), "{tool}: {text}");
        assert_ne!(called["result"]["isError"], true, "{text}");
    }
    let said = client.request(
        "tools/call",
        json!({ "name": "kit__echo", "arguments": {
            "operation": "call_tool", "name": "say", "args": { "text": "hello" },
        } }),
    );
    assert!(said["result"].to_string().contains("hello"), "{said}");
    client.close();
    let signed_in = at_home(&dirs).args(["auth", "status", "linear", "--json"]).run();
    let signed_in = signed_in.success().json().to_string();
    assert!(signed_in.contains("sso.linear.example"), "{signed_in}");
    let cursor = fs::read_to_string(dirs.home().join(".cursor/mcp.json")).unwrap();
    assert!(cursor.contains("// mine") && cursor.contains("\"other\""), "{cursor}");
    assert!(cursor.contains("\"capdeck\"") && !cursor.contains("caplets"), "{cursor}");
    let codex = fs::read_to_string(dirs.home().join(".codex/config.toml")).unwrap();
    assert!(codex.contains("# keep") && !codex.contains("caplets"), "{codex}");
    let updates = at_home(&dirs).args(["update", "--dry-run"]).run();
    assert!(updates.stderr.contains("git.example"), "its source is known: {updates:?}");
    let doctor = at_home(&dirs).args(["doctor", "--json"]).run().json().to_string();
    assert!(!doctor.contains("not taken over"), "{doctor}");

    let again = at_home(&dirs).args(["migrate", "caplets", "--json"]).run();
    assert_eq!(again.code, Some(1), "nothing of it is left to take: {again:?}");

    // Put back what was moved away, so that the whole can be compared.
    fs::rename(dirs.root().join("kept-state"), dirs.home().join(".local/state")).unwrap();
    let deck: Vec<&String> =
        before.keys().filter(|name| name.starts_with("home/.config/caplets/")).collect();
    for name in deck {
        let path = dirs.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let (bytes, mode) = &before[name];
        if mode & 0o170_000 == 0o120_000 {
            symlink(std::str::from_utf8(bytes).unwrap(), path).unwrap();
        } else {
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
        }
    }
    let undone = at_home(&dirs).args(["migrate", "--undo", "--json"]).run().success().json();
    assert_eq!(undone["items"][0]["stays"], json!([]), "{undone:#}");
    assert_same(&before, &tree(&dirs));
    let twice = at_home(&dirs).args(["migrate", "caplets", "--undo"]).run();
    assert_eq!(twice.code, Some(1));
    assert!(twice.stderr.contains("nothing to put back"), "{}", twice.stderr);
}

#[test]
fn what_the_person_has_already_wins_and_is_named() {
    let dirs = home();
    dirs.write("config/notes.md", echo_file("Mine"));
    dirs.write("config/config.json", "{\n  \"options\": { \"exposure\": \"search\" }\n}\n");
    let set = at_home(&dirs).args(["vault", "set", "STORED_TOKEN"]).stdin("mine-and-other").run();
    set.success();
    let before = tree(&dirs);
    let answer = at_home(&dirs).args(["migrate", "caplets", "--yes", "--json"]).run();
    let answer = answer.success().json();
    for (kind, name) in
        [("capability", "notes"), ("option", "options.exposure"), ("secret", "STORED_TOKEN")]
    {
        assert_eq!(item(&answer, kind, name)["status"], "leave", "{kind} {name}");
    }
    let mine = fs::read_to_string(dirs.config().join("notes.md")).unwrap();
    assert_eq!(mine, echo_file("Mine"));
    let config = fs::read_to_string(dirs.config().join("config.json")).unwrap();
    assert!(config.contains("\"exposure\": \"search\"") && config.contains("\"fake\""), "{config}");
    at_home(&dirs).args(["migrate", "--undo"]).run().success();
    assert_same(&before, &tree(&dirs));
}

#[test]
fn a_failure_in_the_middle_leaves_everything_as_it_was() {
    let dirs = home();
    let before = tree(&dirs);
    // Where the new text of an agent's file would be staged, a folder is in the way.
    let file = dirs.home().canonicalize().unwrap().join(".cursor/mcp.json");
    let hash = sha256_hex(file.as_os_str().as_encoded_bytes());
    let blocked = file.with_file_name(format!(".capdeck-{}.new", hash.get(..12).unwrap()));
    fs::create_dir(&blocked).unwrap();
    fs::write(blocked.join("x"), "").unwrap();
    let failed = at_home(&dirs).args(["migrate", "caplets", "--yes"]).run();
    assert_eq!(failed.code, Some(1), "{failed:?}");
    fs::remove_dir_all(&blocked).unwrap();
    assert_same(&before, &tree(&dirs));
    let done = at_home(&dirs).args(["migrate", "--undo"]).run().success();
    assert!(done.stderr.contains("nothing was taken over"), "{}", done.stderr);
    at_home(&dirs).args(["migrate", "caplets", "--yes"]).run().success();
}

#[test]
fn what_changed_since_stays_and_the_rest_is_put_back() {
    let dirs = home();
    at_home(&dirs).args(["migrate", "caplets", "--yes"]).run().success();
    let notes = dirs.write("config/notes.md", echo_file("Edited"));
    let cursor = dirs.home().join(".cursor/mcp.json");
    let text = fs::read_to_string(&cursor).unwrap();
    fs::write(&cursor, text.replace("\"other\"", "\"renamed\"")).unwrap();
    let undone = at_home(&dirs).args(["migrate", "--undo"]).run();
    assert_eq!(undone.code, Some(1));
    assert!(undone.stderr.contains("notes.md"), "{}", undone.stderr);
    assert!(notes.exists() && !dirs.config().join("kit").exists());
    let text = fs::read_to_string(&cursor).unwrap();
    assert!(text.contains("\"renamed\"") && text.contains("\"caplets\""), "{text}");
    assert!(!text.contains("\"capdeck\""), "{text}");
}

#[test]
fn broken_parts_are_named_and_the_rest_is_taken() {
    let dirs = home();
    dirs.write("home/.config/caplets/config.json", "{ \"mcpServers\": ");
    dirs.write("home/.local/state/caplets.sqlite3", "this is no database");
    dirs.write("home/.cursor/mcp.json", "{ broken");
    let other = format!("caplets-vault-key-v1.{}", URL_SAFE_NO_PAD.encode([8; 32]));
    dirs.write("home/.local/state/caplets/vault/vault-key", other);
    let answer = at_home(&dirs).args(["migrate", "caplets", "--yes", "--json"]).run();
    let answer = answer.success().json();
    for (kind, name) in [
        ("file", "config.json"),
        ("file", "database"),
        ("secret", "OLDER_TOKEN"),
        ("agent", "Cursor"),
    ] {
        assert_eq!(item(&answer, kind, name)["status"], "leave", "{kind} {name}");
    }
    assert_eq!(item(&answer, "capability", "notes")["status"], "take");
    assert!(dirs.config().join("notes.md").exists());
    assert_eq!(fs::read_to_string(dirs.home().join(".cursor/mcp.json")).unwrap(), "{ broken");
}

#[test]
fn where_nothing_is_there_is_nothing_to_take() {
    let dirs = TestDirs::new();
    let all = at_home(&dirs).args(["migrate"]).run().success();
    assert!(all.stderr.contains("nothing of Caplets"), "{}", all.stderr);
    let named = at_home(&dirs).args(["migrate", "caplets"]).run();
    assert_eq!(named.code, Some(1));
    let unknown = at_home(&dirs).args(["migrate", "capplets"]).run();
    assert_eq!(unknown.code, Some(2));
    assert_eq!(fs::read_dir(dirs.state()).unwrap().count(), 0);
}

#[test]
fn a_path_that_leads_out_of_the_deck_is_named() {
    let dirs = home();
    let api = "---\nname: Pets\ndescription: An API for tests.\nopenapiEndpoint:\n  specPath: ../specs/pets.yaml\n  auth: { type: none }\n---\n";
    dirs.write("home/.config/caplets/pets.md", api);
    dirs.write("home/.config/caplets/inside.md", api.replace("../specs", "./shared"));
    let answer = at_home(&dirs).args(["migrate", "caplets", "--dry-run", "--json"]).run();
    let next = answer.success().json()["items"][0]["next"].to_string();
    assert!(next.contains("`pets` names") && next.contains("specs/pets.yaml"), "{next}");
    assert!(!next.contains("`inside`"), "{next}");
}

#[test]
fn variables_that_programs_would_miss_are_proposed() {
    let dirs = TestDirs::new();
    dirs.write(
        "home/.config/caplets/issues.md",
        "---\nname: Issues\ndescription: Lists issues.\ncliTools:\n  actions:\n    list:\n      command: gh\n      args: [issue, list]\n---\n",
    );
    let next = |variable: &str| {
        let shown = at_home(&dirs).args(["migrate", "caplets", "--dry-run", "--json"]);
        let answer = shown.env(variable, "canary-token").run().success();
        assert!(!answer.stdout.contains("canary-token"), "{}", answer.stdout);
        answer.json()["items"][0]["next"].to_string()
    };
    assert!(next("GH_TOKEN").contains("`GH_TOKEN` (`gh`) does not reach programs"));
    assert!(next("GH_TOKEN").contains("passEnv: [GH_TOKEN]"));
    assert!(!next("OTHER_TOKEN").contains("passEnv"));
}

#[test]
fn what_was_granted_while_the_deck_was_read_in_place_stays_granted() {
    let dirs = TestDirs::new();
    dirs.write("home/.config/caplets/notes.md", counting("Notes", "MINE"));
    let run = |words: &[&str]| {
        // Without a deck of its own, that of Caplets is read where it is.
        let config = dirs.home().join(".config/capdeck");
        at_home(&dirs)
            .env("CAPDECK_CONFIG_DIR", "")
            .env("XDG_CONFIG_HOME", config.parent().unwrap())
            .args(words)
    };
    run(&["vault", "set", "MINE", "--grant", "notes"]).stdin("canary-mine").run().success();
    let called = run(&["call", "notes.count"]).run().success();
    assert!(called.stdout.contains("11"), "{called:?}");
    run(&["migrate", "caplets", "--yes"]).run().success();
    let called = run(&["call", "notes.count"]).run().success();
    assert!(called.stdout.contains("11"), "{called:?}");
    let listed = run(&["list", "--json"]).run().success().json();
    let path = listed["items"][0]["source"]["path"].as_str().unwrap().to_owned();
    assert!(path.ends_with(".config/capdeck/notes.md"), "{path}");
}
