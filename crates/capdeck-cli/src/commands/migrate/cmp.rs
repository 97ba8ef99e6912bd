//! CMP: tools that are used where they are installed, so that nothing has to be taken over.

use std::path::PathBuf;

use capdeck_definition::{Deck, DeckRoot, DiagnosticSeverity, RootOwner};

use super::system::{
    MigrationScene, MigrationWork, PeerSetup, PeerSystem, PeerTraces, SetupItem, SetupItemKind,
};
use crate::errors::CommandFailure;

pub(super) static SYSTEM: PeerSystem =
    PeerSystem { id: "cmp", name: "CMP", look, plan, done: |_| Ok(Vec::new()) };

fn roots(scene: &MigrationScene<'_>) -> Vec<DeckRoot> {
    let is_cmp = |root: &&DeckRoot| matches!(root.owner, RootOwner::CmpTools | RootOwner::CmpTool);
    let is_there = |root: &&DeckRoot| root.dir.is_dir();
    scene.settings.user_roots.iter().filter(is_cmp).filter(is_there).cloned().collect()
}

fn look(scene: &MigrationScene<'_>) -> Result<Option<PeerTraces>, CommandFailure> {
    let sources: Vec<PathBuf> = roots(scene).into_iter().map(|root| root.dir).collect();
    let traces = PeerTraces { sources, migrated_at: None, is_in_place: true };
    Ok((!traces.sources.is_empty()).then_some(traces))
}

fn plan(traces: PeerTraces, scene: &MigrationScene<'_>) -> Result<PeerSetup, CommandFailure> {
    let deck = Deck::read(&roots(scene));
    let tool = |id: &str, file: PathBuf| {
        SetupItem::in_place(SetupItemKind::Capability, id, file.display().to_string())
    };
    let mut items: Vec<SetupItem> =
        deck.definitions.iter().map(|one| tool(one.id.as_str(), one.source.path.clone())).collect();
    let broken = deck.quarantined.iter();
    items.extend(broken.map(|one| {
        SetupItem::leave(
            SetupItemKind::Capability,
            &one.id,
            format!("it is broken: {}", one.reason),
        )
    }));
    let problems = deck.diagnostics.iter();
    let warnings = problems.filter(|one| one.severity == DiagnosticSeverity::Warning);
    items.extend(warnings.map(|one| {
        let name = format!("{}:{}", one.file.display(), one.line);
        SetupItem::in_place(SetupItemKind::File, name, one.message.clone())
    }));
    Ok(PeerSetup {
        system: &SYSTEM,
        traces,
        items,
        differences: differences(),
        next: vec!["give agents the instruction with: capdeck cmp snippet".to_owned()],
        work: MigrationWork::Nothing,
    })
}

fn differences() -> Vec<String> {
    [
        "a command is never a shell line: its words are split first, and a value cannot add one",
        "an intent with `confirm` or `destructive` waits for your approval: capdeck approvals",
        "where several intents fit, they are ranked, and a tie names its candidates",
    ]
    .map(str::to_owned)
    .into()
}
