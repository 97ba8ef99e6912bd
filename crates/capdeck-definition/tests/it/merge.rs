//! Several roots in one deck: order, options and the hash that trust is keyed by.

use capdeck_definition::{Deck, Exposure, SourceFile, SourceFormat, SourceLayer};

use crate::folder::{Folder, caplet, codes, ids, project, quarantined, user};

fn layers(deck: &Deck) -> Vec<(&str, SourceLayer)> {
    let pair =
        |definition: &std::sync::Arc<capdeck_definition::Definition>| definition.source.layer;
    deck.definitions.iter().map(|found| (found.id.as_str(), pair(found))).collect()
}

#[test]
fn definitions_come_lowest_precedence_first() {
    let config = |id: &str| {
        format!(
            r#"{{ "mcpServers": {{ "{id}": {{ "name": "Same", "description": "From a config file.", "command": "x" }} }} }}"#
        )
    };
    let folder = Folder::with(&[
        ("caplets/same.md", &caplet("a")),
        ("user/config.json", &config("same")),
        ("user/same.md", &caplet("b")),
        ("project/config.json", &config("same")),
        ("project/same.md", &caplet("c")),
    ]);
    let deck = Deck::read(&[
        user(&folder.path("caplets")),
        user(&folder.path("user")),
        project(&folder.path("project")),
    ]);
    let expected = [
        ("same", SourceLayer::UserFile),
        ("same", SourceLayer::UserConfig),
        ("same", SourceLayer::UserFile),
        ("same", SourceLayer::ProjectConfig),
        ("same", SourceLayer::ProjectFile),
    ];
    assert_eq!(layers(&deck), expected);
    assert_eq!(codes(&deck), [""; 0]);
}

#[test]
fn options_merge_one_by_one() {
    let folder = Folder::with(&[
        (
            "user/config.yaml",
            "defaultSearchLimit: 30\nmaxSearchLimit: 40\noptions: { exposure: direct, surfaceTokens: 500 }\nserve: { host: 127.0.0.1, port: 9000 }\n",
        ),
        (
            "project/config.json",
            r#"{ "maxSearchLimit": 25, "options": { "exposure": "search" }, "serve": { "host": "0.0.0.0" }, "telemetry": true, "storage": { "type": "sqlite" } }"#,
        ),
    ]);
    let deck = Deck::read(&[user(&folder.path("user")), project(&folder.path("project"))]);
    assert_eq!(deck.config.exposure, Some(Exposure::Search));
    assert_eq!(deck.config.surface_tokens, Some(500));
    assert_eq!((deck.config.default_search_limit, deck.config.max_search_limit), (25, 25));
    assert_eq!(deck.config.exposure_discovery_timeout_ms, 15_000);
    // A project must not decide where this machine listens.
    assert_eq!(deck.config.serve.host.as_deref(), Some("127.0.0.1"));
    assert_eq!(deck.config.serve.port, Some(9000));
    assert_eq!(codes(&deck), ["ignored-key"; 3]);
    assert_eq!(deck.user_config.exposure, Some(Exposure::Direct));
    assert_eq!(deck.user_config.max_search_limit, 40);
}

#[test]
fn roots_that_do_not_exist_are_empty_but_watched() {
    let folder = Folder::with(&[]);
    let missing = folder.path("nowhere");
    let deck = Deck::read(&[user(&missing)]);
    assert_eq!(deck, Deck { watched: vec![missing], ..Deck::default() });
}

#[test]
fn the_project_hash_covers_names_and_contents_of_project_files_only() {
    let folder = Folder::with(&[
        ("user/u.md", &caplet("u")),
        ("p/.capdeck/a.md", &caplet("a")),
        ("p/.capdeck/config.yaml", "options: {}"),
    ]);
    let roots = [user(&folder.path("user")), project(&folder.path("p/.capdeck"))];
    let hash = || Deck::read(&roots).project_hash.unwrap();
    let first = hash();
    assert_eq!(first.len(), 64);
    folder.write("user/u.md", &caplet("changed"));
    assert_eq!(hash(), first, "the user's own files need no trust");
    folder.write("p/.capdeck/a.md", &format!("{}\nmore", caplet("a")));
    let second = hash();
    assert_ne!(second, first);
    std::fs::rename(folder.path("p/.capdeck/a.md"), folder.path("p/.capdeck/b.md")).unwrap();
    assert_ne!(hash(), second);
    std::fs::remove_file(folder.path("p/.capdeck/config.yaml")).unwrap();
    assert_ne!(hash(), second);
    assert_eq!(Deck::read(&roots[..1]).project_hash, None);
}

#[test]
fn texts_in_memory_make_a_deck() {
    let file = |name: &str, format, text: &str| SourceFile {
        path: name.into(),
        layer: SourceLayer::Starter,
        format,
        text: Ok(text.to_owned()),
    };
    let deck = Deck::from_sources(vec![
        file("starter/good.md", SourceFormat::Caplet { id: "good".into() }, &caplet("x")),
        file("starter/bad.md", SourceFormat::Caplet { id: "bad".into() }, "nothing"),
        file("starter/config.yaml", SourceFormat::Config, "options: { exposure: search }"),
    ]);
    assert_eq!(layers(&deck), [("good", SourceLayer::Starter)]);
    assert_eq!(quarantined(&deck), ["bad"]);
    assert_eq!(deck.config.exposure, Some(Exposure::Search));
    assert_eq!(deck.project_hash, None);
}

#[test]
fn folders_of_capabilities_are_watched() {
    let folder =
        Folder::with(&[("a.md", &caplet("a")), ("b/CAPLET.md", &caplet("b")), ("c/x", "")]);
    let deck = folder.deck();
    assert_eq!(ids(&deck), ["a", "b"]);
    assert_eq!(deck.watched, [folder.dir(), folder.path("b")]);
}
