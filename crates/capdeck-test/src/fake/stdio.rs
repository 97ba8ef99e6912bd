//! The fake server on its own pipes.

use std::{
    io::{BufRead, Write},
    sync::Arc,
    thread,
    time::Duration,
};

use serde_json::Value;

use super::server::{FakeOutlet, FakeServer, MessageEnd};

/// Reads messages from stdin until it closes; with a stubborn plan, for an hour after that.
pub fn serve_stdio(server: &Arc<FakeServer>) {
    let outlet: Arc<dyn FakeOutlet> = Arc::new(StdoutOutlet);
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        if FakeServer::is_quick(&message) {
            server.handle(message, &outlet);
        } else {
            // A slow call must not keep the next message waiting.
            let (server, outlet) = (Arc::clone(server), Arc::clone(&outlet));
            thread::spawn(move || server.handle(message, &outlet));
        }
    }
    if server.plan.ignore_stdin_close {
        thread::sleep(Duration::from_secs(3600));
    }
}

struct StdoutOutlet;

impl FakeOutlet for StdoutOutlet {
    fn send(&self, text: &str, _kind: MessageEnd) {
        let mut stdout = std::io::stdout().lock();
        let _client_left = stdout.write_all(format!("{text}\n").as_bytes());
        let _client_left = stdout.flush();
    }
}
