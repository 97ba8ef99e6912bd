//! Characters that a model reads and a person does not see: zero-width, bidirectional, tag and other invisible ones.
//!
//! Some invisible characters are legitimate: joiners inside emoji and inside words of scripts that need
//! them, variation selectors after what they vary. Those are not reported.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// A hidden character and its place, counted in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HiddenCharacter {
    pub index: usize,
    pub kind: HiddenKind,
}

/// Families of characters that hide or disguise text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum HiddenKind {
    /// Takes no room: spaces and joiners of no width.
    ZeroWidth,
    /// Reorders what is shown.
    Bidirectional,
    /// A copy of ASCII that no screen shows.
    Tag,
    /// Selects a variant of nothing, so it can only carry data.
    VariationSelector,
    /// Moves the cursor or colours the screen.
    Control,
    /// Anything else that is not shown.
    Invisible,
}

impl HiddenKind {
    /// The name shown to people and programs.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

pub fn hidden_characters(text: &str) -> Vec<HiddenCharacter> {
    if text.bytes().all(|byte| byte >= b' ' && byte != 0x7f && byte.is_ascii() || is_space(byte)) {
        return Vec::new();
    }
    let letters: Vec<char> = text.chars().collect();
    let flags = flag_tags(&letters);
    let mut hidden = Vec::new();
    for (index, letter) in letters.iter().enumerate() {
        let Some(kind) = kind_of(*letter) else { continue };
        let before = index.checked_sub(1).map(|before| letters[before]);
        let after = letters.get(index + 1).copied();
        let belongs = match kind {
            HiddenKind::ZeroWidth => joiner_belongs(*letter, before, after),
            HiddenKind::VariationSelector => {
                before.is_some_and(|base| selector_belongs(*letter, base))
            }
            HiddenKind::Tag => flags[index],
            HiddenKind::Bidirectional | HiddenKind::Control | HiddenKind::Invisible => false,
        };
        if !belongs {
            hidden.push(HiddenCharacter { index, kind });
        }
    }
    hidden
}

/// Whether a character can be hidden, whatever is around it.
pub fn is_hideable(letter: char) -> bool {
    kind_of(letter).is_some()
}

/// The text with each hidden character spelled out; a run of tag characters as the ASCII it encodes.
pub fn reveal(text: &str) -> String {
    let hidden = hidden_characters(text);
    let mut hidden = hidden.iter().peekable();
    let mut shown = String::new();
    let mut tags = String::new();
    for (index, letter) in text.chars().enumerate() {
        let is_hidden = hidden.next_if(|one: &&HiddenCharacter| one.index == index).is_some();
        if is_hidden && let Some(plain) = tag_letter(letter) {
            tags.push(plain);
            continue;
        }
        close_tags(&mut shown, &mut tags);
        if is_hidden {
            shown.push_str(&format!("‹U+{:04X}›", u32::from(letter)));
        } else {
            shown.push(letter);
        }
    }
    close_tags(&mut shown, &mut tags);
    shown
}

fn close_tags(shown: &mut String, tags: &mut String) {
    if !tags.is_empty() {
        shown.push_str(&format!("‹tags: {tags}›"));
        tags.clear();
    }
}

/// The ASCII letter a tag character encodes.
fn tag_letter(letter: char) -> Option<char> {
    let code = u32::from(letter).checked_sub(0xE0000)?;
    (0x20..=0x7E).contains(&code).then(|| char::from_u32(code)).flatten()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r')
}

/// The kind of a character that can be hidden, regardless of its neighbours.
fn kind_of(letter: char) -> Option<HiddenKind> {
    use HiddenKind::{Bidirectional, Control, Invisible, Tag, VariationSelector, ZeroWidth};
    match letter {
        '\t' | '\n' | '\r' => None,
        '\u{200B}'..='\u{200D}' | '\u{2060}' | '\u{FEFF}' | '\u{180E}' => Some(ZeroWidth),
        '\u{061C}'
        | '\u{200E}'
        | '\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2066}'..='\u{2069}' => Some(Bidirectional),
        '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' | '\u{180B}'..='\u{180D}' => {
            Some(VariationSelector)
        }
        '\u{E0000}'..='\u{E007F}' => Some(Tag),
        '\u{00AD}'
        | '\u{034F}'
        | '\u{115F}'
        | '\u{1160}'
        | '\u{17B4}'
        | '\u{17B5}'
        | '\u{2061}'..='\u{2065}'
        | '\u{206A}'..='\u{206F}'
        | '\u{3164}'
        | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0080}'..='\u{E00FF}'
        | '\u{E01F0}'..='\u{E0FFF}' => Some(Invisible),
        letter if letter.is_control() => Some(Control),
        _ => None,
    }
}

/// A joiner belongs between two pictographs, or beside a letter of a script that is written with joiners. Two joiners
/// in a row join nothing, and other characters of no width belong nowhere.
fn joiner_belongs(letter: char, before: Option<char>, after: Option<char>) -> bool {
    let is_joiner = |letter: char| matches!(letter, '\u{200C}' | '\u{200D}');
    if !is_joiner(letter) || before.is_some_and(is_joiner) || after.is_some_and(is_joiner) {
        return false;
    }
    let joins_emoji = letter == '\u{200D}'
        && before.is_some_and(ends_pictograph)
        && after.is_some_and(is_pictograph);
    joins_emoji
        || before.is_some_and(is_in_joining_script)
        || after.is_some_and(is_in_joining_script)
}

/// A selector belongs after a character that has variants: a symbol, a digit of a keycap, an ideograph, a letter of a
/// script with variants.
fn selector_belongs(selector: char, base: char) -> bool {
    match selector {
        '\u{FE0E}' | '\u{FE0F}' => is_pictograph(base) || matches!(base, '0'..='9' | '#' | '*'),
        '\u{FE00}'..='\u{FE0D}' => is_ideograph(base) || is_mathematical(base),
        '\u{E0100}'..='\u{E01EF}' => is_ideograph(base),
        '\u{180B}'..='\u{180D}' => matches!(base, '\u{1800}'..='\u{18AA}'),
        _ => false,
    }
}

/// Marks the tag characters of flags: a black flag, a short code and the cancelling tag.
fn flag_tags(letters: &[char]) -> Vec<bool> {
    let mut marked = vec![false; letters.len()];
    for (flag, _) in letters.iter().enumerate().filter(|(_, letter)| **letter == '\u{1F3F4}') {
        let code = letters[flag + 1..].iter().take_while(
            |letter| matches!(letter, '\u{E0030}'..='\u{E0039}' | '\u{E0061}'..='\u{E007A}'),
        );
        let length = code.count();
        let end = flag + 1 + length;
        // Codes of regions have a country and at most three letters more.
        if (3..=6).contains(&length) && letters.get(end) == Some(&'\u{E007F}') {
            marked[flag + 1..=end].fill(true);
        }
    }
    marked
}

/// The last character of a pictograph: itself, its skin tone or its variation selector.
fn ends_pictograph(letter: char) -> bool {
    letter == '\u{FE0F}' || is_pictograph(letter)
}

fn is_pictograph(letter: char) -> bool {
    matches!(letter,
        '\u{00A9}' | '\u{00AE}' | '\u{203C}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{24C2}'
        | '\u{3030}' | '\u{303D}' | '\u{3297}' | '\u{3299}'
        | '\u{2190}'..='\u{21FF}' | '\u{2300}'..='\u{23FF}' | '\u{25A0}'..='\u{27BF}'
        | '\u{2900}'..='\u{297F}' | '\u{2B00}'..='\u{2BFF}' | '\u{1F000}'..='\u{1FAFF}')
}

fn is_ideograph(letter: char) -> bool {
    matches!(letter,
        '\u{2E80}'..='\u{303F}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{FF00}'..='\u{FF60}' | '\u{20000}'..='\u{3FFFF}')
}

fn is_mathematical(letter: char) -> bool {
    matches!(letter, '\u{2200}'..='\u{22FF}' | '\u{2A00}'..='\u{2AFF}')
}

/// Scripts whose words are written with joiners: Arabic and its relatives, the scripts of India and South-East Asia,
/// Mongolian.
fn is_in_joining_script(letter: char) -> bool {
    matches!(letter,
        '\u{0600}'..='\u{061B}' | '\u{061D}'..='\u{08FF}' | '\u{0900}'..='\u{0DFF}'
        | '\u{0F00}'..='\u{109F}' | '\u{1700}'..='\u{17B3}' | '\u{17B6}'..='\u{180A}'
        | '\u{1810}'..='\u{18AF}' | '\u{1900}'..='\u{1AAF}' | '\u{1B00}'..='\u{1C4F}'
        | '\u{A800}'..='\u{A8FF}' | '\u{A900}'..='\u{A95F}' | '\u{A980}'..='\u{ABFF}'
        | '\u{FB50}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}' | '\u{10A00}'..='\u{10AFF}'
        | '\u{10D00}'..='\u{10D3F}' | '\u{10F30}'..='\u{10FFF}' | '\u{11000}'..='\u{11FFF}'
        | '\u{1E900}'..='\u{1E95F}')
}
