//! The way of a request to the capsules: as whom, with what reach.

use std::sync::Arc;

use capdeck_host::{Author, CapsuleCaller, CapsuleDesk, CapsuleOperation, Reach, Role};
use http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::shapes::Capsule;
use crate::rest::{call::Call, problem::ApiError};

/// What changes through this interface is signed with this name.
const CLIENT: &str = "capdeck-rest";

impl Call {
    fn desk(&self) -> Result<&Arc<dyn CapsuleDesk>, ApiError> {
        let none = || ApiError::unavailable("this host has no capsules");
        self.rest.host.capsules().ok_or_else(none)
    }

    /// Who is named for what is done.
    fn author(&self) -> Author {
        Author::client(CLIENT).version(&self.rest.host.settings().version)
    }

    /// Who asks, within what they reach.
    pub(super) async fn caller(&self) -> Result<CapsuleCaller, ApiError> {
        Ok(CapsuleCaller { author: self.author(), reach: Reach::All, project: None })
    }

    /// Asks for something within what the caller reaches.
    pub(super) async fn ask(
        &self,
        capsule: Option<&str>,
        operation: CapsuleOperation,
    ) -> Result<Value, ApiError> {
        let request = self.caller().await?.request(capsule, operation);
        Ok(self.desk()?.ask(request).await?)
    }

    /// The same about the capsule that the path names, read as what it is.
    pub(super) async fn ask_for<T: DeserializeOwned>(
        &self,
        operation: CapsuleOperation,
    ) -> Result<T, ApiError> {
        shaped(self.ask(Some(self.place("capsule")), operation).await?)
    }

    /// Asks as the host itself, once it is decided that the caller may.
    pub(super) async fn ask_as_host(
        &self,
        capsule: Option<&str>,
        operation: CapsuleOperation,
    ) -> Result<Value, ApiError> {
        let caller = CapsuleCaller::local(self.author());
        Ok(self.desk()?.ask(caller.request(capsule, operation)).await?)
    }

    /// Every capsule that the caller reaches.
    pub(super) async fn capsules(&self, with_counts: bool) -> Result<Vec<Capsule>, ApiError> {
        let answer = self.ask(None, CapsuleOperation::ListCapsules { with_counts }).await?;
        let Value::Object(mut answer) = answer else { return Ok(Vec::new()) };
        let listed = answer.remove("capsules").unwrap_or_else(|| Value::Array(Vec::new()));
        let capsules: Vec<Capsule> = shaped(listed)?;
        Ok(capsules.into_iter().map(Capsule::with_path).collect())
    }

    /// The capsule that the path names, if the caller reaches it.
    pub(super) async fn capsule(&self) -> Result<Capsule, ApiError> {
        let name = self.place("capsule");
        let mut all = self.capsules(false).await?;
        let by_id = all.iter().position(|capsule| capsule.id == name);
        let by_name = || all.iter().position(|capsule| capsule.name.eq_ignore_ascii_case(name));
        match by_id.or_else(by_name) {
            Some(place) => Ok(all.swap_remove(place)),
            None => Err(ApiError::not_found("capsule", name)),
        }
    }

    /// The same for somebody who owns it whole.
    pub(super) async fn owned_capsule(&self, action: &str) -> Result<Capsule, ApiError> {
        let capsule = self.capsule().await?;
        let is_whole = capsule.uri_prefixes.is_empty() && capsule.denied_prefixes.is_empty();
        if capsule.role == Role::Owner && is_whole {
            return Ok(capsule);
        }
        let detail = format!("only its owner may {action} the capsule `{}`", capsule.id);
        Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden_role", detail))
    }

    /// The address of the entry that the path names.
    pub(super) fn entry_uri(&self) -> String {
        format!("{}://{}", self.place("scheme"), self.place("path"))
    }
}

/// An answer of the desk as what it is.
pub(super) fn shaped<T: DeserializeOwned>(answer: Value) -> Result<T, ApiError> {
    serde_json::from_value(answer)
        .map_err(|error| ApiError::internal("the answer has another form than expected", &error))
}
