//! `ID TOOL` or `ID.TOOL`: two ways to name one tool.

use capdeck_definition::CapabilityFile;

use crate::errors::CommandFailure;

/// One tool of one capability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolTarget {
    pub(crate) id: String,
    pub(crate) tool: String,
}

/// Splits the first word when it names both; ids have no dot, so the first dot decides.
pub(crate) fn split(word: &str) -> (String, Option<String>) {
    match word.split_once('.') {
        Some((id, tool)) if !id.is_empty() && !tool.is_empty() => {
            (id.to_owned(), Some(tool.to_owned()))
        }
        _ => (word.to_owned(), None),
    }
}

/// The capability and perhaps the tool of `ID`, `ID TOOL` or `ID.TOOL`.
pub(crate) fn split_words(
    id: &str,
    tool: Option<&String>,
) -> Result<(String, Option<String>), CommandFailure> {
    match (split(id), tool) {
        ((id, None), tool) => Ok((id, tool.cloned())),
        (named, None) => Ok(named),
        (_, Some(word)) => {
            Err(CommandFailure::usage(format!("there is one word too many: `{word}`")))
        }
    }
}

impl ToolTarget {
    /// The same where a project's capability file may know the first word: as `group.tool` or as a tool's bare id.
    pub(crate) fn take_from<'a>(
        file: Option<&CapabilityFile>,
        first: &str,
        rest: &'a [String],
    ) -> Result<(Self, &'a [String]), CommandFailure> {
        let names_both =
            split(first).1.is_some() || rest.first().is_none_or(|word| word.contains('='));
        let located = file.filter(|_| names_both).and_then(|file| file.locate(first));
        match located {
            Some((id, tool)) => Ok((Self { id: id.to_string(), tool }, rest)),
            None => Self::take(first, rest),
        }
    }

    /// The target of `words`, and the words after it.
    pub(crate) fn take<'a>(
        first: &str,
        rest: &'a [String],
    ) -> Result<(Self, &'a [String]), CommandFailure> {
        match (split(first), rest) {
            ((id, Some(tool)), rest) => Ok((Self { id, tool }, rest)),
            ((id, None), [tool, rest @ ..]) => Ok((Self { id, tool: tool.clone() }, rest)),
            ((id, None), []) => Err(CommandFailure::usage(format!("which tool of `{id}`?"))
                .hint(format!("see its tools with: capdeck tools {id}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(first: &str, rest: &[&str], expected: Option<(&str, &str, usize)>) {
        let rest: Vec<String> = rest.iter().map(|word| (*word).to_owned()).collect();
        let taken = ToolTarget::take(first, &rest);
        let taken = taken
            .as_ref()
            .ok()
            .map(|(target, rest)| (target.id.as_str(), target.tool.as_str(), rest.len()));
        assert_eq!(taken, expected);
    }

    #[test]
    fn both_forms_name_the_same_tool() {
        check("machine", &["now", "zone=UTC"], Some(("machine", "now", 1)));
        check("machine.now", &["zone=UTC"], Some(("machine", "now", 1)));
        check("machine.files.list", &[], Some(("machine", "files.list", 0)));
        check("machine", &["files.list"], Some(("machine", "files.list", 0)));
        check("machine", &[], None);
    }
}
