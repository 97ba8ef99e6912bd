//! What of a capability could not be imported, with the parts of its members.

use capdeck_definition::BackendKind;

use crate::{Capability, Catalog, ImportProblem};

/// What was left out of a capability's description. For a set: what was left out of its members', and the members that
/// do not load at all.
pub fn import_problems(catalog: &Catalog, capability: &Capability) -> Vec<ImportProblem> {
    let own = capability.discovery.iter().flat_map(|known| known.problems.iter().cloned());
    let mut all: Vec<ImportProblem> = own.collect();
    // Only a set has members.
    if capability.definition.backend.kind() != BackendKind::Caplets {
        return all;
    }
    let prefix = format!("{}__", capability.definition.id);
    for member in catalog.members_of(&capability.definition.id) {
        let id = member.definition.id.as_str();
        let name = id.strip_prefix(&prefix).unwrap_or(id);
        // A set inside a set tells of its own members.
        let below = import_problems(catalog, member).into_iter();
        all.extend(below.map(|problem| ImportProblem {
            place: format!("{name}: {}", problem.place),
            reason: problem.reason,
        }));
    }
    let broken = catalog.quarantined().iter().filter_map(|entry| {
        let place = entry.id.strip_prefix(&prefix)?.to_owned();
        (!place.contains("__")).then(|| ImportProblem { place, reason: entry.reason.clone() })
    });
    all.extend(broken);
    all
}
