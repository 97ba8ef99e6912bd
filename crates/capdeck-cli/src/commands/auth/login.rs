//! `capdeck auth login ID`: a person signs in with a browser, here or elsewhere.

use std::{io::BufRead as _, time::Duration};

use capdeck_host::{
    Begun, CallContext, CallError, DeviceLogin, Login, LoginWay, Session, SignInStatus, check,
};
use serde_json::json;
use tokio::sync::mpsc;

use super::{to_json, to_line};
use crate::{
    browser::{has_browser, open_browser},
    completion::ids,
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::one_line,
    runtime::with_operator,
};

/// Sign in to the service behind a capability
///
/// Opens a page in the browser and waits until the person has finished there. Without a screen, and with --device, the page can be
/// opened on any other device where the service offers that. With --json the first line on stdout is {"authorizationUrl": …} or
/// {"verificationUrl": …, "userCode": …} and the last one the outcome.
#[derive(Debug, clap::Args)]
pub(crate) struct LoginArgs {
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
    let LoginArgs { id, no_open, device, scopes, timeout } = args;
    let sign_in = capdeck_host::sign_in(&session.snapshot(), id)?;
    if !sign_in.knows_what_is_asked() {
        // The server's refusal says where to sign in and for what. That it refuses is expected.
        let progress = context.printer.progress(&format!("asking {id} what it wants"));
        drop(check::check(&session.request(call), id).await);
        drop(progress);
    }
    let has_browser = has_browser(&context.env.snapshot);
    let way = match (device, no_open, has_browser) {
        (true, _, _) => LoginWay::Device,
        (false, false, false) => LoginWay::DeviceIfOffered,
        (false, _, _) => LoginWay::Browser,
    };
    let patience = Duration::from_secs(*timeout);
    match sign_in.begin(scopes, way).await? {
        Begun::Done(status) => Ok(status),
        Begun::Device(login) => with_code(*login, patience, context).await,
        Begun::Browser(login) => {
            let opens = !no_open && has_browser;
            with_browser(*login, patience, opens, context).await
        }
    }
}

async fn with_browser(
    login: Login,
    patience: Duration,
    opens: bool,
    context: &Context<'_>,
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
    Ok(login.finish(patience, pasted, complain).await?)
}

async fn with_code(
    login: DeviceLogin,
    patience: Duration,
    context: &Context<'_>,
) -> Result<SignInStatus, CallError> {
    let printer = context.printer;
    let DeviceLogin { verification_url, complete_url, user_code, lasts, .. } = &login;
    if printer.wants_json() {
        let mut shown = json!({
            "verificationUrl": verification_url.as_str(),
            "userCode": user_code,
            "expiresIn": lasts.as_secs(),
        });
        if let Some(url) = complete_url {
            shown["verificationUrlComplete"] = json!(url.as_str());
        }
        printer.json_line(&shown);
    } else {
        printer.data(verification_url.as_str());
        printer.note(&format!("open this page on any device and enter the code {user_code}"));
        if let Some(url) = complete_url {
            printer.note(&format!("or, with the code in it: {url}"));
        }
    }
    Ok(login.finish(patience).await?)
}
