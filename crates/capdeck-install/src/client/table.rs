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
        always_listed: None,
        unasked_calls: None,
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
pub(super) const COMMON_CLIENT: AgentClient = AgentClient {
    id: "",
    name: "",
    user: None,
    project: None,
    default_scope: ClientScope::User,
    format: FileFormat::Json,
    container: &["mcpServers"],
    shape: shape(ProgramShape::Plain, key("url")),
    programs: &[],
    is_desktop_app: false,
};

/// One with a file of the same name in the home folder and in the project.
const fn both(id: &'static str, name: &'static str, file: &'static [&'static str]) -> AgentClient {
    AgentClient { user: home(file), project: in_project(file), ..client(id, name) }
}

/// One with a file in the project alone.
const fn of_project(
    id: &'static str,
    name: &'static str,
    file: &'static [&'static str],
) -> AgentClient {
    let project = in_project(file);
    AgentClient { project, default_scope: ClientScope::Project, ..client(id, name) }
}

const fn client(id: &'static str, name: &'static str) -> AgentClient {
    AgentClient { id, name, ..COMMON_CLIENT }
}

pub(super) const CLIENTS: &[AgentClient] = &[
    AgentClient {
        user: home(&[".claude.json"]),
        shape: ServerEntryShape { always_listed: Some("alwaysLoad"), ..TYPED_SHAPE },
        programs: &["claude"],
        ..of_project("claude-code", "Claude Code", &[".mcp.json"])
    },
    AgentClient {
        user: at(ClientBaseFolder::ApplicationData, &["Claude/claude_desktop_config.json"]),
        shape: shape(ProgramShape::Plain, UrlShape::Bridge),
        is_desktop_app: true,
        ..client("claude-desktop", "Claude Desktop")
    },
    AgentClient {
        shape: ServerEntryShape { workspace: Some("${workspaceFolder}"), ..COMMON_CLIENT.shape },
        programs: &["cursor", "cursor-agent"],
        ..both("cursor", "Cursor", &[".cursor/mcp.json"])
    },
    AgentClient {
        user: at(ClientBaseFolder::ApplicationData, &["Code/User/mcp.json"]),
        container: &["servers"],
        shape: ServerEntryShape { workspace: Some("${workspaceFolder}"), ..TYPED_SHAPE },
        programs: &["code"],
        ..of_project("vscode", "VS Code (GitHub Copilot)", &[".vscode/mcp.json"])
    },
    AgentClient {
        format: FileFormat::Toml,
        container: &["mcp_servers"],
        shape: ServerEntryShape {
            unasked_calls: Some(("default_tools_approval_mode", "approve")),
            ..COMMON_CLIENT.shape
        },
        programs: &["codex"],
        ..both("codex", "Codex", &[".codex/config.toml"])
    },
    AgentClient {
        shape: GEMINI,
        programs: &["gemini"],
        ..both("gemini-cli", "Gemini CLI", &[".gemini/settings.json"])
    },
    AgentClient {
        user: home(&[".codeium/windsurf/mcp_config.json"]),
        shape: shape(ProgramShape::Plain, key("serverUrl")),
        programs: &["windsurf"],
        ..client("windsurf", "Windsurf")
    },
    AgentClient {
        user: at(ClientBaseFolder::Config, &["opencode/opencode.json", "opencode/opencode.jsonc"]),
        project: in_project(&["opencode.json", "opencode.jsonc"]),
        container: &["mcp"],
        shape: shape(ProgramShape::Words, UrlShape::Remote),
        programs: &["opencode"],
        ..client("opencode", "OpenCode")
    },
    AgentClient {
        user: at(ClientBaseFolder::Config, &["zed/settings.json"]),
        project: in_project(&[".zed/settings.json"]),
        container: &["context_servers"],
        programs: &["zed", "zeditor"],
        ..client("zed", "Zed")
    },
    AgentClient {
        user: at(ClientBaseFolder::Config, &["goose/config.yaml"]),
        format: FileFormat::Yaml,
        container: &["extensions"],
        shape: shape(ProgramShape::Goose, UrlShape::Goose),
        programs: &["goose"],
        ..client("goose", "Goose")
    },
    AgentClient {
        user: home(&[".copilot/mcp-config.json"]),
        shape: ServerEntryShape {
            names_tools: true,
            ..shape(ProgramShape::Typed("local"), typed("http"))
        },
        programs: &["copilot"],
        ..client("copilot-cli", "GitHub Copilot CLI")
    },
    AgentClient {
        user: at(
            ClientBaseFolder::ApplicationData,
            &["Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"],
        ),
        shape: shape(ProgramShape::Plain, typed("streamableHttp")),
        ..client("cline", "Cline")
    },
    AgentClient {
        user: at(
            ClientBaseFolder::ApplicationData,
            &["Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"],
        ),
        shape: shape(ProgramShape::Plain, typed("streamable-http")),
        ..of_project("roo", "Roo Code", &[".roo/mcp.json"])
    },
    AgentClient {
        user: at(
            ClientBaseFolder::ApplicationData,
            &["Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json"],
        ),
        shape: shape(ProgramShape::Plain, typed("streamable-http")),
        ..of_project("kilo", "Kilo Code", &[".kilocode/mcp.json"])
    },
    AgentClient {
        programs: &["kiro", "kiro-cli"],
        ..both("kiro", "Kiro", &[".kiro/settings/mcp.json"])
    },
    AgentClient {
        shape: ServerEntryShape { always_listed: Some("alwaysLoadTools"), ..GEMINI },
        programs: &["qwen"],
        ..both("qwen-code", "Qwen Code", &[".qwen/settings.json"])
    },
    AgentClient {
        shape: GEMINI,
        programs: &["iflow"],
        ..both("iflow-cli", "iFlow CLI", &[".iflow/settings.json"])
    },
    AgentClient {
        shape: TYPED_SHAPE,
        programs: &["droid"],
        ..both("droid", "Droid", &[".factory/mcp.json"])
    },
    AgentClient {
        user: at(ClientBaseFolder::Config, &["crush/crush.json"]),
        project: in_project(&[".crush.json", "crush.json"]),
        container: &["mcp"],
        shape: ServerEntryShape { has_bare_variables: true, ..TYPED_SHAPE },
        programs: &["crush"],
        ..client("crush", "Crush")
    },
    AgentClient { programs: &["junie"], ..both("junie", "Junie", &[".junie/mcp/mcp.json"]) },
    AgentClient {
        shape: TYPED_SHAPE,
        programs: &["neovate"],
        ..of_project("neovate", "Neovate", &[".neovate/config.json"])
    },
    AgentClient {
        container: &["mcp"],
        programs: &["pochi"],
        ..of_project("pochi", "Pochi", &[".pochi/config.jsonc"])
    },
    of_project("trae", "Trae", &[".trae/mcp.json"]),
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
