//! Connecting and disconnecting: what is written, what is refused, and that everything comes back.

use std::{fs, path::Path};

use capdeck_install::{
    AgentClient, ClientEntryChange, ClientEntryRecords, ClientEntryTarget, ClientFolders,
    ClientScope, ConnectError, LaunchTarget, OverwritePolicy, plan_connect, plan_disconnect,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A home, a project and a state folder of their own.
pub(crate) struct Place {
    dir: TempDir,
    pub(crate) folders: ClientFolders,
    pub(crate) records: ClientEntryRecords,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(root.join("home/project")).unwrap();
        let folders = ClientFolders {
            home: root.join("home"),
            config: root.join("home/.config"),
            application_data: root.join("home/.config"),
            project: Some(root.join("home/project")),
            search_path: Vec::new(),
        };
        Self { records: ClientEntryRecords::new(&root.join("state")), folders, dir }
    }

    pub(crate) fn target(&self, client: &str, scope: ClientScope) -> ClientEntryTarget {
        ClientEntryTarget::new(AgentClient::find(client).unwrap(), scope, "capdeck", &self.folders)
            .unwrap()
    }

    fn connect(
        &self,
        target: &ClientEntryTarget,
        entry: &Value,
        foreign: OverwritePolicy,
    ) -> Result<ClientEntryChange, ConnectError> {
        let plan = plan_connect(target, entry, &[], foreign, &self.records)?;
        plan.apply(&self.records).map(|()| plan.change)
    }

    fn disconnect(&self, target: &ClientEntryTarget) -> Result<ClientEntryChange, ConnectError> {
        let plan = plan_disconnect(target, OverwritePolicy::Keep, &self.records)?;
        plan.apply(&self.records).map(|()| plan.change)
    }

    fn root(&self) -> &Path {
        self.dir.path()
    }
}

pub(crate) fn entry(client: &str) -> Value {
    let args = vec!["serve".to_owned()];
    let launch = LaunchTarget::Program { command: "capdeck".to_owned(), args };
    AgentClient::find(client).unwrap().entry("capdeck", &launch)
}

fn write(target: &ClientEntryTarget, text: &str) {
    fs::create_dir_all(target.file.parent().unwrap()).unwrap();
    fs::write(&target.file, text).unwrap();
}

fn read(target: &ClientEntryTarget) -> String {
    fs::read_to_string(&target.file).unwrap()
}

#[test]
fn a_second_time_changes_nothing_and_a_new_address_only_the_entry() {
    let place = Place::new();
    let target = place.target("cursor", ClientScope::User);
    let before = "{\n  // mine\n  \"mcpServers\": {\n    \"a\": { \"command\": \"a\" }\n  }\n}\n";
    write(&target, before);
    assert_eq!(
        place.connect(&target, &entry("cursor"), OverwritePolicy::Keep).unwrap(),
        ClientEntryChange::Add
    );
    let first = read(&target);
    assert_eq!(
        place.connect(&target, &entry("cursor"), OverwritePolicy::Keep).unwrap(),
        ClientEntryChange::None
    );
    assert_eq!(read(&target), first);

    let other = json!({ "url": "http://127.0.0.1:7717/mcp" });
    assert_eq!(
        place.connect(&target, &other, OverwritePolicy::Keep).unwrap(),
        ClientEntryChange::Replace
    );
    assert!(read(&target).contains("7717"));
    assert_eq!(place.disconnect(&target).unwrap(), ClientEntryChange::Remove);
    assert_eq!(read(&target), before, "the bytes before the first time");
    assert_eq!(place.disconnect(&target).unwrap(), ClientEntryChange::None);
}

#[test]
fn what_was_made_goes_again_unless_it_is_used() {
    let place = Place::new();
    let target = place.target("windsurf", ClientScope::User);
    place.connect(&target, &entry("windsurf"), OverwritePolicy::Keep).unwrap();
    assert!(target.file.exists());
    place.disconnect(&target).unwrap();
    assert!(!place.folders.home.join(".codeium").exists());

    place.connect(&target, &entry("windsurf"), OverwritePolicy::Keep).unwrap();
    fs::write(target.file.with_file_name("other"), "").unwrap();
    place.disconnect(&target).unwrap();
    assert!(!target.file.exists() && target.file.parent().unwrap().exists());

    place.connect(&target, &entry("windsurf"), OverwritePolicy::Keep).unwrap();
    fs::write(&target.file, read(&target).replace("{\n  \"mcp", "{\n  \"x\": 1,\n  \"mcp"))
        .unwrap();
    place.disconnect(&target).unwrap();
    assert_eq!(read(&target), "{\n  \"x\": 1\n}\n");
}

#[test]
fn a_file_we_made_stays_when_others_wrote_into_it() {
    let place = Place::new();
    for (client, comment) in [("cursor", "// mine\n"), ("codex", "# mine\n"), ("goose", "# mine\n")]
    {
        let target = place.target(client, ClientScope::User);
        place.connect(&target, &entry(client), OverwritePolicy::Keep).unwrap();
        fs::write(&target.file, format!("{comment}{}", read(&target))).unwrap();
        place.disconnect(&target).unwrap();
        assert!(read(&target).starts_with(comment), "{client}");
    }
}

#[test]
fn a_file_that_was_edited_since_keeps_the_edits() {
    let place = Place::new();
    for (client, before, edit, expected) in [
        (
            "gemini-cli",
            "{\n  \"theme\": \"dark\"\n}\n",
            ("dark", "light"),
            "{\n  \"theme\": \"light\"\n}\n",
        ),
        ("codex", "model = \"a\"\n", ("\"a\"", "\"b\" # new"), "model = \"b\" # new\n"),
        ("goose", "# g\nmode: auto\n", ("auto", "chat"), "# g\nmode: chat\n"),
        // The entry itself was edited: it goes all the same.
        (
            "gemini-cli",
            "{\n  \"mcpServers\": {}\n}",
            ("\"serve\"", "\"serve\", \"--view\", \"x\""),
            "{\n  \"mcpServers\": {}\n}",
        ),
    ] {
        let target = place.target(client, ClientScope::User);
        write(&target, before);
        place.connect(&target, &entry(client), OverwritePolicy::Keep).unwrap();
        write(&target, &read(&target).replacen(edit.0, edit.1, 1));
        place.disconnect(&target).unwrap();
        assert_eq!(read(&target), expected, "{client}");
    }
}

#[test]
fn an_entry_of_another_program_is_replaced_only_by_force_and_comes_back() {
    let place = Place::new();
    let target = place.target("claude-code", ClientScope::Project);
    let before =
        "{\"mcpServers\": {\"capdeck\": {\"command\": \"other\", \"env\": {\"K\": \"v\"}}}}\n";
    write(&target, before);
    let refused = place.connect(&target, &entry("claude-code"), OverwritePolicy::Keep).unwrap_err();
    assert!(matches!(refused, ConnectError::Taken { .. }), "{refused}");
    let refused = place.disconnect(&target).unwrap_err();
    assert!(matches!(refused, ConnectError::NotOurs { .. }), "{refused}");
    assert_eq!(read(&target), before);
    place.connect(&target, &entry("claude-code"), OverwritePolicy::Overwrite).unwrap();
    // Edited elsewhere, so that only the parts are known.
    write(&target, &format!("// new\n{}", read(&target)));
    place.disconnect(&target).unwrap();
    assert_eq!(read(&target), format!("// new\n{before}"));
}

#[test]
fn servers_that_were_taken_over_come_back() {
    let place = Place::new();
    let target = place.target("cursor", ClientScope::User);
    let before = "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"a\" }, // a\n    \"b\": { \"command\": \"b\" },\n    \"c\": {}\n  }\n}\n";
    let take = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let plan =
            plan_connect(&target, &entry("cursor"), &names, OverwritePolicy::Keep, &place.records)
                .unwrap();
        plan.apply(&place.records).unwrap();
    };
    let names = || -> Vec<String> {
        let value: Value = serde_json::from_str(&read(&target).replace("// a", "")).unwrap();
        value["mcpServers"].as_object().unwrap().keys().cloned().collect()
    };
    write(&target, before);
    take(&["a"]);
    assert_eq!(names(), ["b", "c", "capdeck"]);
    take(&["b"]);
    assert_eq!(names(), ["c", "capdeck"]);
    place.connect(&target, &json!({ "url": "http://x/mcp" }), OverwritePolicy::Keep).unwrap();
    assert_eq!(names(), ["c", "capdeck"], "a renewed entry does not bring them back");
    write(&target, &read(&target).replace("\"c\": {}", "\"c\": { \"url\": \"y\" }"));
    place.disconnect(&target).unwrap();
    assert_eq!(names(), ["c", "a", "b"]);

    write(&target, before);
    take(&["a", "b"]);
    place.disconnect(&target).unwrap();
    assert_eq!(read(&target), before);
}

#[test]
fn bad_files_are_refused_and_left_alone() {
    let place = Place::new();
    let target = place.target("cursor", ClientScope::User);
    let refused = |text: &[u8]| {
        fs::create_dir_all(target.file.parent().unwrap()).unwrap();
        fs::write(&target.file, text).unwrap();
        let error =
            place.connect(&target, &entry("cursor"), OverwritePolicy::Overwrite).unwrap_err();
        assert_eq!(fs::read(&target.file).unwrap(), text);
        assert_eq!(fs::read_dir(target.file.parent().unwrap()).unwrap().count(), 1, "{error}");
        error.to_string().replace(&target.file.display().to_string(), "FILE")
    };
    for (text, message) in [
        (
            &b"{\"mcpServers\": {\n  \"a\" 1\n}}"[..],
            "`FILE` cannot be read, so it is left as it is: line 2, column 7: expected `:`, found `1`",
        ),
        (b"\xff\xfe{\x00}\x00", "`FILE` is not UTF-8 text"),
        (b"[]", "`FILE` cannot be edited: `the document` is a list, not a map"),
        (b"{\"mcpServers\": \"x\"}", "`FILE` cannot be edited: `mcpServers` is a text, not a map"),
    ] {
        assert_eq!(refused(text), message);
    }
    fs::remove_file(&target.file).unwrap();
    fs::create_dir(&target.file).unwrap();
    let error = place.connect(&target, &entry("cursor"), OverwritePolicy::Keep).unwrap_err();
    assert!(matches!(error, ConnectError::IsFolder { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn links_are_followed_for_a_person_and_not_out_of_a_project() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    let dotfiles = place.root().join("dotfiles.json");
    fs::write(&dotfiles, "{}").unwrap();
    let target = place.target("claude-code", ClientScope::User);
    symlink(&dotfiles, &target.file).unwrap();
    place.connect(&target, &entry("claude-code"), OverwritePolicy::Keep).unwrap();
    assert!(fs::read_to_string(&dotfiles).unwrap().contains("capdeck"));
    assert!(fs::symlink_metadata(&target.file).unwrap().is_symlink());
    place.disconnect(&target).unwrap();
    assert_eq!(fs::read_to_string(&dotfiles).unwrap(), "{}");

    let project = place.folders.project.clone().unwrap();
    symlink(place.root(), project.join(".cursor")).unwrap();
    symlink(&dotfiles, project.join(".mcp.json")).unwrap();
    symlink(place.root().join("nowhere"), project.join("opencode.json")).unwrap();
    for client in ["cursor", "claude-code", "opencode"] {
        let target = place.target(client, ClientScope::Project);
        let refused =
            place.connect(&target, &entry(client), OverwritePolicy::Overwrite).unwrap_err();
        assert!(matches!(refused, ConnectError::LeadsOutside { .. }), "{refused}");
    }
    assert_eq!(fs::read_to_string(&dotfiles).unwrap(), "{}");
    assert!(!place.root().join("mcp.json").exists() && !place.root().join("nowhere").exists());
}

#[cfg(unix)]
#[test]
fn files_that_may_not_be_written_are_refused_and_nothing_is_recorded() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let target = place.target("claude-code", ClientScope::User);
    write(&target, "{}");
    fs::set_permissions(&target.file, fs::Permissions::from_mode(0o444)).unwrap();
    let refused = place.connect(&target, &entry("claude-code"), OverwritePolicy::Keep).unwrap_err();
    assert!(matches!(refused, ConnectError::ReadOnly { .. }), "{refused}");
    assert_eq!(read(&target), "{}");
    assert!(!place.root().join("state").exists());
}

#[test]
fn a_plan_for_another_state_of_the_file_is_not_applied() {
    let place = Place::new();
    let target = place.target("claude-code", ClientScope::User);
    write(&target, "{}");
    let plan =
        plan_connect(&target, &entry("claude-code"), &[], OverwritePolicy::Keep, &place.records)
            .unwrap();
    write(&target, "{\"new\": true}");
    let refused = plan.apply(&place.records).unwrap_err();
    assert!(matches!(refused, ConnectError::Changed { .. }), "{refused}");
    assert_eq!(read(&target), "{\"new\": true}");
}

#[cfg(unix)]
#[test]
fn a_record_is_private_and_a_damaged_one_is_no_obstacle() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let target = place.target("claude-code", ClientScope::User);
    write(&target, "{\"a\": 1}");
    place.connect(&target, &entry("claude-code"), OverwritePolicy::Keep).unwrap();
    let folder = place.root().join("state/connections");
    let record = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::metadata(&record).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(&record, "not json").unwrap();
    place.disconnect(&target).unwrap();
    assert_eq!(read(&target), "{\"a\": 1, \"mcpServers\": {}}");
    assert!(!record.exists());
}
