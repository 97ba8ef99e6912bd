//! Whether the servers of a capability file answer, once everything is written.

use capdeck_definition::Layer;
use capdeck_host::{CheckReport, ErrorKind, check};
use futures_util::{StreamExt as _, stream};

use crate::{
    context::Context,
    errors::{ExitStatus, Failure, to_person},
    runtime::with_operator,
};

/// How many servers are asked at once.
const AT_ONCE: usize = 8;

/// Asks each server. What does not answer is a warning: the files are as they should be, and only its calls fail.
pub(super) fn check(context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let printer = context.printer;
    let reports = with_operator(context, async |session, call| {
        let catalog = session.catalog();
        let own = catalog.capabilities().filter(|one| {
            one.definition.source.layer == Layer::ProjectCapabilityFile && one.is_usable()
        });
        let ids: Vec<String> = own.map(|one| one.definition.id.to_string()).collect();
        let _progress = printer.progress(&format!("asking {} servers", ids.len()));
        let checks = ids.iter().map(async |id| check::check(&session.request(call), id).await);
        Ok(stream::iter(checks).buffered(AT_ONCE).collect::<Vec<CheckReport>>().await)
    })?;
    let mut status = ExitStatus::Done;
    for report in &reports {
        let Err(error) = &report.outcome else { continue };
        let check = || format!("capdeck check {}", report.id);
        let hint = error.hint.as_deref().map_or_else(check, to_person);
        printer.warn(&format!("`{}` does not answer: {} ({hint})", report.id, error.message));
        // Signing in comes after installing.
        if error.kind() != ErrorKind::NeedsLogin {
            status = ExitStatus::RequestFailed;
        }
    }
    Ok(status)
}
