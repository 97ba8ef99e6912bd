//! One operation, declared once for the router and the OpenAPI document.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, LazyLock},
};

use axum::response::Response;
use bytes::Bytes;
use capdeck_auth::inbound::{OAuthScope, OperatorRole};
use http::{Method, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use super::{
    ApiError, ApiResult, RestCall,
    input::{
        InputValidator, NoBody, NoQuery, OperationBody, check_media_type, inline_generator,
        inline_schema, read_query,
    },
    response::{OperationResponse, ResponseContent},
};
use crate::request_actor::RequestActor;

pub(super) struct RestOperation {
    pub(super) declared: OperationDeclaration,
    /// Made at the first use, like the schema of the body: a start does not wait for what most hosts never need.
    pub(super) query: Arc<LazyLock<InputValidator>>,
    pub(super) body: BodyShape,
    pub(super) answer: AnswerShape,
    /// Parses the query and the body; the returned future runs the handler.
    pub(super) run: Box<OperationHandler>,
}

/// What is declared of an operation in the table.
pub(super) struct OperationDeclaration {
    pub(super) method: Method,
    /// With parameters in braces; the last can be `{*path}`, which includes slashes.
    pub(super) path: &'static str,
    /// The operation id in the document, in generated clients and in logs.
    pub(super) name: &'static str,
    pub(super) summary: &'static str,
    pub(super) about: &'static str,
    pub(super) who: RequiredAccess,
    pub(super) problems: &'static [u16],
    pub(super) is_conditional: bool,
    /// The first one is the status of a response that does not set another.
    pub(super) success: &'static [u16],
}

pub(super) struct BodyShape {
    pub(super) media_types: &'static [&'static str],
    pub(super) limit: usize,
    pub(super) is_required: bool,
    pub(super) schema: fn(&mut SchemaGenerator) -> Option<Schema>,
}

pub(super) struct AnswerShape {
    /// `None` without a body.
    pub(super) media_type: Option<&'static str>,
    pub(super) schema: fn(&mut SchemaGenerator) -> Option<Schema>,
}

pub(super) type ResponseFuture = Pin<Box<dyn Future<Output = ApiResult<Response>> + Send>>;
pub(super) type OperationHandler =
    dyn Fn(RestCall, Option<&str>, Bytes) -> ApiResult<ResponseFuture> + Send + Sync;

macro_rules! methods {
    ($($function:ident $method:ident)*) => {$(
        pub(super) fn $function(
            who: RequiredAccess,
            path: &'static str,
            name: &'static str,
            summary: &'static str,
        ) -> OperationDeclaration {
            OperationDeclaration {
                method: Method::$method,
                path,
                name,
                summary,
                about: "",
                who,
                problems: &[],
                is_conditional: false,
                success: &[],
            }
        }
    )*};
}

methods! { get GET post POST put PUT patch PATCH delete DELETE }

impl OperationDeclaration {
    pub(super) fn about(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    pub(super) fn problems(mut self, problems: &'static [u16]) -> Self {
        self.problems = problems;
        self
    }

    pub(super) fn conditional(mut self) -> Self {
        self.is_conditional = true;
        self
    }

    pub(super) fn success(mut self, statuses: &'static [u16]) -> Self {
        self.success = statuses;
        self
    }

    /// Sets the handler of an operation without a query and a body. Its type determines the response.
    pub(super) fn handled_by<R: OperationResponse, F>(
        self,
        work: impl Fn(RestCall) -> F + Send + Sync + 'static,
    ) -> RestOperation
    where
        F: Future<Output = ApiResult<R>> + Send + 'static,
    {
        self.handled_with_query_and_body(move |call, _: NoQuery, _: NoBody| work(call))
    }

    pub(super) fn handled_with_query<Q, R: OperationResponse, F>(
        self,
        work: impl Fn(RestCall, Q) -> F + Send + Sync + 'static,
    ) -> RestOperation
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        F: Future<Output = ApiResult<R>> + Send + 'static,
    {
        self.handled_with_query_and_body(move |call, query, _: NoBody| work(call, query))
    }

    pub(super) fn handled_with_body<B: OperationBody, R: OperationResponse, F>(
        self,
        work: impl Fn(RestCall, B) -> F + Send + Sync + 'static,
    ) -> RestOperation
    where
        F: Future<Output = ApiResult<R>> + Send + 'static,
    {
        self.handled_with_query_and_body(move |call, _: NoQuery, body| work(call, body))
    }

    pub(super) fn handled_with_query_and_body<Q, B: OperationBody, R: OperationResponse, F>(
        mut self,
        work: impl Fn(RestCall, Q, B) -> F + Send + Sync + 'static,
    ) -> RestOperation
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        F: Future<Output = ApiResult<R>> + Send + 'static,
    {
        if self.success.is_empty() {
            self.success = if R::Content::MEDIA_TYPE.is_some() { &[200] } else { &[204] };
        }
        let usual = self.success.first().and_then(|status| StatusCode::from_u16(*status).ok());
        let usual = usual.unwrap_or_default();
        let query: LazyLock<InputValidator> =
            LazyLock::new(|| InputValidator::closed(inline_schema::<Q>()));
        let query = Arc::new(query);
        let body = BodyShape {
            media_types: B::MEDIA_TYPES,
            limit: B::LIMIT,
            is_required: B::IS_REQUIRED,
            schema: |generator| B::schema(generator),
        };
        let body_check = LazyLock::new(|| {
            let schema = B::schema(&mut inline_generator());
            schema.map(|schema| InputValidator::of(schema.to_value()))
        });
        let answer = AnswerShape { media_type: R::Content::MEDIA_TYPE, schema: R::Content::schema };
        let check = Arc::clone(&query);
        let run = move |call: RestCall, raw: Option<&str>, bytes: Bytes| {
            let asked: Q = read_query(raw, &check)?;
            check_media_type(&call.headers, B::MEDIA_TYPES, bytes.is_empty(), B::IS_REQUIRED)?;
            let sent = B::read(bytes, body_check.as_ref())?;
            let working = work(call, asked, sent);
            Ok(Box::pin(async move { working.await?.into_rest_response().into_response(usual) })
                as ResponseFuture)
        };
        RestOperation { declared: self, query, body, answer, run: Box::new(run) }
    }

    pub(super) fn places(&self) -> impl Iterator<Item = &'static str> {
        let inside = |part: &'static str| part.strip_prefix('{')?.strip_suffix('}');
        self.path.split('/').filter_map(inside).map(|name| name.trim_start_matches('*'))
    }
}

impl fmt::Debug for RestOperation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.declared.method, self.declared.path)
    }
}

pub(super) fn unauthenticated() -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthenticated", "sign in first")
}

/// Who can use an operation at all. The operation filters what they see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequiredAccess {
    /// Public; the request itself has a token where needed.
    Stranger,
    /// Everyone who is authenticated, within their access.
    Anyone,
    /// The owner and every operator, within their access.
    Operator,
    /// The same, and clients with `registry:manage`.
    Manager,
    /// The owner, admins, and clients with a grant for the deck, within that grant.
    Deck,
    /// The same, with the scope to call.
    DeckCall,
    Admin,
}

impl RequiredAccess {
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Stranger => "Everyone, without authentication.",
            Self::Anyone => "Every authenticated sender, within their access.",
            Self::Operator => "The owner of the host and every operator, within their access.",
            Self::Manager => {
                "The owner of the host, operators for what they can decide, and clients with `registry:manage`."
            }
            Self::Deck => {
                "The owner of the host, operators with the role `admin`, and clients with a grant for a part of the deck, within that part."
            }
            Self::DeckCall => {
                "The owner of the host, operators with the role `admin`, and clients that can call a part of the deck, within that part."
            }
            Self::Admin => "The owner of the host and operators with the role `admin`.",
        }
    }

    pub(super) fn check(self, actor: &RequestActor) -> ApiResult<()> {
        let may = match actor {
            RequestActor::Owner => true,
            RequestActor::Operator(operator) => match self {
                Self::Stranger | Self::Anyone | Self::Operator | Self::Manager => true,
                Self::Deck | Self::DeckCall | Self::Admin => operator.role == OperatorRole::Admin,
            },
            RequestActor::Credential(client) => match self {
                Self::Stranger | Self::Anyone => true,
                Self::Manager => client.scopes.allows(OAuthScope::RegistryManage),
                Self::Deck => client.scopes.allows(OAuthScope::DeckRead),
                Self::DeckCall => client.scopes.allows(OAuthScope::DeckCall),
                Self::Operator | Self::Admin => false,
            },
            RequestActor::Share(_) => self == Self::Stranger,
        };
        if may {
            return Ok(());
        }
        let detail = format!("access denied; allowed: {}", self.description());
        Err(ApiError::forbidden(detail))
    }

    pub(super) fn check_call(self, call: &RestCall) -> ApiResult<()> {
        call.actor.as_ref().map_or_else(|| Err(unauthenticated()), |actor| self.check(actor))
    }
}
