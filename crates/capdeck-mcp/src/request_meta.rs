//! The sender in `_meta` of every modern request.

use crate::{ProtocolRevision, RawObject, raw};

pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

pub(crate) fn is_sender(meta: &RawObject) -> bool {
    [PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO].iter().any(|key| meta.contains_key(*key))
}

#[derive(Debug, Clone, Default)]
pub(crate) struct RequestMeta {
    /// `None` when absent or not a string.
    pub(crate) protocol_version: Option<String>,
    /// `None` when absent or not an object.
    pub(crate) capabilities: Option<RawObject>,
    pub(crate) info: Option<RawObject>,
    pub(crate) log_level: Option<String>,
}

impl RequestMeta {
    /// Removes the sender from a request's params, so that the rest can be forwarded to another server.
    pub(crate) fn take(params: &mut RawObject) -> Self {
        raw::edit_meta(params, |meta| {
            let sender = Self {
                protocol_version: raw::text_member(meta, PROTOCOL_VERSION),
                capabilities: raw::object_member(meta, CLIENT_CAPABILITIES),
                info: raw::object_member(meta, CLIENT_INFO),
                log_level: raw::text_member(meta, LOG_LEVEL),
            };
            for key in [PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL] {
                meta.shift_remove(key);
            }
            Some(sender)
        })
        .unwrap_or_default()
    }

    pub(crate) fn put(
        params: &mut RawObject,
        revision: ProtocolRevision,
        capabilities: &RawObject,
        info: &RawObject,
        log_level: Option<&str>,
    ) {
        let sender = [
            (PROTOCOL_VERSION, raw::raw(revision.as_str())),
            (CLIENT_CAPABILITIES, raw::raw(capabilities)),
            (CLIENT_INFO, raw::raw(info)),
        ];
        let level = log_level.map(|level| (LOG_LEVEL, raw::raw(level)));
        raw::extend_meta(params, sender.into_iter().chain(level));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &str) -> RawObject {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_is_put_in_is_taken_out_and_nothing_else() {
        let mut request = params(r#"{"name":"t","_meta":{"traceparent":"00-1"}}"#);
        let capabilities = params(r#"{"elicitation":{"form":{}}}"#);
        let info = params(r#"{"name":"c","version":"1"}"#);
        RequestMeta::put(
            &mut request,
            ProtocolRevision::LATEST,
            &capabilities,
            &info,
            Some("info"),
        );
        let taken = RequestMeta::take(&mut request);
        assert_eq!(taken.protocol_version.as_deref(), Some("2026-07-28"));
        assert_eq!(taken.log_level.as_deref(), Some("info"));
        assert!(taken.capabilities.unwrap().contains_key("elicitation"));
        assert!(taken.info.unwrap().contains_key("name"));
        assert_eq!(
            serde_json::to_string(&request).unwrap(),
            r#"{"name":"t","_meta":{"traceparent":"00-1"}}"#
        );
    }

    #[test]
    fn a_meta_that_held_only_the_sender_is_gone() {
        let mut request = params(r#"{"name":"t"}"#);
        RequestMeta::put(
            &mut request,
            ProtocolRevision::LATEST,
            &RawObject::new(),
            &RawObject::new(),
            None,
        );
        RequestMeta::take(&mut request);
        assert!(!request.contains_key("_meta"));
    }

    #[test]
    fn members_of_the_wrong_kind_count_as_absent() {
        let text = format!(r#"{{"_meta":{{"{PROTOCOL_VERSION}":3,"{CLIENT_CAPABILITIES}":[]}}}}"#);
        let taken = RequestMeta::take(&mut params(&text));
        assert!(taken.protocol_version.is_none() && taken.capabilities.is_none());
    }
}
