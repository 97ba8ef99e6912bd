//! Whether a question wants something shown or something done, judged by how it starts.

use super::words::each_word;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueryIntent {
    Look,
    Do,
}

/// Verbs of tools that only look.
pub(super) const READING_VERBS: [&str; 16] = [
    "get", "list", "read", "show", "search", "find", "query", "describe", "retrieve", "check",
    "view", "fetch", "count", "print", "see", "look",
];
/// Verbs of tools that take something away. Such a tool is never a guess: it must be asked for.
pub(super) const DESTRUCTIVE_VERBS: [&str; 10] = [
    "delete",
    "remove",
    "uninstall",
    "drop",
    "erase",
    "destroy",
    "purge",
    "unassign",
    "revoke",
    "unpublish",
];
/// Verbs that ask for something to be done, where a question may start with them and nothing else tells.
const ACTION_VERBS: [&str; 64] = [
    "accept", "add", "append", "apply", "approve", "archive", "assign", "attach", "book", "build",
    "cancel", "change", "clear", "click", "clone", "close", "commit", "connect", "convert", "copy",
    "create", "delete", "deploy", "disable", "drop", "edit", "enable", "execute", "export", "fill",
    "fork", "generate", "give", "import", "insert", "install", "launch", "make", "mark", "merge",
    "modify", "move", "open", "post", "publish", "push", "put", "remove", "rename", "replace",
    "reply", "restart", "run", "save", "send", "set", "start", "stop", "store", "switch", "turn",
    "update", "upload", "write",
];
const POLITE_WORDS: [&str; 13] = [
    "please", "can", "could", "would", "you", "we", "want", "need", "to", "let", "me", "us", "help",
];
const ARTICLES: [&str; 12] =
    ["an", "the", "my", "our", "this", "that", "some", "all", "another", "new", "someone", "two"];

/// Tells the intent; `None` when the question does not say.
///
/// "who watches this ticket" and "logs of a pod" want something shown, "tag a page" wants something done:
/// a verb at the start is followed by an article, a noun is not.
pub(super) fn intent(question: &str) -> Option<QueryIntent> {
    // Single letters are no words to the index, but `a` tells a verb from a noun.
    let spaced = question.replace(" a ", " an ");
    let mut words: Vec<String> = Vec::new();
    each_word(&spaced, &mut String::new(), |word| words.push(word.to_owned()));
    let is = |list: &[&str], word: &str| list.contains(&word);
    let start = words.iter().position(|word| !is(&POLITE_WORDS, word))?;
    let first = words.get(start)?;
    let followed_by_article = words.get(start + 1).is_some_and(|next| is(&ARTICLES, next));
    if is(&READING_VERBS, first) {
        Some(QueryIntent::Look)
    } else if is(&ACTION_VERBS, first) {
        Some(QueryIntent::Do)
    } else if is_question_word(first) {
        Some(QueryIntent::Look)
    } else if followed_by_article {
        Some(QueryIntent::Do)
    } else if words.iter().any(|word| is(&ACTION_VERBS, word)) {
        None
    } else {
        Some(QueryIntent::Look)
    }
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

    #[test]
    fn the_start_of_a_question_tells() {
        for question in [
            "who is watching this ticket",
            "logs of a pod",
            "can you list the open issues",
            "is the build green",
            "my workspaces",
        ] {
            assert_eq!(intent(question), Some(QueryIntent::Look), "{question}");
        }
        for question in
            ["tag a page", "please store json", "create an issue", "plan the next sprint"]
        {
            assert_eq!(intent(question), Some(QueryIntent::Do), "{question}");
        }
        for question in ["", "quickly delete it"] {
            assert_eq!(intent(question), None, "{question}");
        }
    }
}
