//! GraphQL APIs: a schema, and configured or generated operations.
//!
//! [`ApiSchema`](schema::ApiSchema) is the schema without its broken parts. Every operation is a document that passed
//! validation against it ([`operation`]). [`GraphQlApi`](api::GraphQlApi) offers and calls them.

mod api;
mod automatic;
mod check;
mod configured;
mod document;
mod input_schema;
mod introspection;
mod literal;
mod nearest;
mod operation;
mod outcome;
mod output_schema;
mod problems;
mod query_tool;
mod reader;
mod request;
mod scalar;
mod schema;
mod selection;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use self::{check::check, reader::GraphQlReader};
