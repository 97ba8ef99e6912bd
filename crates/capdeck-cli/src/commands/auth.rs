//! `capdeck auth`: sign-ins to the services behind capabilities.

mod login;
mod logout;
mod refresh;
mod status;

use capdeck_host::{SignInState, SignInStatus};
use clap::Subcommand;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Sign in to the services behind capabilities
#[derive(Debug, clap::Args)]
pub(crate) struct AuthArgs {
    #[command(subcommand)]
    command: AuthCommand,
}

#[derive(Debug, Subcommand)]
enum AuthCommand {
    Login(login::LoginArgs),
    Status(status::StatusArgs),
    Refresh(refresh::RefreshArgs),
    Logout(logout::LogoutArgs),
}

pub(crate) fn run(args: &AuthArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    match &args.command {
        AuthCommand::Login(args) => login::run(args, context),
        AuthCommand::Status(args) => status::run(args, context),
        AuthCommand::Refresh(args) => refresh::run(args, context),
        AuthCommand::Logout(args) => logout::run(args, context),
    }
}

/// `{id, state, problem?, issuer?, subject?, scopes, expiresAt?, renewable, wantedScopes?}`.
fn to_json(id: &str, status: &SignInStatus) -> Value {
    let mut shown = json!({
        "id": id,
        "state": state_name(status.state),
        "scopes": status.scopes,
        "renewable": status.renewable,
    });
    if let Some(problem) = &status.problem {
        shown["problem"] = json!(problem);
    }
    if let Some(issuer) = &status.issuer {
        shown["issuer"] = json!(issuer);
    }
    if let Some(subject) = &status.subject {
        shown["subject"] = json!(subject);
    }
    if let Some(at) = expires_at(status) {
        shown["expiresAt"] = json!(at);
    }
    if !status.wanted_scopes.is_empty() {
        shown["wantedScopes"] = json!(status.wanted_scopes);
    }
    shown
}

fn state_name(state: SignInState) -> &'static str {
    match state {
        SignInState::SignedIn => "signedIn",
        SignInState::Expired => "expired",
        SignInState::SignedOut => "signedOut",
    }
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
