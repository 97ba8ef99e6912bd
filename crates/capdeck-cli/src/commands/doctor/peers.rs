//! What `doctor` finds of other systems: a set-up that is there, and whether it was taken over.

use capdeck_install::ClientEntryRecords;

use super::DoctorFinding;
use crate::{
    commands::{
        CommandContext,
        migrate::{MigrationScene, SYSTEMS},
    },
    settings::CommandSettings,
};

const CHECK: &str = "migrate";

/// One finding for each set-up.
pub(super) fn peers(
    settings: &CommandSettings,
    context: &CommandContext<'_>,
) -> Vec<DoctorFinding> {
    let records = ClientEntryRecords::new(&settings.state_dir);
    let scene = MigrationScene { settings, records: &records, context };
    let mut findings = Vec::new();
    for system in SYSTEMS {
        let (id, name) = (system.id, system.name);
        let traces = match (system.look)(&scene) {
            Ok(Some(traces)) => traces,
            Ok(None) => continue,
            Err(failure) => {
                let message =
                    format!("a set-up of {name} cannot be looked at: {}", failure.message);
                let fix = failure.hint.unwrap_or_default();
                findings.push(DoctorFinding::warning(CHECK, message, fix));
                continue;
            }
        };
        let sources: Vec<String> =
            traces.sources.iter().map(|path| path.display().to_string()).collect();
        let sources = sources.join(", ");
        findings.push(match traces.migrated_at {
            Some(at) => DoctorFinding::ok(CHECK, format!("{name} was taken over at {at}")),
            None if traces.is_in_place => {
                DoctorFinding::ok(CHECK, format!("{name} is used where it is: {sources}"))
            }
            None => DoctorFinding::warning(
                CHECK,
                format!("a set-up of {name} is here and not taken over: {sources}"),
                format!("capdeck migrate {id} --dry-run"),
            ),
        });
    }
    findings
}
