//! Converts the result of a session into a modern response.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::{
    ClientTableEntry, LISTEN, ModernCall, ModernRequestContext, ModernServer,
    input_capability::InputCapability,
    is_cacheable, legacy_error, may_ask,
    request_state::RequestState,
    result::{ResultAdditions, ResultEnvelope},
    running_call::{CallStep, RunningCall, SuspensionHandle},
};
use crate::{
    RawObject, RpcError,
    raw::{self, empty_object, object_member, raw},
    rpc_error::RpcResult,
    server::SessionOwner,
};

impl ModernServer {
    pub(super) async fn drive(
        &self,
        mut running: RunningCall,
        context: &ModernRequestContext<'_>,
    ) -> Result<String, RpcError> {
        match running.advance().await {
            CallStep::Ended(outcome) => {
                let (call, client) = (Arc::clone(&running.call), Arc::clone(&running.busy.0));
                self.finish(outcome, &call, &client, context).await
            }
            CallStep::Asked(questions) => self.suspend(questions, running, context).await,
            // A subscription that this side ends has a successful result.
            CallStep::Cancelled if context.binding.method == LISTEN => {
                let client = Arc::clone(&running.busy.0);
                self.finish(Ok(empty_object()), &running.call.clone(), &client, context).await
            }
            CallStep::Cancelled => Err(RpcError::cancelled()),
        }
    }

    async fn suspend(
        &self,
        questions: RawObject,
        running: RunningCall,
        context: &ModernRequestContext<'_>,
    ) -> Result<String, RpcError> {
        let mut handle = SuspensionHandle::default();
        getrandom::fill(&mut handle)
            .map_err(|_| RpcError::internal("a question cannot be asked now"))?;
        let client = Arc::clone(&running.busy.0);
        let info = client.server_info().await;
        let state = RequestState::Suspended(handle);
        let answer = self.input_required(questions, &state, info.as_deref(), context)?;
        let principal = context.binding.principal.clone();
        self.suspended.insert(handle, running, principal, self.limits)?;
        Ok(answer)
    }

    fn input_required(
        &self,
        questions: RawObject,
        state: &RequestState,
        info: Option<&RawValue>,
        context: &ModernRequestContext<'_>,
    ) -> Result<String, RpcError> {
        let state = state.seal(&self.sealer, &context.binding, self.limits.lifetime)?;
        let result = raw(&RawObject::from_iter([
            ("resultType".to_owned(), raw("input_required")),
            ("inputRequests".to_owned(), raw(&questions)),
            ("requestState".to_owned(), state),
        ]));
        Ok(completed(&result, &ResultAdditions { server_info: info, ..ResultAdditions::default() }))
    }

    async fn finish(
        &self,
        outcome: RpcResult,
        call: &ModernCall,
        client: &ClientTableEntry,
        context: &ModernRequestContext<'_>,
    ) -> Result<String, RpcError> {
        let (binding, capabilities) = (&context.binding, &context.sender.capabilities);
        let result = match outcome {
            Ok(result) => result,
            Err(error) => {
                if let Some(missing) = call.missing() {
                    return Err(missing);
                }
                let info = client.server_info().await;
                return match legacy_error::translate(
                    error,
                    binding.method,
                    binding.params,
                    capabilities,
                ) {
                    Err(error) => Err(error),
                    Ok(questions) if may_ask(binding.method) => self.input_required(
                        questions,
                        &RequestState::Again,
                        info.as_deref(),
                        context,
                    ),
                    Ok(_) => Err(RpcError::internal("this request cannot ask for what it needs")),
                };
            }
        };
        let Some(envelope) = ResultEnvelope::read(&result) else {
            return Ok(Box::<str>::from(result).into());
        };
        if envelope.is_error()
            && let Some(missing) = call.missing()
        {
            return Err(missing);
        }
        let sealed = if envelope.is_input_required() {
            self.seal_own_state(&envelope, context)?
        } else {
            None
        };
        let info = client.server_info().await;
        let additions = ResultAdditions {
            caching: is_cacheable(binding.method),
            is_personal: *binding.principal != SessionOwner::default(),
            server_info: info.as_deref(),
            subscription: (binding.method == LISTEN).then_some(context.id),
            request_state: sealed.as_deref(),
        };
        Ok(envelope.complete(&result, &additions).into_owned())
    }

    fn seal_own_state(
        &self,
        envelope: &ResultEnvelope<'_>,
        context: &ModernRequestContext<'_>,
    ) -> Result<Option<Box<RawValue>>, RpcError> {
        if !may_ask(context.binding.method) {
            return Err(RpcError::internal(
                "this kind of request cannot be answered with questions",
            ));
        }
        let requests: RawObject = envelope
            .input_requests
            .and_then(|requests| serde_json::from_str(requests.get()).ok())
            .unwrap_or_default();
        let mut missing = Vec::new();
        for key in requests.keys() {
            let Some(request) = object_member(&requests, key) else { continue };
            let asked = raw::text_member(&request, "method").unwrap_or_default();
            let need =
                InputCapability::required_by(&asked, object_member(&request, "params").as_ref())
                    .map_err(|_| {
                        RpcError::internal(format!("a client cannot be asked `{asked}`"))
                    })?;
            if !need.is_declared(&context.sender.capabilities) && !missing.contains(&need) {
                missing.push(need);
            }
        }
        if !missing.is_empty() {
            return Err(InputCapability::missing(&missing));
        }
        let Some(state) = envelope.request_state else { return Ok(None) };
        let state = serde_json::from_str(state.get())
            .map_err(|_| RpcError::internal("the session's `requestState` is no text"))?;
        let state = RequestState::Session(state);
        state.seal(&self.sealer, &context.binding, self.limits.lifetime).map(Some)
    }
}

pub(super) fn completed(result: &RawValue, additions: &ResultAdditions<'_>) -> String {
    match ResultEnvelope::read(result) {
        Some(envelope) => envelope.complete(result, additions).into_owned(),
        None => result.get().to_owned(),
    }
}
