//! The deck as words of a command line: a group per capability, a command per tool.

use std::sync::Arc;

use capdeck_definition::SourceLayer;
use rustc_hash::FxHashMap;

use crate::{Capability, Catalog, Tool, nearest, shell_word};

/// The words under which usable capabilities and their tools are found.
#[derive(Debug)]
pub struct CommandNames<'a> {
    groups: Vec<(String, &'a Arc<Capability>)>,
    ungrouped: Option<&'a Arc<Capability>>,
}

/// Why a word names nothing, or too much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameLookupError {
    /// There is no such name; this one is close.
    Unknown { nearest: Option<String> },
    /// Several have this name when written as a word of a command line; these are their own names.
    Ambiguous { names: Vec<String> },
}

impl<'a> CommandNames<'a> {
    /// The names of everything usable in the catalog.
    pub fn from_catalog(catalog: &'a Catalog) -> Self {
        let usable = catalog.capabilities().filter(|capability| capability.is_usable());
        let usable: Vec<&Arc<Capability>> = usable.collect();
        let words = CommandWords::from_names(usable.iter().map(|one| one.definition.id.as_str()));
        let groups = usable.into_iter().map(|one| (words.get(one.definition.id.as_str()), one));
        let groups = groups.collect();
        let ungrouped = catalog.parts().ungrouped.as_ref();
        let ungrouped = ungrouped.and_then(|id| catalog.get(id.as_str())).filter(|one| {
            // Another file may have a capability of the same id.
            one.definition.source.layer == SourceLayer::ProjectCapabilityFile && one.is_usable()
        });
        Self { groups, ungrouped }
    }

    /// The capability whose tools are words by themselves: commands of the capability file that are in no group.
    pub fn ungrouped(&self) -> Option<&'a Arc<Capability>> {
        self.ungrouped
    }

    /// Every group with its word, by id.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &'a Arc<Capability>)> {
        let is_group = |one: &&Arc<Capability>| {
            self.ungrouped.is_none_or(|ungrouped| !Arc::ptr_eq(ungrouped, one))
        };
        let groups = self.groups.iter().map(|(word, capability)| (word.as_str(), *capability));
        groups.filter(move |(_, one)| is_group(one))
    }

    /// The tools that are words by themselves, but for those whose word a group has.
    pub fn ungrouped_tools(&self) -> Vec<Arc<Tool>> {
        let known = self.ungrouped.and_then(|one| one.discovery.as_ref());
        let tools = known.iter().flat_map(|known| &known.tools);
        tools.filter(|tool| self.group(&command_word(tool.name())).is_err()).cloned().collect()
    }

    /// The word to type for a capability.
    pub fn word_of(&self, id: &str) -> String {
        let group = self.groups.iter().find(|(_, one)| one.definition.id.as_str() == id);
        group.map_or_else(|| command_word(id), |(word, _)| word.clone())
    }

    /// The group that a word names: by the capability's own id, or by the id written as a word.
    pub fn group(&self, word: &str) -> Result<&'a Arc<Capability>, NameLookupError> {
        let groups = self.groups.iter().map(|(_, one)| (one.definition.id.as_str(), *one));
        find_by_word(groups, word, || {
            let known = self.ungrouped.and_then(|one| one.discovery.as_ref());
            let tools = known.map(|known| known.tools.as_slice()).unwrap_or_default();
            let groups = self.groups.iter().map(|(word, _)| word.clone());
            groups.chain(CommandWords::list(tools)).collect()
        })
    }
}

/// The words to type for names of one list: each leads to its own name and to no other.
#[derive(Debug)]
pub struct CommandWords(FxHashMap<String, usize>);

impl CommandWords {
    pub fn from_names<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut uses = FxHashMap::default();
        for name in names {
            *uses.entry(command_word(name)).or_default() += 1;
        }
        Self(uses)
    }

    pub fn of_tools(tools: &[Arc<Tool>]) -> Self {
        Self::from_names(tools.iter().map(|tool| tool.name()))
    }

    /// What to type for each of these tools.
    fn list(tools: &[Arc<Tool>]) -> Vec<String> {
        let words = Self::of_tools(tools);
        tools.iter().map(|tool| words.get(tool.name())).collect()
    }

    /// What to type for one of the names, quoted for a shell: the name as a word, or the name itself where several are
    /// written alike.
    pub fn get(&self, name: &str) -> String {
        shell_word(&self.unquoted(name))
    }

    /// True when the word would be read as a flag; then it is typed with its group in front.
    pub fn is_like_flag(&self, name: &str) -> bool {
        self.unquoted(name).starts_with('-')
    }

    fn unquoted(&self, name: &str) -> String {
        let word = command_word(name);
        let is_own = self.0.get(&word).is_none_or(|uses| *uses == 1);
        if is_own && !word.is_empty() { word } else { name.to_owned() }
    }

    /// The same for a tool, with the words of its group in front.
    pub fn after(&self, group: &str, name: &str) -> String {
        match self.is_like_flag(name) {
            true => shell_word(&format!("{group}.{name}")),
            false => format!("{group} {}", self.get(name)),
        }
    }
}

/// The tool that a word names: by its own name, or by the name written as a word.
pub fn tool_by_word<'a>(
    tools: &'a [Arc<Tool>],
    word: &str,
) -> Result<&'a Arc<Tool>, NameLookupError> {
    let named = tools.iter().map(|tool| (tool.name(), tool));
    find_by_word(named, word, || CommandWords::list(tools))
}

/// What a word names among `named`. `words` are the words to type for what there is.
fn find_by_word<'n, T>(
    named: impl Iterator<Item = (&'n str, T)> + Clone,
    word: &str,
    words: impl FnOnce() -> Vec<String>,
) -> Result<T, NameLookupError> {
    if let Some((_, found)) = named.clone().find(|(name, _)| *name == word) {
        return Ok(found);
    }
    let typed = command_word(word);
    let mut found: Vec<(&str, T)> = named.filter(|(name, _)| command_word(name) == typed).collect();
    if found.len() > 1 {
        let names = found.iter().map(|(name, _)| (*name).to_owned()).collect();
        return Err(NameLookupError::Ambiguous { names });
    }
    found.pop().map(|(_, found)| found).ok_or_else(|| {
        let words = words();
        let near = nearest(word, words.iter().map(String::as_str));
        NameLookupError::Unknown { nearest: near.map(str::to_owned) }
    })
}

/// A name as people type it: lower case, words joined by single hyphens, dots kept.
pub fn command_word(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut word = String::with_capacity(name.len() + 4);
    for (position, letter) in letters.iter().enumerate() {
        let before = position.checked_sub(1).and_then(|before| letters.get(before));
        let after = letters.get(position + 1);
        let begins_word = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_numeric()
                    || before.is_uppercase() && after.is_some_and(|after| after.is_lowercase())
            });
        let is_gap = *letter == '_' || *letter == '-' || letter.is_whitespace();
        if (begins_word || is_gap) && !word.is_empty() && !word.ends_with('-') {
            word.push('-');
        }
        if !is_gap {
            word.extend(letter.to_lowercase());
        }
    }
    word.truncate(word.trim_end_matches('-').len());
    word
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_become_words() {
        for (name, word) in [
            ("create_issue", "create-issue"),
            ("createIssue", "create-issue"),
            ("listHTTPRoutes", "list-http-routes"),
            ("getURL", "get-url"),
            ("v2Search", "v2-search"),
            ("  odd__name -- here ", "odd-name-here"),
            ("files.read_all", "files.read-all"),
            ("UPPER", "upper"),
            ("_private", "private"),
            ("größeÄndern", "größe-ändern"),
            ("", ""),
        ] {
            assert_eq!(command_word(name), word, "{name}");
        }
    }

    #[test]
    fn a_tool_is_found_by_its_name_or_its_word() {
        let tool =
            |name: &str| Arc::new(serde_json::from_value::<Tool>(json!({"name": name})).unwrap());
        let tools = [tool("createIssue"), tool("create_issue"), tool("close_issue")];
        let name = |word: &str| tool_by_word(&tools, word).map(|tool| tool.name().to_owned());
        assert_eq!(name("createIssue").unwrap(), "createIssue");
        assert_eq!(name("close-issue").unwrap(), "close_issue");
        assert_eq!(name("closeIssue").unwrap(), "close_issue");
        let names = vec!["createIssue".to_owned(), "create_issue".to_owned()];
        assert_eq!(name("create-issue"), Err(NameLookupError::Ambiguous { names }));
        let nearest = Some("close-issue".to_owned());
        assert_eq!(name("clsoe-issue"), Err(NameLookupError::Unknown { nearest }));
        assert_eq!(name("zzz"), Err(NameLookupError::Unknown { nearest: None }));
    }
}
