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


def harmless_calls(folder):
    """For servers that can be asked something without a key or the internet: a tool and its arguments, whose answer is the
    same each time."""
    return {
        "everything": ("get-sum", {"a": 2, "b": 3}),
        "filesystem": ("read_text_file", {"path": f"{folder}/note.txt"}),
        "memory": ("read_graph", {}),
        "sequential-thinking": (
            "sequentialthinking",
            {"thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
        ),
        "time": (
            "convert_time",
            {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
        ),
        "git": ("git_log", {"repo_path": folder}),
        "calculator": ("calculate", {"expression": "6 * 7"}),
        "excel": ("get_workbook_metadata", {"filepath": f"{folder}/missing.xlsx"}),
        "eslint": ("lint-files", {"filePaths": []}),
        "fetch": ("fetch", {"url": "http://127.0.0.1:9/"}),
        "clickhouse": ("list_databases", {}),
        "blender": ("get_scene_info", {}),
        "playwright": ("browser_tabs", {"action": "list"}),
        "chrome-devtools": ("list_pages", {}),
        "mongodb": ("list-databases", {}),
        "kubernetes": ("ping", {}),
        "browser": ("browser_snapshot", {}),
        "notion": ("API-get-self", {}),
        "firecrawl": ("firecrawl_crawl", {"url": "http://127.0.0.1:9/"}),
        "tavily": ("tavily_search", {"query": "nothing"}),
        "exa": ("web_search_exa", {"query": "nothing"}),
        "github": ("search_repositories", {"query": "nothing"}),
        "wikipedia": ("test_wikipedia_connectivity", {}),
        "elevenlabs": ("check_subscription", {}),
        "atlassian": ("jira_get_all_projects", {}),
    }
