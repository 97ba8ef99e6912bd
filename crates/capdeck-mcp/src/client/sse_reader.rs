//! Reads the server-sent events of an HTTP response.

use reqwest::Response;

use super::ClientError;
use crate::{
    MAX_MESSAGE_BYTES,
    message_budget::{MessageBudget, MessageRoom, RoomReservation},
    sse::{SseEvent, SseParser},
};

pub(super) struct SseReader {
    response: Response,
    parser: SseParser,
    reservation: RoomReservation,
    room: Option<MessageRoom>,
}

impl SseReader {
    pub(super) fn new(response: Response) -> Self {
        Self {
            response,
            parser: SseParser::new(MAX_MESSAGE_BYTES),
            reservation: RoomReservation::new(MessageBudget::of_process(), MAX_MESSAGE_BYTES),
            room: None,
        }
    }

    /// Returns the next event; `None` at the end of the stream. Cancel-safe.
    pub(super) async fn next(&mut self) -> Result<Option<SseEvent>, ClientError> {
        loop {
            if let Some(event) = self.parser.pop() {
                self.room = self.reservation.finish(event.data.len());
                return Ok(Some(event));
            }
            self.reservation.admit(self.parser.unfinished_bytes()).await;
            let chunk = self.reservation.read(self.response.chunk()).await;
            let chunk = chunk.map_err(ClientError::unreachable)?;
            let Some(chunk) = chunk else { return Ok(None) };
            self.parser
                .push(&chunk)
                .map_err(|_| ClientError::TooLarge { limit: MAX_MESSAGE_BYTES })?;
        }
    }

    pub(super) fn take_room(&mut self) -> Option<MessageRoom> {
        self.room.take()
    }
}
