//! Self-approval: whether a request for access comes from the one who decides it.
//!
//! An operator is tied to a request by their id, by the programs they use, by the browser and by the address. A program
//! that decides is tied by its principal, its enrollment, the operator it works for and its address. What ties them is
//! evidence, not proof: a second browser behind a second address leaves none. The limit on what they can grant
//! (`decision.rs`) holds in any case.

use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use strum::IntoStaticStr;

use super::{
    Credential, CredentialKind, EventCaller, GrantRequest, OperatorRole, RegistrySnapshot,
    RequestSource,
};

/// Where a request for access came from, as the host saw it.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestOrigin {
    /// The id of the operator or the principal that sent it; none for a request without credentials.
    pub sender: Option<String>,
    /// The client address; of IPv6 the /64 network, of this machine always `127.0.0.1`.
    pub address: Option<IpAddr>,
    /// The hash of the browser's cookie.
    pub browser: Option<String>,
}

/// What ties a request to the one who decides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum SelfApprovalLink {
    /// They made the request, or a program of theirs did.
    Requester,
    /// The request is for a program of theirs.
    Program,
    /// The request is an enrollment under the client id of the program that decides.
    Enrollment,
    /// The request came from the same browser.
    Browser,
    /// The request came from the same address.
    Address,
}

impl RequestOrigin {
    pub(super) fn from_caller(caller: &EventCaller) -> Self {
        Self {
            sender: Some(caller.id.clone()).filter(|id| !id.is_empty()),
            address: caller.address.map(comparable),
            browser: caller.browser.clone(),
        }
    }
}

impl SelfApprovalLink {
    /// The name as files and responses have it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn reason(self) -> &'static str {
        match self {
            Self::Requester => "you made this request, or a program of yours did",
            Self::Program => "this request is for a program of yours",
            Self::Enrollment => "this request is an enrollment under your own client id",
            Self::Browser => "this request came from the browser that you use",
            Self::Address => "this request came from the address that you use",
        }
    }

    pub(super) fn to_operator(
        state: &RegistrySnapshot,
        operator: &str,
        caller: &EventCaller,
        request: &GrantRequest,
    ) -> Option<Self> {
        let is_theirs =
            |id: &str| id == operator || state.works_for(id).as_deref() == Some(operator);
        Self::by_id(request, is_theirs).or_else(|| Self::by_place(state, caller, request))
    }

    pub(super) fn to_program(
        state: &RegistrySnapshot,
        program: &Credential,
        caller: &EventCaller,
        request: &GrantRequest,
    ) -> Option<Self> {
        let operator = state.works_for(&program.principal);
        // An admin may approve what is their own, so a program of theirs may approve what another one asks for.
        let operator = operator.filter(|id| !state.is_admin(id));
        let is_own = |id: &str| {
            id == program.principal
                || operator
                    .as_deref()
                    .is_some_and(|own| id == own || state.works_for(id).as_deref() == Some(own))
        };
        let is_same_enrollment = program.kind == CredentialKind::Enrollment
            && request.source == RequestSource::Enrollment
            && program.client_id.is_some()
            && program.client_id == request.client_id;
        Self::by_id(request, is_own)
            .or(is_same_enrollment.then_some(Self::Enrollment))
            .or_else(|| Self::by_place(state, caller, request))
    }

    fn by_id(request: &GrantRequest, is_own: impl Fn(&str) -> bool) -> Option<Self> {
        if request.origin.sender.as_deref().is_some_and(&is_own) || is_own(&request.requested_by) {
            return Some(Self::Requester);
        }
        is_own(&request.principal).then_some(Self::Program)
    }

    fn by_place(
        state: &RegistrySnapshot,
        caller: &EventCaller,
        request: &GrantRequest,
    ) -> Option<Self> {
        let origin = &request.origin;
        if caller.browser.is_some() && caller.browser == origin.browser {
            return Some(Self::Browser);
        }
        let address = caller.address.map(comparable);
        let is_same = address.is_some() && address == origin.address;
        (is_same && !state.policy.shared_address).then_some(Self::Address)
    }
}

impl RegistrySnapshot {
    fn works_for(&self, principal: &str) -> Option<String> {
        self.principals.get(principal).and_then(|found| found.operator.clone())
    }

    fn is_admin(&self, operator: &str) -> bool {
        self.operator_standing(operator).is_some_and(|found| found.role == OperatorRole::Admin)
    }
}

/// Normalizes an address: a program can choose any loopback address, and a machine with IPv6 any address of its network.
fn comparable(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        own if own.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_one_machine_can_choose_between_are_one() {
        let one = |text: &str| comparable(text.parse().unwrap());
        assert_eq!(one("127.0.0.1"), one("127.9.9.9"));
        assert_eq!(one("127.0.0.1"), one("::1"));
        assert_eq!(one("127.0.0.1"), one("::ffff:127.0.0.2"));
        assert_eq!(one("2001:db8:1:2:3::4"), one("2001:db8:1:2:ffff::1"));
        assert_ne!(one("2001:db8:1:2::1"), one("2001:db8:1:3::1"));
        assert_eq!(one("::ffff:192.0.2.1"), one("192.0.2.1"));
        assert_ne!(one("192.0.2.1"), one("192.0.2.2"));
    }
}
