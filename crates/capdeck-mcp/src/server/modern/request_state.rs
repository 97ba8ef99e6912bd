//! `requestState`: the state that a client stores between a question and its answer.

use serde_json::value::RawValue;

use super::running_call::SuspensionHandle;
use crate::{
    RawObject, RpcError, TextSealer,
    raw::{canonical_object, parse_params, raw},
    server::SessionOwner,
};

const PURPOSE: &str = "requestState";

#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestState {
    Suspended(SuspensionHandle),
    Session(String),
    /// None: the request runs again.
    Again,
}

pub(super) struct StateBinding<'a> {
    pub(super) principal: &'a SessionOwner,
    pub(super) method: &'a str,
    /// As sent, including the answers and the state that differ between requests.
    pub(super) params: Option<&'a RawValue>,
}

impl RequestState {
    pub(super) fn seal(
        &self,
        sealer: &TextSealer,
        binding: &StateBinding<'_>,
        lifetime: std::time::Duration,
    ) -> Result<Box<RawValue>, RpcError> {
        let payload = match self {
            Self::Suspended(handle) => [b"s".as_slice(), handle].concat(),
            Self::Session(state) => [b"o", state.as_bytes()].concat(),
            Self::Again => b"a".to_vec(),
        };
        let params = binding.canonical_params();
        let sealed = sealer
            .seal(PURPOSE, &binding.parts(&params), lifetime, &payload)
            .map_err(|_| RpcError::internal("the state of this request cannot be stored now"))?;
        Ok(raw(&sealed))
    }

    pub(super) fn open(
        sealer: &TextSealer,
        binding: &StateBinding<'_>,
        state: &RawValue,
    ) -> Result<Self, RpcError> {
        let text: String = serde_json::from_str(state.get())
            .map_err(|_| RpcError::invalid_params("`requestState` has to be a text"))?;
        let params = binding.canonical_params();
        let payload =
            sealer.open(PURPOSE, &binding.parts(&params), &text).map_err(|_| unknown())?;
        match payload.split_first() {
            Some((b's', handle)) => handle.try_into().map(Self::Suspended).map_err(|_| unknown()),
            Some((b'o', state)) => {
                String::from_utf8(state.to_vec()).map(Self::Session).map_err(|_| unknown())
            }
            Some((b'a', [])) => Ok(Self::Again),
            _ => Err(unknown()),
        }
    }
}

impl StateBinding<'_> {
    fn canonical_params(&self) -> String {
        let mut params: RawObject = parse_params(self.params).ok().flatten().unwrap_or_default();
        for key in ["_meta", "inputResponses", "requestState"] {
            params.shift_remove(key);
        }
        canonical_object(&params)
    }

    fn parts<'a>(&'a self, params: &'a str) -> [&'a [u8]; 3] {
        [self.principal.0.as_bytes(), self.method.as_bytes(), params.as_bytes()]
    }
}

/// The same error for every invalid state, so that it reveals nothing.
pub(super) fn unknown() -> RpcError {
    RpcError::invalid_params(
        "`requestState` was not issued for this request, has expired or was used already; send the request again without it",
    )
}

pub(super) fn take_responses(params: &mut RawObject) -> Result<Option<RawObject>, RpcError> {
    let Some(responses) = params.shift_remove("inputResponses") else { return Ok(None) };
    let fault = || RpcError::invalid_params("`inputResponses` has to be an object of objects");
    let responses: RawObject = serde_json::from_str(responses.get()).map_err(|_| fault())?;
    if responses.values().any(|response| !response.get().starts_with('{')) {
        return Err(fault());
    }
    Ok(Some(responses))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn value(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn a_state_comes_back_with_the_same_request_of_the_same_principal_only() {
        let sealer = TextSealer::random();
        let (ada, bob) = (SessionOwner("ada".into()), SessionOwner("bob".into()));
        let first = value(r#"{"name":"t","arguments":{"a":1,"b":2},"_meta":{"progressToken":1}}"#);
        let again = value(
            r#"{"arguments":{"b":2, "a":1},"name":"t","inputResponses":{"k":{}},"requestState":"x"}"#,
        );
        let other = value(r#"{"name":"t","arguments":{"a":1,"b":3}}"#);
        let bound =
            |principal, method, params| StateBinding { principal, method, params: Some(params) };
        for state in [
            RequestState::Suspended([9; 16]),
            RequestState::Session("their\nown".to_owned()),
            RequestState::Again,
        ] {
            let sealed = state.seal(&sealer, &bound(&ada, "tools/call", &first), MINUTE).unwrap();
            let open = |binding| RequestState::open(&sealer, &binding, &sealed);
            assert_eq!(open(bound(&ada, "tools/call", &again)).unwrap(), state);
            for foreign in [
                bound(&bob, "tools/call", &again),
                bound(&ada, "prompts/get", &again),
                bound(&ada, "tools/call", &other),
            ] {
                assert_eq!(open(foreign).unwrap_err().message, unknown().message);
            }
        }
    }

    #[test]
    fn responses_have_to_be_objects() {
        let params = |text: &str| take_responses(&mut serde_json::from_str(text).unwrap());
        assert!(params("{}").unwrap().is_none());
        assert_eq!(params(r#"{"inputResponses":{"a":{}}}"#).unwrap().unwrap().len(), 1);
        for bad in ["null", "3", "[]", r#"{"a":1}"#, r#"{"a":null}"#] {
            let error = params(&format!(r#"{{"inputResponses":{bad}}}"#)).unwrap_err();
            assert_eq!(error.code, RpcError::INVALID_PARAMS, "{bad}");
        }
    }
}
