//! capsol: the capsules of a data folder, or of one `.capsol` folder in a project, as capsules of ours.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use capdeck_install::{MigratedFile, Migration, real_place};
use capdeck_storage::sha256_hex;
use serde_json::{Value, json};

use super::system::{
    MigrationScene, MigrationWork, PeerSetup, PeerSystem, PeerTraces, SetupItem, SetupItemKind,
    migration_time, recorded_time, recorded_work,
};
use crate::{errors::CommandFailure, plain_text::command_line};

pub(super) static SYSTEM: PeerSystem =
    PeerSystem { id: ID, name: "capsol", look, plan, done: |scene| recorded_work(scene, ID) };

const ID: &str = "capsol";

/// What a capsule consists of; its audit is of another form, and stays where it is.
const PARTS: [&str; 5] = ["knowledge", "skills", "entries", "memory", "blobs"];

const MAX_BYTES: u64 = 1 << 30;

/// One capsule of the other program.
struct CapsolCapsule {
    /// Its id there, or the name of its project.
    id: String,
    name: String,
    description: String,
    folder: PathBuf,
}

/// The data folders that are looked for.
fn folders(scene: &MigrationScene<'_>) -> Vec<PathBuf> {
    let here = scene.context.env.current_dir.clone().unwrap_or_default();
    let project = scene.settings.project_dir();
    let mut found: Vec<PathBuf> = Vec::new();
    let named = scene.context.env.capsol_data.as_ref().map(|folder| here.join(folder));
    for folder in
        named.into_iter().chain([here.join("registry-data"), project.join("registry-data")])
    {
        if folder.join("boxes.json").is_file() || folder.join("boxes").is_dir() {
            found.push(folder);
        }
    }
    let own = project.join(".capsol");
    if PARTS.iter().any(|part| own.join(part).is_dir()) {
        found.push(own);
    }
    found.sort();
    found.dedup();
    found
}

fn look(scene: &MigrationScene<'_>) -> Result<Option<PeerTraces>, CommandFailure> {
    let data = real_place(&scene.settings.data_dir);
    let sources = folders(scene);
    if sources.is_empty() {
        return Ok(None);
    }
    let is_in_place = sources.iter().all(|folder| real_place(folder) == data);
    let migrated_at = recorded_time(scene, ID)?;
    Ok(Some(PeerTraces { sources, migrated_at, is_in_place }))
}

fn plan(traces: PeerTraces, scene: &MigrationScene<'_>) -> Result<PeerSetup, CommandFailure> {
    let data = real_place(&scene.settings.data_dir);
    let mut setup = PeerSetup {
        system: &SYSTEM,
        traces,
        items: Vec::new(),
        differences: differences(),
        next: Vec::new(),
        work: MigrationWork::Nothing,
    };
    if setup.traces.migrated_at.is_some() {
        return Ok(setup);
    }
    let index = data.join("boxes.json");
    let mut records = read_records(&index)?;
    let mut files = Vec::new();
    for source in setup.traces.sources.clone() {
        if real_place(&source) == data {
            let note = "it is the data folder of Capdeck, too";
            let name = source.display().to_string();
            setup.items.push(SetupItem::in_place(SetupItemKind::File, name, note));
            continue;
        }
        for capsule in capsules(&source)? {
            let taken = |record: &Value| {
                let is_it = |key: &str| {
                    let text = record.get(key).and_then(Value::as_str).unwrap_or_default();
                    text.eq_ignore_ascii_case(&capsule.id)
                        || text.eq_ignore_ascii_case(&capsule.name)
                };
                is_it("id") || is_it("name")
            };
            if records.iter().any(taken) {
                let why = "there is a capsule of that name already";
                setup.items.push(SetupItem::leave(SetupItemKind::Capsule, capsule.name, why));
                continue;
            }
            let id = slug(&capsule.id);
            let target = data.join("boxes").join(&id).join(".capsol");
            let count = files.len();
            take_capsule(&capsule, &target, &mut files)?;
            let note = format!("{} files, as capsule `{id}`", files.len() - count);
            setup.items.push(SetupItem::take(SetupItemKind::Capsule, &capsule.name, Some(note)));
            records.push(record(&capsule, &id));
        }
        setup.items.extend(shares(&source));
    }
    if files.is_empty() {
        return Ok(setup);
    }
    check_free(&data)?;
    let text = serde_json::to_vec_pretty(&records).unwrap_or_default();
    files.push(file(index, text, "the list of capsules"));
    let migration = Migration::look(&scene.settings.state_dir, ID)?;
    let (now, sources) = (migration_time(), setup.traces.sources.clone());
    let plan = migration.plan(files, Vec::new(), &[], scene.records, sources, &now);
    setup.work = MigrationWork::Files { name: ID.to_owned(), plan: Some(Box::new(plan)) };
    setup.next.push("see that every entry is readable with: capdeck capsule verify".to_owned());
    Ok(setup)
}

fn differences() -> Vec<String> {
    [
        "capsules are read and written by `capdeck` itself; `capdeck up` serves them to others at /mcp/NAME",
        "tokens, connections and sign-ups of capsol open nothing here: share a capsule again",
        "the audit of capsol stays in its folder; Capdeck begins one of its own",
    ]
    .map(str::to_owned)
    .into()
}

fn read_records(index: &Path) -> Result<Vec<Value>, CommandFailure> {
    match fs::read(index) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| {
            CommandFailure::file("read", index, &io::Error::new(io::ErrorKind::InvalidData, error))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(CommandFailure::file("read", index, &error)),
    }
}

/// The capsules of a data folder, or the one of a project.
fn capsules(source: &Path) -> Result<Vec<CapsolCapsule>, CommandFailure> {
    if source.file_name().is_some_and(|name| name == ".capsol") {
        let project = source.parent().and_then(Path::file_name).unwrap_or_default();
        let name = project.to_string_lossy().into_owned();
        let (id, description) = (name.clone(), String::new());
        return Ok(vec![CapsolCapsule { id, name, description, folder: source.to_owned() }]);
    }
    let listed: Value = fs::read(source.join("boxes.json"))
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    let known = listed.get("boxes").or_else(|| listed.get("capsules")).unwrap_or(&listed);
    let known = known.as_array().cloned().unwrap_or_default();
    let boxes = source.join("boxes");
    let failed = |error: io::Error| CommandFailure::file("read", &boxes, &error);
    let mut found = Vec::new();
    for entry in fs::read_dir(&boxes).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let folder = entry.path().join(".capsol");
        let Ok(id) = entry.file_name().into_string() else { continue };
        if !folder.is_dir() {
            continue;
        }
        let about = known.iter().find(|one| one.get("id").is_some_and(|known| known == &id));
        let text = |key: &str| {
            about.and_then(|one| one.get(key)).and_then(Value::as_str).map(str::to_owned)
        };
        let name = text("name").filter(|name| !name.is_empty()).unwrap_or_else(|| id.clone());
        let description = text("description").unwrap_or_default();
        found.push(CapsolCapsule { id, name, description, folder });
    }
    found.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(found)
}

/// The files of a capsule to their new places.
fn take_capsule(
    capsule: &CapsolCapsule,
    target: &Path,
    files: &mut Vec<MigratedFile>,
) -> Result<(), CommandFailure> {
    let mut bytes = 0;
    for part in PARTS {
        copy(&capsule.folder.join(part), &target.join(part), &mut bytes, files)?;
    }
    let schemes = target.join("schemes.json");
    let own = capsule.folder.join("schemes.json");
    let content = match fs::read(&own) {
        Ok(content) => content,
        Err(_) => declared_schemes(&capsule.folder.join("entries"))?,
    };
    if !content.is_empty() {
        files.push(file(schemes, content, "the schemes of a capsule"));
    }
    Ok(())
}

fn copy(
    from: &Path,
    to: &Path,
    bytes: &mut u64,
    files: &mut Vec<MigratedFile>,
) -> Result<(), CommandFailure> {
    let failed = |error: io::Error| CommandFailure::file("read", from, &error);
    let listed = match fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        listed => listed.map_err(failed)?,
    };
    for entry in listed {
        let entry = entry.map_err(failed)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
        let place = to.join(entry.file_name());
        if kind.is_dir() {
            copy(&path, &place, bytes, files)?;
            continue;
        }
        // A link could lead anywhere, and names of unfinished files start with a dot.
        if !kind.is_file() || entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let read = |error: io::Error| CommandFailure::file("read", &path, &error);
        *bytes += fs::metadata(&path).map_err(read)?.len();
        if *bytes > MAX_BYTES {
            let message = format!("`{}` is larger than 1 GB", from.display());
            return Err(CommandFailure::request("CAPSULE_TOO_LARGE", message)
                .hint("use it where it is: set CAPDECK_DATA_DIR to that data folder"));
        }
        files.push(file(place, fs::read(&path).map_err(read)?, "a capsule"));
    }
    Ok(())
}

/// The declaration of every scheme that has entries, by the ending of their files. Empty where there is none.
fn declared_schemes(entries: &Path) -> Result<Vec<u8>, CommandFailure> {
    let failed = |error: io::Error| CommandFailure::file("read", entries, &error);
    let listed = match fs::read_dir(entries) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.map_err(failed)?,
    };
    let mut schemes = Vec::new();
    for entry in listed {
        let entry = entry.map_err(failed)?;
        if let (true, Ok(name)) = (entry.path().is_dir(), entry.file_name().into_string()) {
            let format = match first_ending(&entry.path()).as_deref() {
                Some("json") => "json",
                Some("txt") => "text",
                _ => "markdown",
            };
            schemes.push(json!({ "name": name, "format": format }));
        }
    }
    schemes.sort_by_key(|scheme| scheme["name"].as_str().unwrap_or_default().to_owned());
    match schemes.is_empty() {
        true => Ok(Vec::new()),
        false => Ok(serde_json::to_vec_pretty(&schemes).unwrap_or_default()),
    }
}

fn first_ending(folder: &Path) -> Option<String> {
    fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let path = entry.path();
        match path.is_dir() {
            true => first_ending(&path),
            false => path.extension()?.to_str().map(str::to_owned),
        }
    })
}

/// The rules of shares, as far as they can be read. A token is kept as its hash, so each is given again.
fn shares(source: &Path) -> Vec<SetupItem> {
    let Ok(text) = fs::read(source.join("shares.json")) else { return Vec::new() };
    let parsed: Value = serde_json::from_slice(&text).unwrap_or_default();
    let listed = parsed.get("shares").unwrap_or(&parsed);
    let Some(listed) = listed.as_array() else {
        let why = "it is of a form that is not known";
        return vec![SetupItem::leave(SetupItemKind::Grant, "shares.json", why)];
    };
    let mut found = Vec::new();
    for share in listed {
        let text = |key: &str| share.get(key).and_then(Value::as_str);
        let capsule = ["capsule", "capsule_id", "box", "box_id", "boxId", "capsuleId"];
        let capsule = capsule.iter().find_map(|key| text(key));
        let (Some(capsule), Some(role)) = (capsule, text("role")) else {
            let why = "it does not say for which capsule, or which role";
            let name = text("id").unwrap_or("share");
            found.push(SetupItem::leave(SetupItemKind::Grant, name, why));
            continue;
        };
        let prefixes = |key: &str| {
            let listed = share.get(key).and_then(Value::as_array).into_iter().flatten();
            listed.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let id = slug(capsule);
        let mut words: Vec<String> =
            ["capdeck", "capsule", "share", &id, "--role", role].map(str::to_owned).into();
        for (flag, key) in [("--allow", "uri_prefixes"), ("--deny", "denied_prefixes")] {
            words.extend(prefixes(key).into_iter().flat_map(|one| [flag.to_owned(), one]));
        }
        let command = command_line(words.iter().map(String::as_str));
        let why = format!("its token cannot be read; share it again with: {command}");
        found.push(SetupItem::leave(SetupItemKind::Grant, format!("{role} of {capsule}"), why));
    }
    found
}

/// A running host would write over what it does not know of.
fn check_free(data: &Path) -> Result<(), CommandFailure> {
    let lock = data.join("lock");
    let Ok(file) = fs::OpenOptions::new().write(true).open(&lock) else { return Ok(()) };
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(_) => {
            let message = format!("`{}` is in use by a running capdeck", data.display());
            Err(CommandFailure::request("DATA_IN_USE", message)
                .hint("stop it (capdeck up, or an agent's), then run this again"))
        }
    }
}

fn record(capsule: &CapsolCapsule, id: &str) -> Value {
    let now = jiff::Timestamp::now();
    let hash = sha256_hex(format!("{}\0{id}\0{now}", capsule.folder.display()));
    let uid: String = hash.chars().take(32).collect();
    json!({
        "id": id,
        "uid": uid,
        "name": capsule.name,
        "description": capsule.description,
        "created_at": now.to_string(),
    })
}

/// An id as addresses of capsules have it.
fn slug(text: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let id: String = text.chars().map(letter).take(40).collect();
    let parts: Vec<&str> = id.split('-').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "capsule".to_owned() } else { parts.join("-") }
}

fn file(path: PathBuf, content: Vec<u8>, what: &str) -> MigratedFile {
    MigratedFile { path, content, is_program: false, is_private: true, what: what.to_owned() }
}
