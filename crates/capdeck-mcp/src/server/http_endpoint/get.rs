//! GET: listens for messages without a request, and resumes a broken stream.

use std::sync::Arc;

use http::{Response, StatusCode, request::Parts};

use super::{
    HttpEndpointInner, headers,
    reply::{self, HttpErrorReply},
};
use crate::server::response_body::{EventReader, ResponseBody};

impl HttpEndpointInner {
    pub(super) fn get(&self, parts: &Parts) -> Result<Response<ResponseBody>, HttpErrorReply> {
        headers::check_accept(&parts.headers, &["text/event-stream"])?;
        let session = self.session(parts)?;
        if let Some(event_id) = headers::last_event_id(&parts.headers) {
            let (stream, position) = session.find_stream(event_id).ok_or_else(|| {
                HttpErrorReply::bad_request(
                    "the stream of this `Last-Event-ID` can no longer be read",
                )
            })?;
            return Ok(reply::events(EventReader::new(stream, position, self.options.keep_alive)));
        }
        let stream = Arc::clone(&session.unasked);
        // Two readers would each see half of the messages.
        if stream.is_attached() {
            return Err(HttpErrorReply::new(
                StatusCode::CONFLICT,
                "this session has an open GET stream already",
            ));
        }
        let position = stream.delivered();
        let mut reader = EventReader::new(stream, position, self.options.keep_alive);
        if session.revision.has_priming_event() {
            reader = reader.primed(self.options.retry);
        }
        Ok(reply::events(reader))
    }
}
