use serde_json::json;

use super::*;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "userId": {"type": "integer", "minimum": 1, "maximum": 99},
            "ratio": {"type": "number"},
            "deep": {"type": "boolean"},
            "no-cache": {"type": "boolean"},
            "either": {"type": ["boolean", "string"]},
            "state": {"enum": ["open", "closed", "all"]},
            "level": {"anyOf": [{"const": 1}, {"const": 2}, {"type": "null"}]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "ids": {"type": "array", "items": {"type": "integer"}},
            "kinds": {"type": "array", "items": {"$ref": "#/$defs/kind"}},
            "grid": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
            "filter": {
                "type": "object",
                "properties": {"maxAge": {"type": "integer"}, "owner": {"$ref": "#/$defs/owner"}},
                "additionalProperties": false
            },
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "json": {"type": "string"},
            "any": {},
            "x_one": {"type": "string"},
            "xOne": {"type": "string"}
        },
        "$defs": {
            "kind": {"enum": ["bug", "idea"]},
            "owner": {"type": "object", "properties": {"name": {"type": "string"}}}
        }
    })
}

fn read(
    words: &[&str],
    schema: &Value,
) -> (ShellFlags, Result<Option<Box<RawValue>>, CommandFailure>) {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let mut own = ShellFlags::default();
    let read = read_flags(&words, schema, &mut own);
    (own, read)
}

#[track_caller]
fn check(words: &[&str], expected: &str) {
    match read(words, &schema()).1 {
        Ok(Some(arguments)) => assert_eq!(arguments.get(), expected),
        Ok(None) => assert_eq!("help", expected),
        Err(failure) => {
            let hint = failure.hint.as_deref().unwrap_or("none");
            assert_eq!(format!("{failure}; {hint}"), expected);
        }
    }
}

#[test]
fn both_ways_to_write_a_value() {
    check(&["--title", "a b"], r#"{"title":"a b"}"#);
    check(&["--title=a=b"], r#"{"title":"a=b"}"#);
    check(&["--title=--x"], r#"{"title":"--x"}"#);
    check(&["--title="], r#"{"title":""}"#);
    check(&["--title", ""], r#"{"title":""}"#);
    check(&["--title", "-x"], r#"{"title":"-x"}"#);
    check(&["--ratio", "-2.50"], r#"{"ratio":-2.50}"#);
    check(&["--title", "5", "--any", "7"], r#"{"title":"5","any":"7"}"#);
    check(&[], "{}");
}

#[test]
fn names_are_exact_or_in_kebab_case() {
    check(&["--user-id", "7"], r#"{"userId":7}"#);
    check(&["--userId", "7"], r#"{"userId":7}"#);
    check(&["--x_one", "a", "--xOne", "b"], r#"{"x_one":"a","xOne":"b"}"#);
    check(
        &["--x-one", "a"],
        "`--x-one` could be several arguments; write the name as it is, one of: --x_one, --xOne",
    );
}

#[test]
fn arguments_that_would_be_typed_alike_are_shown_by_their_names() {
    let schema = json!({
        "properties": { "createdAt": {}, "created_at": {}, "maxAge": {} },
        "required": ["createdAt"],
    });
    let flags: Vec<String> =
        ToolParameters::from_schema(&schema).iter().map(ToolParameter::flag).collect();
    assert_eq!(flags, ["createdAt", "created_at", "max-age"]);
    let lacking = read(&["--created_at", "x"], &schema).1.unwrap_err();
    assert_eq!(lacking.message, "missing: --createdAt <value>");
    assert!(read(&["--createdAt", "x"], &schema).1.is_ok());
}

#[test]
fn switches() {
    check(&["--deep", "--title", "x"], r#"{"deep":true,"title":"x"}"#);
    check(&["--deep=false"], r#"{"deep":false}"#);
    check(&["--deep", "false"], r#"{"deep":false}"#);
    check(&["--no-deep"], r#"{"deep":false}"#);
    check(&["--no-cache"], r#"{"no-cache":true}"#);
    check(&["--no-no-cache"], r#"{"no-cache":false}"#);
    check(&["--either"], r#"{"either":true}"#);
    check(&["--either", "word"], r#"{"either":"word"}"#);
    check(&["--no-either"], r#"{"either":false}"#);
    check(&["--no-deep=1"], "`--no-deep` takes no value; none");
    check(&["--deep=yes"], "`--deep` takes a boolean, not `yes`; write true or false");
    check(
        &["--deep", "yes"],
        "`yes` is not a flag; write arguments as flags, such as --title VALUE",
    );
}

#[test]
fn lists() {
    check(&["--tags", "a", "--tags", "b,c"], r#"{"tags":["a","b,c"]}"#);
    check(&["--tags", "a,b"], r#"{"tags":["a","b"]}"#);
    check(&["--tags=needs work,urgent"], r#"{"tags":["needs work","urgent"]}"#);
    check(&["--tags", "Hello, world"], r#"{"tags":["Hello, world"]}"#);
    check(&["--tags", "a,,b"], r#"{"tags":["a,,b"]}"#);
    check(&["--tags", "https://a.example/b,c"], r#"{"tags":["https://a.example/b,c"]}"#);
    check(&["--tags", r#"["a,b"]"#], r#"{"tags":["a,b"]}"#);
    check(&["--tags", "1,2"], r#"{"tags":["1","2"]}"#);
    check(&["--tags", r#"["a", "b"]"#, "--tags=c"], r#"{"tags":["a","b","c"]}"#);
    check(&["--tags", "[draft] x"], r#"{"tags":["[draft] x"]}"#);
    check(&["--tags", "[]"], r#"{"tags":[]}"#);
    check(&["--ids", "1,2", "--ids", "3"], r#"{"ids":[1,2,3]}"#);
    check(&["--ids", "1, x"], "`--ids` takes an integer, not `x`; none");
    check(&["--kinds", "bug,idea"], r#"{"kinds":["bug","idea"]}"#);
    check(
        &["--kinds", "bgu"],
        "`--kinds` takes one of `bug`, `idea`, not `bgu`; did you mean `bug`?",
    );
    check(&["--grid", "[1,2]", "--grid", "[3]"], r#"{"grid":[[1,2],[3]]}"#);
    check(&["--grid", "[[1],[2]]"], r#"{"grid":[[1],[2]]}"#);
}

#[test]
fn choices_and_numbers_are_checked() {
    check(&["--state", "open", "--level", "2"], r#"{"state":"open","level":2}"#);
    check(&["--level", "null"], r#"{"level":null}"#);
    check(
        &["--state", "opne"],
        "`--state` takes one of `open`, `closed`, `all`, not `opne`; did you mean `open`?",
    );
    check(&["--user-id", "many"], "`--user-id` takes an integer, not `many`; none");
    check(&["--user-id", "1.6"], "`--user-id` takes an integer, not `1.6`; the nearest is 2");
    check(&["--user-id", "100"], "`--user-id` takes at most 99, not `100`; none");
    check(&["--user-id", "0"], "`--user-id` takes at least 1, not `0`; none");
    check(&["--ratio", "12345678901234567890.5"], r#"{"ratio":12345678901234567890.5}"#);
    check(&["--maybe", "null"], r#"{"maybe":null}"#);
    check(&["--ratio", "0x10"], "`--ratio` takes a number, not `0x10`; none");
}

#[test]
fn objects() {
    check(&["--filter", r#"{"maxAge": 1}"#], r#"{"filter":{"maxAge": 1}}"#);
    check(
        &["--filter.max-age", "3", "--filter.owner.name", "A"],
        r#"{"filter":{"maxAge":3,"owner":{"name":"A"}}}"#,
    );
    check(
        &["--filter", r#"{"owner":{"name":"A"}}"#, "--filter.maxAge=3"],
        r#"{"filter":{"owner":{"name":"A"},"maxAge":3}}"#,
    );
    check(&["--labels.any key", "1"], r#"{"labels":{"any key":"1"}}"#);
    check(
        &["--filter.maxAeg", "3"],
        "`filter` has no member `maxAeg`; did you mean `--filter.max-age`?",
    );
    check(
        &["--filter", "x"],
        "`--filter` takes a JSON object, not `x`; write it as JSON, or member by member: --filter.KEY VALUE",
    );
    check(
        &["--title", "x", "--title.y", "z"],
        "`--title.y`: `title` was given as something else; none",
    );
}

#[test]
fn json_whatever_the_schema_says() {
    check(&["--any:=[1, 2]", "--title:=5"], r#"{"any":[1, 2],"title":5}"#);
    check(&["--title:=\"-\""], r#"{"title":"-"}"#);
    check(&["--any:=[1"], "`--any` is not JSON: EOF while parsing a list at line 1 column 2; none");
}

#[test]
fn files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("text");
    std::fs::write(&path, "from a file\n").unwrap();
    let typed = format!("@{}", path.display());
    check(&["--title", &typed], r#"{"title":"from a file\n"}"#);
    std::fs::write(&path, r#"{"maxAge": 4}"#).unwrap();
    check(&["--filter", &typed], r#"{"filter":{"maxAge": 4}}"#);
    check(&["--args", &format!("@{}", path.display())], r#"{"maxAge": 4}"#);
    check(&["--title", "@@name"], r#"{"title":"@name"}"#);
    let missing = format!("@{}", dir.path().join("nothing").display());
    let failure = read(&["--title", &missing], &schema()).1.unwrap_err();
    assert!(failure.message.starts_with("--title: cannot read `"), "{failure}");
}

#[test]
fn the_whole_as_json_with_flags_over_it() {
    let exact = r#"{"userId": 12345678901234567890, "ratio": 1.0}"#;
    check(&["--args", exact], exact);
    check(&["--title", "x", "--args", r#"{"title":"y","any":1}"#], r#"{"title":"x","any":1}"#);
    let failure = read(&["--args", "[1]"], &schema()).1.unwrap_err();
    assert!(failure.message.starts_with("--args is not a JSON object"), "{failure}");
}

#[test]
fn our_flags_unless_the_tool_has_one_of_that_name() {
    let (own, read) = read(&["--yes", "--json", "mine", "--field", "a.b", "--dry-run"], &schema());
    assert_eq!(read.unwrap().unwrap().get(), r#"{"json":"mine"}"#);
    assert!(own.yes && own.dry_run && !own.json);
    assert_eq!(own.field, ["a.b"]);

    let plain = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let (own, done) = self::read(&["--json", "-y", "--raw", "--timeout-ms=5"], &plain);
    assert!(done.is_ok() && own.json && own.yes && own.raw);
    assert_eq!(own.timeout_ms, Some(5));
    let (own, done) = self::read(&["--a", "1", "--help"], &plain);
    assert!(own.help && done.unwrap().is_none());
    let failure = self::read(&["--timeout-ms", "0"], &plain).1.unwrap_err();
    assert_eq!(failure.message, "`--timeout-ms` takes a positive integer, not `0`");
}

#[test]
fn after_two_hyphens_every_flag_is_the_tools() {
    let open = json!({"type": "object"});
    let (own, read) = read(&["--", "--json", "x", "--help=y"], &open);
    assert_eq!(read.unwrap().unwrap().get(), r#"{"json":"x","help":"y"}"#);
    assert!(!own.json && !own.help);
    let plain = json!({"type": "object", "properties": {"a": {}}});
    assert!(self::read(&["--", "--json", "x"], &plain).1.is_err());
    check(&["--", "--"], "`--` is not a flag; write arguments as flags, such as --title VALUE");
}

#[test]
fn mistakes_are_reported() {
    check(&["--titel", "x"], "there is no flag `--titel` here; did you mean `--title`?");
    check(&["--dry-rum"], "there is no flag `--dry-rum` here; did you mean `--dry-run`?");
    check(
        &["--project", "x"],
        "there is no flag `--project` here; write it before the group: capdeck sh --project …",
    );
    check(&["word"], "`word` is not a flag; write arguments as flags, such as --title VALUE");
    check(
        &["--title"],
        "`--title` needs a value: string; a value that begins with `--` is written with `=`, such as --title=--x",
    );
    check(
        &["--title", "--deep"],
        "`--title` needs a value: string; a value that begins with `--` is written with `=`, such as --title=--x",
    );
    check(&["--title", "a", "--title", "b"], "`--title` is given twice; none");
    check(
        &["--args"],
        "`--args` needs a value: a value; a value that begins with `--` is written with `=`, such as --args=--x",
    );
}

#[test]
fn everything_missing_is_reported_at_once() {
    let schema = json!({
        "allOf": [{"properties": {"one": {"type": "string"}}, "required": ["one"]}],
        "properties": {"two": {"enum": ["a", "b"]}, "three": {"type": "integer"}},
        "required": ["two"],
        "anyOf": [{"properties": {"four": {}}, "required": ["four"]}]
    });
    let failure = read(&["--three", "3"], &schema).1.unwrap_err();
    assert_eq!(failure.message, "missing: --two <a|b>, --one <string>");
    assert_eq!(
        read(&["--one=1", "--args", r#"{"two":"a"}"#], &schema).1.unwrap().unwrap().get(),
        r#"{"two":"a","one":"1"}"#
    );
}

#[test]
fn circles_in_a_schema_end() {
    let schema = json!({"properties": {"a": {"$ref": "#/properties/a"}}, "allOf": [{"$ref": "#"}]});
    assert_eq!(read(&["--a", "x"], &schema).1.unwrap().unwrap().get(), r#"{"a":"x"}"#);
}
