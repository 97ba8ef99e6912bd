//! What `up` needs besides the deck: settings that it starts with, a port, the secrets in them. Nothing is asked over the network.

use std::net::TcpListener;

use capdeck_definition::ServeConfig;

use super::Finding;
use crate::{
    commands::up::{UpArgs, UpSettings, traces::configured_headers},
    env_vars::EnvVars,
    settings::Settings,
};

/// Resolves what `up` would start with, so that whatever stops it there is found here.
pub(super) fn examine(settings: &Settings, env: &EnvVars, serve: &ServeConfig) -> Vec<Finding> {
    let mut findings = Vec::new();
    match UpSettings::resolve(&UpArgs::default(), env, serve, settings) {
        Ok(up) => {
            if let Some(oidc) = &serve.oidc {
                let message = format!("operators may sign in at {}", oidc.issuer);
                findings.push(Finding::ok("sign-in", message));
            }
            findings.push(port(&up.host, up.port));
        }
        Err(failure) => {
            let message = format!("`capdeck up` does not start: {}", failure.message);
            let fix = failure.hint.unwrap_or_else(|| "see: capdeck up --help".to_owned());
            findings.push(Finding::error("up", message, fix));
        }
    }
    if let Some(otlp) = &serve.otlp
        && let Err(one) = configured_headers(otlp, settings)
    {
        let message = format!("`serve.otlp.headers` cannot be used: {one}");
        findings.push(Finding::warning("traces", message, one.hint()));
    }
    findings
}

/// Whether the host could listen.
fn port(host: &str, port: u16) -> Finding {
    match TcpListener::bind((host, port)) {
        Ok(_) => Finding::ok("port", format!("{host}:{port} is free")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Finding::warning(
            "port",
            format!("{host}:{port} is in use, perhaps by a running capdeck"),
            "another port: capdeck up --port 0",
        ),
        Err(error) => Finding::warning(
            "port",
            format!("cannot listen on {host}:{port}: {error}"),
            "another address: capdeck up --host 127.0.0.1",
        ),
    }
}
