//! The instructions of the handshake: how to reach the tools, in few words. Servers' descriptions
//! of themselves are not repeated.

use capdeck_catalog::{Capability, estimate_tokens, estimate_tokens_up_to};
use capdeck_definition::one_line;

use super::{View, bundles, policy::DEFAULT_SURFACE_TOKENS};

/// Max tokens of instructions, and their guaranteed tokens without a set budget.
const MAX_TOKENS: usize = 240;
const MIN_TOKENS: usize = 60;

/// Tokens of ` and 1000 more.`.
const TAIL_TOKENS: usize = 6;

/// Tokens for the names of one kind, however many there are.
const MAX_NAMES_TOKENS: usize = 60;

impl View {
    /// The instructions of the handshake, if the budget has room beside the listed tools: how to find
    /// tools, and which there are. `None` when they are empty, or without room.
    pub fn instructions(&self) -> Option<String> {
        let room = room(self);
        let mut text = String::new();
        let searchable = self.searchable().filter(|one| has_something(one));
        let searchable = searchable.map(|one| one.definition.id.to_string());
        let wrappers = self.progressive.iter().filter(|one| has_something(one)).map(|one| {
            let id = one.definition.id.as_str();
            self.names().wrapper_name(id).unwrap_or(id).to_owned()
        });
        let direct = || self.direct.iter().filter(|one| has_something(one));
        let by_code = self.catalog.capabilities().filter(|one| self.is_coded(one));
        let by_code_alone = by_code.filter(|one| !self.is_searchable(one));
        let search = match self.offers_code_mode() {
            true => {
                "Use `search` to find tools, then `call_tool`, or `code_mode` for several at once. Here:"
            }
            false => "Use `search` to find tools, then `call_tool`. Here:",
        };
        // The tool itself names them. Only what it omits is repeated.
        let left_out = self.setup_tools.as_ref().is_some_and(|(_, left_out)| *left_out > 0);
        let bundles = if left_out { bundles(self) } else { Vec::new() };
        for (lead, names) in [
            (
                "Call `setup_tools` with what the task needs, then `call_tool`. Here:",
                bundles.into_iter().map(|bundle| bundle.id).collect(),
            ),
            (
                "Write TypeScript for `code_mode`, where `caplets.<id>` is a capability. Here:",
                by_code_alone.map(|one| one.definition.id.to_string()).collect::<Vec<_>>(),
            ),
            (search, searchable.collect()),
            (
                "One tool per capability: `operation` `tools` lists what it has, `call_tool` runs it. Here:",
                wrappers.collect(),
            ),
            (
                "Tools are named `<capability>__<tool>`. Here:",
                direct().map(|one| one.definition.id.to_string()).collect(),
            ),
        ] {
            let left = room.saturating_sub(estimate_tokens(&text));
            add_line(&mut text, listing(lead, &names, left.min(MAX_NAMES_TOKENS)).as_deref());
        }
        if self.offers_setup() && !left_out {
            let line = "Call `setup_tools` with what the task needs, then `call_tool`.";
            let fits = estimate_tokens(&text) + estimate_tokens(line) < room;
            add_line(&mut text, fits.then_some(line));
        }
        for list in self.too_large() {
            let line = format!(
                "`{}` has {} tools, too many to list ({} tokens): find them with `search`.",
                list.id, list.tools, list.tokens
            );
            let fits = estimate_tokens(&text) + estimate_tokens(&line) < room;
            add_line(&mut text, fits.then_some(line.as_str()));
        }
        for capability in direct() {
            let line = purpose(capability);
            if estimate_tokens(&text) + estimate_tokens(&line) < room {
                add_line(&mut text, Some(&line));
            }
        }
        (!text.is_empty()).then_some(text)
    }
}

/// Whether a client reaches any known tool of a capability. One whose tools no skill requires
/// offers nothing, and naming it would send agents searching.
fn has_something(capability: &Capability) -> bool {
    capability.discovery.as_ref().is_none_or(|known| {
        !(known.tools.is_empty()
            && known.resources.is_empty()
            && known.resource_templates.is_empty()
            && known.prompts.is_empty())
    })
}

/// A budget that a person set covers tools and instructions together.
fn room(view: &View) -> usize {
    let set = view.catalog.config().surface_tokens.map(|tokens| tokens as usize);
    let budget = set.unwrap_or(DEFAULT_SURFACE_TOKENS);
    let used = estimate_tokens_up_to(view.tools().get(), budget);
    let guaranteed = if set.is_some() { 0 } else { MIN_TOKENS };
    budget.saturating_sub(used).clamp(guaranteed, MAX_TOKENS)
}

fn listing(lead: &str, names: &[String], room: usize) -> Option<String> {
    let mut text = lead.to_owned();
    let mut named = 0;
    for name in names {
        // The rest is counted, and the count needs room, too.
        if estimate_tokens(&text) + estimate_tokens(name) + TAIL_TOKENS > room {
            break;
        }
        text.push_str(&format!(" {name},"));
        named += 1;
    }
    if named == 0 {
        return None;
    }
    text.pop();
    if named < names.len() {
        text.push_str(&format!(" and {} more", names.len() - named));
    }
    text.push('.');
    Some(text)
}

fn purpose(capability: &Capability) -> String {
    let definition = &capability.definition;
    format!("{}: {}", definition.id, one_line(&definition.description))
}

fn add_line(text: &mut String, line: Option<&str>) {
    let Some(line) = line else { return };
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_as_far_as_there_is_room() {
        let names: Vec<String> = (0..40).map(|number| format!("capability-{number:02}")).collect();
        let all = listing("Here:", &names[..2], 60).unwrap();
        assert_eq!(all, "Here: capability-00, capability-01.");
        let some = listing("Here:", &names, 60).unwrap();
        assert!(some.ends_with(" more.") && estimate_tokens(&some) <= 60, "{some}");
        assert_eq!(listing("Here:", &names, 8), None);
        assert_eq!(listing("Here:", &[], 60), None);
    }
}
