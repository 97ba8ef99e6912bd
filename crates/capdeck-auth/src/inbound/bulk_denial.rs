//! Denies many pending requests at once, for example after a flood of enrollments.

use std::net::IpAddr;

use super::{
    DecisionMaker, EventCaller, GrantRequest, Registry, RegistryError, RequestSource,
    event::{AuditEvent, EventSubject},
    failures::SourceAddress,
    registry::RegistryTransaction,
    text,
};

/// Which pending requests to turn down. Everything that is given has to fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BulkDenial {
    /// These.
    pub ids: Option<Vec<String>>,
    pub source: Option<RequestSource>,
    /// Enrollments from this address, or of IPv6 from its network.
    pub address: Option<IpAddr>,
    pub client_id: Option<String>,
    pub note: Option<String>,
}

impl Registry {
    /// Turns down every pending request that fits and that the decider may decide. Gives their ids.
    pub async fn deny_matching(
        &self,
        caller: &EventCaller,
        decider: &DecisionMaker,
        denial: BulkDenial,
    ) -> Result<Vec<String>, RegistryError> {
        let event = AuditEvent::new("grant.deny_matching", caller, EventSubject::default());
        let decider = decider.clone();
        self.change(event, move |draft| draft.deny_matching(&decider, &denial)).await
    }
}

impl RegistryTransaction<'_> {
    fn deny_matching(
        &mut self,
        decider: &DecisionMaker,
        denial: &BulkDenial,
    ) -> Result<Vec<String>, RegistryError> {
        let BulkDenial { ids, source, address, client_id, note } = denial;
        if ids.is_none() && source.is_none() && address.is_none() && client_id.is_none() {
            let reason = "say which requests: `ids`, `source`, `address` or `client_id`";
            return Err(RegistryError::invalid("the selection", reason));
        }
        let note = text::check_note("note", note.as_deref())?;
        let from = address.map(|address| SourceAddress::from(Some(address)));
        let fits = |one: &&GrantRequest| {
            one.is_pending(self.now)
                && ids.as_ref().is_none_or(|ids| ids.contains(&one.id))
                && source.is_none_or(|source| source == one.source)
                && client_id.as_ref().is_none_or(|id| one.client_id.as_ref() == Some(id))
                && from.is_none_or(|from| self.enrolled_from(one) == Some(from))
                && decider.may_look_at(self.state, self.now, one).is_ok()
        };
        let denied: Vec<GrantRequest> =
            self.state.requests.values().filter(fits).cloned().collect();
        let decided_by = decider.name(self.state);
        let mut gone = Vec::with_capacity(denied.len());
        for request in denied {
            let request = self.deny(request, decided_by.clone(), note.clone());
            let subject = EventSubject::id(&request.id);
            self.consequences.push(AuditEvent::new("grant.deny", &self.event.caller, subject));
            gone.push(request.id);
        }
        Ok(gone)
    }

    /// Where the enrollment that filed a request came from.
    fn enrolled_from(&self, request: &GrantRequest) -> Option<SourceAddress> {
        if request.source != RequestSource::Enrollment {
            return None;
        }
        let mut enrollments = self.state.enrollments.values();
        let enrollment = enrollments.find(|one| one.request == request.id)?;
        enrollment.address.map(|address| SourceAddress::from(Some(address)))
    }
}
