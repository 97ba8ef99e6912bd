//! The closed word classes that the sentence reader needs. Nouns and most verbs are in no list: manifests bring their own.

use std::{collections::HashSet, sync::OnceLock};

/// A closed class of words, written as one text and looked up in a set.
pub(super) struct WordList {
    text: &'static str,
    words: OnceLock<HashSet<&'static str>>,
}

impl WordList {
    const fn new(text: &'static str) -> Self {
        Self { text, words: OnceLock::new() }
    }

    pub(super) fn contains(&self, word: &str) -> bool {
        self.words.get_or_init(|| self.text.split_whitespace().collect()).contains(word)
    }
}

/// Words that turn a clause into its opposite. English first; the others are short words of languages that people mix
/// with English command phrases.
static NEGATORS: WordList = WordList::new(
    "not never no none nobody nothing neither nor nope nah nver nevr dnt donot nicht kein keine \
     keinen nie niemals nein ne pas jamais non nunca jamás não nao niet geen nooit inte aldrig \
     ikke nigdy не нет никогда hayır değil",
);

/// Written without spaces, so they are found inside a word.
const NEGATING_LETTERS: [char; 5] = ['不', '别', '勿', '没', '未'];

/// Contractions written without their apostrophe.
pub(super) static BARE_CONTRACTIONS: WordList = WordList::new(
    "dont doesnt didnt cant wont shouldnt couldnt wouldnt isnt arent wasnt werent mustnt havent \
     hasnt",
);

pub(super) static QUESTION_WORDS: WordList =
    WordList::new("how what which who whom whose why where when");

/// Verbs that begin a question when they come first.
pub(super) static AUXILIARIES: WordList = WordList::new(
    "do does did is are was were am has have had should shall may might must can could will \
     would",
);

/// Words that begin a subject or a fragment, so that no imperative follows.
pub(super) static SUBJECTS: WordList = WordList::new(
    "i we you he she it they someone somebody everyone everybody anyone anybody my your our his \
     her their its the a an this that these those there any some every each in on at for from by \
     with of to under about into than as anything everything",
);

/// Politeness, hesitation and time before an imperative.
static FRAME_WORDS: WordList = WordList::new(
    "please pls plz kindly ok okay hey hi hello yes yeah sure alright well now then just only \
     simply also maybe perhaps instead rather today tomorrow yesterday tonight bitte",
);

pub(super) static CONDITIONS: WordList = WordList::new(
    "if unless whenever once suppose supposing imagine assuming assume whether provided",
);

/// Verbs that end like adverbs.
static VERBS_IN_LY: WordList = WordList::new("reply apply supply multiply comply imply assembly");

/// Verbs that only say that the noun after them is to be done.
pub(super) static LIGHT_VERBS: WordList =
    WordList::new("do make run start perform execute trigger begin launch");

/// Words that ask for something in most patterns, and so say little about which pattern is meant.
pub(super) static GENERIC: WordList = WordList::new(
    "list show get find check see view give tell display print how many what which the all and \
     for with from new you your are",
);

/// Words that carry no meaning of their own.
static STOPWORDS: WordList = WordList::new(
    "the all any some and for with from into this that these those his her its our your their \
     them now please you everything again",
);

/// Verbs that change something. They matter only for an intent whose manifest says nothing about its effect.
static CHANGING_VERBS: WordList = WordList::new(
    "add append apply approve archive assign block book buy cancel change clean clear close \
     commit copy create deploy disable discard edit empty enable erase finish flush format free \
     install kill launch lock make mark merge migrate move order overwrite pause pay play post \
     publish push recover release rename replace reply reschedule reset restart restore resume \
     revert revoke roll rollback run save schedule send set share ship shut skip start stop \
     submit switch take transfer turn undo unlock update upgrade upload write",
);

/// Verbs that destroy something, also where a command says them.
pub(super) static DESTROYING_VERBS: WordList = WordList::new(
    "delete destroy drop erase kill nuke prune purge remove rm trash truncate uninstall unlink \
     wipe",
);

pub(super) fn is_negator(word: &str) -> bool {
    NEGATORS.contains(word) || word.contains(NEGATING_LETTERS)
}

pub(super) fn is_frame(word: &str) -> bool {
    let is_adverb = word.len() > 4 && word.ends_with("ly") && !VERBS_IN_LY.contains(word);
    FRAME_WORDS.contains(word) || is_adverb
}

/// `deleting`, but not `bring`.
pub(super) fn is_gerund(word: &str) -> bool {
    let is_vowel = |letter: char| "aeiouy".contains(letter);
    word.strip_suffix("ing").is_some_and(|stem| stem.len() > 1 && stem.contains(is_vowel))
}

/// Whether a word says what something is about.
pub(super) fn is_content(word: &str) -> bool {
    word.chars().count() > 2 && !STOPWORDS.contains(word) && !is_negator(word) && !is_frame(word)
}

pub(super) fn is_changing_verb(word: &str) -> bool {
    let verb = word.strip_prefix("un").unwrap_or(word);
    [word, verb].iter().any(|verb| CHANGING_VERBS.contains(verb) || DESTROYING_VERBS.contains(verb))
}

/// A word without its ending, so that `deletions` and `deleted` are `delete`.
pub(super) fn stem(word: &str) -> &str {
    const ENDINGS: [&str; 9] = ["ions", "ing", "ion", "ers", "ed", "es", "er", "s", "e"];
    let cut = ENDINGS.iter().filter(|ending| !(**ending == "s" && word.ends_with("ss")));
    let mut cut = cut.filter_map(|ending| word.strip_suffix(ending));
    let stem = cut.find(|stem| stem.chars().count() > 2).unwrap_or(word);
    // `stopp` of `stopping`.
    let mut letters = stem.char_indices().rev();
    match (letters.next(), letters.next()) {
        (Some((end, last)), Some((_, before))) if last == before && end > 2 => {
            stem.get(..end).unwrap_or(stem)
        }
        _ => stem,
    }
}

/// Whether two words are the same but for one slip of the finger.
pub(super) fn is_misspelt(said: &str, meant: &str) -> bool {
    let is_long = said.chars().count() > 3 && meant.chars().count() > 3;
    is_long
        && said.len() < 40
        && said.chars().next() == meant.chars().next()
        && strsim::damerau_levenshtein(said, meant) == 1
}

#[cfg(test)]
mod tests {
    use super::{is_frame, is_gerund, is_misspelt, stem};

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            ["delete", "deleted", "deletions"],
            ["stop", "stopped", "stopping"],
            ["message", "messages", "messages"],
            ["branch", "branches", "branches"],
        ] {
            assert_eq!(forms.map(stem), [stem(forms[0]); 3]);
        }
        assert_eq!(stem("process"), stem("processes"));
    }

    #[test]
    fn words_are_classified_by_their_form() {
        assert!(is_gerund("deleting") && !is_gerund("bring") && !is_gerund("string"));
        assert!(is_frame("quickly") && !is_frame("reply"));
        assert!(is_misspelt("delte", "delete") && !is_misspelt("delete", "delete"));
        assert!(!is_misspelt("move", "love"), "the first letter is seldom wrong");
    }
}
