//! Which project a folder belongs to.

use std::fs;

use capdeck_definition::{DeckProject, DeckRoot, RootOwner, find_project};

use crate::folder::Folder;

fn roots(folder: &Folder, names: &[&str]) -> Vec<DeckRoot> {
    names
        .iter()
        .map(|name| DeckRoot { dir: folder.path(name), owner: RootOwner::Project })
        .collect()
}

#[test]
fn the_nearest_ancestor_with_a_deck_wins() {
    let folder = Folder::with(&[
        (".caplets/a.md", ""),
        (".capdeck/b.md", ""),
        ("inner/.caplets/c.md", ""),
        ("inner/src/deep/file", ""),
        ("other/src/file", ""),
    ]);
    let found = find_project(&folder.path("inner/src/deep"), None);
    let dir = folder.path("inner");
    assert_eq!(found, Some(DeckProject { dir, roots: roots(&folder, &["inner/.caplets"]) }));
    let found = find_project(&folder.path("other/src"), None);
    let expected =
        DeckProject { dir: folder.dir(), roots: roots(&folder, &[".caplets", ".capdeck"]) };
    assert_eq!(found, Some(expected));
}

#[test]
fn a_capability_file_marks_a_project_too() {
    for name in ["capabilities.yaml", "capabilities.json"] {
        let folder = Folder::with(&[(name, ""), ("src/file", "")]);
        let found = find_project(&folder.path("src"), None);
        assert_eq!(found, Some(DeckProject { dir: folder.dir(), roots: Vec::new() }));
    }
}

#[test]
fn the_walk_ends_after_a_repository_and_before_home() {
    let folder = Folder::with(&[(".capdeck/a.md", ""), ("repo/.git/HEAD", ""), ("repo/src/f", "")]);
    assert_eq!(find_project(&folder.path("repo/src"), None), None);
    assert_eq!(find_project(&folder.dir(), Some(&folder.dir())), None);
    fs::create_dir(folder.path("work")).unwrap();
    assert_eq!(find_project(&folder.path("work"), Some(&folder.dir())), None);
    fs::create_dir(folder.path("repo/.capdeck")).unwrap();
    let found = find_project(&folder.path("repo/src"), Some(&folder.dir()));
    assert_eq!(found.unwrap().dir, folder.path("repo"));
}

#[test]
fn a_file_named_like_a_deck_is_none() {
    let folder = Folder::with(&[(".capdeck", "not a folder"), (".git/HEAD", "")]);
    assert_eq!(find_project(&folder.dir(), None), None);
}
