//! Nested collections.

use capdeck_definition::{Deck, SourceLayer};

use crate::folder::{Folder, caplet, codes, ids, project, quarantined, set};

#[test]
fn members_stand_below_their_set_and_follow_it() {
    let plural =
        "---\nname: Two\ndescription: Two at once.\nmcpServers:\n  x: { command: x }\n---\n";
    let folder = Folder::with(&[("zoo.md", &set("../members")), ("alpha.md", &caplet("alpha"))]);
    let outside = Folder::with(&[
        ("members/a.md", &caplet("a")),
        ("members/many.md", plural),
        ("members/inner.md", &set("./deeper")),
        ("members/deeper/b.md", &caplet("b")),
        ("members/bad.md", "nothing"),
    ]);
    folder.write("zoo.md", &set(outside.path("members").to_str().unwrap()));
    let deck = folder.deck();
    let expected = ["alpha", "zoo", "zoo__a", "zoo__inner", "zoo__inner__b", "zoo__many__x"];
    assert_eq!(ids(&deck), expected);
    assert_eq!(quarantined(&deck), ["zoo__bad"]);
    let find = |id: &str| deck.definitions.iter().find(|found| found.id.as_str() == id).unwrap();
    let text = |id: &Option<capdeck_definition::CapabilityId>| {
        id.as_ref().map(|id| id.as_str().to_owned())
    };
    assert_eq!(text(&find("zoo").member_of), None);
    assert_eq!(text(&find("zoo__a").member_of).as_deref(), Some("zoo"));
    assert_eq!(text(&find("zoo__inner__b").member_of).as_deref(), Some("zoo__inner"));
    assert_eq!(text(&find("zoo__many__x").parent).as_deref(), Some("zoo__many"));
    assert_eq!(find("zoo__a").source.layer, SourceLayer::SetFile);
    for watched in ["members", "members/deeper"] {
        assert!(deck.watched.contains(&outside.path(watched)), "{watched}");
    }
}

#[test]
fn a_set_may_have_a_config_and_its_options_stay_inside() {
    let config =
        r#"{ "options": { "surfaceTokens": 5 }, "mcpServers": { "c": { "command": "c" } } }"#;
    let text = "---\nname: Set\ndescription: A nested collection.\ncapletSet:\n  configPath: below/config.json\n---\n";
    let folder = Folder::with(&[("s.md", text), ("below/config.json", config)]);
    let deck = folder.deck();
    assert_eq!(ids(&deck), ["s", "s__c"]);
    assert_eq!(deck.definitions[1].source.layer, SourceLayer::SetConfig);
    assert_eq!(deck.config.surface_tokens, None);
}

#[test]
fn a_cycle_is_one_problem() {
    let folder = Folder::with(&[("self.md", &set(".")), ("good.md", &caplet("good"))]);
    let deck = folder.deck();
    assert_eq!(codes(&deck), ["cyclic-set"]);
    assert_eq!(quarantined(&deck), ["self"]);
    assert_eq!(ids(&deck), ["good"]);

    let folder = Folder::with(&[
        ("a/one.md", &set("../../b")),
        ("b/two.md", &set("../a")),
        ("root/start.md", &set("../a")),
    ]);
    folder.write("a/one.md", &set("../b"));
    let deck = Deck::read(&[crate::folder::user(&folder.path("root"))]);
    assert_eq!(codes(&deck), ["cyclic-set"]);
    assert_eq!(ids(&deck), ["start", "start__one"]);
    assert_eq!(quarantined(&deck), ["start__one__two"]);
    let place = (deck.diagnostics[0].line, deck.diagnostics[0].column);
    assert_eq!(place, (4, 1));
}

#[test]
fn sets_that_multiply_end() {
    // Each folder nests the next one twice: 2^12 copies of the last without a limit.
    let folder = Folder::with(&[]);
    for level in 0..12 {
        let next = set(&format!("../d{}", level + 1));
        folder.write(&format!("d{level}/a.md"), &next);
        folder.write(&format!("d{level}/b.md"), &next);
    }
    folder.write("d12/leaf.md", &caplet("leaf"));
    let deck = Deck::read(&[crate::folder::user(&folder.path("d0"))]);
    assert!(deck.definitions.len() < 2_000, "{}", deck.definitions.len());
    assert!(codes(&deck).contains(&"set-too-deep"));
}

#[test]
fn a_disabled_set_is_not_read() {
    let text = "---\nname: Set\ndescription: A nested collection.\ncapletSet:\n  disabled: true\n  capletsRoot: ./nowhere\n---\n";
    let deck = Folder::with(&[("off.md", text)]).deck();
    assert_eq!(ids(&deck), ["off"]);
    assert_eq!(codes(&deck), [""; 0]);
}

#[test]
fn what_a_project_nests_needs_the_projects_trust() {
    let folder =
        Folder::with(&[(".capdeck/s.md", &set("../tools")), ("tools/run.md", &caplet("run"))]);
    let roots = [project(&folder.path(".capdeck"))];
    let deck = Deck::read(&roots);
    assert_eq!(ids(&deck), ["s", "s__run"]);
    assert!(deck.definitions.iter().all(|found| found.source.layer.needs_trust()));
    folder.write("tools/run.md", &caplet("other"));
    assert_ne!(Deck::read(&roots).project_hash, deck.project_hash);
}

#[test]
fn a_members_full_id_must_fit() {
    let long = format!("{}.md", "m".repeat(60));
    let folder = Folder::with(&[("set.md", &set("./in"))]);
    folder.write(&format!("in/{long}"), &caplet("x"));
    folder.write("in/ok.md", &caplet("x"));
    let deck = folder.deck();
    assert_eq!(ids(&deck), ["set", "set__ok"]);
    assert_eq!(codes(&deck), ["id-too-long"]);
}

#[cfg(unix)]
#[test]
fn a_set_whose_members_cannot_be_read_is_not_available() {
    let outside = Folder::with(&[("a/CAPLET.md", &caplet("a")), ("empty/note.txt", "")]);
    let folder = Folder::with(&[("kit.md", &set("./members")), ("members/.keep", "")]);
    std::os::unix::fs::symlink(outside.path("a"), folder.path("members/a")).unwrap();
    let deck = folder.deck();
    assert_eq!(codes(&deck), ["symlink", "no-members"]);
    assert_eq!(ids(&deck), Vec::<String>::new());
    assert_eq!(quarantined(&deck), ["kit"]);
    assert_eq!(deck.quarantined[0].reason, "none of the members of this set can be used");

    folder.write("members/b.md", &caplet("b"));
    assert_eq!(ids(&folder.deck()), ["kit", "kit__b"], "one that can be read is enough");

    folder.write("kit.md", &set(outside.path("empty").to_str().unwrap()));
    assert_eq!(ids(&folder.deck()), ["kit"], "an empty folder is no problem");
}
