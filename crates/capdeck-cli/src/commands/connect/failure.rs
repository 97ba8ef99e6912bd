//! Why an agent was not connected, with what to do about it.

use capdeck_install::ConnectError;
use serde_json::json;

use crate::errors::Failure;

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        let message = error.to_string();
        match error {
            ConnectError::NoSuchScope { .. } => Self::usage(message).hint(
                "leave --scope out, or see which files there are with: capdeck connect --list",
            ),
            ConnectError::NoProject { .. } => Self::setup("NO_PROJECT", message).hint(
                "change to the project's folder, name it with --project DIR, or use --scope user",
            ),
            ConnectError::Read { .. } | ConnectError::IsFolder { .. } => {
                Self::request("FILE_ERROR", message)
            }
            ConnectError::NotText { .. } => Self::request("FILE_UNREADABLE", message)
                .hint("save it as UTF-8 and run this again"),
            ConnectError::Unreadable { file, source } => {
                let mut failure = Self::request("FILE_UNREADABLE", message)
                    .hint("repair that place and run this again");
                failure.details =
                    Some(json!({ "file": file, "line": source.line, "column": source.column }));
                failure
            }
            ConnectError::Uneditable { .. } => Self::request("FILE_UNEDITABLE", message).hint(
                "write that part of the file in a more usual form, or change the entry by hand",
            ),
            ConnectError::LeadsOutside { .. } => Self::request("LEADS_OUTSIDE", message).hint(
                "replace the link with a file or folder of the project's own, or use --scope user",
            ),
            ConnectError::Taken { .. } => Self::request("NAME_TAKEN", message)
                .hint("choose another name with --name, or replace it with --force"),
            ConnectError::NotOurs { .. } => Self::request("NOT_OURS", message)
                .hint("take it out with --force, or leave it to whoever put it there"),
            ConnectError::ReadOnly { .. } => Self::request("FILE_ERROR", message)
                .hint("make it writable, or change it where it is made"),
            ConnectError::Changed { .. } => {
                Self::request("FILE_CHANGED", message).hint("run this again")
            }
            ConnectError::Write(_) | ConnectError::Delete { .. } => {
                Self::request("FILE_ERROR", message)
            }
        }
    }
}
