//! How long a server may take to start.

use std::time::Duration;

use super::launcher::Launcher;
use crate::McpServer;

/// How long a server may take until its handshake is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartLimit {
    /// The time that it has in any case.
    pub least: Duration,
    /// It has longer while its last output, or its last work, is no older than this.
    pub quiet: Duration,
    /// The time after which it ends even if it still works.
    pub most: Duration,
}

impl StartLimit {
    /// For a server that is installed already.
    pub const INSTALLED: Self = Self::fixed(Duration::from_secs(10));

    /// For a server that its launcher may have to download first.
    pub const INSTALLING: Self = Self {
        least: Duration::from_secs(90),
        quiet: Duration::from_secs(30),
        most: Duration::from_mins(10),
    };

    /// Exactly this long.
    pub const fn fixed(limit: Duration) -> Self {
        Self { least: limit, quiet: Duration::ZERO, most: limit }
    }
}

impl McpServer {
    /// The program that installs this server before it starts it.
    pub fn launcher(&self) -> Option<Launcher> {
        let command = self.command.as_deref()?;
        Launcher::of(command, self.args.iter().map(String::as_str))
    }

    /// What its file says, else the deck, else its command.
    pub fn start_limit(&self, of_deck: Option<u64>) -> StartLimit {
        match self.startup_timeout_ms.or(of_deck) {
            Some(limit) => StartLimit::fixed(Duration::from_millis(limit)),
            None if self.launcher().is_some() => StartLimit::INSTALLING,
            None => StartLimit::INSTALLED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_decides_then_the_deck_then_the_command() {
        let mut server = McpServer { command: Some("npx".to_owned()), ..McpServer::default() };
        assert_eq!(server.start_limit(None), StartLimit::INSTALLING);
        assert_eq!(server.start_limit(Some(7)), StartLimit::fixed(Duration::from_millis(7)));
        server.startup_timeout_ms = Some(5);
        assert_eq!(server.start_limit(Some(7)), StartLimit::fixed(Duration::from_millis(5)));
        let node = McpServer { command: Some("node".to_owned()), ..McpServer::default() };
        assert_eq!(node.start_limit(None), StartLimit::INSTALLED);
        let remote = McpServer::at("https://example.org/mcp".to_owned());
        assert_eq!(remote.start_limit(None), StartLimit::INSTALLED);
    }
}
