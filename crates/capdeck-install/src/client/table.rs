//! What is known of each client.

use super::{
    AgentClient, ClientBaseFolder, ClientFilePlace, ClientScope,
    entry::{ProgramShape, ServerEntryShape, UrlShape},
};
use crate::edit::FileFormat;

const fn at(base: ClientBaseFolder, names: &'static [&'static str]) -> Option<ClientFilePlace> {
    Some(ClientFilePlace { base, names })
}

const fn home(names: &'static [&'static str]) -> Option<ClientFilePlace> {
    at(ClientBaseFolder::Home, names)
}

const fn in_project(names: &'static [&'static str]) -> Option<ClientFilePlace> {
    at(ClientBaseFolder::Project, names)
}

const fn shape(program: ProgramShape, url: UrlShape) -> ServerEntryShape {
    ServerEntryShape {
        program,
        url,
        workspace: None,
        names_tools: false,
        has_bare_variables: false,
    }
}

const fn key(key: &'static str) -> UrlShape {
    UrlShape::Key { key, kind: None }
}

const fn typed(kind: &'static str) -> UrlShape {
    UrlShape::Key { key: "url", kind: Some(kind) }
}

/// Gemini CLI's form, and that of what was made from it.
const GEMINI: ServerEntryShape =
    ServerEntryShape { has_bare_variables: true, ..shape(ProgramShape::Plain, key("httpUrl")) };

/// Claude Code's own form, which several others share.
const TYPED_SHAPE: ServerEntryShape = shape(ProgramShape::Typed("stdio"), typed("http"));

/// A client with files of the common form in the home folder and in the project.
const COMMON_CLIENT: AgentClient = AgentClient {
    id: "",
    name: "",
    user: None,
    project: None,
    default_scope: ClientScope::User,
    format: FileFormat::Json,
    container: &["mcpServers"],
    shape: shape(ProgramShape::Plain, key("url")),
    is_desktop_app: false,
};

pub(super) const CLIENTS: &[AgentClient] = &[
    AgentClient {
        id: "claude-code",
        name: "Claude Code",
        user: home(&[".claude.json"]),
        project: in_project(&[".mcp.json"]),
        default_scope: ClientScope::Project,
        shape: TYPED_SHAPE,
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "claude-desktop",
        name: "Claude Desktop",
        user: at(ClientBaseFolder::ApplicationData, &["Claude/claude_desktop_config.json"]),
        shape: shape(ProgramShape::Plain, UrlShape::Bridge),
        is_desktop_app: true,
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "cursor",
        name: "Cursor",
        user: home(&[".cursor/mcp.json"]),
        project: in_project(&[".cursor/mcp.json"]),
        shape: ServerEntryShape { workspace: Some("${workspaceFolder}"), ..COMMON_CLIENT.shape },
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "vscode",
        name: "VS Code (GitHub Copilot)",
        user: at(ClientBaseFolder::ApplicationData, &["Code/User/mcp.json"]),
        project: in_project(&[".vscode/mcp.json"]),
        default_scope: ClientScope::Project,
        container: &["servers"],
        shape: ServerEntryShape { workspace: Some("${workspaceFolder}"), ..TYPED_SHAPE },
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "codex",
        name: "Codex",
        user: home(&[".codex/config.toml"]),
        project: in_project(&[".codex/config.toml"]),
        format: FileFormat::Toml,
        container: &["mcp_servers"],
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "gemini-cli",
        name: "Gemini CLI",
        user: home(&[".gemini/settings.json"]),
        project: in_project(&[".gemini/settings.json"]),
        shape: GEMINI,
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "windsurf",
        name: "Windsurf",
        user: home(&[".codeium/windsurf/mcp_config.json"]),
        shape: shape(ProgramShape::Plain, key("serverUrl")),
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "opencode",
        name: "OpenCode",
        user: at(ClientBaseFolder::Config, &["opencode/opencode.json", "opencode/opencode.jsonc"]),
        project: in_project(&["opencode.json", "opencode.jsonc"]),
        container: &["mcp"],
        shape: shape(ProgramShape::Words, UrlShape::Remote),
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "zed",
        name: "Zed",
        user: at(ClientBaseFolder::Config, &["zed/settings.json"]),
        project: in_project(&[".zed/settings.json"]),
        container: &["context_servers"],
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "goose",
        name: "Goose",
        user: at(ClientBaseFolder::Config, &["goose/config.yaml"]),
        format: FileFormat::Yaml,
        container: &["extensions"],
        shape: shape(ProgramShape::Goose, UrlShape::Goose),
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "copilot-cli",
        name: "GitHub Copilot CLI",
        user: home(&[".copilot/mcp-config.json"]),
        shape: ServerEntryShape {
            names_tools: true,
            ..shape(ProgramShape::Typed("local"), typed("http"))
        },
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "cline",
        name: "Cline",
        user: at(
            ClientBaseFolder::ApplicationData,
            &["Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"],
        ),
        shape: shape(ProgramShape::Plain, typed("streamableHttp")),
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "roo",
        name: "Roo Code",
        user: at(
            ClientBaseFolder::ApplicationData,
            &["Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"],
        ),
        project: in_project(&[".roo/mcp.json"]),
        default_scope: ClientScope::Project,
        shape: shape(ProgramShape::Plain, typed("streamable-http")),
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "kilo",
        name: "Kilo Code",
        user: at(
            ClientBaseFolder::ApplicationData,
            &["Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json"],
        ),
        project: in_project(&[".kilocode/mcp.json"]),
        default_scope: ClientScope::Project,
        shape: shape(ProgramShape::Plain, typed("streamable-http")),
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "kiro",
        name: "Kiro",
        user: home(&[".kiro/settings/mcp.json"]),
        project: in_project(&[".kiro/settings/mcp.json"]),
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "qwen-code",
        name: "Qwen Code",
        user: home(&[".qwen/settings.json"]),
        project: in_project(&[".qwen/settings.json"]),
        shape: GEMINI,
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "iflow-cli",
        name: "iFlow CLI",
        user: home(&[".iflow/settings.json"]),
        project: in_project(&[".iflow/settings.json"]),
        shape: GEMINI,
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "droid",
        name: "Droid",
        user: home(&[".factory/mcp.json"]),
        project: in_project(&[".factory/mcp.json"]),
        shape: TYPED_SHAPE,
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "crush",
        name: "Crush",
        user: at(ClientBaseFolder::Config, &["crush/crush.json"]),
        project: in_project(&[".crush.json", "crush.json"]),
        container: &["mcp"],
        shape: ServerEntryShape { has_bare_variables: true, ..TYPED_SHAPE },
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "junie",
        name: "Junie",
        user: home(&[".junie/mcp/mcp.json"]),
        project: in_project(&[".junie/mcp/mcp.json"]),
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "neovate",
        name: "Neovate",
        project: in_project(&[".neovate/config.json"]),
        default_scope: ClientScope::Project,
        shape: TYPED_SHAPE,
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "pochi",
        name: "Pochi",
        project: in_project(&[".pochi/config.jsonc"]),
        default_scope: ClientScope::Project,
        container: &["mcp"],
        ..COMMON_CLIENT
    },
    AgentClient {
        id: "trae",
        name: "Trae",
        project: in_project(&[".trae/mcp.json"]),
        default_scope: ClientScope::Project,
        ..COMMON_CLIENT
    },
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_row_is_whole() {
        let mut seen = HashSet::new();
        for client in CLIENTS {
            assert!(seen.insert(client.id), "{} is there twice", client.id);
            assert!(!client.name.is_empty() && !client.container.is_empty(), "{}", client.id);
            assert!(client.scopes().contains(&client.default_scope), "{}", client.id);
        }
    }
}
