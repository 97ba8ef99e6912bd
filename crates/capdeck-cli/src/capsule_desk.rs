//! The way of commands to the capsules: one question at a time, as the person at this machine.

use std::borrow::Cow;

use capdeck_host::{Author, CapsuleCaller, CapsuleDesk as _, CapsuleFailure, CapsuleOperation};
use capdeck_serve::SharedDesk;
use serde_json::Value;

use crate::{
    context::Context,
    errors::{ExitStatus, FOLDERS_HINT, Failure},
    runtime::{single_thread, stop_signal},
};

/// The capsules, for one command.
pub(crate) struct Desk {
    shared: SharedDesk,
    caller: CapsuleCaller,
}

/// Asks one thing of one capsule, or of all of them.
pub(crate) fn ask(
    context: &Context<'_>,
    capsule: Option<&str>,
    operation: CapsuleOperation,
) -> Result<Value, Failure> {
    with_desk(context, async |desk| desk.ask(capsule, operation).await)
}

/// The same for commands that ask several things.
pub(crate) fn with_desk<T>(
    context: &Context<'_>,
    work: impl AsyncFnOnce(&Desk) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let settings = context.settings()?;
    let author = Author::client("capdeck").version(env!("CARGO_PKG_VERSION"));
    let project = settings.project.as_ref().map(|project| project.dir.clone());
    let desk = Desk {
        shared: settings.capsules(),
        caller: CapsuleCaller::local(author).in_project(project),
    };
    single_thread()?.block_on(async {
        let outcome = tokio::select! {
            outcome = work(&desk) => outcome,
            () = stop_signal() => Err(Failure::request("CANCELLED", "interrupted")),
        };
        desk.shared.close().await;
        outcome
    })
}

impl Desk {
    pub(crate) async fn ask(
        &self,
        capsule: Option<&str>,
        operation: CapsuleOperation,
    ) -> Result<Value, Failure> {
        self.try_ask(capsule, operation).await.map_err(|failure| told(failure, capsule))
    }

    /// The same, for those who can go on after some failures.
    pub(crate) async fn try_ask(
        &self,
        capsule: Option<&str>,
        operation: CapsuleOperation,
    ) -> Result<Value, CapsuleFailure> {
        self.shared.ask(self.caller.request(capsule, operation)).await
    }
}

/// A failure of the desk in the words of the command line.
pub(crate) fn told(failure: CapsuleFailure, capsule: Option<&str>) -> Failure {
    let CapsuleFailure { code, message, hint, data } = failure;
    let is_about_capsules = message.starts_with("there is no capsule");
    // What is said to agents names arguments of tools; here commands are named.
    let hint = match (code.as_str(), capsule) {
        ("not_found", _) if is_about_capsules => {
            Some("see which there are with: capdeck capsule list".to_owned())
        }
        ("not_found", Some(name)) => {
            Some(format!("see what is there with: capdeck capsule list {name}"))
        }
        ("capsule_required", _) if is_about_capsules => {
            Some("make one with: capdeck capsule new NAME".to_owned())
        }
        ("capsule_required", _) => Some("name one of them".to_owned()),
        ("unknown_scheme", Some(name)) => {
            Some(format!("add it with: capdeck capsule schemes add {name} SCHEME"))
        }
        ("io_failed" | "permission_denied" | "storage_full", _) => Some(FOLDERS_HINT.to_owned()),
        ("read_only", _) if hint.is_none() => Some(
            "make the data folder writable, or name another one with CAPDECK_DATA_DIR".to_owned(),
        ),
        ("damaged", Some(name)) => Some(format!("run: capdeck capsule verify {name}")),
        _ => hint,
    };
    let status = match code.as_str() {
        "version_conflict" => ExitStatus::Conflict,
        "invalid_uri" | "invalid_input" | "invalid_scheme" | "capsule_required" => {
            ExitStatus::WrongUsage
        }
        _ => ExitStatus::RequestFailed,
    };
    Failure {
        status,
        code: Cow::Owned(code.to_uppercase()),
        message,
        hint,
        details: data,
        said: None,
    }
}
