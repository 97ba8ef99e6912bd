//! The message queue to a client.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::event_stream::EventStream;

#[derive(Debug, Clone)]
pub(super) enum MessageOutlet {
    Lines(mpsc::Sender<Vec<u8>>),
    Events(Arc<EventStream>),
}

impl MessageOutlet {
    /// Sends a message that may be lost; a full queue drops it.
    pub(super) fn offer(&self, message: Vec<u8>) {
        let taken = match self {
            Self::Lines(lines) => lines.try_send(ended(message)).is_ok(),
            Self::Events(stream) => stream.offer(message.into()),
        };
        if !taken {
            tracing::debug!("a notification to a client that does not read was dropped");
        }
    }

    /// Ends the connection of a client that knows how to resume.
    pub(super) fn pause(&self) {
        if let Self::Events(stream) = self {
            stream.pause();
        }
    }

    /// Sends a message that must arrive; waits for space. Returns false when the client is gone.
    pub(super) async fn send(&self, message: Vec<u8>) -> bool {
        match self {
            Self::Lines(lines) => lines.send(ended(message)).await.is_ok(),
            Self::Events(stream) => stream.push(message.into()),
        }
    }
}

fn ended(mut message: Vec<u8>) -> Vec<u8> {
    message.push(b'\n');
    message
}
