//! The way in: what every request passes before it reaches what it is for, in this order.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use capdeck_auth::inbound::Network;

use super::{
    access::{Names, NotAdmitted, refuse_credential, turn_away, unauthorized},
    client_address::locate,
    credential_stream::{StreamCredential, end_with},
    limits::Limiter,
    own_credential::own_credential,
    step_up::check_scopes,
};
use crate::{actor::Actor, reception::Reception, rest};

/// The rules that requests are held to.
pub(super) struct Door {
    pub(super) names: Names,
    /// Proxies whose word about where a request comes from is taken.
    pub(super) proxies: Arc<[Network]>,
    /// How long a client may take to send a body.
    pub(super) body_timeout: Duration,
    pub(super) limiter: Limiter,
    pub(super) reception: Arc<Reception>,
}

/// In front of everything: where a request comes from, and whether it may be addressed to us like that.
pub(super) async fn receive(
    State(door): State<Arc<Door>>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_interface = rest::is_interface(request.uri().path());
    let received = locate(&mut request, &door.proxies).and_then(|()| door.names.check(&request));
    let response = match received {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal,
    };
    if is_interface { rest::dress_refusal(response).await } else { response }
}

/// In front of what is for those who want to be let in: how much somebody from this address may ask for.
pub(super) async fn admit_stranger(
    State(door): State<Arc<Door>>,
    request: Request,
    next: Next,
) -> Response {
    let Err(refusal) = door.limiter.count_stranger(&door.reception, &request) else {
        return next.run(request).await;
    };
    // Others at the address may have used its rate up.
    let (credential, request) = own_credential(&door.reception, request).await;
    let Some(credential) = credential else { return refusal };
    match door.limiter.count_recognized(&credential) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal,
    }
}

/// In front of everything else: who sends a request, how much they may ask for, and whether their token is good for it.
pub(super) async fn admit(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let Door { limiter, reception, .. } = &*door;
    let (mut parts, mut body) = request.into_parts();
    let admitted = match reception.admit(&parts).await {
        Ok(admitted) => Ok(admitted),
        Err(NotAdmitted::Anonymous) => return unauthorized(reception, &parts),
        Err(NotAdmitted::WrongCredential(attempt)) => {
            return refuse_credential(reception, attempt, &parts).await;
        }
        Err(NotAdmitted::TurnedAway(turned_away)) => Err(turned_away),
    };
    // Whoever is known is counted, also when they are not let through.
    let actor = admitted.as_ref().map_or_else(|turned_away| &turned_away.actor, |one| &one.actor);
    let counted = match limiter.count_known(reception, actor, &parts) {
        Ok(counted) => counted,
        Err(refusal) => return refusal,
    };
    let admitted = match admitted {
        Ok(admitted) => admitted,
        Err(turned_away) => {
            return counted.tell(turn_away(reception, turned_away, &parts).await);
        }
    };
    if let Actor::Credential(of) = &admitted.actor {
        body = match check_scopes(reception, of, &parts, body, door.body_timeout).await {
            Ok(body) => body,
            Err(refusal) => return counted.tell(refusal),
        };
    }
    let (actor, session) = (&admitted.actor, admitted.session.as_ref());
    let credential = StreamCredential::of(actor, session, &parts.headers);
    limiter.bound_sessions(&admitted.actor, &mut parts.extensions);
    admitted.sign(reception, &mut parts.extensions);
    let mut response = next.run(Request::from_parts(parts, body)).await;
    if let Some(credential) = credential {
        response = end_with(credential, reception, response);
    }
    counted.tell(response)
}
