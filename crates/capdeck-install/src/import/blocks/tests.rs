use super::*;

/// Every server of a text: where it is, its name, and what starts or reaches it.
fn found(text: &str, file: Option<&str>) -> Vec<(String, String, String)> {
    let blocks = ServerBlocks::parse(text, file.map(Path::new)).unwrap().blocks;
    let row = |block: &ServerBlock, server: &ClientServerEntry| {
        let fields = &server.server.as_ref().unwrap().server;
        let text = |key: &str| fields.get(key).and_then(Value::as_str);
        let reached = text("command").or_else(|| text("url")).unwrap_or_default();
        (block.key.clone(), server.name.clone(), reached.to_owned())
    };
    blocks.iter().flat_map(|one| one.servers.iter().map(|server| row(one, server))).collect()
}

#[test]
fn the_block_of_every_agent_is_found_in_its_own_format() {
    for (file, text, key) in [
        ("claude_desktop_config.json", r#"{"mcpServers":{"a":{"command":"x"}}}"#, "mcpServers"),
        ("mcp.json", "{ // mine\n \"servers\": {\"a\": {\"command\": \"x\"},}, }", "servers"),
        ("settings.json", r#"{"mcp":{"servers":{"a":{"command":"x"}}}}"#, "mcp.servers"),
        ("settings.json", r#"{"mcp.servers":{"a":{"command":"x"}}}"#, "mcp.servers"),
        ("settings.json", r#"{"context_servers":{"a":{"command":"x"}}}"#, "context_servers"),
        ("settings.json", r#"{"amp.mcpServers":{"a":{"command":"x"}}}"#, "amp.mcpServers"),
        ("opencode.json", r#"{"mcp":{"a":{"type":"local","command":["x"]}}}"#, "mcp"),
        ("config.toml", "[mcp_servers.a]\ncommand = \"x\"\n", "mcp_servers"),
        ("config.yaml", "extensions:\n  a:\n    type: stdio\n    cmd: x\n", "extensions"),
        ("config.yaml", "mcpServers:\n  - name: a\n    command: x\n", "mcpServers"),
        ("notes.txt", "mcpServers:\n  a:\n    command: x\n", "mcpServers"),
    ] {
        let expected = (key.to_owned(), "a".to_owned(), "x".to_owned());
        assert_eq!(found(text, Some(file)), [expected], "{text}");
    }
}

#[test]
fn pasted_text_needs_no_name_and_no_frame() {
    let expected = |key: &str| vec![(key.to_owned(), "time".to_owned(), "uvx".to_owned())];
    for (text, key) in [
        (r#"{"time":{"command":"uvx"}}"#, ""),
        ("\"mcpServers\": {\n  \"time\": {\n    \"command\": \"uvx\"\n  }\n}\n", "mcpServers"),
        ("  \"time\": { \"command\": \"uvx\" },\n", ""),
        (
            "Add this:\n\n```json\n{\"mcpServers\": {\"time\": {\"command\": \"uvx\"}}}\n```\nDone.",
            "mcpServers",
        ),
        ("```toml\n[mcp_servers.time]\ncommand = \"uvx\"\n```", "mcp_servers"),
        ("# mine\n[mcp_servers.time]\ncommand = \"uvx\"", "mcp_servers"),
        ("mcp_servers.time.command = \"uvx\"", "mcp_servers"),
        ("time:\n  command: uvx\n", ""),
        ("\u{feff}{\"time\":{\"command\":\"uvx\"}}", ""),
    ] {
        assert_eq!(found(text, None), expected(key), "{text}");
    }
}

#[test]
fn servers_of_single_projects_are_found_with_their_folder() {
    let text = r#"{
        "mcpServers": {"mine": {"command": "a"}},
        "projects": {
            "/srv/app": {"allowedTools": [], "mcpServers": {"db": {"command": "b"}}},
            "/srv/none": {"mcpServers": {}},
            "/srv/other": {}
        }
    }"#;
    let file = Path::new("/home/me/.claude.json");
    let blocks = ServerBlocks::parse(text, Some(file)).unwrap().blocks;
    let projects: Vec<_> = blocks.iter().map(|block| block.project.as_deref()).collect();
    assert_eq!(projects, [None, Some("/srv/app")]);
    assert_eq!(blocks[1].key, "projects./srv/app.mcpServers");
    let client = AgentClient::find("claude-code").unwrap();
    let document = ConfigDocument::parse(text, FileFormat::Json).unwrap();
    assert_eq!(client.blocks(&document), blocks);
}

#[test]
fn bare_variables_are_read_where_the_file_belongs_to_an_agent_that_has_them() {
    let text = r#"{"mcpServers":{"a":{"command":"x","env":{"K":"$MINE"}}}}"#;
    for (file, value) in [("/h/.gemini/settings.json", "${MINE}"), ("/h/settings.json", "$MINE")] {
        let blocks = ServerBlocks::parse(text, Some(Path::new(file))).unwrap().blocks;
        let fields = blocks[0].servers[0].server.as_ref().unwrap();
        assert_eq!(fields.server["env"]["K"], value, "{file}");
    }
}

#[test]
fn what_is_no_block_says_what_it_is() {
    let error = |text: &str| ServerBlocks::parse(text, None).unwrap_err();
    assert_eq!(error("{\"openapi\": \"3.1.0\", \"servers\": []}"), ServerBlocksError::OpenApi);
    assert_eq!(error("openapi: 3.0.0\npaths: {}\n"), ServerBlocksError::OpenApi);
    assert_eq!(
        error("{\"command\": \"uvx\", \"args\": [\"mcp-server-time\"]}"),
        ServerBlocksError::Unnamed {
            command: Some(vec!["uvx".to_owned(), "mcp-server-time".to_owned()]),
            url: None
        }
    );
    for text in ["{}", "", "just words", "{\"servers\": [{\"url\": \"https://x\"}]}", "[1]"] {
        assert_eq!(error(text), ServerBlocksError::NoBlock, "{text}");
    }
    let ServerBlocksError::Syntax(broken) = error("{\n  \"mcpServers\": {,}\n}") else {
        panic!("a broken text is not read")
    };
    assert_eq!((broken.line, broken.column), (2, 18));
}
