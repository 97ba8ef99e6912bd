//! Where messages to a client go.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::event_stream::EventStream;

/// A way to one client, bounded in what it holds for a client that does not read.
#[derive(Debug, Clone)]
pub(super) enum Outlet {
    Lines(mpsc::Sender<Vec<u8>>),
    Events(Arc<EventStream>),
}

impl Outlet {
    /// Sends what may be lost: when the queue is full it is.
    pub(super) fn offer(&self, message: Vec<u8>) {
        let taken = match self {
            Self::Lines(lines) => lines.try_send(ended(message)).is_ok(),
            Self::Events(stream) => stream.offer(message.into()),
        };
        if !taken {
            tracing::debug!("a notification to a client that does not read was dropped");
        }
    }

    /// Lets the client wait for the rest without a connection, where it knows how to come back.
    pub(super) fn pause(&self) {
        if let Self::Events(stream) = self {
            stream.pause();
        }
    }

    /// Sends what must arrive, as soon as there is room. False when the client is gone.
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
