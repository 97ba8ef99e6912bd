//! Parsing starts nothing, fetches nothing and knows nothing of the environment.

use std::{io::ErrorKind, net::TcpListener};

use capdeck_definition::Backend;

use crate::folder::{Folder, codes};

#[test]
fn references_stay_text() {
    // PATH and HOME are set on every machine that runs tests, so a parser that looked would show it.
    let text = "---\nname: $env:PATH\ndescription: Uses ${HOME} and $env:PATH.\nmcpServer:\n  command: ${HOME}/bin/x\n  args: [$env:PATH, \"${HOME:-y}\", $vault:KEY]\n  env: { A: \"${PATH}\" }\n---\n${HOME}\n";
    let deck = Folder::with(&[("a.md", text)]).deck();
    let found = &deck.definitions[0];
    let Backend::Mcp(server) = &found.backend else { panic!("mcp") };
    assert_eq!(found.name, "$env:PATH");
    assert_eq!(found.description, "Uses ${HOME} and $env:PATH.");
    assert_eq!(server.command.as_deref(), Some("${HOME}/bin/x"));
    assert_eq!(server.args, ["$env:PATH", "${HOME:-y}", "$vault:KEY"]);
    assert_eq!(server.env["A"], "${PATH}");
}

#[test]
fn nothing_is_started_or_fetched() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let folder = Folder::with(&[]);
    let marker = folder.path("started");
    let touch = format!("command: touch\n      args: [{}]", marker.display());
    let text = format!(
        "---\nname: Example\ndescription: Would be seen if it acted.\nsetup:\n  commands:\n    - label: Touch\n      {touch}\nmcpServers:\n  local:\n      {touch}\n  remote:\n    url: http://{address}/mcp\nopenapiEndpoints:\n  api:\n    specUrl: http://{address}/spec\n    baseUrl: http://{address}\n    auth: {{ type: none }}\n---\n"
    );
    folder.write("a.md", &text);
    let deck = folder.deck();
    assert_eq!(codes(&deck), [""; 0]);
    assert_eq!(deck.definitions.len(), 3);
    assert!(!marker.exists());
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}
