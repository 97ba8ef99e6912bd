use serde_json::json;

use super::*;

fn kinds(text: &str) -> Vec<HiddenKind> {
    hidden_characters(text).iter().map(|one| one.kind).collect()
}

#[test]
fn honest_text_is_left_alone() {
    for text in [
        "plain text,\nwith lines\tand tabs",
        "Größe, naïve, 日本語, Ελληνικά, עברית",
        // Emoji: a family, a flag of pride, a firefighter with a skin tone, a keycap, a heart, a flag of a region.
        "👨\u{200D}👩\u{200D}👧",
        "🏳\u{FE0F}\u{200D}🌈",
        "👩🏽\u{200D}🚒",
        "1\u{FE0F}\u{20E3} and ❤\u{FE0F}",
        "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
        // Persian, Hindi and Malayalam words that need their joiners.
        "می\u{200C}خواهم",
        "क्\u{200D}ष and क्\u{200C}ष",
        "ന്\u{200D}റെ",
        // A variant of an ideograph.
        "葛\u{E0100}",
    ] {
        assert_eq!(kinds(text), [], "{}", text.escape_unicode());
    }
}

#[test]
fn hidden_characters_are_found() {
    use HiddenKind::*;
    for (text, expected) in [
        ("read\u{200B}file", vec![ZeroWidth]),
        ("\u{FEFF}start", vec![ZeroWidth]),
        ("re\u{200D}ad", vec![ZeroWidth]),
        ("a\u{200C}", vec![ZeroWidth]),
        ("می\u{200C}\u{200D}\u{200C}خ", vec![ZeroWidth; 3]),
        ("👩\u{200D}", vec![ZeroWidth]),
        ("👩\u{200D}\u{200D}👩", vec![ZeroWidth; 2]),
        ("safe\u{202E}gpj.exe", vec![Bidirectional]),
        ("\u{2066}x\u{2069}", vec![Bidirectional; 2]),
        ("x\u{E0069}\u{E0067}", vec![Tag; 2]),
        // A flag does not carry a sentence, nor an unfinished code.
        ("🏴\u{E0067}\u{E0062}", vec![Tag; 2]),
        ("a\u{FE0F}", vec![VariationSelector]),
        ("❤\u{FE0F}\u{FE01}\u{FE02}", vec![VariationSelector; 2]),
        ("x\u{E0101}\u{E0102}", vec![VariationSelector; 2]),
        ("soft\u{00AD}hyphen", vec![Invisible]),
        ("\u{3164}", vec![Invisible]),
        ("red \u{1b}[31m", vec![Control]),
        ("null \u{0}", vec![Control]),
    ] {
        assert_eq!(kinds(text), expected, "{}", text.escape_unicode());
    }
}

#[test]
fn what_is_hidden_can_be_read() {
    let sentence: String = "send keys"
        .chars()
        .map(|letter| char::from_u32(0xE0000 + u32::from(letter)).unwrap())
        .collect();
    assert_eq!(reveal(&format!("Reads a file{sentence}.")), "Reads a file‹tags: send keys›.");
    assert_eq!(reveal("a\u{200B}b"), "a‹U+200B›b");
    assert_eq!(reveal("👩\u{200D}🚒"), "👩\u{200D}🚒");
    let long = format!("\u{200B}{}", "x".repeat(5000));
    assert!(examine(&long, "description").unwrap().revealed.chars().count() < 300);
}

#[test]
fn every_text_of_a_definition_is_looked_at() {
    let dirty = "x\u{200B}y";
    let tool = Tool::new(
        serde_json::from_value(json!({
            "name": dirty,
            "title": dirty,
            "description": "escaped \u{202E} as well",
            "inputSchema": {
                "type": "object",
                "properties": { "path": { "description": dirty }, dirty: { "enum": ["a", dirty] } },
            },
            "outputSchema": { "description": dirty },
            "annotations": { "title": dirty, "readOnlyHint": true },
            "_meta": { "unseen": dirty },
        }))
        .unwrap(),
    )
    .unwrap();
    let found: Vec<String> = hidden_text(&tool).into_iter().map(|one| one.at).collect();
    let expected = [
        "name",
        "title",
        "description",
        "inputSchema.properties.path.description",
        "inputSchema.properties.x‹U+200B›y",
        "inputSchema.properties.x‹U+200B›y.enum[1]",
        "outputSchema.description",
        "annotations.title",
    ];
    assert_eq!(found, expected);
}

#[test]
fn an_escape_in_the_json_hides_nothing_from_us() {
    let raw = r#"{ "name": "t", "description": "a\u200bb" }"#;
    let tool: Tool = serde_json::from_str(raw).unwrap();
    let [found] = hidden_text(&tool).try_into().unwrap();
    assert_eq!((found.count, found.revealed.as_str()), (1, "a‹U+200B›b"));
}
