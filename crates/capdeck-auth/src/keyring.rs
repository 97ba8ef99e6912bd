//! The system keyring, which can hold the vault key instead of a file.

use std::fmt;

use crate::Secret;

/// Stores small secrets by name for the logged-in user.
pub trait KeyringStore: fmt::Debug + Send + Sync {
    /// Returns the value of a name, if it has one.
    fn get(&self, name: &str) -> Result<Option<Secret>, KeyringError>;

    fn set(&self, name: &str, value: &Secret) -> Result<(), KeyringError>;

    /// Deletes a value. A missing value is not an error.
    fn remove(&self, name: &str) -> Result<(), KeyringError>;
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct KeyringError {
    /// For people; never contains a value.
    pub reason: String,
}

/// The keyring of this system: Secret Service, macOS Keychain or Windows Credential Manager.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SystemKeyring;

#[cfg(not(all(feature = "keyring", any(target_os = "linux", target_os = "macos", windows))))]
impl KeyringStore for SystemKeyring {
    fn get(&self, _name: &str) -> Result<Option<Secret>, KeyringError> {
        Err(not_built_in())
    }

    fn set(&self, _name: &str, _value: &Secret) -> Result<(), KeyringError> {
        Err(not_built_in())
    }

    fn remove(&self, _name: &str) -> Result<(), KeyringError> {
        Err(not_built_in())
    }
}

#[cfg(not(all(feature = "keyring", any(target_os = "linux", target_os = "macos", windows))))]
fn not_built_in() -> KeyringError {
    KeyringError { reason: "this program was built without keyrings".to_owned() }
}

#[cfg(all(feature = "keyring", any(target_os = "linux", target_os = "macos", windows)))]
mod native {
    use std::{sync::mpsc, thread, time::Duration};

    #[cfg(target_os = "macos")]
    use apple_native_keyring_store::keychain::Store;
    use keyring_core::{Entry, Error, api::CredentialStoreApi as _};
    #[cfg(windows)]
    use windows_native_keyring_store::Store;
    #[cfg(target_os = "linux")]
    use zbus_secret_service_keyring_store::Store;

    use super::{KeyringError, KeyringStore, SystemKeyring};
    use crate::Secret;

    const SERVICE: &str = "capdeck";
    /// Bounds the wait of a call. If the keyring first asks its owner for a password, the next call finds it
    /// unlocked.
    const READ_TIMEOUT: Duration = Duration::from_secs(5);
    /// Bounds the wait for a person to unlock the keyring during a key change.
    const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

    impl KeyringStore for SystemKeyring {
        fn get(&self, name: &str) -> Result<Option<Secret>, KeyringError> {
            let text = ask(name, READ_TIMEOUT, Entry::get_password)?;
            Ok(text.map(Secret::new))
        }

        fn set(&self, name: &str, value: &Secret) -> Result<(), KeyringError> {
            let value = value.clone();
            ask(name, WRITE_TIMEOUT, move |entry| entry.set_password(value.expose())).map(drop)
        }

        fn remove(&self, name: &str) -> Result<(), KeyringError> {
            ask(name, WRITE_TIMEOUT, Entry::delete_credential).map(drop)
        }
    }

    /// Uses its own thread: keyrings wait for people, and their client has a runtime that cannot run within ours.
    /// Returns `None` when there is no such entry.
    fn ask<T: Send + 'static>(
        name: &str,
        timeout: Duration,
        question: impl FnOnce(&Entry) -> Result<T, Error> + Send + 'static,
    ) -> Result<Option<T>, KeyringError> {
        let name = name.to_owned();
        let (sender, answer) = mpsc::sync_channel(1);
        let asking = move || {
            let entry = Store::new().and_then(|store| store.build(SERVICE, &name, None));
            let outcome = entry.and_then(|entry| question(&entry));
            // The receiver is gone after a timeout.
            drop(sender.send(outcome));
        };
        let started = thread::Builder::new().name("keyring".to_owned()).spawn(asking);
        started.map_err(|error| KeyringError { reason: error.to_string() })?;
        match answer.recv_timeout(timeout) {
            Ok(Ok(value)) => Ok(Some(value)),
            Ok(Err(Error::NoEntry)) => Ok(None),
            Ok(Err(error)) => Err(KeyringError { reason: error_kind(&error) }),
            Err(_) => Err(KeyringError { reason: "it does not answer".to_owned() }),
        }
    }

    /// Some errors contain the value that was read, so only their kind is reported.
    fn error_kind(error: &Error) -> String {
        match error {
            Error::PlatformFailure(reason) => reason.to_string(),
            Error::NoStorageAccess(reason) => format!("it is locked ({reason})"),
            Error::Ambiguous(_) => "it has more than one such entry".to_owned(),
            _ => "its entry is damaged".to_owned(),
        }
    }
}
