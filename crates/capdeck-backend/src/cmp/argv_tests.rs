//! What becomes of a template and values: the words a program gets.

use capdeck_definition::{CmpIntent, CmpParam, CmpType, CommandTemplate};
use indexmap::IndexMap;
use serde_json::{Map, Value, json, value::RawValue};

use super::{argv, keep_digits};

/// An intent whose parameters are `name: type`, `!` for a required one and `=JSON` for a default.
fn intent(command: &str, params: &[(&str, CmpType, &str)]) -> CmpIntent {
    let params: IndexMap<String, CmpParam> = params
        .iter()
        .map(|(name, kind, more)| {
            let param = CmpParam {
                kind: *kind,
                required: *more == "!",
                default: more.strip_prefix('=').map(|text| serde_json::from_str(text).unwrap()),
                description: None,
                choices: Vec::new(),
                allow_leading_dash: false,
            };
            ((*name).to_owned(), param)
        })
        .collect();
    CmpIntent {
        patterns: vec!["x".to_owned()],
        command: CommandTemplate::parse(command).unwrap(),
        params,
        returns: None,
        confirm: false,
        destructive: false,
        idempotent: true,
    }
}

/// The same intent with values that may begin with `-`.
fn allowing_dashes(mut intent: CmpIntent) -> CmpIntent {
    intent.params.values_mut().for_each(|param| param.allow_leading_dash = true);
    intent
}

fn words(intent: &CmpIntent, arguments: &Value) -> Result<Vec<String>, String> {
    words_of(intent, &arguments.to_string())
}

/// The same for arguments as they arrive.
fn words_of(intent: &CmpIntent, given: &str) -> Result<Vec<String>, String> {
    let mut arguments: Map<String, Value> = serde_json::from_str(given).unwrap();
    intent.coerce(&mut arguments);
    let given = RawValue::from_string(given.to_string()).unwrap();
    keep_digits(intent, Some(&given), &mut arguments);
    argv(intent, &arguments, Some("/home/ada")).map_err(|error| error.message)
}

#[track_caller]
fn check(intent: &CmpIntent, arguments: Value, expected: &[&str]) {
    assert_eq!(words(intent, &arguments).unwrap(), expected, "{arguments}");
}

#[test]
fn integers_of_any_size_keep_their_digits() {
    let intent = intent(
        "m --id={id} {ids}",
        &[("id", CmpType::Integer, ""), ("ids", CmpType::Integers, "")],
    );
    let large = "123456789012345678901234567890";
    for (given, expected) in [
        (format!(r#"{{"id":{large}}}"#), vec![format!("--id={large}")]),
        (format!(r#"{{"id":"-{large}"}}"#), vec![format!("--id=-{large}")]),
        (
            format!(r#"{{"ids":[1,{large},"{large}"]}}"#),
            vec!["1".into(), large.into(), large.into()],
        ),
        (r#"{"id":9007199254740993}"#.to_owned(), vec!["--id=9007199254740993".to_owned()]),
    ] {
        let words = words_of(&intent, &given).unwrap();
        assert_eq!(words.get(1..).unwrap(), expected, "{given}");
    }
}

#[test]
fn the_home_folder_is_that_of_the_person() {
    let intent = intent("~/bin/m --to=$HOME/{name} '~'", &[("name", CmpType::String, "!")]);
    check(&intent, json!({"name": "a b"}), &["/home/ada/bin/m", "--to=/home/ada/a b", "~"]);
    let arguments = Map::from_iter([("name".to_owned(), json!("x"))]);
    let error = argv(&intent, &arguments, None).unwrap_err();
    assert!(error.message.contains("`HOME` is not set"), "{}", error.message);
}

#[test]
fn values_fill_the_words_they_stand_in() {
    let intent = intent(
        r#"m find "{query}" --n={n} --on={flag} 'a {query} b'"#,
        &[
            ("query", CmpType::String, "!"),
            ("n", CmpType::Integer, "=20"),
            ("flag", CmpType::Boolean, "=false"),
        ],
    );
    check(
        &intent,
        json!({"query": "x y"}),
        &["m", "find", "x y", "--n=20", "--on=false", "a x y b"],
    );
    check(
        &intent,
        json!({"query": 5, "n": "7", "flag": "true"}),
        &["m", "find", "5", "--n=7", "--on=true", "a 5 b"],
    );
    check(
        &intent,
        json!({"query": "", "n": null}),
        &["m", "find", "", "--n=20", "--on=false", "a  b"],
    );
    assert_eq!(words(&intent, &json!({})), Err("argument `query` is missing".to_owned()));
}

#[test]
fn a_list_takes_the_words_it_was_left_and_no_other() {
    let list = intent("m rm --ids {ids} --only={ids}", &[("ids", CmpType::Strings, "!")]);
    check(&list, json!({"ids": ["a", "b c"]}), &["m", "rm", "--ids", "a", "b c", "--only=a,b c"]);
    check(&list, json!({"ids": [1, "2"]}), &["m", "rm", "--ids", "1", "2", "--only=1,2"]);
    assert_eq!(words(&list, &json!({"ids": []})), Err("argument `ids` is missing".to_owned()));
    assert_eq!(words(&list, &json!({"ids": "a"})), Err("argument `ids` must be a list".to_owned()));
    let single = intent("m {id}", &[("id", CmpType::String, "!")]);
    assert_eq!(
        words(&single, &json!({"id": ["a", "b"]})),
        Err("argument `id` must not be a list".to_owned())
    );
}

#[test]
fn what_is_left_out_goes_with_its_flag() {
    let intent = intent(
        "m --all --count {count} --by={by} -n {n} end {last}",
        &[
            ("count", CmpType::Integer, ""),
            ("by", CmpType::String, ""),
            ("n", CmpType::Integer, ""),
            ("last", CmpType::Strings, ""),
        ],
    );
    check(&intent, json!({}), &["m", "--all", "-n", "end"]);
    check(&intent, json!({"count": 0}), &["m", "--all", "--count", "0", "-n", "end"]);
    check(&intent, json!({"by": "x", "last": []}), &["m", "--all", "--by=x", "-n", "end"]);
    check(&intent, json!({"n": 2, "last": ["z"]}), &["m", "--all", "-n", "2", "end", "z"]);
}

#[test]
fn only_the_flag_of_a_left_out_value_goes() {
    let intent = intent(
        "m --verbose --by={by} --flag {a} {b}",
        &[("by", CmpType::String, ""), ("a", CmpType::String, ""), ("b", CmpType::String, "")],
    );
    check(&intent, json!({}), &["m", "--verbose"]);
    check(&intent, json!({"b": "x"}), &["m", "--verbose", "x"]);
    let refused = words(&intent, &json!({"a": "--flag"})).unwrap_err();
    assert!(refused.starts_with("argument `a` begins with `-`"), "{refused}");
    let intent = allowing_dashes(intent);
    check(&intent, json!({"a": "--flag"}), &["m", "--verbose", "--flag", "--flag"]);
}

#[test]
fn no_value_adds_a_word() {
    let params = [("v", CmpType::String, "!"), ("l", CmpType::Strings, "!")];
    let intent = allowing_dashes(intent("m {v} pre{v}post {l} --l={l} '{v}'", &params));
    let hostile = [
        "a b",
        "a\tb\nc",
        "'; rm -rf / #",
        "\" \"",
        "$(id)",
        "`id`",
        "${HOME}",
        "a;b",
        "a|b",
        "a&&b",
        ">f",
        "*",
        "~",
        "--force",
        "-rf",
        "\\",
        "\\ ",
        "{l}",
        "{v} {v}",
        "",
        "é\u{202e}",
        "#x",
    ];
    for value in hostile {
        let given = json!({"v": value, "l": [value, value]});
        let expected = [
            "m".to_owned(),
            value.to_owned(),
            format!("pre{value}post"),
            value.to_owned(),
            value.to_owned(),
            format!("--l={value},{value}"),
            value.to_owned(),
        ];
        assert_eq!(words(&intent, &given).unwrap(), expected, "{value}");
    }
    assert_eq!(
        words(&intent, &json!({"v": "a\u{0}b", "l": ["x"]})),
        Err("argument `v` holds a NUL character, which no program can be given".to_owned())
    );
}

#[test]
fn an_object_is_given_as_json() {
    let intent = intent("m {o}", &[("o", CmpType::Object, "!")]);
    check(&intent, json!({"o": {"a": [1, "b c"]}}), &["m", r#"{"a":[1,"b c"]}"#]);
}
