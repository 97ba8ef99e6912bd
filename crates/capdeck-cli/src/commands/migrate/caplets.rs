//! Caplets: its deck, its database, its vault, its sign-ins and its entries in agents' files.

mod deck;
mod places;
mod secrets;

use std::collections::BTreeMap;

use capdeck_definition::{Backend, Deck, Definition};
use capdeck_host::withheld_variables;
use capdeck_install::{CapletsStore, Migration};

use self::{places::CapletsPlaces, secrets::take_secrets};
use super::{
    agents::{has_entries, swap_entries},
    staging::StagedSetup,
    system::{
        MigrationScene, MigrationWork, PeerSetup, PeerSystem, PeerTraces, SetupItem, SetupItemKind,
        migration_time, recorded_time, recorded_work,
    },
};
use crate::errors::CommandFailure;

pub(super) static SYSTEM: PeerSystem =
    PeerSystem { id: ID, name: "Caplets", look, plan, done: |scene| recorded_work(scene, ID) };

const ID: &str = "caplets";

fn look(scene: &MigrationScene<'_>) -> Result<Option<PeerTraces>, CommandFailure> {
    let Some(places) = CapletsPlaces::find(scene) else { return Ok(None) };
    let sources = places.existing();
    if sources.is_empty() && !has_entries(ID, scene) {
        return Ok(None);
    }
    let migrated_at = recorded_time(scene, ID)?;
    Ok(Some(PeerTraces { sources, migrated_at, is_in_place: false }))
}

fn plan(traces: PeerTraces, scene: &MigrationScene<'_>) -> Result<PeerSetup, CommandFailure> {
    let mut setup = PeerSetup {
        system: &SYSTEM,
        traces,
        items: Vec::new(),
        differences: Vec::new(),
        next: Vec::new(),
        work: MigrationWork::Nothing,
    };
    let Some(places) = CapletsPlaces::find(scene) else { return Ok(setup) };
    if setup.traces.migrated_at.is_some() {
        return Ok(setup);
    }
    let items = &mut setup.items;
    let staged = StagedSetup::new(scene)?;
    let store = read_store(&places, &staged, items)?;
    deck::take_files(&places, &staged, items)?;
    deck::take_config(&places, &staged, items)?;
    deck::take_records(&store, &staged, items)?;
    let deck = staged.staged_deck();
    take_secrets(&places, &store, &deck, &staged, scene, items)?;
    let (entries, agents) = swap_entries(ID, scene)?;
    items.extend(agents);
    items.extend(places.project_items(scene));
    setup.differences = differences(deck.definitions.iter().map(AsRef::as_ref));
    setup.next = next_steps(&places, scene, &deck);
    for (id, path) in deck::paths_outside(&deck, &staged) {
        let from = places.deck.display();
        setup
            .next
            .push(format!("`{id}` names {path}, which is beside {from}: write the whole path"));
    }
    let files = staged.changed_files()?;
    if !files.is_empty() || !entries.is_empty() {
        let migration = Migration::look(&scene.settings.state_dir, ID)?;
        let now = migration_time();
        let sources = setup.traces.sources.clone();
        let plan = migration.plan(files, Vec::new(), &entries, scene.records, sources, &now);
        setup.work = MigrationWork::Files { name: ID.to_owned(), plan: Some(Box::new(plan)) };
    }
    Ok(setup)
}

/// The database. One that cannot be read is left, and everything else is taken.
fn read_store(
    places: &CapletsPlaces,
    staged: &StagedSetup,
    items: &mut Vec<SetupItem>,
) -> Result<CapletsStore, CommandFailure> {
    let Some(database) = places.database.as_ref().filter(|path| path.is_file()) else {
        if let Some(reason) = &places.no_database {
            items.push(SetupItem::leave(SetupItemKind::File, "database", reason.clone()));
        }
        return Ok(CapletsStore::default());
    };
    match CapletsStore::read(database, &staged.scratch()?) {
        Ok(store) => Ok(store),
        Err(error) => {
            items.push(SetupItem::leave(SetupItemKind::File, "database", error.to_string()));
            Ok(CapletsStore::default())
        }
    }
}

/// What is different afterwards, as far as it concerns what is here.
fn differences<'a>(definitions: impl Iterator<Item = &'a Definition>) -> Vec<String> {
    let definitions: Vec<&Definition> = definitions.collect();
    let has = |is_it: fn(&Definition) -> bool| definitions.iter().any(|one| is_it(one));
    let sentences = [
        (
            true,
            "agents get `search`, `describe`, `call_read_only` and `call_tool` beside `code_mode` (`options.exposure` in the config decides)",
        ),
        (
            has(|one| one.setup.is_some()),
            "a Caplet with `setup` is offered once its set-up has run: capdeck setup ID",
        ),
        (
            has(|one| one.project_bound),
            "project-bound Caplets are offered in every session that has a project",
        ),
        (
            has(|one| matches!(one.backend, Backend::Cli(_))),
            "commands get only the variables that are safe for every program, and those that `passEnv` names",
        ),
        (
            has(|one| {
                matches!(one.backend, Backend::Http(_) | Backend::OpenApi(_) | Backend::GraphQl(_))
            }),
            "APIs in private networks are contacted only where the file or `options` say `network: private`",
        ),
        (true, "a project's `.caplets` acts once you trust the project: capdeck trust"),
    ];
    let said = sentences.into_iter().filter(|(is_so, _)| *is_so);
    said.map(|(_, sentence)| sentence.to_owned()).collect()
}

fn next_steps(places: &CapletsPlaces, scene: &MigrationScene<'_>, deck: &Deck) -> Vec<String> {
    let mut next = vec!["restart your agents, then test: capdeck check".to_owned()];
    if places.has_daemon(scene) {
        next.push(
            "the daemon of Caplets still runs; end it with: caplets daemon uninstall".to_owned(),
        );
    }
    if deck.definitions.iter().any(|one| one.setup.is_some()) {
        next.push("see what has to be set up with: capdeck list".to_owned());
    }
    next.extend(variables_to_pass(scene, deck));
    next
}

/// Caplets hands its whole environment on, so its files do not say which variables their programs count on.
fn variables_to_pass(scene: &MigrationScene<'_>, deck: &Deck) -> Option<String> {
    let environment = &scene.settings.environment;
    let withheld = deck.definitions.iter().flat_map(|one| withheld_variables(environment, one));
    let withheld: BTreeMap<String, String> =
        withheld.map(|variable| (variable.name, variable.evidence)).collect();
    let uses: Vec<String> =
        withheld.iter().map(|(name, evidence)| format!("`{name}` ({evidence})")).collect();
    let names: Vec<&str> = withheld.keys().map(String::as_str).collect();
    let reach = if names.len() == 1 { "does" } else { "do" };
    (!names.is_empty()).then(|| {
        format!(
            "{} {reach} not reach programs; if they need it, add `passEnv: [{}]` to `options` of your config",
            uses.join(", "),
            names.join(", ")
        )
    })
}
