//! The rows of the provider table.

use super::{
    AgentProvider, HookAgent, HookFile, McpFile, RuleFiles, RuleHeader, SubagentFiles, SubagentForm,
};

const SHARED_SKILLS: &str = ".agents/skills";
const SHARED_INSTRUCTIONS: Option<&str> = Some("AGENTS.md");

const fn skills_only(id: &'static str, skills: &'static str) -> AgentProvider {
    AgentProvider {
        id,
        skills,
        instructions: None,
        rules: None,
        subagents: None,
        hooks: None,
        mcp: None,
    }
}

const fn instructed(id: &'static str, skills: &'static str) -> AgentProvider {
    AgentProvider { instructions: SHARED_INSTRUCTIONS, ..skills_only(id, skills) }
}

const fn rules(
    folder: &'static str,
    ending: &'static str,
    header: RuleHeader,
) -> Option<RuleFiles> {
    Some(RuleFiles { folder, ending, header })
}

const fn markdown(folder: &'static str, more: &'static [&'static str]) -> Option<SubagentFiles> {
    Some(SubagentFiles { folder, form: SubagentForm::Markdown { more } })
}

/// The file of a project for which this agent is known to `connect`.
const fn mcp(client: &'static str) -> Option<McpFile> {
    Some(McpFile { client, has_subagent_entries: true })
}

const fn mcp_for_all(client: &'static str) -> Option<McpFile> {
    Some(McpFile { client, has_subagent_entries: false })
}

const fn hooks(path: &'static str, agent: HookAgent) -> Option<HookFile> {
    Some(HookFile { path, agent })
}

/// Those with a file per rule.
pub(super) const OWN_RULES: &[AgentProvider] = &[
    AgentProvider {
        instructions: Some("CLAUDE.md"),
        rules: rules(".claude/rules", ".md", RuleHeader::Paths),
        subagents: markdown(".claude/agents", &["model: inherit"]),
        hooks: hooks(".claude/settings.json", HookAgent::ClaudeCode),
        mcp: mcp("claude-code"),
        ..skills_only("claude-code", ".claude/skills")
    },
    AgentProvider {
        rules: rules(".cursor/rules", ".mdc", RuleHeader::Globs),
        subagents: markdown(
            ".cursor/agents",
            &["model: inherit", "readonly: false", "is_background: false"],
        ),
        hooks: hooks(".cursor/hooks.json", HookAgent::Cursor),
        mcp: mcp_for_all("cursor"),
        ..instructed("cursor", ".cursor/skills")
    },
    AgentProvider {
        instructions: Some(".github/copilot-instructions.md"),
        rules: rules(".github/instructions", ".instructions.md", RuleHeader::ApplyTo),
        subagents: markdown(".github/agents", &[]),
        mcp: mcp_for_all("vscode"),
        ..skills_only("github-copilot", SHARED_SKILLS)
    },
    AgentProvider {
        rules: rules(".windsurf/rules", ".md", RuleHeader::Trigger),
        ..skills_only("windsurf", ".windsurf/skills")
    },
    AgentProvider {
        rules: rules(".kilo/rules", ".md", RuleHeader::Nothing),
        subagents: markdown(".kilo/agent", &[]),
        mcp: mcp("kilo"),
        ..instructed("kilo", ".kilocode/skills")
    },
    AgentProvider {
        rules: rules(".kiro/steering", ".md", RuleHeader::Nothing),
        mcp: mcp("kiro"),
        ..instructed("kiro-cli", ".kiro/skills")
    },
    AgentProvider {
        rules: rules(".trae/rules", ".md", RuleHeader::Nothing),
        mcp: mcp("trae"),
        ..instructed("trae", ".trae/skills")
    },
    AgentProvider {
        rules: rules(".trae/rules", ".md", RuleHeader::Nothing),
        mcp: mcp("trae"),
        ..instructed("trae-cn", ".trae/skills")
    },
    AgentProvider {
        rules: rules(".agents/rules", ".md", RuleHeader::Nothing),
        ..instructed("antigravity", ".agent/skills")
    },
    AgentProvider {
        rules: rules(".qoder/rules", ".md", RuleHeader::Nothing),
        subagents: markdown(".qoder/agents", &[]),
        ..instructed("qoder", ".qoder/skills")
    },
];

/// Those with MCP servers of a project whose rules become blocks of the instructions.
pub(super) const FOLDED_RULE_PROVIDERS: &[AgentProvider] = &[
    AgentProvider {
        subagents: Some(SubagentFiles { folder: ".codex/agents", form: SubagentForm::Codex }),
        hooks: hooks(".codex/config.toml", HookAgent::Codex),
        mcp: mcp("codex"),
        ..instructed("codex", SHARED_SKILLS)
    },
    AgentProvider {
        subagents: markdown(".gemini/agents", &[]),
        hooks: hooks(".gemini/settings.json", HookAgent::GeminiCli),
        mcp: mcp("gemini-cli"),
        ..instructed("gemini-cli", SHARED_SKILLS)
    },
    AgentProvider {
        subagents: Some(SubagentFiles { folder: ".opencode/agents", form: SubagentForm::OpenCode }),
        mcp: mcp("opencode"),
        ..instructed("opencode", SHARED_SKILLS)
    },
    AgentProvider { mcp: mcp("roo"), ..skills_only("roo", ".roo/skills") },
    AgentProvider {
        subagents: markdown(".qwen/agents", &[]),
        mcp: mcp("qwen-code"),
        ..instructed("qwen-code", ".qwen/skills")
    },
    AgentProvider { mcp: mcp("iflow-cli"), ..instructed("iflow-cli", ".iflow/skills") },
    AgentProvider {
        subagents: markdown(".factory/droids", &["model: inherit"]),
        mcp: mcp("droid"),
        ..instructed("droid", ".factory/skills")
    },
    AgentProvider { mcp: mcp("crush"), ..instructed("crush", ".crush/skills") },
    AgentProvider {
        subagents: markdown(".junie/agents", &[]),
        mcp: mcp("junie"),
        ..instructed("junie", ".junie/skills")
    },
    AgentProvider {
        subagents: markdown(".kode/agents", &[]),
        mcp: mcp("claude-code"),
        ..instructed("kode", ".kode/skills")
    },
    AgentProvider {
        instructions: Some("CODEBUDDY.md"),
        mcp: mcp("claude-code"),
        ..skills_only("codebuddy", ".codebuddy/skills")
    },
    AgentProvider { mcp: mcp("neovate"), ..skills_only("neovate", ".neovate/skills") },
    AgentProvider {
        instructions: Some("README.pochi.md"),
        subagents: markdown(".pochi/agents", &[]),
        mcp: mcp("pochi"),
        ..skills_only("pochi", ".pochi/skills")
    },
];

/// Those without MCP servers of a project.
pub(super) const PLAIN_PROVIDERS: &[AgentProvider] = &[
    AgentProvider {
        subagents: markdown(".augment/agents", &[]),
        ..instructed("augment", ".augment/skills")
    },
    AgentProvider { instructions: Some("replit.md"), ..skills_only("replit", SHARED_SKILLS) },
    instructed("cline", ".cline/skills"),
    instructed("goose", ".goose/skills"),
    instructed("kimi-cli", SHARED_SKILLS),
    instructed("mistral-vibe", ".vibe/skills"),
    instructed("openhands", ".openhands/skills"),
    instructed("pi", ".pi/skills"),
    instructed("adal", ".adal/skills"),
    skills_only("amp", SHARED_SKILLS),
    skills_only("openclaw", "skills"),
    skills_only("command-code", ".commandcode/skills"),
    skills_only("continue", ".continue/skills"),
    skills_only("mcpjam", ".mcpjam/skills"),
    skills_only("mux", ".mux/skills"),
    skills_only("zencoder", ".zencoder/skills"),
];
