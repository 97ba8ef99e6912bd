//! Where agents' files are on this machine.

use capdeck_install::{Client, Folders, Scope, Target};

use crate::{context::Context, errors::Failure, settings::Settings};

/// The folders of the person and of the project in force.
pub(in crate::commands) fn folders(
    settings: &Settings,
    context: &Context<'_>,
) -> Result<Folders, Failure> {
    let env = &context.env;
    let (Some(home), Some(base)) = (env.home.clone(), env.base.as_ref()) else {
        return Err(Failure::setup("NO_HOME_FOLDER", "there is no home folder").hint("set HOME"));
    };
    let application_data = if cfg!(target_os = "macos") {
        home.join("Library/Application Support")
    } else {
        base.config.clone()
    };
    let project = settings.project.as_ref().map(|project| project.dir.clone());
    Ok(Folders { home, config: base.config.clone(), application_data, project })
}

/// The entry that is meant. Without a project the person's own file is, where an agent has one.
pub(in crate::commands) fn target(
    client: &'static Client,
    scope: Option<Scope>,
    name: &str,
    settings: &Settings,
    context: &Context<'_>,
) -> Result<Target, Failure> {
    let folders = folders(settings, context)?;
    let usual = match client.default_scope {
        Scope::Project if folders.project.is_none() && client.scopes().contains(&Scope::User) => {
            Scope::User
        }
        usual => usual,
    };
    Ok(Target::new(client, scope.unwrap_or(usual), name, &folders)?)
}
