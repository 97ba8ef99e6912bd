//! One authenticated request as operations see it.

use std::{collections::BTreeMap, sync::Arc};

use capdeck_auth::inbound::{
    AuthenticatedOperator, DecisionMaker, EventCaller, OperatorRole, Registry,
};
use capdeck_host::SharedAccess;
use http::{HeaderMap, header};

use super::{ApiError, ApiResult, RestApi};
use crate::{
    cookies, http_state::RegistryUnavailable, request_actor::RequestActor,
    transport::http::ClientAddress,
};

/// Without query and body.
#[derive(Debug)]
pub(super) struct RestCall {
    pub(super) rest: Arc<RestApi>,
    /// `None` for public operations.
    pub(super) actor: Option<RequestActor>,
    /// The grants of a client; `None` for others.
    pub(super) access: Option<SharedAccess>,
    pub(super) address: Option<ClientAddress>,
    pub(super) principal: String,
    pub(super) headers: HeaderMap,
    pub(super) places: BTreeMap<String, String>,
    pub(super) path: String,
    /// The query without paging parameters, sorted.
    pub(super) filters: String,
}

impl RestCall {
    pub(super) fn path_parameter(&self, name: &str) -> &str {
        self.places.get(name).map(String::as_str).unwrap_or_default()
    }

    /// The registry, if this process holds it.
    pub(super) fn registry(&self) -> ApiResult<&Registry> {
        self.rest.http_state.registry.as_ref().map_err(
            |RegistryUnavailable { reason, served_at }| {
                let error =
                    ApiError::unavailable(format!("this process has no registry: {reason}"));
                match served_at {
                    Some(place) => error.hint(format!("use the process that holds it, at {place}")),
                    None => error,
                }
            },
        )
    }

    pub(super) fn operator(&self) -> Option<AuthenticatedOperator> {
        self.rest.http_state.operator(self.actor.as_ref()?)
    }

    pub(super) fn is_admin(&self) -> bool {
        self.operator().is_some_and(|operator| operator.role == OperatorRole::Admin)
    }

    pub(super) fn id(&self) -> String {
        match (&self.actor, self.operator()) {
            (_, Some(operator)) => operator.id,
            (Some(RequestActor::Credential(client)), None) => client.principal.clone(),
            (_, None) => String::new(),
        }
    }

    pub(super) fn name(&self) -> Option<String> {
        self.actor.as_ref()?.name(&self.principal)
    }

    pub(super) fn registry_caller(&self) -> EventCaller {
        let address = self.address.map(|address| address.ip);
        EventCaller::new(self.id(), address).in_browser(cookies::browser_hash(&self.headers))
    }

    pub(super) fn decider(&self) -> ApiResult<DecisionMaker> {
        match (&self.actor, self.operator()) {
            (_, Some(AuthenticatedOperator { id, role, .. })) => {
                Ok(DecisionMaker::Operator { id, role, readable: Vec::new() })
            }
            (Some(RequestActor::Credential(client)), None) => {
                Ok(DecisionMaker::Supervisor { credential: client.credential.clone() })
            }
            (_, None) => Err(ApiError::forbidden("only operators and supervisors can decide")),
        }
    }

    /// The required current version: `If-Match: "<version>"`, or 0 for `If-None-Match: *`, when no entry must exist.
    pub(super) fn required_version(&self) -> ApiResult<Option<u64>> {
        let matching = self.text(header::IF_MATCH)?;
        let none = self.text(header::IF_NONE_MATCH)?;
        match (matching, none) {
            (None, None) => Ok(None),
            (Some("*"), None) => Err(ApiError::invalid("`If-Match` must be one version, not `*`")
                .hint("send the `ETag` of the entry that you read")),
            (Some(tag), None) => version_of(tag).map(Some),
            (None, Some("*")) => Ok(Some(0)),
            (None, Some(_)) => Err(ApiError::invalid("`If-None-Match` must be `*`")),
            (Some(_), Some(_)) => {
                let detail = "`If-Match` and `If-None-Match` are mutually exclusive";
                Err(ApiError::invalid(detail))
            }
        }
    }

    /// True when the client has this state already.
    pub(super) fn has_current(&self, tag: &str) -> bool {
        let sent = self.headers.get_all(header::IF_NONE_MATCH).iter();
        sent.filter_map(|sent| sent.to_str().ok())
            .flat_map(|sent| sent.split(','))
            .any(|sent| sent.trim().trim_start_matches("W/") == tag)
    }

    /// A header that can occur once, as text.
    pub(super) fn text(&self, name: header::HeaderName) -> ApiResult<Option<&str>> {
        let mut sent = self.headers.get_all(&name).iter();
        let Some(first) = sent.next() else { return Ok(None) };
        let once = sent.next().is_none().then_some(first);
        let text = once.and_then(|value| value.to_str().ok()).map(str::trim);
        text.map(Some).ok_or_else(|| {
            ApiError::invalid(format!("the header `{name}` must occur once, as plain text"))
        })
    }
}

pub(super) fn version_tag(version: u64) -> String {
    format!("\"{version}\"")
}

fn version_of(tag: &str) -> ApiResult<u64> {
    let inside = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
    inside.and_then(|version| version.parse().ok()).filter(|version| *version > 0).ok_or_else(
        || {
            ApiError::invalid("`If-Match` must be a quoted entry version, such as `\"3\"`")
                .hint("send the `ETag` of the entry that you read")
        },
    )
}
