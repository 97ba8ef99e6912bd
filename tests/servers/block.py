"""Forty ordinary servers, as people write them into the configuration of an agent."""


def npx(package, *args, **env):
    return entry("npx", ["-y", package, *args], env)


def uvx(package, *args, **env):
    return entry("uvx", [package, *args], env)


def entry(command, args, env):
    return {"command": command, "args": args, **({"env": env} if env else {})}


def servers(folder):
    """The block. `folder` is one that servers of files and repositories may read."""
    return {
        "everything": npx("@modelcontextprotocol/server-everything"),
        "filesystem": npx("@modelcontextprotocol/server-filesystem", folder),
        "memory": npx("@modelcontextprotocol/server-memory"),
        "sequential-thinking": npx("@modelcontextprotocol/server-sequential-thinking"),
        "github": npx("@modelcontextprotocol/server-github"),
        "brave-search": npx("@modelcontextprotocol/server-brave-search"),
        "slack": npx("@modelcontextprotocol/server-slack"),
        "postgres": npx("@modelcontextprotocol/server-postgres", "postgresql://localhost/mydb"),
        "gitlab": npx("@modelcontextprotocol/server-gitlab"),
        "google-maps": npx("@modelcontextprotocol/server-google-maps"),
        "playwright": npx("@playwright/mcp"),
        "context7": npx("@upstash/context7-mcp"),
        "notion": npx("@notionhq/notion-mcp-server"),
        "sentry": npx("@sentry/mcp-server"),
        "supabase": npx("@supabase/mcp-server-supabase"),
        "chrome-devtools": npx("chrome-devtools-mcp"),
        "firecrawl": npx("firecrawl-mcp"),
        "exa": npx("exa-mcp-server"),
        "tavily": npx("tavily-mcp"),
        "figma": npx("figma-developer-mcp", "--stdio"),
        "kubernetes": npx("mcp-server-kubernetes"),
        "mongodb": npx("mongodb-mcp-server"),
        "chart": npx("@antv/mcp-server-chart"),
        "browser": npx("@browsermcp/mcp"),
        "eslint": npx("@eslint/mcp"),
        "mermaid": npx("mcp-mermaid"),
        "time": uvx("mcp-server-time"),
        "fetch": uvx("mcp-server-fetch"),
        "git": uvx("mcp-server-git"),
        "sqlite": uvx("mcp-server-sqlite", "--db-path", f"{folder}/test.db"),
        "duckduckgo": uvx("duckduckgo-mcp-server"),
        "calculator": uvx("mcp-server-calculator"),
        "wikipedia": uvx("wikipedia-mcp"),
        "atlassian": uvx("mcp-atlassian"),
        "excel": uvx("excel-mcp-server", "stdio"),
        "aws-documentation": uvx("awslabs.aws-documentation-mcp-server"),
        "arxiv": uvx("arxiv-mcp-server"),
        "blender": uvx("blender-mcp"),
        "clickhouse": uvx("mcp-clickhouse"),
        "elevenlabs": uvx("elevenlabs-mcp"),
    }
