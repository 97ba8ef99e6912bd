//! Who a request comes from: the host's key, this machine itself, or the token of a share, which opens its capsule and
//! nothing else.

mod names;

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use capdeck_auth::Secret;
use capdeck_host::{Author, CapsuleCaller, CapsuleDesk, CapsuleOperation};
use capdeck_mcp::server::Principal;
use http::{HeaderMap, StatusCode, header};
use subtle::ConstantTimeEq as _;

pub(super) use self::names::{Names, check_names};
use crate::{actor::Actor, mcp::ViaShare};

/// Who needs a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthMode {
    /// Requests without a token from this machine are its owner's.
    Local,
    /// Every request needs a token.
    Required,
}

/// Headers that a proxy adds. What was passed on does not come from this machine, whatever the socket says.
const PASSED_ON: [&str; 4] = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];

/// Knows everyone who may come in.
pub(super) struct Access {
    mode: AuthMode,
    key: Option<Secret>,
    /// Knows the tokens of shares.
    capsules: Option<Arc<dyn CapsuleDesk>>,
}

/// As whom a request is let in.
struct Admitted {
    actor: Actor,
    principal: Principal,
}

impl Access {
    pub(super) fn new(
        mode: AuthMode,
        key: Option<Secret>,
        capsules: Option<Arc<dyn CapsuleDesk>>,
    ) -> Self {
        Self { mode, key, capsules }
    }

    /// A token that opens nothing is refused even where none is needed: whoever sends one does not mean to be the owner.
    async fn admit(&self, headers: &HeaderMap) -> Option<Admitted> {
        match authorization(headers) {
            Sent::Nothing => self.admit_locally(headers),
            Sent::Bearer(token) if self.is_key(token) => {
                Some(Admitted { actor: Actor::Owner, principal: Principal("key".into()) })
            }
            Sent::Bearer(token) => self.open_share(token).await,
            Sent::Other => None,
        }
    }

    fn admit_locally(&self, headers: &HeaderMap) -> Option<Admitted> {
        let is_direct = !PASSED_ON.iter().any(|name| headers.contains_key(*name));
        let is_owner = self.mode == AuthMode::Local && is_direct;
        is_owner.then(|| Admitted { actor: Actor::Owner, principal: Principal("local".into()) })
    }

    fn is_key(&self, token: &str) -> bool {
        let same = |key: &Secret| token.as_bytes().ct_eq(key.expose().as_bytes()).into();
        self.key.as_ref().is_some_and(same)
    }

    /// The share that a token opens now; it may have been taken back since the last request.
    async fn open_share(&self, token: &str) -> Option<Admitted> {
        let desk = self.capsules.as_ref().filter(|desk| desk.may_have_capsules())?;
        let open = CapsuleOperation::OpenShare { token: token.to_owned() };
        let caller = CapsuleCaller::local(Author::client("capdeck"));
        let share = desk.ask(caller.request(None, open)).await.ok()?;
        let text = |key: &str| Some(share.get(key)?.as_str()?.to_owned());
        let principal = Principal(text("principal")?.into());
        Some(Admitted { actor: Actor::Share(ViaShare { share: text("id")? }), principal })
    }
}

/// Refuses requests of nobody, and marks the others with who sends them.
pub(super) async fn identify(
    State(access): State<Arc<Access>>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(Admitted { actor, principal }) = access.admit(request.headers()).await else {
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer realm=\"capdeck\"")];
        let advice = "send the host's key or the token of a share: Authorization: Bearer <key>\n";
        return (StatusCode::UNAUTHORIZED, challenge, advice).into_response();
    };
    if let Actor::Share(via) = &actor {
        if !is_for_shares(request.uri().path()) {
            let advice = "this token opens a capsule, at /mcp or /mcp/<capsule>\n";
            return (StatusCode::FORBIDDEN, advice).into_response();
        }
        let via = via.clone();
        request.extensions_mut().insert(via);
    }
    request.extensions_mut().insert(principal);
    request.extensions_mut().insert(actor);
    next.run(request).await
}

/// Where shares have something to look for.
fn is_for_shares(path: &str) -> bool {
    match path.strip_prefix("/mcp") {
        Some("") => true,
        Some(rest) => {
            rest.strip_prefix('/').is_some_and(|id| !id.contains('/')) && rest != "/server-card"
        }
        None => false,
    }
}

/// What a request says about who sends it.
enum Sent<'r> {
    Nothing,
    Bearer(&'r str),
    /// Something else, or several.
    Other,
}

fn authorization(headers: &HeaderMap) -> Sent<'_> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (sent, more) = (all.next(), all.next());
    let Some(sent) = sent else { return Sent::Nothing };
    let Ok(sent) = sent.to_str() else { return Sent::Other };
    // A scheme without anything behind it is a bearer of nothing, not nobody.
    let (scheme, token) = sent.trim().split_once(' ').unwrap_or((sent.trim(), ""));
    if more.is_none() && scheme.eq_ignore_ascii_case("bearer") {
        Sent::Bearer(token.trim())
    } else {
        Sent::Other
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn access(mode: AuthMode, key: Option<&str>) -> Access {
        Access::new(mode, key.map(|key| Secret::new(key.to_owned())), None)
    }

    async fn is_owner(access: &Access, sent: &[(&'static str, &str)]) -> bool {
        let pairs = sent.iter().map(|(name, value)| {
            (header::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        });
        let admitted = access.admit(&pairs.collect()).await;
        admitted.is_some_and(|admitted| matches!(admitted.actor, Actor::Owner))
    }

    #[tokio::test]
    async fn the_key_is_needed_whole() {
        let with_key = access(AuthMode::Required, Some("open-sesame"));
        for good in ["Bearer open-sesame", "bearer open-sesame"] {
            assert!(is_owner(&with_key, &[("authorization", good)]).await, "{good}");
        }
        for bad in ["Bearer open-sesam", "Bearer open-sesame2", "Basic open-sesame", "Bearer"] {
            assert!(!is_owner(&with_key, &[("authorization", bad)]).await, "{bad}");
        }
        assert!(!is_owner(&with_key, &[]).await);
        let mut twice = HeaderMap::new();
        twice.append(header::AUTHORIZATION, HeaderValue::from_static("Bearer open-sesame"));
        twice.append(header::AUTHORIZATION, HeaderValue::from_static("Bearer other"));
        assert!(with_key.admit(&twice).await.is_none(), "nobody sends two");
    }

    #[tokio::test]
    async fn this_machine_is_enough_in_local_mode_only() {
        let open = access(AuthMode::Local, None);
        assert!(is_owner(&open, &[]).await);
        for wrong in ["Bearer nonsense", "Bearer cap_sh_x", "bearer", "Basic eDp5"] {
            assert!(!is_owner(&open, &[("authorization", wrong)]).await, "{wrong}");
        }
        for passed_on in PASSED_ON {
            assert!(!is_owner(&open, &[(passed_on, "192.0.2.1")]).await, "{passed_on}");
        }
        let with_key = access(AuthMode::Local, Some("open-sesame"));
        assert!(is_owner(&with_key, &[]).await);
        assert!(is_owner(&with_key, &[("authorization", "Bearer open-sesame")]).await);
        assert!(!is_owner(&access(AuthMode::Required, None), &[]).await);
    }

    #[test]
    fn shares_have_their_places() {
        for good in ["/mcp", "/mcp/team", "/mcp/a-b"] {
            assert!(is_for_shares(good), "{good}");
        }
        for bad in
            ["/", "/mcp/server-card", "/mcp/a/server-card", "/mcpx", "/servers/a/mcp", "/metrics"]
        {
            assert!(!is_for_shares(bad), "{bad}");
        }
    }
}
