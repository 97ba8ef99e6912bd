use super::*;

const CONFIG: &str = "{\n  // mine\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" },\n    \"My Server\": { \"command\": \"y\", \"enabled\": false }\n  }\n}\n";

struct TestDeck {
    dir: tempfile::TempDir,
    removed: RemovedDefinitions,
}

impl TestDeck {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let removed = RemovedDefinitions::new(&dir.path().join("state"));
        Self { dir, removed }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.dir.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    /// Removes, checks what is left, and puts it back.
    fn check(&self, id: &str, file: &Path, owner: DefinitionOwner<'_>, left: Option<&str>) {
        let before = fs::read_to_string(file).unwrap();
        let place = DefinitionPlace::find(id, file, owner).unwrap();
        self.removed.remove(id, &place).unwrap();
        assert_eq!(fs::read_to_string(file).ok().as_deref(), left, "{id}");
        assert_eq!(self.removed.undo(id).unwrap().path, place.path());
        assert_eq!(fs::read_to_string(file).unwrap(), before, "{id}");
        assert!(matches!(self.removed.undo(id), Err(DeckEditError::NotRemoved { .. })));
    }
}

const PLURAL: &str = "---\nname: Two\ndescription: Two servers in one file.\nmcpServers:\n  one:\n    command: x # first\n  two:\n    command: y\n---\n\n# Two\n";

#[test]
fn everything_can_be_taken_out_and_put_back() {
    let deck = TestDeck::new();
    let none = DefinitionOwner::default();
    let file = deck.write("deck/time.md", "---\nname: Time\n---\n");
    deck.check("time", &file, none, None);
    let file = deck.write("deck/box/CAPLET.md", "---\nname: Box\n---\n");
    deck.write("deck/box/run.sh", "exit 0\n");
    deck.check("box", &file, none, None);
    assert!(deck.dir.path().join("deck/box/run.sh").exists());
    let file = deck.write("deck/config.json", CONFIG);
    let left = CONFIG.replace("    \"a\": { \"command\": \"x\" },\n", "");
    deck.check("a", &file, none, Some(&left));
    let place = DefinitionPlace::find("My-Server", &file, none).unwrap();
    assert_eq!(place.key().unwrap(), "mcpServers.My Server");
    let of_set = DefinitionOwner { set: Some("team"), ..none };
    deck.check("team__a", &file, of_set, Some(&left));
    let file = deck.write("deck/two.md", PLURAL);
    let of_file = DefinitionOwner { parent: Some("two"), ..none };
    let left = PLURAL.replace("  one:\n    command: x # first\n", "");
    deck.check("two__one", &file, of_file, Some(&left));
    // The last one takes the file with it.
    fs::write(&file, left).unwrap();
    deck.check("two__two", &file, of_file, None);
    let file = deck.write("p/capabilities.yaml", "servers:\n  - id: a\n    type: mcp\n  - id: b\n    type: mcp\ntools:\n  - id: t\n    type: mcp\n    def: { server: \"@b\", tool: x }\n");
    let left = fs::read_to_string(&file).unwrap().replace("  - id: a\n    type: mcp\n", "");
    deck.check("a", &file, none, Some(&left));
    let refused = DefinitionPlace::find("b", &file, none).unwrap_err();
    assert!(refused.to_string().starts_with("the tool `t` of"), "{refused}");
}

#[test]
fn a_removal_survives_other_edits_or_says_what_was_there() {
    let deck = TestDeck::new();
    let file = deck.write("deck/config.json", CONFIG);
    let place = DefinitionPlace::find("a", &file, DefinitionOwner::default()).unwrap();
    deck.removed.remove("a", &place).unwrap();
    fs::write(&file, "{}").unwrap();
    let Err(DeckEditError::Changed { removed, .. }) = deck.removed.undo("a") else {
        panic!("the file is another one")
    };
    assert!(removed.contains("\"command\": \"x\""), "{removed}");
    let file = deck.write("deck/time.md", "old");
    let place = DefinitionPlace::File(file.clone());
    deck.removed.remove("time", &place).unwrap();
    fs::write(&file, "new").unwrap();
    assert!(matches!(deck.removed.undo("time"), Err(DeckEditError::Occupied { .. })));
    assert_eq!(fs::read_to_string(&file).unwrap(), "new");
}

#[test]
fn a_capability_is_switched_off_and_on_in_its_own_file() {
    let deck = TestDeck::new();
    let none = DefinitionOwner::default();
    let single = "---\nname: Time\nmcpServer:\n  command: uvx\n---\nbody: x\n";
    let file = deck.write("deck/time.md", single);
    let place = DefinitionPlace::find("time", &file, none).unwrap();
    assert!(place.set_disabled(true).unwrap() && !place.set_disabled(true).unwrap());
    let off = single.replace("  command: uvx\n", "  command: uvx\n  disabled: true\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), off);
    assert!(place.set_disabled(false).unwrap());
    assert_eq!(fs::read_to_string(&file).unwrap(), single);
    let file = deck.write("deck/two.md", PLURAL);
    let owner = DefinitionOwner { parent: Some("two"), ..none };
    DefinitionPlace::find("two__two", &file, owner).unwrap().set_disabled(true).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("  two:\n    command: y\n    disabled: true\n"), "{text}");
    let file = deck.write("deck/config.json", CONFIG);
    let place = DefinitionPlace::find("My-Server", &file, none).unwrap();
    assert!(place.set_disabled(false).unwrap());
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, CONFIG.replace(", \"enabled\": false", ""));
}
