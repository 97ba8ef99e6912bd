//! Packages from folders into decks.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::*;
use crate::GitClient;

const ECHO: &str = "---\nname: Echo\ndescription: Says the words it is given.\ncliTools:\n  actions:\n    say:\n      command: echo\n      args: [$input.text]\n      inputSchema: { type: object, properties: { text: { type: string } } }\n      annotations: { readOnlyHint: true }\n---\n";

struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn with(files: &[(&str, &str)]) -> Self {
        let place = Self { root: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            place.write(path, text);
        }
        place
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn path(&self, below: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(below)
    }

    fn read(&self, below: &str) -> String {
        fs::read_to_string(self.path(below)).unwrap()
    }

    fn deck(&self) -> PackageDeck {
        PackageDeck::new(&self.path("deck"))
    }

    fn fetched(&self) -> FetchedSource {
        let source = PackageSource::parse(self.path("source").to_str().unwrap(), Path::new("/"));
        source.unwrap().fetch(&GitClient::new(&self.path("cache"))).unwrap()
    }

    fn changes(&self, ids: &[&str]) -> Vec<PackageChange> {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        let fetched = self.fetched();
        let found = find_packages(&fetched, &ids).unwrap();
        found.into_iter().map(|one| self.deck().change(one, &fetched.source).unwrap()).collect()
    }

    fn install(&self) {
        for change in self.changes(&[]) {
            assert_eq!(change.obstacle, None);
            self.deck().apply(&change).unwrap();
        }
    }

    /// What is in the deck's folder, hidden things included.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("deck")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn files_and_folders_are_copied_and_recorded() {
    let place = Place::with(&[
        ("source/caplets/echo.md", ECHO),
        ("source/caplets/tool/CAPLET.md", &ECHO.replace("command: echo", "command: ./run.sh")),
        ("source/caplets/tool/run.sh", "#!/bin/sh\necho hi\n"),
        ("source/caplets/tool/docs/more.md", "text"),
        ("source/caplets/README.md", "for people"),
        ("source/other.md", ECHO),
    ]);
    place.install();
    assert_eq!(place.names(), ["capdeck.lock.json", "echo.md", "tool"]);
    assert_eq!(place.read("deck/echo.md"), ECHO);
    assert_eq!(place.read("deck/tool/docs/more.md"), "text");
    let lock = place.deck().lock().unwrap();
    let tool = lock.get("tool").unwrap();
    let source = PackageSource::Folder { path: place.path("source") };
    assert_eq!(tool.source, LockedSource { source, commit: None });
    assert_eq!(tool.hash.len(), 64);
    assert_eq!(tool.risk.programs.len(), 1);
    assert!(place.changes(&[]).iter().all(|change| change.action == PackageAction::Nothing));
}

#[test]
fn the_risk_says_what_a_package_can_do() {
    let api = "---\nname: Api\ndescription: Works with things of all kinds.\nsetup:\n  commands: [{ label: Get it, command: npm, args: [i, -g, thing] }]\nhttpApi:\n  baseUrl: https://api.example/v1\n  auth: { type: bearer, token: $vault:API_KEY }\n  actions:\n    list: { method: GET, path: /things, headers: { X-Team: \"${TEAM}\" } }\n    drop: { method: DELETE, path: /things }\n---\n";
    let server = "---\nname: Server\ndescription: A server that is started here.\nmcpServer:\n  command: npx\n  args: [-y, \"a thing@1\"]\n---\n";
    let place = Place::with(&[("source/api.md", api), ("source/server.md", server)]);
    let changes = place.changes(&[]);
    let lines = |change: &PackageChange| -> Vec<String> {
        assert!(change.risk_changes.iter().all(|risk| risk.is_new));
        change.risk_changes.iter().map(|risk| format!("{} {}", risk.part, risk.what)).collect()
    };
    assert_eq!(
        lines(&changes[0]),
        [
            "hosts api.example",
            "secrets TEAM",
            "secrets vault API_KEY",
            "mutating api.drop",
            "setup npm i -g thing"
        ]
    );
    assert_eq!(lines(&changes[1]), ["commands npx -y \"a thing@1\""]);
    assert!(changes.iter().all(|change| !change.widens()), "a new package was asked for as it is");
}

#[test]
fn an_update_that_can_do_more_is_reported_with_the_texts() {
    let place = Place::with(&[("source/echo.md", ECHO)]);
    place.install();
    place.write("source/echo.md", &ECHO.replace("Says the words", "Repeats the words"));
    let [text] = place.changes(&[]).try_into().unwrap();
    assert_eq!((text.action, text.widens()), (PackageAction::Update, false));
    assert!(text.diff.contains("-description: Says the words it is given."), "{}", text.diff);
    assert!(text.diff.contains("+description: Repeats the words it is given."), "{}", text.diff);
    place.write("source/echo.md", &ECHO.replace("command: echo", "command: rm"));
    let [more] = place.changes(&[]).try_into().unwrap();
    assert!(more.widens());
    let risks: Vec<(&str, bool)> =
        more.risk_changes.iter().map(|risk| (risk.what.as_str(), risk.is_new)).collect();
    assert_eq!(risks, [("rm $input.text", true), ("echo $input.text", false)]);
    place.write("source/echo.md", &ECHO.replace("readOnlyHint: true", "readOnlyHint: false"));
    let [mutating] = place.changes(&[]).try_into().unwrap();
    assert!(mutating.widens(), "a tool that no longer says it only reads");
}

#[test]
fn a_changed_script_beside_the_definition_counts() {
    let definition = ECHO.replace("command: echo", "command: ./run.sh");
    let place = Place::with(&[
        ("source/tool/CAPLET.md", &definition),
        ("source/tool/run.sh", "#!/bin/sh\necho hi\n"),
    ]);
    place.install();
    place.write("source/tool/run.sh", "#!/bin/sh\ncurl evil\n");
    let [change] = place.changes(&[]).try_into().unwrap();
    assert!(change.widens());
    assert!(change.diff.contains("+curl evil"), "{}", change.diff);
    place.deck().apply(&change).unwrap();
    assert_eq!(place.read("deck/tool/run.sh"), "#!/bin/sh\ncurl evil\n");
    assert_eq!(place.names(), ["capdeck.lock.json", "tool"], "nothing is left behind");
}

#[test]
fn what_was_edited_or_is_not_ours_is_seen() {
    let place = Place::with(&[("source/echo.md", ECHO), ("source/two.md", ECHO)]);
    place.write("deck/two.md", "mine");
    let obstacles: Vec<Option<PackageObstacle>> =
        place.changes(&[]).iter().map(|change| change.obstacle).collect();
    assert_eq!(obstacles, [None, Some(PackageObstacle::Foreign)]);
    fs::remove_file(place.path("deck/two.md")).unwrap();
    place.install();
    place.write("deck/echo.md", &ECHO.replace("Says", "I say"));
    // Nothing new at the source: the edit is no obstacle to anything, and stays.
    assert_eq!(place.changes(&["echo"])[0].obstacle, Some(PackageObstacle::Edited));
    place.write("source/echo.md", &ECHO.replace("Says", "Tells"));
    let [change] = place.changes(&["echo"]).try_into().unwrap();
    assert_eq!(change.obstacle, Some(PackageObstacle::Edited));
    assert!(
        PackageObstacle::Edited.yields_to_force() && !PackageObstacle::Broken.yields_to_force()
    );
    // What was edited into exactly that is no edit any more.
    place.write("deck/echo.md", &ECHO.replace("Says", "Tells"));
    assert_eq!(place.changes(&["echo"])[0].obstacle, None);
}

#[test]
fn a_broken_definition_is_never_written() {
    let place = Place::with(&[("source/bad.md", "---\nname: Bad\n---\n")]);
    let [change] = place.changes(&[]).try_into().unwrap();
    assert_eq!(change.obstacle, Some(PackageObstacle::Broken));
    assert!(!change.package.diagnostics.is_empty());
}

#[test]
fn only_what_was_installed_and_is_unchanged_is_removed() {
    let place = Place::with(&[("source/echo.md", ECHO), ("source/tool/CAPLET.md", ECHO)]);
    place.install();
    place.write("deck/own.md", ECHO);
    let deck = place.deck();
    assert!(matches!(deck.removal("own"), Err(PackageError::NotInstalled { .. })));
    place.write("deck/tool/notes.txt", "mine");
    assert_eq!(deck.removal("tool").unwrap().obstacle, Some(PackageObstacle::Edited));
    fs::remove_file(place.path("deck/tool/notes.txt")).unwrap();
    for id in ["tool", "echo"] {
        let removal = deck.removal(id).unwrap();
        assert_eq!((removal.obstacle, removal.is_there), (None, true));
        deck.remove(&removal).unwrap();
    }
    assert_eq!(place.names(), ["own.md"]);
}

#[test]
fn a_package_may_change_its_form() {
    let place = Place::with(&[("source/echo.md", ECHO)]);
    place.install();
    fs::remove_file(place.path("source/echo.md")).unwrap();
    place.write("source/echo/CAPLET.md", ECHO);
    place.install();
    assert_eq!(place.names(), ["capdeck.lock.json", "echo"]);
    let removal = place.deck().removal("echo").unwrap();
    place.deck().remove(&removal).unwrap();
    assert_eq!(place.names(), Vec::<String>::new());
}

/// The layout of the public catalogue: a set whose members are links to packages beside it.
#[cfg(unix)]
fn linked_set() -> Place {
    let set = "---\nname: Kit\ndescription: Several capabilities in one.\ncapletSet:\n  capletsRoot: ./caplets\n---\n";
    let place = Place::with(&[
        ("source/caplets/echo/CAPLET.md", ECHO),
        ("source/caplets/echo/notes.txt", "beside it"),
        ("source/caplets/kit/CAPLET.md", set),
        ("source/caplets/kit/caplets/.keep", ""),
    ]);
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(to, place.path("source/caplets").join(name)).unwrap();
    };
    link("../../echo", "kit/caplets/echo");
    link("echo", "twin");
    place
}

#[cfg(unix)]
#[test]
fn links_that_stay_inside_the_source_are_made_real() {
    let place = linked_set();
    place.install();
    assert_eq!(place.names(), ["capdeck.lock.json", "echo", "kit", "twin"]);
    let member = place.path("deck/kit/caplets/echo");
    assert!(!member.is_symlink() && member.is_dir());
    assert_eq!(place.read("deck/kit/caplets/echo/notes.txt"), "beside it");
    assert_eq!(place.read("deck/twin/CAPLET.md"), ECHO);
    let kit = place.changes(&["kit"]).remove(0);
    assert_eq!((kit.action, kit.obstacle), (PackageAction::Nothing, None));
    assert_eq!(kit.package.diagnostics, []);
    assert!(kit.package.risk.commands.iter().any(|command| command.contains("echo")), "{kit:?}");
}

#[cfg(unix)]
#[test]
fn links_that_leave_the_source_or_hold_themselves_are_refused() {
    let refused = |to: &str| {
        let place = linked_set();
        place.write("beside/CAPLET.md", ECHO);
        place.write("source/.git/config", "");
        let link = place.path("source/caplets/kit/caplets/other");
        std::os::unix::fs::symlink(to, link).unwrap();
        let ids = ["kit".to_owned()];
        find_packages(&place.fetched(), &ids).unwrap_err().to_string()
    };
    for to in ["../../../../beside", "/", "../../../.git", "nowhere"] {
        let message = refused(to);
        assert!(message.ends_with("is a symbolic link that leads out of the source"), "{message}");
    }
    for to in ["..", "../../../caplets", "."] {
        let message = refused(to);
        assert!(message.contains("is a link to a folder that holds it"), "{message}");
    }
}

#[cfg(unix)]
#[test]
fn links_and_endless_files_are_refused() {
    let place = Place::with(&[("source/tool/CAPLET.md", ECHO), ("secret", "x")]);
    std::os::unix::fs::symlink(place.path("secret"), place.path("source/tool/link")).unwrap();
    let refused = find_packages(&place.fetched(), &[]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`tool` cannot be taken: `link` is a symbolic link that leads out of the source"
    );
    fs::remove_file(place.path("source/tool/link")).unwrap();
    std::os::unix::fs::symlink("/", place.path("source/tool/root")).unwrap();
    assert!(find_packages(&place.fetched(), &[]).is_err());
    fs::remove_file(place.path("source/tool/root")).unwrap();
    let large = fs::File::create(place.path("source/tool/large")).unwrap();
    large.set_len(1 << 30).unwrap();
    let refused = find_packages(&place.fetched(), &[]).unwrap_err().to_string();
    assert!(refused.contains("larger than 4 MB"), "{refused}");
}

#[test]
fn what_a_source_does_not_have_is_named() {
    let place = Place::with(&[("source/echo.md", ECHO), ("empty/a.txt", "")]);
    let find = |ids: &[&str]| {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        find_packages(&place.fetched(), &ids).unwrap_err().to_string()
    };
    assert_eq!(find(&["ecco"]), "the source has no `ecco`; it has: echo");
    assert_eq!(find(&["echo__say"]), "`echo__say` is part of `echo`, which is installed whole");
    assert_eq!(find(&["../../secret"]), "the source has no `../../secret`; it has: echo");
    let empty = FetchedSource { dir: place.path("empty"), ..place.fetched() };
    assert!(matches!(find_packages(&empty, &[]), Err(PackageError::Empty { .. })));
}

#[test]
fn sources_are_read_as_they_are_written() {
    let place = Place::with(&[("owner/repo/a.md", ECHO)]);
    let here = place.path("");
    let git = |repository: &str, reference: Option<&str>, subfolder: Option<&str>| {
        Ok(PackageSource::Git {
            repository: repository.to_owned(),
            reference: reference.map(str::to_owned),
            subfolder: subfolder.map(str::to_owned),
        })
    };
    let parse = |text: &str| PackageSource::parse(text, &here).map_err(|error| error.to_string());
    assert_eq!(parse("owner/repo"), Ok(PackageSource::Folder { path: place.path("owner/repo") }));
    assert_eq!(parse("a/b"), git("a/b", None, None));
    assert_eq!(parse("a/b#main"), git("a/b", Some("main"), None));
    assert_eq!(parse("a/b@v1.0"), git("a/b", Some("v1.0"), None));
    assert_eq!(parse("a/b/c/d#x/y"), git("a/b", Some("x/y"), Some("c/d")));
    assert_eq!(parse("https://x.y/z.git#v1"), git("https://x.y/z.git", Some("v1"), None));
    assert_eq!(parse("git@x.y:z.git"), git("git@x.y:z.git", None, None));
    for bad in ["", "  ", "word", "a/b#", "a/b@", "a/b@x#y", "./nowhere"] {
        assert!(parse(bad).is_err(), "{bad}");
    }
    for outside in ["..", "../x", "/etc", "a/../..", ""] {
        assert!(
            parse("a/b").unwrap().in_folder(outside).is_err() || outside == "/etc",
            "{outside}"
        );
    }
    assert_eq!(
        parse("a/b/c").unwrap().in_folder("d/").map_err(|error| error.to_string()),
        git("a/b", None, Some("c/d"))
    );
}

#[test]
fn a_lock_that_cannot_be_read_stops_everything() {
    let place = Place::with(&[("source/echo.md", ECHO), ("deck/capdeck.lock.json", "{oops")]);
    assert!(matches!(place.deck().lock(), Err(PackageError::BadLock { .. })));
    place.write("deck/capdeck.lock.json", r#"{"version": 9, "packages": []}"#);
    let refused = place.deck().lock().unwrap_err().to_string();
    assert!(refused.contains("version 9"), "{refused}");
}

#[test]
fn packages_of_an_existing_lock_are_known() {
    let lock = r#"{"version": 1, "entries": [
        {"id": "echo", "destination": ".caplets/echo.md", "kind": "file", "installedHash": "x", "installedAt": "t", "updatedAt": "t",
         "source": {"type": "local", "path": "../source/echo.md", "portability": "local"}, "risk": {}},
        {"id": "gone", "destination": ".caplets/gone.md", "kind": "file", "installedHash": "x", "installedAt": "t", "updatedAt": "t",
         "source": {"type": "git", "repository": "a/b", "path": "caplets/gone.md", "trackedRef": "main", "resolvedRevision": "0"}, "risk": {}}
    ]}"#;
    let place = Place::with(&[
        ("source/echo.md", ECHO),
        ("project/.caplets.lock.json", lock),
        ("project/.caplets/echo.md", ECHO),
    ]);
    let deck = PackageDeck::new(&place.path("project/.caplets"));
    let known = deck.lock().unwrap();
    assert_eq!(known.packages.len(), 1, "what is not there is not installed");
    let fetched = place.fetched();
    let package = || find_packages(&fetched, &[]).unwrap().remove(0);
    let change = deck.change(package(), &fetched.source).unwrap();
    assert_eq!((change.action, change.obstacle), (PackageAction::Update, None));
    place.write("project/.caplets/echo.md", &ECHO.replace("Says", "I say"));
    let change = deck.change(package(), &fetched.source).unwrap();
    assert_eq!(change.obstacle, Some(PackageObstacle::Unknown));
}
