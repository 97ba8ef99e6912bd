//! One operation, declared once for the router and the OpenAPI document.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use axum::response::Response;
use bytes::Bytes;
use http::{Method, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use super::{
    call::RestCall,
    input::{InputValidator, OperationBody, check_media_type, inline_schema, read_query},
    problem::ApiError,
    required_access::RequiredAccess,
    response::{ResponseContent, ResponseShape, RestResponse},
};

pub(super) struct RestOperation {
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
    pub(super) success: &'static [u16],
    pub(super) query: InputValidator,
    pub(super) body: BodyShape,
    pub(super) answer: fn(&mut SchemaGenerator) -> Option<ResponseShape>,
    run: Box<OperationHandler>,
}

pub(super) struct BodyShape {
    pub(super) media_types: &'static [&'static str],
    pub(super) limit: usize,
    pub(super) is_required: bool,
    pub(super) schema: fn(&mut SchemaGenerator) -> Option<Schema>,
}

pub(super) struct OperationBuilder {
    method: Method,
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    about: &'static str,
    who: RequiredAccess,
    problems: &'static [u16],
    is_conditional: bool,
    success: &'static [u16],
}

pub(super) type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response, ApiError>> + Send>>;
type OperationHandler =
    dyn Fn(RestCall, Option<&str>, Bytes) -> Result<ResponseFuture, ApiError> + Send + Sync;

macro_rules! methods {
    ($($function:ident $method:ident)*) => {$(
        pub(super) fn $function(path: &'static str, name: &'static str, summary: &'static str) -> OperationBuilder {
            OperationBuilder::new(Method::$method, path, name, summary)
        }
    )*};
}

methods! { get GET post POST put PUT patch PATCH delete DELETE }

impl OperationBuilder {
    fn new(method: Method, path: &'static str, name: &'static str, summary: &'static str) -> Self {
        Self {
            method,
            path,
            name,
            summary,
            about: "",
            who: RequiredAccess::Admin,
            problems: &[],
            is_conditional: false,
            success: &[],
        }
    }

    pub(super) fn about(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    /// Who can use it; default: the owner and admins.
    pub(super) fn who(mut self, who: RequiredAccess) -> Self {
        self.who = who;
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

    /// Sets the handler. Its types determine query, body and response.
    pub(super) fn handled_by<Q, B, T, F>(
        self,
        work: impl Fn(RestCall, Q, B) -> F + Send + Sync + 'static,
    ) -> RestOperation
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        B: OperationBody,
        T: ResponseContent,
        F: Future<Output = Result<RestResponse<T>, ApiError>> + Send + 'static,
    {
        let query = Arc::new(InputValidator::closed(inline_schema::<Q>()));
        let body = BodyShape {
            media_types: B::MEDIA_TYPES,
            limit: B::LIMIT,
            is_required: B::IS_REQUIRED,
            schema: |generator| B::schema(generator),
        };
        let body_check = (!B::MEDIA_TYPES.is_empty()).then(|| body_check::<B>()).flatten();
        let media_type =
            T::shape(&mut SchemaGenerator::default()).map(|(media_type, _)| media_type);
        let shown = InputValidator::closed(inline_schema::<Q>());
        let run = move |call: RestCall, raw: Option<&str>, bytes: Bytes| {
            let asked: Q = read_query(raw, &query)?;
            check_media_type(&call.headers, B::MEDIA_TYPES, bytes.is_empty(), B::IS_REQUIRED)?;
            let sent = B::read(bytes, body_check.as_ref())?;
            let working = work(call, asked, sent);
            Ok(Box::pin(async move { working.await?.into_response(media_type) }) as ResponseFuture)
        };
        let Self { method, path, name, summary, about, who, problems, is_conditional, success } =
            self;
        let success = if success.is_empty() { default_success(T::STATUS) } else { success };
        RestOperation {
            method,
            path,
            name,
            summary,
            about,
            who,
            problems,
            is_conditional,
            success,
            query: shown,
            body,
            answer: T::shape,
            run: Box::new(run),
        }
    }
}

impl RestOperation {
    /// Parses the request; the returned future runs the handler.
    pub(super) fn begin(
        &self,
        call: RestCall,
        query: Option<&str>,
        bytes: Bytes,
    ) -> Result<ResponseFuture, ApiError> {
        (self.run)(call, query, bytes)
    }

    pub(super) fn places(&self) -> impl Iterator<Item = &'static str> {
        let inside = |part: &'static str| part.strip_prefix('{')?.strip_suffix('}');
        self.path.split('/').filter_map(inside).map(|name| name.trim_start_matches('*'))
    }
}

impl fmt::Debug for RestOperation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.method, self.path)
    }
}

fn default_success(status: StatusCode) -> &'static [u16] {
    if status == StatusCode::NO_CONTENT { &[204] } else { &[200] }
}

fn body_check<B: OperationBody>() -> Option<InputValidator> {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = B::schema(&mut settings.into_generator())?;
    Some(InputValidator::of(schema.to_value()))
}
