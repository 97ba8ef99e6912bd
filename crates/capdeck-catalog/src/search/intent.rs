//! What a question wants done, judged by how it starts.

use super::{
    verbs::{VerbClass, class_of, is_noun_too},
    words::stemmed,
};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct QueryIntent {
    pub(super) class: VerbClass,
    /// The place of the verb among the words, when the question has one.
    pub(super) verb: Option<usize>,
}

const POLITE_WORDS: [&str; 17] = [
    "please", "can", "could", "would", "you", "we", "want", "need", "to", "let", "me", "us",
    "help", "do", "how", "should", "like",
];
const ARTICLES: [&str; 20] = [
    "an", "the", "my", "our", "this", "that", "some", "all", "another", "new", "someone", "two",
    "these", "it", "every", "your", "several", "three", "many", "more",
];

/// Tells what a question wants. `who watches this ticket` and `logs of a pod` want something shown, `tag a page` wants
/// something done: a verb at the start is followed by an article, a noun is not.
pub(super) fn intent(words: &[String]) -> QueryIntent {
    let is = |list: &[&str], word: &str| list.contains(&word);
    let look = QueryIntent { class: VerbClass::Look, verb: None };
    let Some(start) = words.iter().position(|word| !is(&POLITE_WORDS, word)) else {
        return QueryIntent::default();
    };
    let Some(first) = words.get(start) else { return QueryIntent::default() };
    let asks_how = words.iter().take(start).any(|word| word == "how");
    let next = words.get(start + 1);
    let has_article = next.is_some_and(|next| is(&ARTICLES, next));
    if first == "open" {
        // Opening a ticket makes one, opening a file shows it.
        return QueryIntent { class: VerbClass::Unknown, verb: Some(start) };
    }
    let class = class_of(&stemmed(first));
    // `comment on an issue` does something, `comments on an issue` are things.
    let has_target = next.is_some_and(|next| is(&["on", "to", "into"], next));
    if class != VerbClass::Unknown && (has_article || has_target || !is_noun_too(first)) {
        // `deleted files` and `running pods` are things.
        return match is_inflected(first) && !has_article {
            true => look,
            false => QueryIntent { class, verb: Some(start) },
        };
    }
    if is_question_word(first) || asks_how {
        return look;
    }
    if has_article {
        return QueryIntent { class: VerbClass::Act, verb: Some(start) };
    }
    let is_later_verb = |word: &&String| {
        let is_verb = !is_noun_too(word) && !is_inflected(word);
        is_verb && !matches!(class_of(&stemmed(word)), VerbClass::Unknown | VerbClass::Look)
    };
    match words.iter().skip(start + 1).find(is_later_verb) {
        Some(_) => QueryIntent::default(),
        None => look,
    }
}

/// True for `running`, `deleted` and `labels`, not for `press`.
fn is_inflected(word: &str) -> bool {
    ["ing", "ed", "s"].iter().any(|end| word.ends_with(end)) && *word != stemmed(word)
}

fn is_question_word(word: &str) -> bool {
    const QUESTION: [&str; 18] = [
        "who", "whose", "what", "which", "when", "where", "why", "how", "is", "are", "was", "were",
        "do", "does", "did", "has", "have", "am",
    ];
    QUESTION.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(question: &str) -> VerbClass {
        let words: Vec<String> = question.split_whitespace().map(str::to_owned).collect();
        intent(&words).class
    }

    #[test]
    fn the_start_of_a_question_tells() {
        for question in [
            "who is watching this ticket",
            "logs of an pod",
            "can you list the open issues",
            "is the build green",
            "my workspaces",
            "commit history",
            "running pods",
            "merge request diff",
        ] {
            assert_eq!(class(question), VerbClass::Look, "{question}");
        }
        for (question, expected) in [
            ("commit my changes", VerbClass::Act),
            ("please store json", VerbClass::Create),
            ("create an issue", VerbClass::Create),
            ("tag an page", VerbClass::Act),
            ("get rid", VerbClass::Look),
            ("remove labels", VerbClass::Remove),
            ("quickly delete it", VerbClass::Unknown),
            ("", VerbClass::Unknown),
        ] {
            assert_eq!(class(question), expected, "{question}");
        }
    }
}
