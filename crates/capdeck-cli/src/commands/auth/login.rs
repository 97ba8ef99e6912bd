//! `capdeck auth login ID`: a person signs in with a browser.

use std::time::Duration;

use capdeck_host::{Begun, CallContext, CallError, Session, SignInStatus};
use serde_json::json;

use super::{to_json, to_line};
use crate::{
    browser::open_browser,
    completion::ids,
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::one_line,
    runtime::with_operator,
};

/// Sign in to the service behind a capability
///
/// Opens a page in the browser and waits until the person has finished there. With --json the first line on stdout is
/// {"authorizationUrl": …} and the last one the outcome.
#[derive(Debug, clap::Args)]
pub(crate) struct LoginArgs {
    /// The capability's id.
    #[arg(value_name = "ID", add = ids())]
    id: String,
    /// Only print the address of the page.
    #[arg(long)]
    no_open: bool,
    /// Ask for this right, too. Can be repeated.
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// How many seconds to wait for the person.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
}

pub(crate) fn run(args: &LoginArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let status = with_operator(context, async |session, call| {
        sign_in(args, session, call, context).await.map_err(Failure::from)
    })?;
    if context.printer.wants_json() {
        context.printer.json_line(&to_json(&args.id, &status));
    } else {
        context.printer.note(&one_line(&to_line(&args.id, &status)));
    }
    Ok(ExitStatus::Done)
}

async fn sign_in(
    args: &LoginArgs,
    session: &Session,
    call: &CallContext,
    context: &Context<'_>,
) -> Result<SignInStatus, CallError> {
    let LoginArgs { id, no_open, scopes, timeout } = args;
    let mut sign_in = session.sign_in(id)?;
    if !sign_in.knows_what_is_asked() {
        // The server's refusal says where to sign in and for what. That it refuses is expected.
        let progress = context.printer.progress(&format!("asking {id} what it wants"));
        drop(session.check(id, call).await);
        drop(progress);
        // So does a description, once it has been read.
        sign_in = session.sign_in(id)?;
    }
    let login = match sign_in.begin(scopes).await? {
        Begun::Done(status) => return Ok(status),
        Begun::Browser(login) => login,
    };
    let url = login.authorization_url.as_str();
    if context.printer.wants_json() {
        context.printer.json_line(&json!({ "authorizationUrl": url }));
    } else {
        context.printer.data(url);
        context.printer.note("open this page to sign in; waiting for it to be finished");
    }
    if !no_open {
        open_browser(url, context.printer);
    }
    Ok(login.finish(Duration::from_secs(*timeout)).await?)
}
