//! What was said, as clauses: what each asks for, denies, asks about or only mentions.
//!
//! This is no parser of English. It knows where clauses begin, what negates one and what a request looks like, and takes
//! everything else as not being a request. A clause stays what the clause before it was (`don't delete, archive or
//! move`) until a full stop or a word of contrast.

use super::lexicon::{
    AUXILIARIES, BARE_CONTRACTIONS, CONDITIONS, QUESTION_WORDS, SUBJECTS, is_frame, is_gerund,
    is_negator,
};

/// What a clause does with what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClauseMood {
    /// Asks for it: an imperative, or a polite question that is one.
    Request,
    /// Asks about it.
    Question,
    /// Denies or forbids it.
    Negated,
    /// Is a condition, a time, a reason or a purpose of something else.
    Subordinate,
    /// Reports it.
    Statement,
}

impl ClauseMood {
    /// Whether what the clause is about is what the sentence is about.
    pub(super) fn is_asserted(self) -> bool {
        !matches!(self, Self::Negated | Self::Subordinate)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SentenceClause {
    pub(super) mood: ClauseMood,
    /// Its words without those in quotes.
    pub(super) words: Vec<String>,
    /// Where the words after politeness begin: the verb of a request.
    pub(super) head: usize,
}

impl SentenceClause {
    pub(super) fn after_frame(&self) -> &[String] {
        self.words.get(self.head..).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ParsedSentence {
    pub(super) clauses: Vec<SentenceClause>,
    /// Words in quotes: they are mentioned, not used.
    pub(super) quoted: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SentenceToken {
    Word(String),
    Quoted(String),
    /// A comma, a colon, a dash.
    Pause,
    /// A full stop, or a question mark.
    End {
        asks: bool,
    },
}

impl ParsedSentence {
    /// Reads what was said. `phrase` is a pattern that is taken as one word; the meaning of its own words does not matter.
    pub(super) fn read(text: &str, phrase: &[String]) -> Self {
        let mut sentence = Self::default();
        let tokens = join_phrase(tokens(text), phrase);
        for part in tokens.split_inclusive(|token| matches!(token, SentenceToken::End { .. })) {
            let reader = ClauseReader {
                sentence: &mut sentence,
                asks: part.contains(&SentenceToken::End { asks: true }),
                words: Vec::new(),
                opening: ClauseStart::Fresh,
                previous: ClauseMood::Request,
            };
            reader.read(part);
        }
        // What is said later may take back what was said before.
        for index in 1..sentence.clauses.len() {
            if takes_back(&sentence.clauses[index]) {
                sentence.clauses[..index]
                    .iter_mut()
                    .for_each(|clause| clause.mood = ClauseMood::Negated);
            }
        }
        sentence
    }

    /// The words of all clauses that are not denied or subordinate, when there are others too.
    pub(super) fn asserted(&self) -> Option<String> {
        let all = self.clauses.iter().all(|clause| clause.mood.is_asserted());
        let asserted = self.clauses.iter().filter(|clause| clause.mood.is_asserted());
        let words: Vec<&str> =
            asserted.flat_map(|clause| clause.words.iter().map(String::as_str)).collect();
        (!all && !words.is_empty()).then(|| words.join(" "))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ClauseStart {
    /// At the beginning of a sentence, or after a word of contrast: what came before does not matter.
    Fresh,
    /// After a pause or `and`: it goes on with what came before, unless that was a request.
    Continued,
    /// After a word that fixes its mood.
    Fixed(ClauseMood),
}

struct ClauseReader<'a> {
    sentence: &'a mut ParsedSentence,
    /// Whether it ends in a question mark.
    asks: bool,
    /// The words of the clause at hand, and how it begins.
    words: Vec<String>,
    opening: ClauseStart,
    /// What the clause goes on with.
    previous: ClauseMood,
}

impl ClauseReader<'_> {
    fn read(mut self, part: &[SentenceToken]) {
        // A subordinate clause at the beginning ends at the pause: `before you go, check email`.
        let mut ends_at_pause = false;
        let mut index = 0;
        while index < part.len() {
            let rest = &part[index..];
            let word = match &part[index] {
                SentenceToken::Quoted(text) => {
                    self.sentence.quoted.extend(split_words(text));
                    // What is quoted has a place in its clause, but no words.
                    self.words.push(String::new());
                    index += 1;
                    continue;
                }
                SentenceToken::Pause => {
                    self.close();
                    self.opening =
                        if ends_at_pause { ClauseStart::Fresh } else { ClauseStart::Continued };
                    ends_at_pause = false;
                    index += 1;
                    continue;
                }
                SentenceToken::End { .. } => break,
                SentenceToken::Word(word) => word.as_str(),
            };
            let is_first = self.words.iter().all(|word| is_frame(word));
            let starts_sentence = is_first
                && self.opening == ClauseStart::Fresh
                && self.previous == ClauseMood::Request;
            let Some((next, length)) = boundary(word, rest, is_first) else {
                self.words.push(word.to_owned());
                index += 1;
                continue;
            };
            if !is_first {
                self.close();
            }
            // `delete, but never …`: a fixed mood at the very beginning lasts until the pause, except a condition.
            if let ClauseStart::Fixed(_) = next {
                ends_at_pause = starts_sentence && !CONDITIONS.contains(word) && word != "in";
            }
            self.opening = match (next, self.opening) {
                // `what happens when …` asks about all of it.
                (ClauseStart::Fixed(ClauseMood::Subordinate), _)
                    if self.previous == ClauseMood::Question && !is_first =>
                {
                    ClauseStart::Continued
                }
                // `and` at the start of a fresh clause changes nothing.
                (ClauseStart::Continued, opening) if is_first => opening,
                (next, _) => next,
            };
            // The word of contrast or condition is no part of what is asked for.
            self.words.clear();
            index += length;
        }
        self.close();
    }

    fn close(&mut self) {
        let words = std::mem::take(&mut self.words);
        if words.is_empty() {
            if let ClauseStart::Fixed(mood) = self.opening {
                self.previous = mood;
            }
            return;
        }
        let (head, is_polite, resets) = frame(&words);
        let goes_on = self.previous != ClauseMood::Request && !resets && !is_polite;
        let mood = match self.opening {
            ClauseStart::Fixed(mood) => mood,
            ClauseStart::Continued if goes_on => self.previous,
            ClauseStart::Fresh | ClauseStart::Continued => {
                own_mood(&words, head, self.asks && !is_polite)
            }
        };
        // `please, …` says nothing yet.
        if head < words.len() || mood != ClauseMood::Request {
            self.previous = mood;
        }
        self.sentence.clauses.push(SentenceClause { mood, words, head });
    }
}

/// Whether a word begins a new clause, which, and how many words that takes.
fn boundary(word: &str, rest: &[SentenceToken], is_first: bool) -> Option<(ClauseStart, usize)> {
    let next = match rest.get(1) {
        Some(SentenceToken::Word(word)) => word.as_str(),
        _ => "",
    };
    let negated = ClauseStart::Fixed(ClauseMood::Negated);
    let subordinate = ClauseStart::Fixed(ClauseMood::Subordinate);
    Some(match (word, next) {
        ("anything" | "everything" | "all", "but") => (negated, 2),
        ("instead", "of") | ("rather", "than") => (negated, 2),
        // `without attachments` narrows a request down; `without deleting` denies something.
        ("without" | "sans" | "ohne" | "sin" | "w/o", next) if is_gerund(next) || is_first => {
            (negated, 1)
        }
        ("except" | "besides", next) if is_gerund(next) => (negated, 1),
        ("but" | "however", _) => (ClauseStart::Fresh, 1),
        ("and" | "or" | "nor" | "plus" | "then", _) => (ClauseStart::Continued, 1),
        ("in", "case") => (subordinate, 2),
        ("when" | "where" | "who", _) if is_first => return None,
        ("before" | "after" | "while" | "because" | "although" | "though" | "until", _) => {
            (subordinate, 1)
        }
        ("so" | "that" | "which" | "who" | "where" | "when", _) if !is_first => (subordinate, 1),
        (word, _) if CONDITIONS.contains(word) => (subordinate, 1),
        _ => return None,
    })
}

/// How many words come before what is asked for, whether they are a polite request, and whether they contrast the clause
/// with the one before.
fn frame(words: &[String]) -> (usize, bool, bool) {
    let (mut at, mut is_polite, mut resets) = (0, false, false);
    loop {
        let rest: Vec<&str> = words[at..].iter().take(6).map(String::as_str).collect();
        let length = match rest[..] {
            ["can" | "could" | "would" | "will", "you", ..] => 2,
            ["i" | "we", "want" | "need" | "wish", "to", ..] => 3,
            ["i" | "we", "want" | "need", "you", "to", ..] => 4,
            ["i" | "we", "would", "like" | "love", "to", ..] => 4,
            ["i" | "we", "would", "like", "you", "to", ..] => 5,
            ["let", "us", ..] | ["go", "ahead", ..] => 2,
            [word, ..] if is_frame(word) => {
                resets |= ["just", "only", "simply", "instead", "rather"].contains(&word);
                at += 1;
                continue;
            }
            _ => return (at, is_polite, resets),
        };
        is_polite = true;
        at += length;
    }
}

fn own_mood(words: &[String], head: usize, asks: bool) -> ClauseMood {
    let negates = |index: usize| {
        let before = index.checked_sub(1).map_or("", |index| words[index].as_str());
        // `with no subject` narrows a request down.
        is_negator(&words[index])
            && !(words[index] == "no" && ["with", "has", "have"].contains(&before))
    };
    if (0..words.len()).any(negates) {
        return ClauseMood::Negated;
    }
    let Some(first) = words.get(head) else { return ClauseMood::Request };
    match first.as_str() {
        first if QUESTION_WORDS.contains(first) || AUXILIARIES.contains(first) => {
            ClauseMood::Question
        }
        _ if asks => ClauseMood::Question,
        first if SUBJECTS.contains(first) || is_gerund(first) => ClauseMood::Statement,
        _ => ClauseMood::Request,
    }
}

/// Whether a clause only takes back what was said: `no`, `don't`, `never mind`, `stop`.
fn takes_back(clause: &SentenceClause) -> bool {
    let refusing = |word: &str| {
        is_negator(word)
            || ["stop", "cancel", "forget", "scratch", "wait", "kidding"].contains(&word)
    };
    let empty =
        |word: &str| ["do", "mind", "that", "it", "sorry"].contains(&word) || is_frame(word);
    let mut words = clause.words.iter().map(String::as_str);
    words.clone().any(refusing) && words.all(|word| refusing(word) || empty(word))
}

/// The words of a text as they are compared: in lower case, contractions written out.
pub(super) fn split_words(text: &str) -> Vec<String> {
    let is_inner = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '\'';
    let text = text.to_lowercase().replace(['’', '‘', 'ʼ'], "'");
    let raw = text.split(|letter: char| !is_inner(letter)).map(|word| word.trim_matches('\''));
    raw.filter(|word| !word.is_empty()).flat_map(written_out).collect()
}

fn written_out(word: &str) -> Vec<String> {
    let both = |one: &str, other: &str| vec![one.to_owned(), other.to_owned()];
    match word {
        "cannot" | "can't" | "cant" => return both("can", "not"),
        "won't" | "wont" => return both("will", "not"),
        "let's" | "lets" => return both("let", "us"),
        _ => {}
    }
    if let Some(verb) = word.strip_suffix("n't") {
        return both(verb, "not");
    }
    if BARE_CONTRACTIONS.contains(word) {
        return both(word.trim_end_matches("nt"), "not");
    }
    match word.split_once('\'') {
        Some((subject, "d")) => both(subject, "would"),
        Some((subject, "ll")) => both(subject, "will"),
        Some((subject, "s")) if QUESTION_WORDS.contains(subject) => both(subject, "is"),
        Some((subject, _)) if !subject.is_empty() => vec![subject.to_owned()],
        _ => vec![word.to_owned()],
    }
}

/// Splits a text at spaces, punctuation and quotes.
fn tokens(text: &str) -> Vec<SentenceToken> {
    let text = text.to_lowercase().replace(['’', '‘', 'ʼ'], "'");
    let text = text.trim();
    let mut found = Vec::new();
    let mut word = String::new();
    let mut letters = text.char_indices().peekable();
    let flush = |word: &mut String, found: &mut Vec<SentenceToken>| {
        let words = split_words(&std::mem::take(word));
        // `go ahead and` is one way to say please.
        for word in words {
            let is_filler = word == "and"
                && matches!(found.last(), Some(SentenceToken::Word(last)) if last == "ahead" || last == "go");
            if !is_filler {
                found.push(SentenceToken::Word(word));
            }
        }
    };
    while let Some((index, letter)) = letters.next() {
        let next = letters.peek().map(|(_, letter)| *letter);
        let is_end = next.is_none_or(char::is_whitespace);
        match letter {
            '"' | '“' | '”' | '«' | '»' | '`' | '\'' => {
                let closing = match letter {
                    '“' => '”',
                    '«' => '»',
                    other => other,
                };
                let rest = text.get(index + letter.len_utf8()..).unwrap_or_default();
                let opens = word.is_empty() && !is_end;
                match rest.find(closing).filter(|_| opens) {
                    // Everything in quotes is as good as nothing in quotes.
                    Some(length) if index == 0 && rest.len() == length + closing.len_utf8() => {}
                    Some(length) => {
                        let quoted = rest.get(..length).unwrap_or_default();
                        found.push(SentenceToken::Quoted(quoted.to_owned()));
                        let end = index + letter.len_utf8() + length;
                        while letters.next_if(|(at, _)| *at <= end).is_some() {}
                    }
                    None if letter == '\'' => word.push(letter),
                    None => {}
                }
            }
            ',' | ':' | '(' | ')' | '—' | '–' | '…' => {
                flush(&mut word, &mut found);
                found.push(SentenceToken::Pause);
            }
            '-' if word.is_empty() && is_end => found.push(SentenceToken::Pause),
            '?' | '？' => {
                flush(&mut word, &mut found);
                found.push(SentenceToken::End { asks: true });
            }
            '!' | ';' | '\n' => {
                flush(&mut word, &mut found);
                found.push(SentenceToken::End { asks: false });
            }
            '.' if is_end => {
                flush(&mut word, &mut found);
                found.push(SentenceToken::End { asks: false });
            }
            letter if letter.is_whitespace() => flush(&mut word, &mut found),
            letter => word.push(letter),
        }
    }
    flush(&mut word, &mut found);
    found
}

/// The tokens with each occurrence of the phrase as one word.
fn join_phrase(tokens: Vec<SentenceToken>, phrase: &[String]) -> Vec<SentenceToken> {
    if phrase.is_empty() {
        return tokens;
    }
    let is_phrase = |tokens: &[SentenceToken]| {
        tokens.len() >= phrase.len()
            && tokens
                .iter()
                .zip(phrase)
                .all(|(token, word)| matches!(token, SentenceToken::Word(said) if said == word))
    };
    let mut joined = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        if is_phrase(&tokens[index..]) {
            joined.push(SentenceToken::Word(phrase.join(" ")));
            index += phrase.len();
        } else {
            joined.push(tokens[index].clone());
            index += 1;
        }
    }
    joined
}
