//! The file formats: text in, [`Definition`]s and [`Diagnostic`]s out.
//!
//! The main types are [`Definition`] (one capability as it is declared), [`Deck`] (everything that was read from a deck's
//! roots) and [`Diagnostic`] (a problem with its place and its fix). Start with `deck.rs`, which reads the roots; a file
//! goes from there through `load.rs` and `parsed_file.rs` to the module of its format.
//!
//! This crate never runs anything, never opens a socket, never looks at the environment and knows
//! nothing of what is connected. A broken file is a value, not an error.

mod auth;
mod backend;
mod block_place;
pub mod capability_file;
mod caplet;
mod check;
mod client_block;
mod cmp;
mod config;
mod deck;
mod deck_config;
mod deck_defaults;
mod definition;
mod diagnostic;
mod document;
mod fingerprint;
mod frontmatter;
mod glob;
mod hidden_characters;
mod load;
mod parsed_file;
mod pattern;
mod policy;
mod project;
mod remote_deck;
mod rules;
mod schema;
mod serve_config;
mod set;
mod shape;
mod suggest;
mod tailoring;
mod text;
mod variable_use;
mod violation;

pub use auth::{BackendAuth, OAuthConfig};
pub use backend::action::{ActionSchemas, ActionText, ProgramCommand};
pub use backend::chaos::{ChaosConfig, ChaosDelay, DelayRange};
pub use backend::cli::{
    ALLOW_LEADING_DASH, CliAction, CliAnnotations, CliCommand, CliOutput, CliOutputType, CliTools,
    PlaceholderStyle,
};
pub use backend::cmp::{CmpIntent, CmpParam, CmpTool, CmpType};
pub use backend::graphql::{
    GraphQlEndpoint, GraphQlOperation, GraphQlQueryRights, GraphQlQueryTool,
};
pub use backend::http::{HttpAction, HttpApi, HttpMethod};
pub use backend::launcher::Launcher;
pub use backend::mcp::{McpServer, McpTransport, ProtocolEra, ToolFilter};
pub use backend::openapi::{ApiImport, GoogleDiscoveryApi, OpenApiEndpoint};
pub use backend::request_settings::{
    HttpBlock, NetworkAccess, OutgoingSettings, RateLimit, RatePeriod, RequestSettings,
};
pub use backend::set::CapletSet;
pub use backend::start_limit::StartLimit;
pub use backend::{Backend, BackendKind};
pub use capability_file::{CAPABILITY_FILE_NAMES, CapabilityFile, parse_capability_file};
pub use check::{check_cmp_paths, check_paths};
pub use cmp::CmpFiles;
pub use cmp::command::{CommandError, CommandPiece, CommandTemplate, CommandWord};
pub use cmp::export::{CmpExport, ExportError, export_cmp};
pub use cmp::matcher::{CmpCandidate, IntentHit, IntentMatch, MatchDoubt, MatchKind, match_intent};
pub use cmp::values::{CMP_RESULT, is_integer_text};
pub use deck::{Deck, QuarantinedItem};
pub use deck_config::{
    ArtifactConfig, CallAuditMode, DeckConfig, FlowMode, NamespaceAliases, PinMode, RunConfig,
    ViewConfig,
};
pub use definition::{
    CapabilityId, CapabilityIdError, Definition, DefinitionSource, Exposure, ResourceClass,
    RuntimeFeature, RuntimeRequirements, RuntimeResources, SetupCommands, SetupStep, ShadowingMode,
    SourceLayer, UsageHints,
};
pub use diagnostic::{Diagnostic, DiagnosticSeverity};
pub use document::json::object_members;
pub use frontmatter::{
    FrontmatterError, SkillFileError, skill_frontmatter, split as split_frontmatter,
};
pub use glob::Glob;
pub use hidden_characters::{HiddenCharacter, HiddenKind, hidden_characters, is_hideable, reveal};
pub use load::{CONFIG_NAMES, DeckRoot, RootOwner, SourceFile, SourceFormat};
pub use policy::{CallPolicy, PolicyEffect, PolicyRule, RuleCondition, ToolAnnotation};
pub use project::{DeckProject, find_project};
pub use remote_deck::{IdCollision, RemoteCapability, RemoteDeck};
pub use rules::FORBIDDEN_HEADERS;
pub use schema::{capability_file_schema, caplet_schema, cmp_schema, config_schema};
pub use serve_config::{
    BucketConfig, LimitConfig, OidcConfig, OtlpConfig, RedirectConfig, ServeAuthMode, ServeConfig,
};
pub use shape::{PLURAL_KEYS, SINGULAR_KEYS};
pub use suggest::nearest;
pub use tailoring::{CapabilityTailoring, ChosenTool, ToolChoice};
pub use text::{first_letters, one_line};
pub use variable_use::{VariableUse, used_variables};
