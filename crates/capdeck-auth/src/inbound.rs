//! Who may use what of this host: clients that sign in, agents that sign up, requests for access, grants, and the operators
//! who decide. It knows neither HTTP nor what a capsule or a capability is.
//!
//! Read [`Registry`] first. Every access begins as a [`GrantRequest`] ([`AccessGrantService::file_request`]), becomes a [`Grant`] by a
//! decision ([`AccessGrantService::decide`]) and is used with a token ([`Registry::authenticate`], then [`Registry::access`] with
//! every request). Questions are answered from memory. Changes are `async`: they are stored (`store.rs`, `file_store.rs`) before they are in
//! force.

mod admin_key;
mod authorization;
mod capsules;
mod clients;
mod credentials;
mod decision;
mod enrollment;
mod error;
mod event;
mod exchange;
mod failures;
mod file_store;
mod listing;
mod operators;
mod options;
mod policy;
mod profile;
mod records;
mod redirect;
mod registry;
mod requests;
mod self_approval;
mod sessions;
mod store;
mod text;
mod token;

use capdeck_access::CapsuleKeyText;
pub use capdeck_access::{
    Access, DeckGrant, GrantTarget, OAuthScope, OperatorRole, Principal, Role, Scopes,
    UnknownScope, capsule_id_of, capsule_key, is_capsule_key, missing_capsule_key,
};

pub use self::{
    admin_key::{AdminKey, AdminKeyError, LoadedAdminKey},
    authorization::{
        AuthorizationError, AuthorizationRequest, NewAuthorizationCode, PendingAuthorization,
        TokenRequestError,
    },
    capsules::{CapsuleOwner, ExistingCapsule},
    clients::{
        ClientAuthMethod, ClientDocumentError, ClientKind, ClientMetadata, GrantRecipient,
        OAuthClient, PrincipalRecord, RegisteredClient, fetch_client_document,
    },
    credentials::{
        AuthenticatedClient, Credential, CredentialKind, IssuedCredential, NewCredential,
    },
    decision::{ApprovalTerms, DecisionMaker, RequestDecision},
    enrollment::{Enrollment, EnrollmentResult, EnrollmentState, EnrollmentStatus, NewEnrollment},
    error::{OpenRegistryError, RegistryError, RegistryResult, TokenRefusal},
    event::{AuditSink, EventCaller, EventSubject, RegistryEvent},
    exchange::{ClientProof, CodeRedemption, TokenRenewal, TokenSet},
    failures::{CredentialClass, FailedAttempt, FailedCredentials},
    listing::{GrantQuery, PageRequest, RegistryPage, RequestQuery},
    operators::{
        ADMIN_OPERATOR, AuthenticatedOperator, IssuedOperatorKey, LOCAL_OPERATOR, NewOperator,
        Operator, OperatorAccount, OperatorSubject, OperatorUpdate, SignUpDomains,
    },
    options::{ClientDocuments, RegistryLifetimes, RegistryLimits, RegistryOptions},
    policy::{ApprovalMode, GrantPolicy, GrantRule, IpNetwork, RuleAction, RuleMatch},
    profile::{AccessProfile, ProfileTerms},
    records::{LastUseTime, RecordCollection, RegistryRecord, RegistryRecords},
    redirect::RedirectPolicy,
    registry::{
        AccessGrantService, ApprovalService, CapsuleOwnerService, ClientService, EnrollmentService,
        OperatorService, Registry, SessionService, TokenService,
    },
    requests::{BulkDenial, Grant, GrantRequest, NewRequest, RequestSource, RequestStatus},
    self_approval::{RequestOrigin, SelfApprovalLink},
    sessions::{NewSession, OperatorSession, SessionRecord, SignInPenalty},
    store::RegistryStore,
};
use self::{
    authorization::AuthorizationCode,
    credentials::{AccessCache, AccessTokenRecord, RefreshTokenRecord, UsedRefreshToken},
    decision::GrantTerms,
    event::AuditEvent,
    exchange::RenewalResponse,
    failures::SourceAddress,
    file_store::RegistryFileStore,
    registry::{RegistryInner, RegistrySnapshot, RegistryTransaction, check_room},
    token::{TokenHash, TokenKind, new_id, random},
};
