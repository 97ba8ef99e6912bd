//! Inputs from seeds: what is damaged, repeated, spliced and overgrown in real files and messages.

use crate::{RandomSource, json_mutation::mutate_json};

/// Bytes and texts that parsers of many formats get wrong.
const NASTY: &[&[u8]] = &[
    b"\0",
    b"\r\n",
    b"\r",
    b"\n\n",
    b"\t",
    b"\xEF\xBB\xBF",
    b"\xFF\xFE",
    b"\xC0\x80",
    b"\xED\xA0\x80",
    b"\xF4\x90\x80\x80",
    b"\xE2\x80",
    b"\x80",
    "\u{202e}".as_bytes(),
    "\u{2066}".as_bytes(),
    "\u{200b}".as_bytes(),
    "\u{2028}".as_bytes(),
    "\u{85}".as_bytes(),
    "\u{feff}".as_bytes(),
    "\u{e0041}".as_bytes(),
    "\u{1f468}\u{200d}\u{1f469}".as_bytes(),
    "e\u{301}".as_bytes(),
    "İ".as_bytes(),
    "ß".as_bytes(),
    b"\x1b[2J",
    b"\x07",
    b"\x7f",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\"",
    b"'",
    b"`",
    b"${X}",
    b"${X:-y}",
    b"$$",
    b"{{x}}",
    b"../",
    b"/../../etc/passwd",
    b"//",
    b"%00",
    b"%2e%2e%2f",
    b"%",
    b"#/",
    b"#",
    b"~1",
    b"*",
    b"&a",
    b"*a",
    b"!!binary ",
    b"!!python/object ",
    b"<<: *a",
    b"---\n",
    b"...\n",
    b"|+9\n",
    b">-\n",
    b"? ",
    b": ",
    b"- ",
    b"null",
    b"true",
    b"NaN",
    b"-0",
    b"1e999",
    b"1e-999",
    b"0x10",
    b"-1",
    b"2147483648",
    b"4294967296",
    b"9007199254740993",
    b"18446744073709551615",
    b"18446744073709551616",
    b"-9223372036854775809",
    b"99999999999999999999999999999999999999999",
    b"0.1",
    b"__proto__",
    b"constructor",
    b"(a+)+$",
    b"[",
    b"(?=a)",
];

/// What opens and closes when nested.
const NESTS: &[(&str, &str)] = &[
    ("[", "]"),
    ("{\"a\":", "}"),
    ("{\"properties\":{\"a\":", "}}"),
    ("{\"allOf\":[", "]}"),
    ("{\"items\":", "}"),
    ("(", ")"),
    ("{", "}"),
    ("- ", ""),
    ("\"", "\""),
    ("<", ">"),
    (" ", ""),
    ("a: {", "}"),
    ("? ", ""),
    ("!", ""),
];

/// Makes inputs of one target.
pub(crate) struct InputMutator {
    random: RandomSource,
    dictionary: &'static [&'static str],
    corpus: Vec<Vec<u8>>,
    max_bytes: usize,
}

/// How many inputs with an outcome of their own are kept as seeds.
const MAX_CORPUS: usize = 4_000;

impl InputMutator {
    pub(crate) fn new(
        seed: u64,
        seeds: Vec<Vec<u8>>,
        dictionary: &'static [&'static str],
        max_bytes: usize,
    ) -> Self {
        assert!(!seeds.is_empty(), "a target needs seeds");
        Self { random: RandomSource::new(seed), dictionary, corpus: seeds, max_bytes }
    }

    /// Keeps an input to start from later.
    pub(crate) fn keep(&mut self, input: &[u8]) {
        if self.corpus.len() < MAX_CORPUS {
            self.corpus.push(input.to_vec());
        }
    }

    pub(crate) fn random(&mut self) -> &mut RandomSource {
        &mut self.random
    }

    /// The next input.
    pub(crate) fn next(&mut self) -> Vec<u8> {
        let chosen = self.random.below(self.corpus.len());
        let mut input = self.corpus[chosen].clone();
        for _ in 0..=self.random.small(7) {
            self.mutate(&mut input);
            input.truncate(self.max_bytes);
        }
        input
    }

    fn mutate(&mut self, input: &mut Vec<u8>) {
        // Half of all changes keep JSON what it is, so that they get behind its parser.
        if self.random.chance(1, 2) && self.mutate_value(input) {
            return;
        }
        let random = &mut self.random;
        match random.below(17) {
            0 => {
                if let Some(byte) = pick_byte(input, random) {
                    *byte ^= 1 << random.below(8);
                }
            }
            1 => {
                if let Some(byte) = pick_byte(input, random) {
                    *byte = random.below(256) as u8;
                }
            }
            2 => drop(input.drain(random.range(input.len()))),
            3 => input.truncate(random.below(input.len() + 1)),
            4 => {
                let nasty = random.pick(NASTY);
                insert(input, random, nasty);
            }
            5 | 6 => {
                let token = self.token();
                insert(input, &mut self.random, token.as_bytes());
            }
            7 => self.replace_word(input),
            8 => {
                let piece = input[random.range(input.len())].to_vec();
                insert(input, random, &piece);
            }
            9 => {
                let piece = input[random.range(input.len())].to_vec();
                let times = random.small((self.max_bytes / piece.len().max(1)).min(5_000));
                insert(input, random, &piece.repeat(times));
            }
            10 => self.splice(input),
            11 => self.nest(input),
            12 | 13 => self.change_lines(input),
            14 => {
                let ends: &[&str] = &["\r\n", "\r", "\n\n", "\n\t", "\n "];
                let end = random.pick(ends);
                *input = replace_all(input, b"\n", end.as_bytes());
            }
            15 => {
                let bytes: Vec<u8> =
                    (0..random.small(64)).map(|_| random.below(256) as u8).collect();
                insert(input, random, &bytes);
            }
            _ => {
                let (one, two) = (random.range(input.len()), random.range(input.len()));
                let (one, two) = (input[one].to_vec(), input[two.clone()].to_vec());
                *input = replace_first(input, &two, &one);
            }
        }
    }

    /// Changes the input as a JSON value, if it is one or a part of its lines is.
    fn mutate_value(&mut self, input: &mut Vec<u8>) -> bool {
        let other = self.random.below(self.corpus.len());
        if let Ok(mut value) = serde_json::from_slice(input) {
            let donor = serde_json::from_slice(&self.corpus[other]).unwrap_or_default();
            mutate_json(&mut value, &donor, self.dictionary, &mut self.random);
            *input = match self.random.chance(1, 3) {
                true => serde_json::to_vec_pretty(&value).unwrap(),
                false => serde_json::to_vec(&value).unwrap(),
            };
            return true;
        }
        // A line of its own, or what follows the first brace of a line.
        let mut lines: Vec<Vec<u8>> =
            input.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let chosen = self.random.below(lines.len());
        let line = &mut lines[chosen];
        let Some(start) = line.iter().position(|byte| matches!(byte, b'{' | b'[')) else {
            return false;
        };
        let Ok(mut value) = serde_json::from_slice(&line[start..]) else { return false };
        let donor = serde_json::Value::Null;
        mutate_json(&mut value, &donor, self.dictionary, &mut self.random);
        line.truncate(start);
        line.extend(serde_json::to_vec(&value).unwrap());
        *input = lines.join(&b'\n');
        true
    }

    fn token(&mut self) -> &'static str {
        if self.dictionary.is_empty() { " " } else { self.random.pick(self.dictionary) }
    }

    /// Puts a word of the format, a number or another nasty text where some word was.
    fn replace_word(&mut self, input: &mut Vec<u8>) {
        let at = self.random.below(input.len() + 1);
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.$".contains(byte);
        let start = input[..at].iter().rposition(|byte| !is_word(byte)).map_or(0, |at| at + 1);
        let length = input[at..].iter().position(|byte| !is_word(byte));
        let end = length.map_or(input.len(), |length| at + length);
        let new = match self.random.chance(1, 3) {
            true => self.random.pick(NASTY),
            false => self.token().as_bytes(),
        };
        input.splice(start..end, new.iter().copied());
    }

    /// The beginning of this input and the end of another, or a piece of the other inside this one.
    fn splice(&mut self, input: &mut Vec<u8>) {
        let other = self.random.below(self.corpus.len());
        let other = &self.corpus[other];
        if self.random.chance(1, 2) {
            input.truncate(self.random.below(input.len() + 1));
            input.extend_from_slice(&other[self.random.below(other.len() + 1)..]);
        } else {
            let piece = other[self.random.range(other.len())].to_vec();
            insert(input, &mut self.random, &piece);
        }
    }

    fn nest(&mut self, input: &mut Vec<u8>) {
        let (open, close) = NESTS[self.random.below(NESTS.len())];
        let depth = match self.random.below(4) {
            0 => self.random.small(16),
            1 => 120 + self.random.below(20),
            2 => self.random.small(2_000),
            _ => self.random.below(self.max_bytes / (open.len() + close.len())),
        };
        let inside = input[self.random.range(input.len())].to_vec();
        let inside = if self.random.chance(1, 2) { b"1".to_vec() } else { inside };
        let nested =
            [open.repeat(depth).as_bytes(), &inside, close.repeat(depth).as_bytes()].concat();
        if self.random.chance(1, 4) {
            *input = nested;
        } else {
            insert(input, &mut self.random, &nested);
        }
    }

    fn change_lines(&mut self, input: &mut Vec<u8>) {
        let mut lines: Vec<Vec<u8>> =
            input.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let at = self.random.below(lines.len());
        match self.random.below(6) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let other = self.random.below(lines.len());
                lines.swap(at, other);
            }
            3 => {
                let indent = vec![b' '; self.random.small(8)];
                lines[at].splice(0..0, indent);
            }
            4 => {
                let cut = lines[at].iter().take_while(|byte| **byte == b' ').count().min(2);
                lines[at].drain(..cut);
            }
            _ => {
                let other = self.random.below(self.corpus.len());
                let foreign: Vec<&[u8]> = self.corpus[other].split(|byte| *byte == b'\n').collect();
                let from = self.random.below(foreign.len());
                let to = (from + 1 + self.random.small(8)).min(foreign.len());
                lines.splice(at..at, foreign[from..to].iter().map(|line| line.to_vec()));
            }
        }
        *input = lines.join(&b'\n');
    }
}

fn pick_byte<'a>(input: &'a mut [u8], random: &mut RandomSource) -> Option<&'a mut u8> {
    let at = random.below(input.len());
    input.get_mut(at)
}

fn insert(input: &mut Vec<u8>, random: &mut RandomSource, piece: &[u8]) {
    let at = random.below(input.len() + 1);
    input.splice(at..at, piece.iter().copied());
}

fn replace_all(input: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(input.len());
    let mut rest = input;
    while let Some(at) = find(rest, old) {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(new);
        rest = &rest[at + old.len()..];
    }
    result.extend_from_slice(rest);
    result
}

fn replace_first(input: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    match find(input, old) {
        Some(at) => [&input[..at], new, &input[at + old.len()..]].concat(),
        None => input.to_vec(),
    }
}

fn find(input: &[u8], piece: &[u8]) -> Option<usize> {
    if piece.is_empty() {
        return None;
    }
    input.windows(piece.len()).position(|window| window == piece)
}
