//! Who may use what of this host: clients that sign in, agents that sign up, requests for access, grants, and the operators
//! who decide. It knows neither HTTP nor what a capsule or a capability is.
//!
//! Read [`Registry`] first. Every access begins as a [`GrantRequest`] ([`Registry::file_request`]), becomes a [`Grant`] by a
//! decision ([`Registry::decide`]) and is used with a token ([`Registry::authenticate`], then [`Registry::access`] with
//! every request). Questions are answered from memory. Changes are `async`: they are on disk before they are in force.

mod access;
mod admin_key;
mod authorization;
mod bulk_denial;
mod capsule_end;
mod capsule_key;
mod client;
mod client_document;
mod client_end;
mod clock;
mod collection;
mod connection;
mod credential;
mod decide;
mod enrollment;
mod error;
mod event;
mod exchange;
mod failures;
mod grant;
mod holdings;
mod last_used;
mod listing;
mod newcomers;
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
mod state;
mod storage;
mod text;
mod token;
mod volatile;

pub use capdeck_access::{
    Access, DeckGrant, GrantTarget, OAuthScope, OperatorRole, Principal, Role, Scopes, UnknownScope,
};

pub use self::{
    admin_key::{AdminKey, AdminKeyError, LoadedAdminKey},
    authorization::{Authorization, AuthorizationError, AuthorizationRequest, NewCode},
    bulk_denial::BulkDenial,
    capsule_end::PresentCapsule,
    capsule_key::{capsule_id_of, capsule_key, is_capsule_key, missing_capsule_key},
    client::{Client, ClientAuthMethod, ClientKind, ClientMetadata, RegisteredClient},
    client_document::{ClientDocument, ClientDocumentError, fetch_client_document},
    clock::Clock,
    connection::{NewConnection, OpenedConnection},
    credential::{AuthenticatedClient, Credential, CredentialKind},
    decide::{Decider, Decision, Terms},
    enrollment::{Enrolled, Enrollment, EnrollmentState, EnrollmentStatus, NewEnrollment},
    error::{OpenRegistryError, RegistryError, TokenRefusal},
    event::{AuditSink, Caller, RegistryEvent, Subject},
    exchange::{ClientProof, CodeRedemption, TokenSet},
    failures::{CredentialClass, FailedAttempt, FailedCredentials},
    grant::Grant,
    last_used::LastUsed,
    listing::{CredentialQuery, GrantQuery, RequestQuery},
    newcomers::Newcomers,
    operator::{
        ADMIN_OPERATOR, AuthenticatedOperator, LOCAL_OPERATOR, NewOperator, Operator,
        OperatorAccount, OperatorSubject, OperatorUpdate, OperatorWithKey,
    },
    options::{Lifetimes, Limits, RegistryOptions},
    page::{Page, PageRequest},
    policy::{ApprovalMode, Network, Policy, PolicyRule, RuleAction, RuleMatch},
    principal::{Holder, PrincipalRecord},
    profile::{AccessProfile, ProfileTerms},
    recognition::RefusedGrant,
    redirect::RedirectPolicy,
    registry::Registry,
    renewal::TokenRenewal,
    request::{GrantRequest, NewRequest, RequestSource, RequestStatus},
    self_approval::{RequestOrigin, SelfLink},
    session::{NewSession, OperatorSession},
    sign_in::Blame,
};
