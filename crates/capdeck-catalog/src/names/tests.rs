use proptest::prelude::*;

use super::*;

const RESERVED: [&str; 5] = ["search", "describe", "call_tool", "setup_tools", "code_mode"];

fn names(tools: &[(&str, &str)]) -> Vec<String> {
    let table = NameTable::build(&RESERVED, [], tools.iter().copied());
    tools.iter().map(|(id, tool)| table.tool_name(id, tool).unwrap().to_owned()).collect()
}

fn is_hashed_from(name: &str, start: &str) -> bool {
    name.starts_with(&format!("{start}{HASH_PREFIX}")) && looks_hashed(name)
}

#[test]
fn plain_names_stay_as_they_are() {
    assert_eq!(
        names(&[("github", "create_issue"), ("set__child", "list"), ("a_", "b"), ("a", "get-x")]),
        ["github__create_issue", "set__child__list", "a___b", "a__get-x"]
    );
}

#[test]
fn of_two_readings_of_one_name_only_one_is_natural() {
    let both = names(&[("a__b", "c"), ("a", "b__c")]);
    assert_eq!(both.first().unwrap(), "a__b__c");
    assert!(is_hashed_from(both.last().unwrap(), "a__b__c"));
    assert_eq!(names(&[("a", "b__c")]).first(), both.last(), "alone or not, the name is the same");
}

#[test]
fn illegal_and_long_names_are_made_legal() {
    let odd = names(&[("api", "GET /pets/{id}"), ("google", "drive.files.list"), ("ü", "日本")]);
    assert!(is_hashed_from(odd.first().unwrap(), "api__GET__pets__id_"));
    assert!(is_hashed_from(odd.get(1).unwrap(), "google__drive_files_list"));
    assert!(is_hashed_from(odd.last().unwrap(), "_____"));
    let long = "x".repeat(80);
    let cut = names(&[("api", &long)]);
    assert_eq!(cut.first().unwrap().len(), MAX_NAME_LENGTH);
}

#[test]
fn a_tool_cannot_choose_the_hashed_name_of_another() {
    let victim = names(&[("a", "b c")]);
    let tool = victim.first().unwrap().strip_prefix("a__").unwrap().to_owned();
    let both = names(&[("a", "b c"), ("a", &tool)]);
    assert_eq!(both.first(), victim.first());
    assert_ne!(both.first(), both.last());
}

#[test]
fn wrappers_keep_their_id_unless_it_is_reserved_and_direct_names_give_way() {
    let table = NameTable::build(&RESERVED, ["github", "search", "a__b"], [("a", "b"), ("a", "c")]);
    assert_eq!(table.wrapper_name("github"), Some("github"));
    assert!(is_hashed_from(table.wrapper_name("search").unwrap(), "search"));
    assert_eq!(table.wrapper_name("a__b"), Some("a__b"));
    assert!(is_hashed_from(table.tool_name("a", "b").unwrap(), "a__b"));
    assert_eq!(table.tool_name("a", "c"), Some("a__c"));
    assert_eq!(table.owner("a__c"), Some(&NameOwner::tool("a", "c")));
    assert_eq!(table.owner("a__d"), None);
}

#[test]
fn equal_short_hashes_make_all_parties_longer() {
    // One digit of hash forces clashes among these illegal names.
    let owners: Vec<NameOwner> =
        (0..200).map(|number| NameOwner::tool("a", &format!("{number} x"))).collect();
    let table = NameTable::assign(&[], &owners, [1, 50]);
    assert_eq!(table.owners.len(), owners.len());
    assert!(table.owners.keys().all(|name| name.len() <= MAX_NAME_LENGTH));
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof!["[ab_]{1,5}", "[A-Za-z0-9_-]{1,64}"]
}

fn tool() -> impl Strategy<Value = String> {
    prop_oneof!["[ab_]{1,5}", "[a-z_x0-9]{1,20}", "[A-Za-z0-9_./ -]{1,90}", "\\PC{0,20}"]
}

proptest! {
    #[test]
    fn names_are_legal_and_injective(
        wrappers in proptest::collection::btree_set(id(), 0..12),
        tools in proptest::collection::btree_set((id(), tool()), 0..60),
    ) {
        let table = NameTable::build(
            &RESERVED,
            wrappers.iter().map(String::as_str),
            tools.iter().map(|(id, tool)| (id.as_str(), tool.as_str())),
        );
        prop_assert_eq!(table.names.len(), wrappers.len() + tools.len());
        prop_assert_eq!(table.owners.len(), table.names.len());
        for (owner, name) in &table.names {
            prop_assert!((1..=MAX_NAME_LENGTH).contains(&name.len()) && name.chars().all(is_legal), "{}", name);
            prop_assert!(!RESERVED.contains(&name.as_str()));
            prop_assert_eq!(table.owner(name), Some(owner));
        }
    }

    #[test]
    fn other_tools_do_not_change_a_name(
        own in (id(), tool()),
        others in proptest::collection::vec((id(), tool()), 0..40),
    ) {
        let alone = NameTable::build(&RESERVED, [], [(own.0.as_str(), own.1.as_str())]);
        let all = others.iter().chain([&own]).map(|(id, tool)| (id.as_str(), tool.as_str()));
        let among = NameTable::build(&RESERVED, [], all);
        prop_assert_eq!(alone.tool_name(&own.0, &own.1), among.tool_name(&own.0, &own.1));
    }
}
