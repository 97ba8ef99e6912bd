//! Values of a project's capability file: its variables, and what is taken from the environment, a file or a program
//! when a server is connected. Nothing found is kept anywhere.

use std::{fs::File, io::Read, path::Path, time::Duration};

use capdeck_auth::{ProjectVariables, ResolveError, Secret, resolve_text};
use capdeck_definition::{Definition, SourceLayer, capability_file::DeclaredValue};
use indexmap::IndexMap;

use crate::{
    CallError,
    child_environment::{PassedVariables, child_environment},
    command_run::run_filter,
    connect::ResolvedBackend,
    connector_context::vault_holder,
    process::ChildCommand,
};

const VALUE_TIMEOUT: Duration = Duration::from_secs(15);

/// No honest value is longer.
const MAX_BYTES: u64 = 64 * 1024;

/// The variables of a definition's project; `None` for files that have none.
pub fn project_variables(definition: &Definition) -> Result<Option<ProjectVariables>, CallError> {
    if definition.source.layer != SourceLayer::ProjectCapabilityFile {
        return Ok(None);
    }
    let file = definition.base_dir.join(".env");
    ProjectVariables::read(&file).map(Some).map_err(|error| {
        let message = format!("the variables in `{}` cannot be read: {error}", file.display());
        CallError::invalid_config(message).hint("check the file, or remove it")
    })
}

/// Takes the values of one map, `env` or `headers`, each from where it is.
pub(crate) async fn take_values<T>(
    values: &IndexMap<String, DeclaredValue>,
    map: &str,
    prepared: &ResolvedBackend<T>,
    definition: &Definition,
) -> Result<Vec<(String, Secret)>, CallError> {
    let mut taken = Vec::with_capacity(values.len());
    for (name, value) in values {
        let place = format!("`{map}.{name}` of `{}`", definition.id);
        let value = take(value, prepared, definition).await.map_err(|mut error| {
            error.message = format!("{place}: {}", error.message);
            error
        })?;
        if value.expose().is_empty() {
            return Err(CallError::invalid_config(format!("{place}: the value is empty"))
                .hint("check where it is taken from"));
        }
        taken.push((name.clone(), value));
    }
    Ok(taken)
}

async fn take<T>(
    value: &DeclaredValue,
    prepared: &ResolvedBackend<T>,
    definition: &Definition,
) -> Result<Secret, CallError> {
    let surroundings = &prepared.surroundings;
    let invalid = |message: String| CallError::invalid_config(message);
    match value {
        DeclaredValue::Text(text) => {
            let holder = vault_holder(definition);
            let variables = project_variables(definition)?;
            let lookup = surroundings.lookup(&holder);
            let lookup = lookup.in_project(variables.as_ref());
            let resolved = resolve_text(text, lookup)
                .map_err(|unresolved| ResolveError::Unresolved { unresolved })?;
            Ok(Secret::new(resolved.text))
        }
        DeclaredValue::FromEnv(name) => {
            let variables = project_variables(definition)?;
            let own = || variables.as_ref().and_then(|variables| variables.get(name));
            let value = surroundings.settings.environment.get(name).or_else(own);
            value.map(Secret::new).ok_or_else(|| {
                invalid(format!("environment variable `{name}` is not set"))
                    .hint(format!("set it where capdeck is started, for example `export {name}=…`"))
            })
        }
        DeclaredValue::FromFile(path) => {
            read_value(&definition.base_dir.join(path)).map_err(|reason| {
                invalid(format!("the file `{path}` cannot be used: {reason}"))
                    .hint("put the value alone into that file; relative paths start at the project")
            })
        }
        DeclaredValue::FromCommand(words) => {
            let Some((program, arguments)) = words.split_first() else {
                return Err(invalid("no program is named".to_owned()));
            };
            let command = ChildCommand {
                program: program.clone(),
                args: arguments.to_vec(),
                env: child_environment(
                    &surroundings.settings.environment,
                    &PassedVariables::declared(definition.backend.pass_env()),
                    [],
                ),
                folder: Some(definition.base_dir.clone()),
                pipes_stdin: false,
                error_log: Some((
                    surroundings.logs.log_of(&definition.id),
                    prepared.log_scrubber.clone(),
                )),
            };
            let printed =
                run_filter(&surroundings.spawner, &command, "", VALUE_TIMEOUT, MAX_BYTES).await;
            printed.map(Secret::new).map_err(|error| {
                invalid(format!("the program `{program}` gave no value: {error}"))
                    .hint(format!("try it in the project's folder; what it wrote to standard error: capdeck logs {}", definition.id))
            })
        }
    }
}

fn read_value(path: &Path) -> Result<Secret, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut text = String::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_BYTES {
        return Err(format!("it is larger than {MAX_BYTES} bytes"));
    }
    Ok(Secret::new(text.trim_end_matches(['\n', '\r'])))
}
