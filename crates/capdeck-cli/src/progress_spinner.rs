//! What goes on while a person waits, on a line of the terminal that vanishes afterwards.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use capdeck_host::{Host, StartingServer};
use indicatif::ProgressBar;
use tokio::task::AbortHandle;

const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// More packages are counted.
const MAX_NAMED_PACKAGES: usize = 2;

/// A spinner that vanishes when dropped.
#[derive(Debug)]
pub(crate) struct ProgressSpinner {
    bar: ProgressBar,
    text: Arc<Mutex<String>>,
    following: Option<AbortHandle>,
}

impl ProgressSpinner {
    pub(crate) fn new(bar: ProgressBar, text: &str) -> Self {
        Self { bar, text: Arc::new(Mutex::new(text.to_owned())), following: None }
    }

    /// Also says what this host installs. Must be called inside the runtime.
    #[must_use]
    pub(crate) fn following(mut self, host: &Host) -> Self {
        if !self.bar.is_hidden() {
            let (bar, text, host) = (self.bar.clone(), self.text.clone(), host.clone());
            let task = tokio::spawn(async move {
                loop {
                    tokio::time::sleep(POLL_INTERVAL).await;
                    let base = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    bar.set_message(match installing(&host.starting_servers()) {
                        Some(installing) => format!("{base}: {installing}"),
                        None => base,
                    });
                }
            });
            self.following = Some(task.abort_handle());
        }
        self
    }

    /// Says what goes on now.
    pub(crate) fn say(&self, text: &str) {
        text.clone_into(&mut self.text.lock().unwrap_or_else(PoisonError::into_inner));
        self.bar.set_message(text.to_owned());
    }
}

impl Drop for ProgressSpinner {
    fn drop(&mut self) {
        if let Some(following) = &self.following {
            following.abort();
        }
        self.bar.finish_and_clear();
    }
}

/// `installing @a/b, c and 2 more…`.
fn installing(servers: &[StartingServer]) -> Option<String> {
    let named: Vec<&str> =
        servers.iter().take(MAX_NAMED_PACKAGES).map(|server| server.package.as_str()).collect();
    let more = match servers.len().saturating_sub(MAX_NAMED_PACKAGES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty()).then(|| format!("installing {}{more}…", named.join(", ")))
}
