//! GraphQL APIs: a schema, and operations that are configured or made from it.
//!
//! [`ApiSchema`](schema::ApiSchema) is the schema with what is broken taken out. Every operation, wherever it comes from, is a document
//! that passed every rule of the language against it ([`operation`]). [`GraphQlApi`](api::GraphQlApi) offers and calls them.

mod answer;
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
