//! What is known of each client.

use super::{
    Base, Client, Place, Scope,
    entry::{ProgramShape, Shape, UrlShape},
};
use crate::edit::FileFormat;

const fn at(base: Base, names: &'static [&'static str]) -> Option<Place> {
    Some(Place { base, names })
}

const fn home(names: &'static [&'static str]) -> Option<Place> {
    at(Base::Home, names)
}

const fn in_project(names: &'static [&'static str]) -> Option<Place> {
    at(Base::Project, names)
}

const fn shape(program: ProgramShape, url: UrlShape) -> Shape {
    Shape { program, url, workspace: None, names_tools: false, has_bare_variables: false }
}

const fn key(key: &'static str) -> UrlShape {
    UrlShape::Key { key, kind: None }
}

const fn typed(kind: &'static str) -> UrlShape {
    UrlShape::Key { key: "url", kind: Some(kind) }
}

/// Gemini CLI's form, and that of what was made from it.
const GEMINI: Shape =
    Shape { has_bare_variables: true, ..shape(ProgramShape::Plain, key("httpUrl")) };

/// Claude Code's own form, which several others share.
const TYPED: Shape = shape(ProgramShape::Typed("stdio"), typed("http"));

/// A client with files of the common form in the home folder and in the project.
const COMMON: Client = Client {
    id: "",
    name: "",
    user: None,
    project: None,
    default_scope: Scope::User,
    format: FileFormat::Json,
    container: &["mcpServers"],
    shape: shape(ProgramShape::Plain, key("url")),
    is_desktop_app: false,
};

pub(super) const CLIENTS: &[Client] = &[
    Client {
        id: "claude-code",
        name: "Claude Code",
        user: home(&[".claude.json"]),
        project: in_project(&[".mcp.json"]),
        default_scope: Scope::Project,
        shape: TYPED,
        ..COMMON
    },
    Client {
        id: "claude-desktop",
        name: "Claude Desktop",
        user: at(Base::ApplicationData, &["Claude/claude_desktop_config.json"]),
        shape: shape(ProgramShape::Plain, UrlShape::Bridge),
        is_desktop_app: true,
        ..COMMON
    },
    Client {
        id: "cursor",
        name: "Cursor",
        user: home(&[".cursor/mcp.json"]),
        project: in_project(&[".cursor/mcp.json"]),
        shape: Shape { workspace: Some("${workspaceFolder}"), ..COMMON.shape },
        ..COMMON
    },
    Client {
        id: "vscode",
        name: "VS Code (GitHub Copilot)",
        user: at(Base::ApplicationData, &["Code/User/mcp.json"]),
        project: in_project(&[".vscode/mcp.json"]),
        default_scope: Scope::Project,
        container: &["servers"],
        shape: Shape { workspace: Some("${workspaceFolder}"), ..TYPED },
        ..COMMON
    },
    Client {
        id: "codex",
        name: "Codex",
        user: home(&[".codex/config.toml"]),
        project: in_project(&[".codex/config.toml"]),
        format: FileFormat::Toml,
        container: &["mcp_servers"],
        ..COMMON
    },
    Client {
        id: "gemini-cli",
        name: "Gemini CLI",
        user: home(&[".gemini/settings.json"]),
        project: in_project(&[".gemini/settings.json"]),
        shape: GEMINI,
        ..COMMON
    },
    Client {
        id: "windsurf",
        name: "Windsurf",
        user: home(&[".codeium/windsurf/mcp_config.json"]),
        shape: shape(ProgramShape::Plain, key("serverUrl")),
        ..COMMON
    },
    Client {
        id: "opencode",
        name: "OpenCode",
        user: at(Base::Config, &["opencode/opencode.json", "opencode/opencode.jsonc"]),
        project: in_project(&["opencode.json", "opencode.jsonc"]),
        container: &["mcp"],
        shape: shape(ProgramShape::Words, UrlShape::Remote),
        ..COMMON
    },
    Client {
        id: "zed",
        name: "Zed",
        user: at(Base::Config, &["zed/settings.json"]),
        project: in_project(&[".zed/settings.json"]),
        container: &["context_servers"],
        ..COMMON
    },
    Client {
        id: "goose",
        name: "Goose",
        user: at(Base::Config, &["goose/config.yaml"]),
        format: FileFormat::Yaml,
        container: &["extensions"],
        shape: shape(ProgramShape::Goose, UrlShape::Goose),
        ..COMMON
    },
    Client {
        id: "copilot-cli",
        name: "GitHub Copilot CLI",
        user: home(&[".copilot/mcp-config.json"]),
        shape: Shape { names_tools: true, ..shape(ProgramShape::Typed("local"), typed("http")) },
        ..COMMON
    },
    Client {
        id: "cline",
        name: "Cline",
        user: at(
            Base::ApplicationData,
            &["Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"],
        ),
        shape: shape(ProgramShape::Plain, typed("streamableHttp")),
        ..COMMON
    },
    Client {
        id: "roo",
        name: "Roo Code",
        user: at(
            Base::ApplicationData,
            &["Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"],
        ),
        project: in_project(&[".roo/mcp.json"]),
        default_scope: Scope::Project,
        shape: shape(ProgramShape::Plain, typed("streamable-http")),
        ..COMMON
    },
    Client {
        id: "kilo",
        name: "Kilo Code",
        user: at(
            Base::ApplicationData,
            &["Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json"],
        ),
        project: in_project(&[".kilocode/mcp.json"]),
        default_scope: Scope::Project,
        shape: shape(ProgramShape::Plain, typed("streamable-http")),
        ..COMMON
    },
    Client {
        id: "kiro",
        name: "Kiro",
        user: home(&[".kiro/settings/mcp.json"]),
        project: in_project(&[".kiro/settings/mcp.json"]),
        ..COMMON
    },
    Client {
        id: "qwen-code",
        name: "Qwen Code",
        user: home(&[".qwen/settings.json"]),
        project: in_project(&[".qwen/settings.json"]),
        shape: GEMINI,
        ..COMMON
    },
    Client {
        id: "iflow-cli",
        name: "iFlow CLI",
        user: home(&[".iflow/settings.json"]),
        project: in_project(&[".iflow/settings.json"]),
        shape: GEMINI,
        ..COMMON
    },
    Client {
        id: "droid",
        name: "Droid",
        user: home(&[".factory/mcp.json"]),
        project: in_project(&[".factory/mcp.json"]),
        shape: TYPED,
        ..COMMON
    },
    Client {
        id: "crush",
        name: "Crush",
        user: at(Base::Config, &["crush/crush.json"]),
        project: in_project(&[".crush.json", "crush.json"]),
        container: &["mcp"],
        shape: Shape { has_bare_variables: true, ..TYPED },
        ..COMMON
    },
    Client {
        id: "junie",
        name: "Junie",
        user: home(&[".junie/mcp/mcp.json"]),
        project: in_project(&[".junie/mcp/mcp.json"]),
        ..COMMON
    },
    Client {
        id: "neovate",
        name: "Neovate",
        project: in_project(&[".neovate/config.json"]),
        default_scope: Scope::Project,
        shape: TYPED,
        ..COMMON
    },
    Client {
        id: "pochi",
        name: "Pochi",
        project: in_project(&[".pochi/config.jsonc"]),
        default_scope: Scope::Project,
        container: &["mcp"],
        ..COMMON
    },
    Client {
        id: "trae",
        name: "Trae",
        project: in_project(&[".trae/mcp.json"]),
        default_scope: Scope::Project,
        ..COMMON
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
