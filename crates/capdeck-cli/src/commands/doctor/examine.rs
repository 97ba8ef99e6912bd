//! The single examinations of `doctor`.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use capdeck_auth::{
    EnvironmentSnapshot, MissingReason, ReferenceLookup, ResolveError, resolve_value,
};
use capdeck_catalog::{Capability, ProjectTrust};
use capdeck_definition::{
    Backend, Diagnostic, DiagnosticSeverity, PinMode, PlaceholderStyle, RootOwner, SourceLayer,
};
use capdeck_host::{
    ApprovalState, HealthStatus, Host, ItemStatus, PinReview, list_items, project_variables,
    vault_holder,
};
use jiff::Timestamp;

use super::DoctorFinding;
use crate::settings::CommandSettings;

/// Where things are kept, and whether they can be.
pub(super) fn folders(settings: &CommandSettings) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    for root in &settings.user_roots {
        let shown = root.dir.display();
        if root.owner != RootOwner::User {
            // Optional places.
            if root.dir.is_dir() {
                findings.push(DoctorFinding::ok("CMP tools", shown.to_string()));
            }
            continue;
        }
        let more = match root.dir.is_dir() {
            true => "",
            false => " (not there yet; begin it with: capdeck init)",
        };
        findings.push(DoctorFinding::ok("user deck", format!("{shown}{more}")));
    }
    for (check, folder, variable) in [
        ("state", &settings.state_dir, "CAPDECK_STATE_DIR"),
        ("cache", &settings.cache_dir, "CAPDECK_CACHE_DIR"),
        ("data", &settings.data_dir, "CAPDECK_DATA_DIR"),
    ] {
        findings.push(match check_writable(folder) {
            Ok(()) => DoctorFinding::ok(check, folder.display().to_string()),
            Err((place, error)) => DoctorFinding::error(
                check,
                format!("cannot write to {}: {error}", folder.display()),
                match place.is_dir() {
                    true => format!("make it writable: chmod u+rwx {}", place.display()),
                    false => format!(
                        "{} is no folder: move it away, or name another folder with {variable}",
                        place.display()
                    ),
                },
            ),
        });
    }
    findings
}

/// What the files say, and whether they may act.
pub(super) fn deck(settings: &CommandSettings, host: &Host) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let catalog = host.catalog();
    let dir = settings.project.iter().map(|project| project.dir.display()).next();
    let dir = dir.map(|dir| dir.to_string()).unwrap_or_default();
    findings.push(match (&settings.project, host.trust()) {
        (None, _) => DoctorFinding::ok("project", "none here"),
        (Some(project), _) if !project.has_deck() => {
            DoctorFinding::ok("project", format!("{dir} (no deck)"))
        }
        (_, ProjectTrust::Trusted) => DoctorFinding::ok("project", format!("{dir} (trusted)")),
        (_, ProjectTrust::Untrusted { reason }) => {
            let fix = "review it with: capdeck trust";
            DoctorFinding::warning("project", format!("{dir}: {reason}"), fix)
        }
    });
    let diagnostics = catalog.diagnostics();
    let is_error = |found: &&Diagnostic| found.severity == DiagnosticSeverity::Error;
    let errors = diagnostics.iter().filter(is_error).count();
    let warnings = diagnostics.len() - errors;
    let (see, both) = ("see: capdeck validate", format!("errors: {errors}, warnings: {warnings}"));
    findings.push(match (errors, warnings) {
        (0, 0) => DoctorFinding::ok("files", "no problems"),
        (0, _) => DoctorFinding::warning("files", format!("warnings: {warnings}"), see),
        _ => DoctorFinding::error("files", both, see),
    });
    let is_ours = |layer| matches!(layer, SourceLayer::Starter | SourceLayer::BuiltIn);
    let starter = catalog.capabilities().all(|one| is_ours(one.definition.source.layer));
    let usable = catalog.capabilities().filter(|capability| capability.is_usable()).count();
    let from = if starter { " (the starter deck)" } else { "" };
    findings.push(DoctorFinding::ok("deck", format!("usable capabilities: {usable}{from}")));
    findings
}

/// Problems of single capabilities.
pub(super) fn capabilities(settings: &CommandSettings, host: &Host) -> Vec<DoctorFinding> {
    let catalog = host.catalog();
    let mut findings = Vec::new();
    for item in list_items(host, &catalog) {
        if let Some(chaos) = &item.chaos {
            findings.push(DoctorFinding::warning(
                "chaos",
                format!("{} has faults injected on purpose: {chaos}", item.id),
                format!("when done, remove `chaos` from {}", item.source.path.display()),
            ));
        }
        let reason = item.reason.unwrap_or_default();
        let message = format!("{} is {}: {reason}", item.id, item.status.as_str());
        let fix = item.next_step.unwrap_or_default();
        findings.extend(match item.status {
            ItemStatus::Quarantined => Some(DoctorFinding::error("capability", message, fix)),
            ItemStatus::Hidden | ItemStatus::Stale => {
                Some(DoctorFinding::warning("capability", message, fix))
            }
            ItemStatus::Ready | ItemStatus::Untrusted | ItemStatus::Disabled => None,
        });
    }
    let mut needs = MissingRequirements::default();
    for capability in catalog.capabilities().filter(|capability| capability.is_usable()) {
        note_needs(capability, settings, &mut needs);
        let id = capability.definition.id.as_str();
        if let Some(failure) = HealthStatus::of(host, capability).failure() {
            let (message, fix) = (format!("{id} is {failure}"), format!("capdeck check {id}"));
            findings.push(DoctorFinding::warning("health", message, fix));
        }
    }
    for ((check, message, fix), ids) in needs {
        let message = format!("{message} ({})", ids.join(", "));
        findings.push(DoctorFinding::warning(check, message, fix));
    }
    findings
}

/// What a person should look at: changed definitions, hidden text, calls that wait.
pub(super) fn pending_decisions(settings: &CommandSettings, host: &Host) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let catalog = host.catalog();
    let watched = catalog.capabilities().filter(|one| one.is_usable() && one.pins != PinMode::Off);
    for capability in watched {
        let id = capability.definition.id.as_str();
        let (message, fix) = match PinReview::of(host, capability) {
            Ok(review) if review.is_clean() => continue,
            Ok(review) => {
                let (changes, hidden, held) =
                    (review.changes.len(), review.hidden.len(), review.held.len());
                let is_repointed = review.book.is_some_and(|book| book.is_repointed);
                let endpoint = if is_repointed { ", endpoint changed" } else { "" };
                let message = format!(
                    "{id}: changed definitions: {changes}, with hidden text: {hidden}, held: {held}{endpoint}"
                );
                (message, format!("capdeck pins diff {id}"))
            }
            Err(error) => (
                format!("{id}: the pins cannot be read: {error}"),
                format!("capdeck pins approve {id}"),
            ),
        };
        findings.push(DoctorFinding::warning("pins", message, fix));
    }
    match settings.approvals().list(Timestamp::now()) {
        Ok(items) => {
            let waiting = items.iter().filter(|item| item.state == ApprovalState::Waiting).count();
            if waiting > 0 {
                let message = format!("calls that wait for you: {waiting}");
                findings.push(DoctorFinding::warning("approvals", message, "capdeck approvals"));
            }
        }
        Err(error) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            findings.push(DoctorFinding::error(
                "approvals",
                format!("{error}{}", cause.unwrap_or_default()),
                format!("look into {}", settings.state_dir.join("approvals").display()),
            ));
        }
    }
    findings
}

/// What is missing and how to fix it, with the capabilities that miss it.
type MissingRequirements = BTreeMap<(&'static str, String, String), Vec<String>>;

/// Notes variables and programs that a capability refers to and this machine does not have.
fn note_needs(
    capability: &Capability,
    settings: &CommandSettings,
    needs: &mut MissingRequirements,
) {
    let environment = &settings.environment;
    let id = &capability.definition.id;
    let mut note = |check, message: String, fix: String| {
        needs.entry((check, message, fix)).or_default().push(id.to_string());
    };
    if let Backend::Cmp(_) = &capability.definition.backend {
        // This format knows no references, and looks for programs beside its files first.
        return;
    }
    let holder = vault_holder(&capability.definition);
    let lookup = ReferenceLookup::new(environment, &settings.vault, &holder);
    let variables = project_variables(&capability.definition).unwrap_or_default();
    let lookup = lookup.in_project(variables.as_ref());
    let backend =
        match resolve_value::<Backend>(&without_prose(&capability.definition.backend), lookup) {
            Ok(resolved) => resolved.value,
            Err(ResolveError::Unresolved { mut unresolved }) => {
                unresolved.dedup_by(|one, other| one.reason == other.reason);
                for one in unresolved {
                    let check = match one.reason {
                        MissingReason::Variable { .. } | MissingReason::ProjectVariable { .. } => {
                            "variable"
                        }
                        MissingReason::Vault(_) => "vault",
                    };
                    note(check, one.to_string(), one.hint());
                }
                return;
            }
            Err(ResolveError::Shape { .. }) => return,
        };
    let programs: BTreeSet<&str> = match &backend {
        Backend::Mcp(server) => server.command.iter().map(String::as_str).collect(),
        Backend::Cli(tools) => {
            tools.actions.values().map(|one| one.program.command.as_str()).collect()
        }
        _ => BTreeSet::new(),
    };
    for program in programs {
        // A path may be relative to the call's folder, and an input decides only at the call.
        let is_fixed_name = !program.contains("$input") && !program.contains('/');
        if is_fixed_name && !is_on_path(program, environment) {
            note(
                "program",
                format!("`{program}` is not on the PATH"),
                format!("install `{program}`, or write its full path into the file"),
            );
        }
    }
}

/// Whether a program of this name is in one of the folders of the `PATH`.
pub(super) fn is_on_path(program: &str, environment: &EnvironmentSnapshot) -> bool {
    let executable = |path: PathBuf| {
        path.metadata()
            .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    };
    let path = environment.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin");
    path.split(':')
        .filter(|place| !place.is_empty())
        .any(|place| executable(Path::new(place).join(program)))
}

/// Tries the folder, or the nearest place above that exists; nothing is left behind. A failure names that place.
fn check_writable(folder: &Path) -> Result<(), (&Path, std::io::Error)> {
    let nearest = folder.ancestors().find(|place| place.exists()).unwrap_or(folder);
    tempfile::tempfile_in(nearest).map(drop).map_err(|error| (nearest, error))
}

/// A backend without what only describes it: in a capability file, texts are no place for variables.
fn without_prose(backend: &Backend) -> Cow<'_, Backend> {
    match backend {
        Backend::Cli(tools) if tools.placeholders == PlaceholderStyle::Braces => {
            let mut tools = tools.clone();
            for action in tools.actions.values_mut() {
                action.text.description = None;
                action.schemas.input_schema = None;
            }
            Cow::Owned(Backend::Cli(tools))
        }
        other => Cow::Borrowed(other),
    }
}
