//! How many tokens a text costs an agent, estimated from above.
//!
//! Exact counting loads a 24 MB vocabulary, which a serving process does not do. This walks the text the
//! way the o200k tokenizer cuts it (words with one sign before them, groups of three digits, runs of
//! punctuation and of blanks) and charges each piece a little more than such pieces cost on average in
//! real tool definitions. Short texts are charged a few tokens extra, since averages need room.

/// Hundredths of a token.
type TokenCost = usize;

/// A bound for the o200k tokens of a text: not below the exact count on tool definitions and prose, and
/// on average less than a quarter above it.
pub fn estimate_tokens(text: &str) -> usize {
    estimate_tokens_up_to(text, usize::MAX)
}

/// The same, for callers that treat all numbers from `limit` on as equal: long texts are not read to their end.
pub fn estimate_tokens_up_to(text: &str, limit: usize) -> usize {
    if text.is_empty() {
        return 0;
    }
    let mut letters = PieceReader { rest: text.chars().peekable(), before: WordPrefix::Nothing };
    let mut cost: TokenCost = 0;
    let mut unbroken = UnbrokenRun::default();
    while let Some(piece) = letters.next_piece() {
        cost += piece.cost() + unbroken.follow(&piece);
        if cost / 100 >= limit {
            return cost / 100;
        }
    }
    cost += unbroken.end();
    (cost + 200 + (cost / 14).min(2000)).div_ceil(100)
}

/// A stretch the tokenizer never joins with its neighbours.
enum TokenPiece {
    Word {
        before: WordPrefix,
        capitals: usize,
        small: usize,
    },
    Digits(usize),
    Signs {
        count: usize,
        quoting: usize,
        after_blank: bool,
    },
    Blanks {
        lines: usize,
        after: usize,
    },
    /// Letters outside ASCII, by what one costs.
    Foreign(TokenCost),
}

/// What comes before a word; one sign or blank is taken into the word's first token.
#[derive(Clone, Copy, PartialEq)]
enum WordPrefix {
    Nothing,
    Blank,
    Underscore,
    Sign,
}

impl TokenPiece {
    fn cost(&self) -> TokenCost {
        match *self {
            Self::Word { before, capitals, small } => word_cost(before, capitals, small),
            Self::Digits(count) => count.div_ceil(3) * 100,
            // Backticks and backslashes join with nothing; the signs of JSON join well.
            Self::Signs { count, quoting, after_blank } => match (count, after_blank) {
                (0, _) => 0,
                (1 | 2, _) => 103,
                (3, false) => 108,
                (3, true) => 195,
                (4, false) => 135,
                _ => 53 * count,
            }
            .max(100 * quoting),
            Self::Blanks { lines, after } => 100 * (lines.div_ceil(16) + after.div_ceil(16)),
            Self::Foreign(cost) => cost,
        }
    }
}

fn word_cost(before: WordPrefix, capitals: usize, small: usize) -> TokenCost {
    let length = capitals + small;
    match (capitals, small) {
        (0 | 1, _) => {}
        // Words in capitals are rare in the vocabulary and fall apart sooner.
        (2..=4, 0) if before == WordPrefix::Blank => return 115,
        (_, 0) => return if length == 2 { 112 } else { (36 * length).max(145) },
        _ if before == WordPrefix::Blank => return (24 * length).max(125),
        _ => return (60 * length).max(150),
    }
    let capital = 12 * capitals;
    match (before, length) {
        (WordPrefix::Blank | WordPrefix::Nothing, ..=6) => 103 + capital,
        (WordPrefix::Blank, ..=14) => 106 + capital,
        (WordPrefix::Nothing, ..=8) => 115 + capital,
        (WordPrefix::Nothing, ..=13) => 140 + capital,
        (WordPrefix::Underscore, ..=2) => 103,
        (WordPrefix::Underscore, ..=7) => 115 + 6 * capital,
        (WordPrefix::Underscore, ..=12) => 175 + 6 * capital,
        (WordPrefix::Sign, 1) => 103,
        (WordPrefix::Sign, ..=4) => 130 + 4 * capital,
        (WordPrefix::Sign, ..=6) => 150 + 4 * capital,
        (WordPrefix::Sign, ..=9) => 195,
        (WordPrefix::Sign, ..=14) => 230,
        _ => 28 * length,
    }
}

/// A stretch of letters and digits without words in it, such as an image in base64, falls into more
/// tokens than its pieces would cost inside names.
#[derive(Default)]
struct UnbrokenRun {
    letters: usize,
    pieces: usize,
    cost: TokenCost,
}

impl UnbrokenRun {
    /// Goes on with the stretch or ends it. Returns what an ended one costs beyond its pieces.
    fn follow(&mut self, piece: &TokenPiece) -> TokenCost {
        let letters = match piece {
            TokenPiece::Word {
                before: WordPrefix::Nothing | WordPrefix::Sign,
                capitals,
                small,
            } => capitals + small,
            TokenPiece::Digits(count) => *count,
            TokenPiece::Signs { count: 0 | 1, after_blank: false, .. } => 1,
            _ => return self.end(),
        };
        self.letters += letters;
        self.pieces += 1;
        self.cost += piece.cost();
        0
    }

    fn end(&mut self) -> TokenCost {
        let Self { letters, pieces, cost } = std::mem::take(self);
        // Words are longer than this on average.
        let is_noise = letters > 40 && pieces * 4 > letters;
        if is_noise { (85 * letters).saturating_sub(cost) } else { 0 }
    }
}

struct PieceReader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    before: WordPrefix,
}

impl PieceReader<'_> {
    fn next_piece(&mut self) -> Option<TokenPiece> {
        let first = *self.rest.peek()?;
        let before = std::mem::replace(&mut self.before, WordPrefix::Nothing);
        Some(match first {
            'a'..='z' | 'A'..='Z' => {
                let capitals = self.count(char::is_ascii_uppercase);
                let small = self.count(char::is_ascii_lowercase);
                TokenPiece::Word { before, capitals, small }
            }
            '0'..='9' => TokenPiece::Digits(self.count(char::is_ascii_digit)),
            _ if first.is_whitespace() => self.blanks(),
            _ if first.is_ascii() => self.signs(before),
            _ => {
                self.rest.next();
                TokenPiece::Foreign(foreign_cost(first))
            }
        })
    }

    fn count(&mut self, belongs: impl Fn(&char) -> bool) -> usize {
        let mut count = 0;
        while self.rest.next_if(&belongs).is_some() {
            count += 1;
        }
        count
    }

    /// A run of blanks. What reaches to its last line break is one token, what follows is another, and
    /// a last blank before something goes with that.
    fn blanks(&mut self) -> TokenPiece {
        let (mut lines, mut after) = (0, 0);
        while let Some(blank) = self.rest.next_if(|letter| letter.is_whitespace()) {
            after += 1;
            if matches!(blank, '\n' | '\r') {
                lines += std::mem::take(&mut after);
            }
        }
        if after > 0 && self.rest.peek().is_some_and(|next| !next.is_numeric()) {
            self.before = WordPrefix::Blank;
            after -= 1;
        }
        TokenPiece::Blanks { lines, after }
    }

    /// A run of signs, with the blank before it; a single sign goes with a word that follows.
    fn signs(&mut self, before: WordPrefix) -> TokenPiece {
        let after_blank = before == WordPrefix::Blank;
        let (mut last, mut count, mut quoting) = (' ', 0, 0);
        while let Some(sign) =
            self.rest.next_if(|letter| letter.is_ascii_punctuation() || letter.is_ascii_control())
        {
            last = sign;
            count += 1;
            quoting += usize::from(matches!(sign, '`' | '\\'));
        }
        let before_word = self.rest.peek().is_some_and(|next| next.is_alphabetic());
        if count == 1 && before_word && !after_blank {
            self.before = if last == '_' { WordPrefix::Underscore } else { WordPrefix::Sign };
            (count, quoting) = (0, 0);
        }
        TokenPiece::Signs { count, quoting, after_blank }
    }
}

fn foreign_cost(letter: char) -> TokenCost {
    match letter {
        // Signs of typography that are tokens of their own.
        '\u{2010}'..='\u{2027}' | '\u{3001}' | '\u{3002}' | '\u{ff0c}' => 130,
        // Two bytes: Latin with marks, Greek, Cyrillic, Hebrew, Arabic.
        '\u{80}'..='\u{7ff}' => 90,
        // Kana, Hangul and common ideographs.
        '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' => 125,
        // Emoji and rare signs, bytes of which are tokens of their own.
        _ => 100 * letter.len_utf8().max(3),
    }
}

#[cfg(test)]
mod tests;
