//! What must never happen, tried from the outside. Tests named `security_NN_…` show item NN of the list in
//! `docs/design/043-security-test-list.md`.

mod answers;
mod bad_input;
mod consent;
mod guessing;
mod headers;
mod notifications;
mod passthrough;
mod refusals;
mod replay;
mod routes;
mod sessions;
mod stage;
