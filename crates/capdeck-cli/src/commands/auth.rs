//! `capdeck auth`: sign-ins to the services behind capabilities.

use std::{io::BufRead as _, time::Duration};

use capdeck_host::{
    BrowserLogin, CallContext, CallError, DeviceLogin, LoginMethod, LoginStart, RevocationOutcome,
    Session, SignInState, SignInStatus, SignOutReport, check, sign_in,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::command_table;
use crate::{
    browser::{has_browser, open_browser},
    commands::CommandContext,
    completion::ids,
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::{one_line, without_nulls},
    runtime::with_operator,
};

command_table! {
    /// Sign in to the services behind capabilities
    ///
    /// For capabilities that answer that sign-in is needed, with exit code 3. `capdeck auth` alone shows all sign-ins.
    pub(crate) enum AuthCommand default Status {
        Login(AuthLoginArgs) => login,
        Status(AuthStatusArgs) => status,
        Refresh(AuthRefreshArgs) => refresh,
        Logout(AuthLogoutArgs) => logout,
    }
}

/// `{id, state, scopes, renewable, problem?, issuer?, subject?, expiresAt?, wantedScopes?}`.
fn to_json(id: &str, status: &SignInStatus) -> Value {
    let wanted = &status.wanted_scopes;
    let state = match status.state {
        SignInState::SignedIn => "signedIn",
        SignInState::Expired => "expired",
        SignInState::SignedOut => "signedOut",
    };
    without_nulls(json!({
        "id": id,
        "state": state,
        "scopes": status.scopes,
        "renewable": status.renewable,
        "problem": status.problem,
        "issuer": status.issuer,
        "subject": status.subject,
        "expiresAt": expires_at(status),
        "wantedScopes": (!wanted.is_empty()).then_some(wanted),
    }))
}

fn expires_at(status: &SignInStatus) -> Option<Timestamp> {
    Timestamp::from_second(i64::try_from(status.expires_at?).ok()?).ok()
}

/// `linear: signed in at https://… until 2026-01-01T00:00:00Z (renewed by itself), scopes: a b`.
fn to_line(id: &str, status: &SignInStatus) -> String {
    let mut line = match (status.state, &status.issuer) {
        (SignInState::SignedOut, _) | (_, None) => format!("{id}: not signed in"),
        (SignInState::SignedIn, Some(issuer)) => format!("{id}: signed in at {issuer}"),
        (SignInState::Expired, Some(issuer)) => format!("{id}: signed in at {issuer}, but expired"),
    };
    if let Some(problem) = &status.problem {
        line.push_str(&format!("; there is a sign-in, but {problem}"));
    }
    if let Some(subject) = &status.subject {
        line.push_str(&format!(" as {subject}"));
    }
    match (status.state, expires_at(status), status.renewable) {
        (SignInState::SignedIn, Some(at), false) => line.push_str(&format!(" until {at}")),
        (SignInState::SignedIn | SignInState::Expired, _, true) => {
            line.push_str(", renewed by itself");
        }
        _ => {}
    }
    if !status.scopes.is_empty() {
        line.push_str(&format!("; scopes: {}", status.scopes.join(" ")));
    }
    if !status.wanted_scopes.is_empty() {
        line.push_str(&format!("; asks for: {}", status.wanted_scopes.join(" ")));
    }
    line
}

/// Sign in to the service behind a capability
///
/// Opens a page in the browser and waits until you have finished there. Without a screen, and with --device, the page can be
/// opened on any other device where the service offers that. With --json the first line on stdout is {"authorizationUrl": …} or
/// {"verificationUrl": …, "userCode": …} and the last one the outcome.
#[derive(Debug, clap::Args)]
pub(crate) struct AuthLoginArgs {
    /// The capability's id.
    #[arg(value_name = "ID", add = ids())]
    id: String,
    /// Only print the address of the page. The address that it leads back to can be pasted.
    #[arg(long)]
    no_open: bool,
    /// Sign in on another device, with a code.
    #[arg(long, conflicts_with = "no_open")]
    device: bool,
    /// Ask for this right, too. Can be repeated.
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// How many seconds to wait for the person.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
}

fn login(args: &AuthLoginArgs, context: &CommandContext<'_>) -> CommandResult {
    let status = with_operator(context, async |session, call| {
        sign_in_to(args, session, call, context).await.map_err(CommandFailure::from)
    })?;
    if context.printer.wants_json() {
        context.printer.json_line(&to_json(&args.id, &status));
    } else {
        context.printer.note(&one_line(&to_line(&args.id, &status)));
    }
    Ok(ExitStatus::Done)
}

async fn sign_in_to(
    args: &AuthLoginArgs,
    session: &Session,
    call: &CallContext,
    context: &CommandContext<'_>,
) -> Result<SignInStatus, CallError> {
    let AuthLoginArgs { id, no_open, device, scopes, timeout } = args;
    let sign_in = sign_in(&session.snapshot(), id)?;
    if !sign_in.knows_what_is_asked() {
        // The server's refusal says where to sign in and for what. That it refuses is expected.
        let progress = context.printer.progress(&format!("asking {id} what it wants"));
        drop(check::check(&session.request(call), id).await);
        drop(progress);
    }
    let has_browser = has_browser(&context.env.snapshot);
    let method = match (device, no_open, has_browser) {
        (true, _, _) => LoginMethod::Device,
        (false, false, false) => LoginMethod::DeviceIfOffered,
        (false, _, _) => LoginMethod::Browser,
    };
    let timeout = Duration::from_secs(*timeout);
    match sign_in.begin(scopes, method).await? {
        LoginStart::Done(status) => Ok(status),
        LoginStart::Device(login) => with_code(*login, timeout, context).await,
        LoginStart::Browser(login) => {
            let opens = !no_open && has_browser;
            with_browser(*login, timeout, opens, context).await
        }
    }
}

async fn with_browser(
    login: BrowserLogin,
    timeout: Duration,
    opens: bool,
    context: &CommandContext<'_>,
) -> Result<SignInStatus, CallError> {
    let printer = context.printer;
    let url = login.authorization_url.as_str();
    if printer.wants_json() {
        printer.json_line(&json!({ "authorizationUrl": url }));
    } else {
        printer.data(url);
        printer.note("open this page to sign in; waiting for it to be finished");
    }
    let (sender, pasted) = mpsc::channel(1);
    if opens {
        open_browser(url, printer);
    } else {
        printer.note("if it cannot come back to this machine, paste the address it leads to");
        // A thread of its own: nothing waits for it at the end.
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                if !line.trim().is_empty() && sender.blocking_send(line).is_err() {
                    break;
                }
            }
        });
    }
    let complain = |reason: &'static str| printer.warn(reason);
    Ok(login.finish(timeout, pasted, complain).await?)
}

async fn with_code(
    login: DeviceLogin,
    timeout: Duration,
    context: &CommandContext<'_>,
) -> Result<SignInStatus, CallError> {
    let printer = context.printer;
    let DeviceLogin { verification_url, complete_url, user_code, lasts, .. } = &login;
    if printer.wants_json() {
        printer.json_line(&without_nulls(json!({
            "verificationUrl": verification_url.as_str(),
            "userCode": user_code,
            "expiresIn": lasts.as_secs(),
            "verificationUrlComplete": complete_url.as_ref().map(url::Url::as_str),
        })));
    } else {
        printer.data(verification_url.as_str());
        printer.note(&format!("open this page on any device and enter the code {user_code}"));
        if let Some(url) = complete_url {
            printer.note(&format!("or, with the code in it: {url}"));
        }
    }
    Ok(login.finish(timeout).await?)
}

/// Show sign-ins
///
/// Reads files only; nothing is asked.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct AuthStatusArgs {
    /// The capability's id; every capability that can be signed in to by default.
    #[arg(value_name = "ID", add = ids())]
    id: Option<String>,
}

fn status(args: &AuthStatusArgs, context: &CommandContext<'_>) -> CommandResult {
    let session = context.open_host()?.operator();
    let printer = context.printer;
    if let Some(id) = &args.id {
        let status = sign_in(&session.snapshot(), id)?.status().map_err(CallError::from)?;
        return printer.show(&to_json(id, &status), &one_line(&to_line(id, &status)));
    }
    let catalog = session.catalog();
    let usable = catalog.capabilities().filter(|capability| capability.is_usable());
    let mut found: Vec<(String, SignInStatus)> = Vec::new();
    for capability in usable {
        let id = capability.definition.id.to_string();
        // What cannot be signed in to is left out; a file that cannot be read is reported.
        let Ok(sign_in) = sign_in(&session.snapshot(), &id) else { continue };
        match sign_in.status() {
            Ok(status) => found.push((id, status)),
            Err(error) => printer.warn(&format!("{id}: {error}")),
        }
    }
    let items: Vec<Value> = found.iter().map(|(id, status)| to_json(id, status)).collect();
    printer.json_or(&json!({ "items": items }), || {
        if found.is_empty() {
            printer.note("No OAuth sign-ins");
        }
        for (id, status) in &found {
            printer.data(&one_line(&to_line(id, status)));
        }
    })
}

/// Renew a sign-in now
///
/// Not needed in general: a sign-in that can be renewed is renewed when it is used.
#[derive(Debug, clap::Args)]
pub(crate) struct AuthRefreshArgs {
    /// The capability's id.
    #[arg(value_name = "ID", add = ids())]
    id: String,
}

fn refresh(args: &AuthRefreshArgs, context: &CommandContext<'_>) -> CommandResult {
    let AuthRefreshArgs { id } = args;
    let status = with_operator(context, async |session, _call| {
        let renewed = sign_in(&session.snapshot(), id)?.renew().await;
        renewed.map_err(|error| {
            let needs_sign_in = error.needs_sign_in();
            let failure = CommandFailure::from(CallError::from(error));
            if needs_sign_in {
                failure.hint(format!("run: capdeck auth login {id}"))
            } else {
                failure
            }
        })
    })?;
    context.printer.answer(&to_json(id, &status), &one_line(&to_line(id, &status)))
}

/// Sign out of the service behind a capability
///
/// Removes the tokens stored on this machine, and revokes them at the service where it offers that. It may go on listing the
/// permission itself.
#[derive(Debug, clap::Args)]
pub(crate) struct AuthLogoutArgs {
    /// The capability's id.
    #[arg(value_name = "ID", add = ids())]
    id: String,
}

fn logout(args: &AuthLogoutArgs, context: &CommandContext<'_>) -> CommandResult {
    let AuthLogoutArgs { id } = args;
    let outcome = with_operator(context, async |session, _call| {
        sign_in(&session.snapshot(), id)?
            .sign_out()
            .await
            .map_err(|error| CallError::from(error).into())
    })?;
    let SignOutReport { was_signed_in, revocation } = outcome;
    if let RevocationOutcome::Failed { error } = &revocation {
        let message =
            format!("{id}: signed out here, but the service could not revoke the tokens: {error}");
        context.printer.warn(&message);
    }
    let revoked = revocation == RevocationOutcome::Done;
    let shown = json!({
        "id": id, "state": "signedOut", "wasSignedIn": was_signed_in, "revoked": revoked,
    });
    let note = match (was_signed_in, revoked) {
        (true, true) => format!("{id}: signed out, here and at the service"),
        (true, false) => format!("{id}: signed out"),
        (false, _) => format!("{id}: was not signed in"),
    };
    context.printer.answer(&shown, &note)
}
