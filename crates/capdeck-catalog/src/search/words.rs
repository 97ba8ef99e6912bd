//! Text to search terms: words cut at separators and case changes, lower-cased and lightly stemmed.

/// Calls `visit` with every word of a text or identifier, lower-cased: `getHTTPLog_v2` gives
/// `get`, `http`, `log`, `v2`. Single Latin letters carry no meaning and are left out.
pub(super) fn each_word(text: &str, buffer: &mut String, mut visit: impl FnMut(&str)) {
    let mut flush = |buffer: &mut String| {
        if buffer.len() > 1 {
            visit(buffer);
        }
        buffer.clear();
    };
    buffer.clear();
    let mut previous = ' ';
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter.is_ascii_lowercase() || letter.is_ascii_digit() {
            buffer.push(letter);
        } else if !letter.is_alphanumeric() {
            flush(buffer);
        } else if letter.is_uppercase() {
            // `fooBar` starts a word at `B`; `HTTPLog` starts one at `L`, the last capital of a run.
            let starts =
                !previous.is_uppercase() || letters.peek().is_some_and(|next| next.is_lowercase());
            if starts {
                flush(buffer);
            }
            buffer.extend(letter.to_lowercase());
        } else if is_ideograph(letter) {
            // Written without spaces: each sign is a word.
            flush(buffer);
            buffer.push(letter);
            flush(buffer);
        } else {
            buffer.extend(letter.to_lowercase());
        }
        previous = letter;
    }
    flush(buffer);
}

fn is_ideograph(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Cuts endings so that `creates`, `created`, `creating` and `create` become one term. Deliberately
/// light: a wrong merge costs more than a missed one, which prefixes and the thesaurus correct.
fn stem(word: &mut String) {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    if ["ies", "ied"].iter().any(|end| word.ends_with(end)) && word.len() > 4 {
        replace_end(word, 3, "y");
    } else if ["sses", "shes", "ches", "xes", "zes"].iter().any(|end| word.ends_with(end)) {
        replace_end(word, 2, "");
    } else if is_plural(word) {
        replace_end(word, 1, "");
    }
    for end in ["ing", "ed"] {
        let length = word.len().saturating_sub(end.len());
        let has_vowel = word.bytes().take(length).any(|byte| b"aeiouy".contains(&byte));
        // `speed` and `feed` have no ending to lose.
        if word.ends_with(end) && !word.ends_with("eed") && length >= 3 && has_vowel {
            word.truncate(length);
            undouble(word);
            break;
        }
    }
    if word.ends_with('e') && word.len() > 3 {
        word.truncate(word.len() - 1);
    }
}

pub(super) fn stemmed(word: &str) -> String {
    let mut term = word.to_owned();
    stem(&mut term);
    term
}

/// True for words with a plural ending, which in tool names and in questions means "many of them".
pub(super) fn is_plural(word: &str) -> bool {
    word == "people"
        || word.len() > 3
            && word.ends_with('s')
            && !["ss", "us", "is"].iter().any(|end| word.ends_with(end))
}

fn replace_end(word: &mut String, cut: usize, end: &str) {
    word.truncate(word.len() - cut);
    word.push_str(end);
}

/// `runn` of `running` back to `run`; `l`, `s` and `z` are doubled in their own right.
fn undouble(word: &mut String) {
    let bytes = word.as_bytes();
    if let [.., before, last] = bytes
        && before == last
        && !b"lsz".contains(last)
        && bytes.len() > 3
    {
        word.truncate(word.len() - 1);
    }
}

/// Words that say nothing about which tool is wanted.
pub(super) fn is_stop_word(word: &str) -> bool {
    const STOP_WORDS: [&str; 107] = [
        "about", "also", "am", "an", "and", "another", "any", "anything", "are", "as", "at", "be",
        "been", "being", "but", "by", "can", "certain", "could", "did", "do", "does", "doing",
        "done", "else", "for", "from", "given", "go", "had", "has", "have", "he", "her", "him",
        "his", "how", "if", "in", "into", "is", "it", "its", "just", "lately", "let", "like",
        "may", "me", "might", "much", "must", "my", "need", "now", "of", "on", "once", "one",
        "onto", "or", "our", "please", "right", "she", "should", "so", "some", "somebody",
        "someone", "such", "than", "that", "the", "their", "them", "then", "there", "these",
        "they", "this", "those", "to", "tool", "us", "use", "used", "using", "via", "want", "was",
        "we", "were", "what", "when", "where", "which", "who", "whole", "whom", "whose", "why",
        "will", "with", "would", "you", "your",
    ];
    STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        each_word(text, &mut String::new(), |word| found.push(word.to_owned()));
        found
    }

    #[test]
    fn identifiers_and_prose_are_cut_into_words() {
        assert_eq!(words("getHTTPLog_v2"), ["get", "http", "log", "v2"]);
        assert_eq!(words("API-patch-block.children"), ["api", "patch", "block", "children"]);
        assert_eq!(words("Sends a user's e-mail"), ["sends", "user", "mail"]);
        assert_eq!(words("ÜberTräger 検索"), ["über", "träger", "検", "索"]);
        assert_eq!(words(""), Vec::<String>::new());
    }

    #[test]
    fn forms_of_a_word_share_a_stem() {
        let same = [
            ["create", "creates", "created", "creating"],
            ["query", "queries", "queried", "query"],
            ["run", "runs", "running", "run"],
            ["search", "searches", "searched", "searching"],
            ["issue", "issues", "issued", "issuing"],
            ["install", "installs", "installed", "installing"],
            ["branch", "branches", "branched", "branching"],
        ];
        for forms in same {
            let stems = forms.map(|form| {
                let mut word = form.to_owned();
                stem(&mut word);
                word
            });
            assert!(stems.iter().all(|one| *one == stems[0]), "{stems:?}");
        }
        for (word, expected) in [
            ("status", "status"),
            ("address", "address"),
            ("string", "string"),
            ("speed", "speed"),
            ("redis", "redis"),
        ] {
            let mut text = word.to_owned();
            stem(&mut text);
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn the_stop_words_are_sorted() {
        for word in ["about", "the", "your", "tool", "need"] {
            assert!(is_stop_word(word), "{word}");
        }
        assert!(!is_stop_word("issue"));
    }
}
