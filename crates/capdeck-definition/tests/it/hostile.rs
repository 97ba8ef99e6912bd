//! Files that are broken or meant to do harm: one diagnostic, one quarantined entry, and nothing else suffers.

use std::{fs, fs::File};

use crate::folder::{Folder, caplet, codes, ids, quarantined};

/// Every test here has a good file beside the bad one.
fn folder_with(path: &str, text: &str) -> Folder {
    Folder::with(&[("good.md", &caplet("good")), (path, text)])
}

#[test]
fn a_huge_file_is_not_read() {
    for (name, id) in [("huge.md", "huge"), ("config.json", "config.json")] {
        let folder = folder_with(name, "");
        // One who reads a terabyte never comes to the end of it, nor has the memory.
        File::create(folder.path(name)).unwrap().set_len(1 << 40).unwrap();
        let deck = folder.deck();
        assert_eq!(codes(&deck), ["file-too-large"]);
        assert_eq!(quarantined(&deck), [id]);
        assert_eq!(ids(&deck), ["good"]);
    }
}

#[test]
fn the_limit_is_a_byte_count() {
    let fits = format!("{}{}", caplet("x"), "é".repeat((131_072 - caplet("x").len()) / 2));
    let deck = folder_with("edge.md", &fits).deck();
    assert_eq!(codes(&deck), [""; 0]);
    let deck = folder_with("edge.md", &format!("{fits}é")).deck();
    assert_eq!(codes(&deck), ["file-too-large"]);
}

#[test]
fn bytes_that_are_not_text_are_one_problem() {
    let folder = folder_with("binary.md", "");
    fs::write(folder.path("binary.md"), b"---\nname: \xff\xfe\n---\n").unwrap();
    let deck = folder.deck();
    assert_eq!(codes(&deck), ["not-utf8"]);
    assert_eq!(quarantined(&deck), ["binary"]);
    assert_eq!(ids(&deck), ["good"]);
}

#[test]
fn a_folder_wins_over_a_file_of_the_same_id() {
    let folder = Folder::with(&[("a.md", &caplet("file")), ("a/CAPLET.md", &caplet("folder"))]);
    let deck = folder.deck();
    assert_eq!(ids(&deck), ["a"]);
    assert_eq!(deck.definitions[0].source.path, folder.path("a/CAPLET.md"));
    assert_eq!(codes(&deck), ["duplicate-id"]);
    assert_eq!(quarantined(&deck), [""; 0]);
}

#[test]
fn two_files_of_one_id_cancel_each_other_out() {
    let folder = folder_with("a.md", &caplet("one"));
    folder.write("a.MD", &caplet("two"));
    // A file system that ignores case holds one file only, and then there is nothing to settle.
    if fs::read_dir(folder.dir()).unwrap().count() == 2 {
        return;
    }
    let deck = folder.deck();
    assert_eq!(ids(&deck), ["good"]);
    assert_eq!(codes(&deck), ["duplicate-id"]);
    assert_eq!(quarantined(&deck), ["a"]);
}

#[test]
fn a_child_and_a_file_of_one_id_cancel_each_other_out() {
    let plural = "---\nname: Two\ndescription: Two at once.\nmcpServers:\n  b: { command: b }\n  c: { command: c }\n---\n";
    let folder = Folder::with(&[("a.md", plural), ("a__b.md", &caplet("b"))]);
    let deck = folder.deck();
    assert_eq!(ids(&deck), ["a__c"]);
    assert_eq!(codes(&deck), ["duplicate-id"]);
    assert_eq!(quarantined(&deck), ["a__b"]);
}

#[test]
fn stray_documents_are_for_people() {
    let folder = Folder::with(&[
        ("README.md", "# A deck\n"),
        ("Changelog.md", "nothing yet\n"),
        ("license.md", ""),
        ("notes.md", "# Notes\n"),
        (".hidden.md", "# Hidden\n"),
        ("auth/CAPLET.md", "not a capability"),
        ("plain.txt", "text"),
    ]);
    let deck = folder.deck();
    assert_eq!(codes(&deck), ["no-frontmatter"]);
    assert_eq!(quarantined(&deck), ["notes"]);
    folder.write("README.md", &caplet("declared"));
    assert_eq!(ids(&folder.deck()), ["README"]);
}

#[test]
fn one_config_is_read_and_the_others_are_named() {
    let folder = Folder::with(&[
        ("config.json", r#"{ "options": { "surfaceTokens": 1 } }"#),
        ("config.yaml", "options: { surfaceTokens: 2 }"),
        ("config.yml", "options: { surfaceTokens: 3 }"),
    ]);
    let deck = folder.deck();
    assert_eq!(deck.config.surface_tokens, Some(1));
    assert_eq!(codes(&deck), ["several-configs"; 2]);
}

#[test]
fn a_file_full_of_mistakes_is_answered_in_short() {
    let mut text = String::from("{ \"mcpServers\": {");
    for index in 0..20_000 {
        text.push_str(&format!("\"server {index}\": {{ \"name\": \"x\", \"colour\": 1 }},"));
    }
    text.push_str("\"last\": {} } }");
    let folder = folder_with("config.json", &text);
    let deck = folder.deck();
    assert_eq!(deck.diagnostics.len(), 51);
    assert_eq!(codes(&deck)[0], "too-many-problems");
    assert_eq!(quarantined(&deck), ["config.json"]);
    assert_eq!(ids(&deck), ["good"]);
}

/// As deep as it may be and deeper, on a thread with as little stack as those that serve requests.
#[test]
fn deep_nesting_does_not_need_a_large_stack() {
    let flow = |depth: usize| format!("a: {}1{}", "{b: ".repeat(depth), "}".repeat(depth));
    let block = |depth: usize| format!("a:\n  {}x", "- ".repeat(depth));
    // Brackets in texts close nothing.
    let odd = |depth: usize| format!("a: {}", "{\"c]}\": ".repeat(depth));
    // Each alias expands to ten levels.
    let ten = format!("{}1{}", "[".repeat(10), "]".repeat(10));
    let alias = format!(
        "a: &a {ten}\nb: &b [[[[[[[[[[*a]]]]]]]]]]\nc: &c [[[[[[[[[[*b]]]]]]]]]]\nd: [[[[[[[[[[*c]]]]]]]]]]\n"
    );
    for text in [flow(60), flow(200), block(60), block(200), odd(130), alias] {
        let folder = folder_with("config.yaml", &text);
        let reading = move || ids(&folder.deck()) == ["good"];
        let thread = std::thread::Builder::new().stack_size(1 << 21).spawn(reading).unwrap();
        assert!(thread.join().unwrap(), "{text}");
    }
}
