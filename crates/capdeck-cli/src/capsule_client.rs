//! Requests of commands to the capsules, as the person at this machine.

use std::borrow::Cow;

use capdeck_host::{
    CapsuleAuthor, CapsuleCall, CapsuleCaller, CapsuleError, CapsuleErrorCode as Code,
    CapsuleService as _, CapsuleServiceExt as _, ErrorDetails,
};
use capdeck_serve::SharedCapsuleService;

use crate::{
    commands::CommandContext,
    errors::{CommandFailure, CommandResult, ExitStatus, FOLDERS_HINT},
    printer::Printer,
    runtime::{single_thread, stop_signal},
};

/// The capsules, for one command.
pub(crate) struct CommandCapsules {
    shared: SharedCapsuleService,
    caller: CapsuleCaller,
}

/// Sends one request about one capsule, or about all of them.
pub(crate) fn ask<C: CapsuleCall>(
    context: &CommandContext<'_>,
    capsule: Option<&str>,
    call: C,
) -> Result<C::Response, CommandFailure> {
    with_capsules(context, async |capsules| capsules.ask(capsule, call).await)
}

/// The same, and shows the response: as JSON, or by what `as_text` prints.
pub(crate) fn ask_and_show<C: CapsuleCall>(
    context: &CommandContext<'_>,
    capsule: Option<&str>,
    call: C,
    as_text: impl FnOnce(&C::Response, &Printer),
) -> CommandResult {
    let response = ask(context, capsule, call)?;
    context.printer.json_or(&response, || as_text(&response, context.printer))
}

/// The same for commands that send several requests.
pub(crate) fn with_capsules<T>(
    context: &CommandContext<'_>,
    work: impl AsyncFnOnce(&CommandCapsules) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    let settings = context.settings()?;
    let author = CapsuleAuthor::client("capdeck").version(env!("CARGO_PKG_VERSION"));
    let project = settings.project.as_ref().map(|project| project.dir.clone());
    let capsules = CommandCapsules {
        shared: settings.capsules(),
        caller: CapsuleCaller::local(author).in_project(project),
    };
    single_thread()?.block_on(async {
        let outcome = tokio::select! {
            outcome = work(&capsules) => outcome,
            _ = stop_signal() => Err(CommandFailure::interrupted()),
        };
        capsules.shared.close().await;
        outcome
    })
}

impl CommandCapsules {
    pub(crate) async fn ask<C: CapsuleCall>(
        &self,
        capsule: Option<&str>,
        call: C,
    ) -> Result<C::Response, CommandFailure> {
        self.try_ask(capsule, call).await.map_err(|error| into_failure(error, capsule))
    }

    /// The same, for those who can go on after some errors.
    pub(crate) async fn try_ask<C: CapsuleCall>(
        &self,
        capsule: Option<&str>,
        call: C,
    ) -> Result<C::Response, CapsuleError> {
        self.shared.ask(self.caller.request(capsule, call)).await
    }
}

/// An error of the capsules in the words of the command line.
pub(crate) fn into_failure(error: CapsuleError, capsule: Option<&str>) -> CommandFailure {
    let data = error.data();
    let CapsuleError { code, message, hint, details } = error;
    // Hints for agents name arguments of tools; here commands are named.
    let hint = match (code, capsule) {
        (Code::CapsuleNotFound, _) => Some("see which there are with: capdeck capsule list".into()),
        (Code::NotFound, Some(name)) => {
            Some(format!("see what is there with: capdeck capsule list {name}"))
        }
        (Code::CapsuleRequired, _) => Some(match details {
            Some(ErrorDetails::Choices(choices)) if choices.is_empty() => {
                "make one with: capdeck capsule new NAME".to_owned()
            }
            _ => "name one of them".to_owned(),
        }),
        (Code::UnknownScheme, Some(name)) => {
            Some(format!("add it with: capdeck capsule schemes add {name} SCHEME"))
        }
        (Code::IoFailed | Code::PermissionDenied | Code::StorageFull, _) => {
            Some(FOLDERS_HINT.to_owned())
        }
        (Code::ReadOnly, _) if hint.is_none() => Some(
            "make the data folder writable, or name another one with CAPDECK_DATA_DIR".to_owned(),
        ),
        (Code::Damaged, Some(name)) => Some(format!("run: capdeck capsule verify {name}")),
        _ => hint,
    };
    let status = match code {
        Code::VersionConflict => ExitStatus::Conflict,
        Code::InvalidUri | Code::InvalidInput | Code::InvalidScheme | Code::CapsuleRequired => {
            ExitStatus::WrongUsage
        }
        _ => ExitStatus::RequestFailed,
    };
    let code = Cow::Owned(code.as_str().to_uppercase());
    CommandFailure { status, code, message, hint, details: data, said: None }
}
