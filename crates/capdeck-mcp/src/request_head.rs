//! The HTTP headers of a modern request, which proxies can read without parsing the body: the client writes them, and
//! the server checks that they match the body.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_TYPE};

use crate::{
    Era, HeaderParams, ParamHeader, ProtocolRevision, RawObject, RpcError,
    header_params::{decode, encode, same},
    raw::text_member,
};

pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Of a legacy session.
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Returns the content type without its parameters; empty when there is none.
pub(crate) fn content_type(headers: &HeaderMap) -> &str {
    let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    declared.and_then(|text| text.split(';').next()).unwrap_or_default().trim()
}

/// Returns the member of a request's params that the name header repeats.
fn named_member(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// The headers of one modern request. Transports without headers only use it to detect a modern request.
#[derive(Debug, Clone)]
pub(crate) struct RequestHead {
    revision: ProtocolRevision,
    name: Option<String>,
    params: Vec<ParamHeader>,
}

impl RequestHead {
    pub(crate) fn bare(revision: ProtocolRevision) -> Self {
        Self { revision, name: None, params: Vec::new() }
    }

    pub(crate) fn from_request(
        revision: ProtocolRevision,
        method: &str,
        request: &RawObject,
        params: Vec<ParamHeader>,
    ) -> Self {
        let name = named_member(method).and_then(|member| text_member(request, member));
        Self { revision, name, params }
    }

    /// Returns the headers. A value that is invalid in a header is omitted, and the server rejects the request.
    pub(crate) fn headers(&self, method: &str) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(self.params.len() + 3);
        headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(self.revision.as_str()));
        if let Ok(method) = HeaderValue::from_str(method) {
            headers.insert(METHOD, method);
        }
        let name = self.name.as_deref().map(encode);
        if let Some(Ok(name)) = name.map(|name| HeaderValue::from_str(&name)) {
            headers.insert(NAME, name);
        }
        for param in &self.params {
            let name = HeaderName::try_from(param.name.as_str());
            let value = param.value.as_deref().map(HeaderValue::from_str);
            if let (Ok(name), Some(Ok(value))) = (name, value) {
                headers.insert(name, value);
            }
        }
        headers
    }
}

/// Returns whether the version header names something other than a revision with a handshake.
pub(crate) fn names_modern(headers: &HeaderMap) -> bool {
    headers.get(PROTOCOL_VERSION).is_some_and(|value| {
        let known = value.to_str().ok().and_then(|text| ProtocolRevision::parse(text.trim()));
        known.is_none_or(|revision| revision.era() == Era::Modern)
    })
}

pub(crate) fn check_version(headers: &HeaderMap, body: Option<&str>) -> Result<(), RpcError> {
    let header = single(headers, &PROTOCOL_VERSION)?;
    match (header, body) {
        // An unsupported version may have other rules for the body.
        (Some(header), None) if ProtocolRevision::parse(&header).is_none() => {
            Err(RpcError::unsupported_version(&header))
        }
        (_, None) => Ok(()),
        (Some(header), Some(body)) if header == body => Ok(()),
        (header, Some(body)) => Err(mismatch(&PROTOCOL_VERSION, header.as_deref(), Some(body))),
    }
}

pub(crate) fn check_target(
    headers: &HeaderMap,
    method: &str,
    params: &RawObject,
) -> Result<(), RpcError> {
    let header = single(headers, &METHOD)?;
    if header.as_deref() != Some(method) {
        return Err(mismatch(&METHOD, header.as_deref(), Some(method)));
    }
    let Some(member) = named_member(method) else { return Ok(()) };
    let header = single(headers, &NAME)?;
    let body = text_member(params, member);
    if header.as_deref() != body.as_deref() {
        return Err(mismatch(&NAME, header.as_deref(), body.as_deref()));
    }
    Ok(())
}

pub(crate) fn check_params(
    headers: &HeaderMap,
    annotated: &HeaderParams,
    params: &RawObject,
) -> Result<(), RpcError> {
    for expected in annotated.headers(params.get("arguments").map(AsRef::as_ref)) {
        let Ok(name) = expected.name.parse::<HeaderName>() else { continue };
        let given = raw_single(headers, &name)?;
        let agrees = match (given, &expected.value) {
            (None, None) => true,
            (Some(given), Some(expected)) => same(given, expected),
            _ => false,
        };
        if !agrees {
            return Err(RpcError::header_mismatch(format!(
                "`{}` has to say what the tool's argument says",
                expected.name
            )));
        }
    }
    Ok(())
}

fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<Cow<'a, str>>, RpcError> {
    let Some(value) = raw_single(headers, name)? else { return Ok(None) };
    decode(value).map(Some).ok_or_else(|| {
        RpcError::header_mismatch(format!("what `{name}` wraps is not Base64 of a text"))
    })
}

fn raw_single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, RpcError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(RpcError::header_mismatch(format!("`{name}` is there more than once")));
    }
    value.to_str().map(Some).map_err(|_| {
        RpcError::header_mismatch(format!("`{name}` has to be visible ASCII, or wrapped in Base64"))
    })
}

fn mismatch(name: &HeaderName, header: Option<&str>, body: Option<&str>) -> RpcError {
    let says = |text: Option<&str>| match text {
        Some(text) => format!("says `{text}`"),
        None => "says nothing".to_owned(),
    };
    RpcError::header_mismatch(format!(
        "header `{name}` {} and the body {}",
        says(header),
        says(body)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, value.parse().unwrap());
        }
        map
    }

    fn params(text: &str) -> RawObject {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn versions_have_to_agree() {
        let code = |pairs: &[(&'static str, &str)], body| {
            check_version(&headers(pairs), body).err().map(|error| error.code)
        };
        const VERSION: &str = "mcp-protocol-version";
        assert_eq!(code(&[(VERSION, "2026-07-28")], Some("2026-07-28")), None);
        assert_eq!(code(&[(VERSION, " 2026-07-28 ")], Some("2026-07-28")), None);
        assert_eq!(code(&[], Some("2026-07-28")), Some(-32020));
        assert_eq!(code(&[(VERSION, "2026-07-28")], Some("v9")), Some(-32020));
        assert_eq!(code(&[(VERSION, "v9")], None), Some(-32022));
        assert_eq!(code(&[(VERSION, "2026-07-28")], None), None);
        let twice = [(VERSION, "2026-07-28"), (VERSION, "2026-07-28")];
        assert_eq!(code(&twice, Some("2026-07-28")), Some(-32020));
    }

    #[test]
    fn names_have_to_agree_where_there_is_one() {
        let check = |name: &[(&'static str, &str)], method: &str, body: &str| {
            let mut pairs = vec![("mcp-method", method)];
            pairs.extend_from_slice(name);
            check_target(&headers(&pairs), method, &params(body)).is_ok()
        };
        const NAME: &str = "mcp-name";
        assert!(check(&[(NAME, "t")], "tools/call", r#"{"name":"t"}"#));
        assert!(check(&[(NAME, "=?base64?w6k=?=")], "prompts/get", r#"{"name":"é"}"#));
        assert!(check(&[(NAME, "a:b")], "resources/read", r#"{"uri":"a:b"}"#));
        assert!(check(&[(NAME, "1")], "tasks/get", r#"{"taskId":"1"}"#));
        assert!(check(&[], "tools/call", "{}"));
        assert!(check(&[], "tools/list", r#"{"name":"t"}"#));
        assert!(!check(&[], "tools/call", r#"{"name":"t"}"#));
        assert!(!check(&[(NAME, "T")], "tools/call", r#"{"name":"t"}"#));
        assert!(!check(&[(NAME, "t")], "tools/call", "{}"));
        assert!(!check(&[(NAME, "t"), (NAME, "t")], "tools/call", r#"{"name":"t"}"#));
        assert!(!check(&[(NAME, "=?base64?dA?=")], "tools/call", r#"{"name":"t"}"#));
        assert!(check_target(&headers(&[("mcp-method", "PING")]), "ping", &params("{}")).is_err());
        assert!(check_target(&HeaderMap::new(), "tools/list", &params("{}")).is_err());
    }
}
