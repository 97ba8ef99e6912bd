//! Errors of the REST API: `application/problem+json` with a stable code.

use std::{borrow::Cow, error::Error, io};

use axum::response::{IntoResponse, Response};
use capdeck_auth::inbound::{RegistryError, SelfApprovalLink};
use capdeck_host::{CallError, CapsuleError, CapsuleErrorCode, ErrorKind};
use http::{HeaderName, HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub(crate) type ApiResult<T> = Result<T, ApiError>;

/// A failed request. Its text is safe for the client.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    pub(super) status: StatusCode,
    code: Cow<'static, str>,
    detail: String,
    hint: Option<String>,
    data: Option<Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// True when neither the registry nor a capsule has recorded the denial.
    is_refused_here: bool,
}

/// The error of a failed request.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(super) struct ProblemDetails {
    /// `urn:capdeck:problem:` and the code.
    #[serde(rename = "type")]
    kind: String,
    /// The kind of error.
    title: String,
    /// The HTTP status.
    status: u16,
    /// What failed, and on what.
    detail: String,
    /// A stable error code.
    code: String,
    /// The id of this request, as in the header `x-request-id`.
    request_id: String,
    /// What to do next.
    hint: Option<String>,
    /// Data for programs: for a conflict the current version and a merge proposal, for a call that requires approval its approval.
    data: Option<Value>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), ..Self::of(status, Cow::Borrowed(code)) }
    }

    fn of(status: StatusCode, code: Cow<'static, str>) -> Self {
        Self {
            status,
            code,
            detail: String::new(),
            hint: None,
            data: None,
            headers: Vec::new(),
            is_refused_here: false,
        }
    }

    /// A denial by the rules of this API. It is recorded before the response.
    pub(super) fn refused(code: &'static str, detail: impl Into<String>) -> Self {
        Self { is_refused_here: true, ..Self::new(StatusCode::FORBIDDEN, code, detail) }
    }

    /// The code to record, if it is not recorded yet.
    pub(super) fn unrecorded(&self) -> Option<&'static str> {
        match &self.code {
            Cow::Borrowed(code) if self.is_refused_here => Some(code),
            _ => None,
        }
    }

    pub(super) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_input", detail)
    }

    /// The sender is authenticated but not allowed.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::refused("forbidden", detail)
    }

    /// Not found, or hidden from the sender.
    pub(super) fn not_found(what: &str, name: &str) -> Self {
        let name: String = name.chars().filter(|letter| !letter.is_control()).take(200).collect();
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("there is no {what} `{name}`"))
    }

    /// Not available on this host, or temporarily.
    pub(super) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
    }

    /// An internal error; details are only in the log.
    pub(super) fn internal(what: &str, error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "{what}");
        let detail = format!("{what}; see the log of the host");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// A storage error: a full disk, or an internal error.
    pub(super) fn storage(what: &str, error: &(dyn Error + 'static)) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let (mut cause, mut is_full) = (Some(error), false);
        while let Some(found) = cause {
            let kind = found.downcast_ref::<io::Error>().map(io::Error::kind);
            is_full |= matches!(kind, Some(StorageFull | QuotaExceeded | FileTooLarge));
            cause = found.source();
        }
        if !is_full {
            return Self::internal(what, &error);
        }
        tracing::error!(%error, "{what}");
        let detail = format!("{what}: the disk is full");
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "storage_full", detail)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Turns `exists` into a failed precondition, if one was sent.
    pub(super) fn into_failed_precondition(mut self, is_asked: bool) -> Self {
        if is_asked && self.code == "exists" {
            self.status = StatusCode::PRECONDITION_FAILED;
        }
        self
    }

    pub(super) fn problem(self, request_id: &str) -> ProblemDetails {
        ProblemDetails {
            kind: format!("urn:capdeck:problem:{}", self.code),
            title: self.status.canonical_reason().unwrap_or("Failed").to_owned(),
            status: self.status.as_u16(),
            detail: self.detail,
            code: self.code.into_owned(),
            request_id: request_id.to_owned(),
            hint: self.hint,
            data: self.data,
        }
    }

    pub(crate) fn into_response(mut self, request_id: &str) -> Response {
        let (status, headers) = (self.status, std::mem::take(&mut self.headers));
        let body = serde_json::to_vec(&self.problem(request_id)).unwrap_or_default();
        let kind = [
            (header::CONTENT_TYPE, "application/problem+json"),
            (header::CACHE_CONTROL, "no-store"),
        ];
        let mut response = (status, kind, body).into_response();
        response.headers_mut().extend(headers);
        if let Ok(id) = HeaderValue::from_str(request_id) {
            response.headers_mut().insert(REQUEST_ID, id);
        }
        response
    }
}

impl From<CapsuleError> for ApiError {
    fn from(error: CapsuleError) -> Self {
        use CapsuleErrorCode as Code;
        let status = match error.code {
            Code::NotFound | Code::CapsuleNotFound | Code::NoSuchKey => StatusCode::NOT_FOUND,
            Code::Exists | Code::SchemeInUse | Code::CapsuleRequired | Code::AmbiguousCapsule => {
                StatusCode::CONFLICT
            }
            Code::VersionConflict => StatusCode::PRECONDITION_FAILED,
            Code::ForbiddenRole | Code::ForbiddenScope => StatusCode::FORBIDDEN,
            Code::InvalidUri
            | Code::UnknownScheme
            | Code::PatchFailed
            | Code::InvalidJson
            | Code::InvalidInput
            | Code::InvalidScheme
            | Code::BadCursor => StatusCode::BAD_REQUEST,
            Code::IdempotencyKeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Code::QuotaExceeded | Code::StorageFull => StatusCode::INSUFFICIENT_STORAGE,
            Code::ReadOnly | Code::Closed | Code::InUse | Code::AuditFailed => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            code => {
                let what = "cannot use the capsule";
                return Self::internal(what, &format_args!("{code}: {}", error.message));
            }
        };
        let data = error.data();
        let problem = Self::of(status, Cow::Borrowed(error.code.as_str()));
        Self { detail: error.message, hint: error.hint, data, ..problem }
    }
}

impl From<RegistryError> for ApiError {
    fn from(error: RegistryError) -> Self {
        let status = match &error {
            RegistryError::NotFound { .. } => StatusCode::NOT_FOUND,
            RegistryError::Invalid { .. } => StatusCode::BAD_REQUEST,
            RegistryError::Forbidden { .. } | RegistryError::SelfApproval { .. } => {
                StatusCode::FORBIDDEN
            }
            RegistryError::WrongState { .. }
            | RegistryError::Taken { .. }
            | RegistryError::Widens { .. } => StatusCode::CONFLICT,
            RegistryError::TooSoon { .. } => StatusCode::TOO_MANY_REQUESTS,
            RegistryError::Full { .. } | RegistryError::DiskFull { .. } => {
                StatusCode::INSUFFICIENT_STORAGE
            }
            RegistryError::InUse => StatusCode::SERVICE_UNAVAILABLE,
            RegistryError::Token { .. }
            | RegistryError::Disk { .. }
            | RegistryError::NoRandomness => {
                return Self::internal("cannot change the registry", &error);
            }
        };
        let answer = Self::new(status, error.code(), error.to_string());
        match error {
            RegistryError::TooSoon { seconds } => {
                answer.header(header::RETRY_AFTER, HeaderValue::from(seconds))
            }
            RegistryError::SelfApproval { link: SelfApprovalLink::Address } => {
                answer.hint(SHARED_ADDRESS_HINT)
            }
            _ => answer,
        }
    }
}

/// The hint where addresses do not identify senders.
const SHARED_ADDRESS_HINT: &str = "if a proxy hides addresses, set `serve.trustedProxies`; if everyone shares one address, set `shared_address` in the approval policy";

impl From<CallError> for ApiError {
    fn from(error: CallError) -> Self {
        let status = match error.kind() {
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::BadInput => StatusCode::BAD_REQUEST,
            ErrorKind::Denied if error.code == capdeck_host::ErrorCode::ApprovalRequired => {
                StatusCode::CONFLICT
            }
            ErrorKind::Denied => StatusCode::FORBIDDEN,
            ErrorKind::NeedsLogin => StatusCode::FAILED_DEPENDENCY,
            ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::TimedOut => StatusCode::GATEWAY_TIMEOUT,
            ErrorKind::Cancelled => StatusCode::CONFLICT,
            ErrorKind::BackendFailed => StatusCode::BAD_GATEWAY,
            ErrorKind::Unsupported => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorKind::Bug => return Self::internal("cannot make the call", &error),
        };
        let code = Cow::Owned(error.code.as_str().to_ascii_lowercase());
        Self { detail: error.message, hint: error.hint, data: error.data, ..Self::of(status, code) }
    }
}
