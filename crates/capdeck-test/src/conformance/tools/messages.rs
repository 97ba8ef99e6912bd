//! Tools that send something before they answer.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use crate::conformance::call::{FixtureCall, FixtureResult, says};

/// What the suite asks to lie between two messages.
const BETWEEN: Duration = Duration::from_millis(50);

pub(super) async fn log_thrice(call: &FixtureCall<'_>) -> FixtureResult {
    for data in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        call.log(data);
        sleep(BETWEEN).await;
    }
    Ok(says("Tool with logging executed successfully"))
}

pub(super) fn log_once(call: &FixtureCall<'_>) -> FixtureResult {
    call.log("This is for those who asked for it");
    Ok(says("Logged to whoever listens"))
}

pub(super) async fn progress(call: &FixtureCall<'_>) -> FixtureResult {
    for progress in [0, 50, 100] {
        if let Some(token) = &call.exchange.progress_token {
            let message = format!("Completed step {progress} of 100");
            let report = json!({
                "progressToken": token, "progress": progress, "total": 100, "message": message,
            });
            call.notify("notifications/progress", &report);
        }
        sleep(BETWEEN).await;
    }
    Ok(says("Tool with progress executed successfully"))
}

/// Ends its own event stream while the call goes on.
pub(super) async fn reconnection(call: &FixtureCall<'_>) -> FixtureResult {
    sleep(BETWEEN).await;
    call.exchange.peer.pause();
    sleep(BETWEEN).await;
    Ok(says("Reconnection test completed successfully"))
}
