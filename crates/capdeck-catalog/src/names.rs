//! The names clients see: `<capability>__<tool>`, always legal, never two for one or one for two.
//!
//! A name depends on its own pair and on nothing else in the deck, so it stays the same when other
//! tools come and go:
//!
//! - A pair keeps its *natural* name when that name is legal unchanged (`[A-Za-z0-9_-]`, at most 64
//!   characters), when cutting it at its last `__` gives the pair back, and when it does not look hashed.
//! - Every other pair gets the legal part of its natural name, cut, plus `_x` and a hash of the pair.
//!
//! So of `a__b` + `c` and `a` + `b__c` the first always owns `a__b__c`, whether or not the second exists.
//! Capability ids name wrapper tools; an id that is a reserved name gets a hash too. The one dependence
//! on a neighbour: a pair whose natural name is the id of a capability in the table gives way to it.

use rustc_hash::{FxHashMap, FxHashSet};
use sha2::{Digest, Sha256};

/// The longest name all MCP clients accept.
const MAX_NAME_LENGTH: usize = 64;
/// Digits of hash in a name, five bits each. The longer form is for pairs whose first 60 bits are equal.
const HASH_DIGITS: [usize; 2] = [12, 50];
/// What comes before the hash.
const HASH_PREFIX: &str = "_x";

/// Client-safe names for wrapper tools and for capabilities' own tools, both ways.
#[derive(Debug, Default)]
pub struct NameTable {
    names: FxHashMap<NameOwner, String>,
    owners: FxHashMap<String, NameOwner>,
}

/// What a name means: a capability (its wrapper tool), or one tool of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameOwner {
    pub capability: String,
    pub tool: Option<String>,
}

impl NameTable {
    /// Names every wrapper (a capability id) and every tool (a capability id and a tool name).
    pub fn build<'a>(
        reserved: &[&str],
        wrappers: impl IntoIterator<Item = &'a str>,
        tools: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let wrappers = wrappers.into_iter().map(NameOwner::wrapper);
        let tools = tools.into_iter().map(|(capability, tool)| NameOwner::tool(capability, tool));
        let mut owners: Vec<NameOwner> = wrappers.chain(tools).collect();
        owners.sort_unstable();
        owners.dedup();
        Self::assign(reserved, &owners, HASH_DIGITS)
    }

    pub fn tool_name(&self, capability: &str, tool: &str) -> Option<&str> {
        self.names.get(&NameOwner::tool(capability, tool)).map(String::as_str)
    }

    /// True when the tool's name is `<capability>__<tool>` unchanged, in every deck but for a
    /// capability of that id.
    pub fn is_natural(capability: &str, tool: &str) -> bool {
        let owner = NameOwner::tool(capability, tool);
        owner.keeps_natural_name(&owner.natural())
    }

    pub fn wrapper_name(&self, capability: &str) -> Option<&str> {
        self.names.get(&NameOwner::wrapper(capability)).map(String::as_str)
    }

    pub fn owner(&self, name: &str) -> Option<&NameOwner> {
        self.owners.get(name)
    }

    fn assign(reserved: &[&str], owners: &[NameOwner], [short, long]: [usize; 2]) -> Self {
        let taken: FxHashSet<&str> = reserved
            .iter()
            .copied()
            .chain(
                owners
                    .iter()
                    .filter(|owner| owner.tool.is_none())
                    .map(|owner| owner.capability.as_str()),
            )
            .collect();
        let reserved: FxHashSet<&str> = reserved.iter().copied().collect();
        let name = |owner: &NameOwner, digits| {
            let natural = owner.natural();
            let taken = if owner.tool.is_none() { &reserved } else { &taken };
            if owner.keeps_natural_name(&natural) && !taken.contains(natural.as_str()) {
                natural
            } else {
                owner.hashed(&natural, digits)
            }
        };
        let mut uses: FxHashMap<String, usize> = FxHashMap::default();
        let names: Vec<String> = owners.iter().map(|owner| name(owner, short)).collect();
        for name in &names {
            *uses.entry(name.clone()).or_default() += 1;
        }
        let mut table = Self::default();
        for (owner, mut own) in owners.iter().zip(names) {
            // Equal short hashes: all parties take the long form, so none depends on the order.
            if uses.get(&own).is_some_and(|uses| *uses > 1) {
                own = name(owner, long);
            }
            table.owners.insert(own.clone(), owner.clone());
            table.names.insert(owner.clone(), own);
        }
        table
    }
}

impl NameOwner {
    fn wrapper(capability: &str) -> Self {
        Self { capability: capability.to_owned(), tool: None }
    }

    fn tool(capability: &str, tool: &str) -> Self {
        Self { capability: capability.to_owned(), tool: Some(tool.to_owned()) }
    }

    fn natural(&self) -> String {
        match &self.tool {
            Some(tool) => format!("{}__{tool}", self.capability),
            None => self.capability.clone(),
        }
    }

    /// True when the natural name is legal and can only be this owner's.
    fn keeps_natural_name(&self, natural: &str) -> bool {
        let unambiguous = match &self.tool {
            None => true,
            Some(tool) => natural.rsplit_once("__") == Some((self.capability.as_str(), tool)),
        };
        unambiguous
            && natural.len() <= MAX_NAME_LENGTH
            && natural.chars().all(is_legal)
            && !looks_hashed(natural)
    }

    fn hashed(&self, natural: &str, digits: usize) -> String {
        let room = MAX_NAME_LENGTH - HASH_PREFIX.len() - digits;
        let legal = |letter: char| if is_legal(letter) { letter } else { '_' };
        let prefix: String = natural.chars().map(legal).take(room).collect();
        format!("{prefix}{HASH_PREFIX}{}", self.digest(digits))
    }

    fn digest(&self, digits: usize) -> String {
        const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
        let mut hash = Sha256::new();
        hash.update(self.capability.as_bytes());
        // No capability id holds a zero byte, so the two parts cannot run into each other.
        hash.update([0, u8::from(self.tool.is_some())]);
        hash.update(self.tool.as_deref().unwrap_or_default().as_bytes());
        let bytes = hash.finalize();
        let digit = |number: usize| {
            let (byte, offset) = (number * 5 / 8, number * 5 % 8);
            let window = u16::from_be_bytes([bytes[byte], bytes[byte + 1]]);
            char::from(DIGITS[usize::from(window >> (11 - offset)) & 31])
        };
        (0..digits).map(digit).collect()
    }
}

fn is_legal(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'
}

/// True for names shaped like hashed ones; a real tool with such a name is hashed itself, so that no
/// server can choose a name that is another tool's.
fn looks_hashed(name: &str) -> bool {
    HASH_DIGITS.iter().any(|digits| {
        name.rsplit_once(HASH_PREFIX).is_some_and(|(_, tail)| {
            tail.len() == *digits
                && tail.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'v'))
        })
    })
}

#[cfg(test)]
mod tests;
