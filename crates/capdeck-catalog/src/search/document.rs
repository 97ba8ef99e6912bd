//! What is indexed of a tool and of a capability, and how much each part counts.

use std::borrow::Cow;

use capdeck_definition::Definition;
use serde::Deserialize;

use super::{
    texts::{JsonTexts, LenientValue, SchemaParameters, SchemaTexts},
    verbs::{VerbClass, class_of},
    words::{each_word, stemmed},
};
use crate::Tool;

#[derive(Debug, Clone, Copy)]
pub(super) struct SearchField {
    /// What one occurrence of a word counts.
    pub(super) weight: f32,
    /// The usual number of words. Fixed, not measured, so that a score does not change because some
    /// other tool was added.
    pub(super) usual_length: f32,
    /// How much longer-than-usual parts are damped, 0 to 1.
    pub(super) damping: f32,
    /// The field's bit in a set of fields; 0 for fields that are not distinguished.
    pub(super) bit: u8,
}

pub(super) const NAME: SearchField = field(5.5, 3.0, 0.5, 0);
const TITLE: SearchField = field(2.0, 4.0, 0.5, 1);
pub(super) const SUMMARY: SearchField = field(2.0, 10.0, 0.8, 1 << 1);
/// The first words of a summary are part of it and count once more in the ranking only.
const SUMMARY_START: SearchField = field(0.0, 1.0, 0.0, 1 << 2);
const DETAILS: SearchField = field(0.7, 30.0, 0.7, 1 << 3);
const PARAMETERS: SearchField = field(0.7, 6.0, 0.9, 1 << 4);
const PARAMETER_TEXT: SearchField = field(0.4, 40.0, 0.7, 1 << 5);
const PATTERNS: SearchField = field(3.0, 6.0, 0.5, 1 << 6);
const TAGS: SearchField = field(2.0, 3.0, 0.5, 1 << 6);
const USE_WHEN: SearchField = field(1.5, 12.0, 0.5, 1 << 6);
const AVOID_WHEN: SearchField = field(0.1, 12.0, 0.5, 0);
const CARD_NAME: SearchField = field(8.0, 2.0, 0.45, 0);
const CARD_DESCRIPTION: SearchField = field(1.0, 15.0, 0.6, 0);

/// Bytes of a long description that are read; the rest is examples and small print.
const MAX_DETAILS_BYTES: usize = 600;
/// Bytes that make a line a summary rather than a heading.
const MIN_SUMMARY_BYTES: usize = 30;
/// Bytes after which a first sentence is no summary any more.
const MAX_SUMMARY_BYTES: usize = 240;
/// Bytes read of one parameter's description.
const MAX_PARAMETER_TEXT_BYTES: usize = 80;

/// Words of a summary that are its start.
const SUMMARY_START_WORDS: usize = 5;

const fn field(weight: f32, usual_length: f32, damping: f32, bit: u8) -> SearchField {
    SearchField { weight, usual_length, damping, bit }
}

/// What is known of a tool apart from its words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ToolTraits {
    pub(super) class: VerbClass,
    pub(super) is_deprecated: bool,
    pub(super) is_destructive: bool,
    /// Declared not to be read-only.
    pub(super) is_writing: bool,
    /// Its verb is one for many things: list, search.
    pub(super) lists: bool,
    /// A member of a set, whose own tools are found by themselves.
    pub(super) opens_member: bool,
}

/// Feeds every part of a tool but its name, and returns what its annotations and its description say about it.
pub(super) fn read_tool(
    tool: &Tool,
    mut feed: impl FnMut(SearchField, &[Cow<'_, str>]),
) -> ToolTraits {
    let hints = tool.raw().get("annotations").map(|raw| raw.get());
    let hints = hints.and_then(|text| serde_json::from_str::<ToolHints>(text).ok());
    let ToolHints { read_only, destructive, deprecated } = hints.unwrap_or_default();
    let mut traits = ToolTraits {
        is_deprecated: deprecated == Some(true),
        is_destructive: destructive == Some(true) && read_only != Some(true),
        is_writing: read_only == Some(false),
        ..ToolTraits::default()
    };
    let member = |key: &str| {
        let raw = tool.raw().get(key)?;
        serde_json::from_str::<LenientValue<JsonTexts<'_>>>(raw.get()).ok()
    };
    for (key, field) in [
        ("title", TITLE),
        ("patterns", PATTERNS),
        ("tags", TAGS),
        ("useWhen", USE_WHEN),
        ("avoidWhen", AVOID_WHEN),
    ] {
        if let Some(LenientValue(texts)) = member(key) {
            feed(field, &texts);
        }
    }
    if let Some(LenientValue(texts)) = member("description")
        && let Some(text) = texts.first()
    {
        let (summary, details) = split_summary(text);
        traits.is_deprecated |= says_deprecated(head(text, MAX_DETAILS_BYTES));
        traits.class = class_of_summary(summary);
        feed(SUMMARY, &[Cow::Borrowed(summary)]);
        feed(SUMMARY_START, &[Cow::Borrowed(first_words(summary, SUMMARY_START_WORDS))]);
        feed(DETAILS, &[Cow::Borrowed(head(details, MAX_DETAILS_BYTES))]);
    }
    let schema = tool.input_schema().map(|raw| serde_json::from_str::<SchemaTexts<'_>>(raw.get()));
    if let Some(Ok(SchemaTexts { properties })) = schema {
        let SchemaParameters { names, mut texts } = properties.0;
        for text in &mut texts {
            // Examples are about something else.
            let examples = text.find("e.g.").or_else(|| text.find("for example"));
            let most = examples.unwrap_or(text.len()).min(MAX_PARAMETER_TEXT_BYTES);
            if text.len() > most {
                *text = Cow::Owned(head(text, most).to_owned());
            }
        }
        feed(PARAMETERS, &names);
        feed(PARAMETER_TEXT, &texts);
    }
    traits
}

/// The members of `annotations` that count.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolHints {
    #[serde(rename = "readOnlyHint")]
    read_only: Option<bool>,
    #[serde(rename = "destructiveHint")]
    destructive: Option<bool>,
    deprecated: Option<bool>,
}

/// True for a description that says its own tool is deprecated, not one about deprecated things.
fn says_deprecated(text: &str) -> bool {
    if text.contains("DEPRECATED") {
        return true;
    }
    // Nearly all descriptions end here.
    if !text.contains("eprecated") {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    lower.match_indices("deprecated").any(|(at, word)| {
        let before = lower.get(..at).unwrap_or_default().trim_end();
        let after = lower.get(at + word.len()..).unwrap_or_default();
        before.is_empty()
            || before.ends_with(['(', '[', '*', '.', ':', '!'])
            || before.ends_with("this tool is")
            || before.ends_with("is now")
            || after.starts_with([':', ')', ']', ';'])
            || after.starts_with(" in favo")
    })
}

/// The class of the verb that a summary starts with.
fn class_of_summary(summary: &str) -> VerbClass {
    let mut class = VerbClass::Unknown;
    let mut is_first = true;
    each_word(first_words(summary, 1), &mut String::new(), |word| {
        if is_first {
            class = class_of(&stemmed(word));
            is_first = false;
        }
    });
    class
}

/// The text up to the end of its n-th word.
fn first_words(text: &str, count: usize) -> &str {
    let text = text.trim_start();
    let end = text.match_indices(' ').nth(count.saturating_sub(1)).map(|(at, _)| at);
    text.get(..end.unwrap_or(text.len())).unwrap_or(text)
}

/// Feeds a capability's card, which counts for every tool of it. The first word that all its tools share
/// is one more name of it: `browser` of `browser_click`.
pub(super) fn read_card(
    definition: &Definition,
    tool_prefix: Option<&str>,
    mut feed: impl FnMut(SearchField, &[Cow<'_, str>]),
) {
    let id = definition.id.as_str();
    let mut names = vec![Cow::Borrowed(id)];
    // Often the name is the id in better spelling; a word must not count twice for that.
    if !definition.name.eq_ignore_ascii_case(id) {
        names.push(Cow::Borrowed(&definition.name));
    }
    if let Some(prefix) = tool_prefix.filter(|prefix| !id.to_ascii_lowercase().contains(prefix)) {
        names.push(Cow::Borrowed(prefix));
    }
    feed(CARD_NAME, &names);
    let tags: Vec<Cow<'_, str>> =
        definition.tags.iter().map(|tag| Cow::Borrowed(tag.as_str())).collect();
    feed(TAGS, &tags);
    feed(CARD_DESCRIPTION, &[Cow::Borrowed(head(&definition.description, MAX_DETAILS_BYTES))]);
    for (hint, field) in
        [(&definition.hints.use_when, USE_WHEN), (&definition.hints.avoid_when, AVOID_WHEN)]
    {
        if let Some(text) = hint {
            feed(field, &[Cow::Borrowed(text)]);
        }
    }
}

/// The first sentence or line that says something, and the rest.
fn split_summary(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let window = head(text, MAX_SUMMARY_BYTES);
    let sentences = window.match_indices(". ").chain(window.match_indices(".\n"));
    // Short first lines are headings such as "Purpose:"; the sentence after them is meant.
    let lines = window.match_indices('\n').filter(|(end, _)| *end >= MIN_SUMMARY_BYTES);
    let end = sentences.chain(lines).map(|(end, _)| end).min().unwrap_or(window.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// The first `most` bytes, or a little less where that would cut a character.
fn head(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.split_at_checked(end.unwrap_or_default()).map_or("", |(head, _)| head)
}
