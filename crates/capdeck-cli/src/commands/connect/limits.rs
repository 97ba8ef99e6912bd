//! What an agent is given of the deck: the flags of its entry.

use capdeck_catalog::{Catalog, nearest};
use capdeck_definition::{Exposure, Glob};

use super::super::serve::{EXPOSURES, no_view, unknown_capability};
use crate::{args::choice, errors::CommandFailure, plain_text::written, settings::CommandSettings};

/// Limits of an entry.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct EntryLimits {
    /// Give the agent only what this view has: a sub-agent of the project, or an entry of `views` in a config.
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "only",
        help_heading = "What the agent sees"
    )]
    view: Option<String>,
    /// Give the agent only these capabilities, by their ids. A single one is served under its own tool names.
    #[arg(long, value_name = "ID", value_delimiter = ',', help_heading = "What the agent sees")]
    only: Vec<String>,
    /// Offer every capability this way, regardless of its file.
    #[arg(long, value_name = "MODE", value_parser = choice(EXPOSURES), help_heading = "What the agent sees")]
    exposure: Option<Exposure>,
}

/// A name in a view that the deck does not have.
#[derive(Debug, PartialEq)]
pub(in crate::commands) struct ViewProblem {
    /// As the view writes it.
    pub(in crate::commands) name: String,
    near: Option<String>,
}

impl EntryLimits {
    /// The flags of `capdeck serve`.
    pub(super) fn flags(&self) -> Vec<String> {
        let mut flags = Vec::new();
        let mut add = |flag: &str, value: String| flags.extend([flag.to_owned(), value]);
        if let Some(view) = &self.view {
            add("--view", view.clone());
        }
        if !self.only.is_empty() {
            add("--only", self.only.join(","));
        }
        if let Some(exposure) = self.exposure {
            add("--exposure", written(exposure));
        }
        flags
    }

    /// The address of the same part of a running host.
    pub(super) fn address(&self, endpoint: &str) -> Result<String, CommandFailure> {
        let part = match (&self.view, self.only.as_slice()) {
            _ if self.exposure.is_some() => {
                return Err(CommandFailure::usage("--exposure cannot be used with --url")
                    .hint("set `options.exposure` in the config of that host"));
            }
            (None, []) => return Ok(endpoint.to_owned()),
            (Some(view), _) => format!("/views/{view}/mcp"),
            (None, [id]) => format!("/servers/{id}/mcp"),
            (None, _) => {
                return Err(CommandFailure::usage("--only takes one id with --url")
                    .hint("make a view of them in that host's config, and use --view NAME"));
            }
        };
        match endpoint.strip_suffix("/mcp").filter(|host| !host.contains("/views/")) {
            Some(host) => Ok(format!("{host}{part}")),
            None => Err(CommandFailure::usage("--url names a part of the host already")
                .hint("give the address of the host alone, such as http://127.0.0.1:7717")),
        }
    }

    /// Refuses names that the deck does not have.
    pub(super) fn check(&self, settings: &CommandSettings) -> Result<(), CommandFailure> {
        if self.view.is_none() && self.only.is_empty() {
            return Ok(());
        }
        let host = settings.open_host()?;
        let catalog = host.catalog();
        for id in &self.only {
            unknown_capability(&catalog, id)?;
        }
        let Some(view) = &self.view else { return Ok(()) };
        if !host.has_view(view, None) {
            return Err(no_view(&host, view));
        }
        match view_problems(&catalog, view).into_iter().next() {
            Some(problem) => Err(problem.into_failure(view)),
            None => Ok(()),
        }
    }
}

/// Names in a view of the config that mean nothing in this deck. Wildcards may match nothing.
pub(in crate::commands) fn view_problems(catalog: &Catalog, view: &str) -> Vec<ViewProblem> {
    let Some(view) = catalog.config().views.get(view) else { return Vec::new() };
    let mut problems = Vec::new();
    let plain = |glob: &&Glob| !glob.as_str().contains(['*', '?']);
    let ids = || catalog.capabilities().map(|one| one.definition.id.as_str());
    let is_known = |id: &str| {
        catalog.get(id).is_some()
            || catalog.quarantined().iter().any(|broken| broken.id == id)
            || catalog.untrusted().iter().any(|one| one.definition.id.as_str() == id)
    };
    for id in view.capabilities.iter().filter(plain).map(Glob::as_str) {
        if !is_known(id) {
            let near = nearest(id, ids()).map(str::to_owned);
            problems.push(ViewProblem { name: id.to_owned(), near });
        }
    }
    for name in view.tools.iter().map(Glob::as_str) {
        let (id, tool) = name.split_once('.').unwrap_or((name, "*"));
        if id.contains(['*', '?']) {
            continue;
        }
        let near = if is_known(id) {
            let known = catalog.get(id).and_then(|one| one.discovery.as_ref());
            let has_tool =
                known.is_none_or(|known| known.tools.iter().any(|one| one.name() == tool));
            if tool.contains(['*', '?']) || has_tool {
                continue;
            }
            catalog.nearest_tool(id, tool).map(|near| format!("{id}.{near}"))
        } else {
            nearest(id, ids()).map(|near| format!("{near}.{tool}"))
        };
        problems.push(ViewProblem { name: name.to_owned(), near });
    }
    problems
}

impl ViewProblem {
    /// What is wrong, in one sentence.
    pub(in crate::commands) fn message(&self, view: &str) -> String {
        format!("the view `{view}` names `{}`, which the deck does not have", self.name)
    }

    pub(in crate::commands) fn fix(&self) -> String {
        match &self.near {
            Some(near) => format!("did you mean `{near}`? Correct it in the config"),
            None => "correct it in the config; see what there is with: capdeck list".to_owned(),
        }
    }

    fn into_failure(self, view: &str) -> CommandFailure {
        CommandFailure::request("VIEW_INVALID", self.message(view)).hint(self.fix())
    }
}
