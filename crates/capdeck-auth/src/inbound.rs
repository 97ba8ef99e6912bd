//! Who may use what of this host: clients that sign in, agents that sign up, requests for access, grants, and the operators
//! who decide. It knows neither HTTP nor what a capsule or a capability is.
//!
//! Read [`Registry`] first. Every access begins as a [`GrantRequest`] ([`Registry::file_request`]), becomes a [`Grant`] by a
//! decision ([`Registry::decide`]) and is used with a token ([`Registry::authenticate`], then [`Registry::access`] with
//! every request). Questions are answered from memory. Changes are `async`: they are on disk before they are in force.

mod access;
mod admin_key;
mod approver_access;
mod authorization;
mod bulk_denial;
mod capsule_key;
mod capsule_removal;
mod client;
mod client_document;
mod client_end;
mod clock;
mod collection;
mod connection;
mod credential;
mod decision;
mod enrollment;
mod error;
mod event;
mod exchange;
mod failures;
mod grant;
mod last_use_time;
mod listing;
mod operator;
mod options;
mod owner;
mod page;
mod policy;
mod principal;
mod profile;
mod recognition;
mod redirect;
mod registry;
mod renewal;
mod request;
mod revocation;
mod self_approval;
mod session;
mod sign_in;
mod sign_up_domains;
mod state;
mod storage;
mod text;
mod token;
mod transient_state;

pub use capdeck_access::{
    Access, DeckGrant, GrantTarget, OAuthScope, OperatorRole, Principal, Role, Scopes, UnknownScope,
};

pub use self::{
    admin_key::{AdminKey, AdminKeyError, LoadedAdminKey},
    authorization::{
        AuthorizationError, AuthorizationRequest, NewAuthorizationCode, PendingAuthorization,
    },
    bulk_denial::BulkDenial,
    capsule_key::{capsule_id_of, capsule_key, is_capsule_key, missing_capsule_key},
    capsule_removal::ExistingCapsule,
    client::{ClientAuthMethod, ClientKind, ClientMetadata, OAuthClient, RegisteredClient},
    client_document::{ClientDocument, ClientDocumentError, fetch_client_document},
    clock::RegistryClock,
    connection::{IssuedCredential, NewCredential},
    credential::{AuthenticatedClient, Credential, CredentialKind},
    decision::{ApprovalTerms, DecisionMaker, RequestDecision},
    enrollment::{Enrollment, EnrollmentResult, EnrollmentState, EnrollmentStatus, NewEnrollment},
    error::{OpenRegistryError, RegistryError, TokenRefusal},
    event::{AuditSink, EventCaller, EventSubject, RegistryEvent},
    exchange::{ClientProof, CodeRedemption, TokenSet},
    failures::{CredentialClass, FailedAttempt, FailedCredentials},
    grant::Grant,
    last_use_time::LastUseTime,
    listing::{CredentialQuery, GrantQuery, RequestQuery},
    operator::{
        ADMIN_OPERATOR, AuthenticatedOperator, IssuedOperatorKey, LOCAL_OPERATOR, NewOperator,
        Operator, OperatorAccount, OperatorSubject, OperatorUpdate,
    },
    options::{RegistryLifetimes, RegistryLimits, RegistryOptions},
    page::{PageRequest, RegistryPage},
    policy::{ApprovalMode, GrantPolicy, GrantRule, IpNetwork, RuleAction, RuleMatch},
    principal::{GrantRecipient, PrincipalRecord},
    profile::{AccessProfile, ProfileTerms},
    recognition::TokenRequestError,
    redirect::RedirectPolicy,
    registry::Registry,
    renewal::TokenRenewal,
    request::{GrantRequest, NewRequest, RequestSource, RequestStatus},
    self_approval::{RequestOrigin, SelfApprovalLink},
    session::{NewSession, OperatorSession},
    sign_in::SignInPenalty,
    sign_up_domains::SignUpDomains,
};
