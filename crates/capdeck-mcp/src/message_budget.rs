//! Bounds the bytes of large messages that the process holds at once.
//!
//! A message that becomes large reserves room for the longest one at once: a reader never holds a part of the room
//! while it waits for more, so the readers of several messages cannot block each other. A complete message gives back
//! what it does not need, and keeps the rest until the request that it answers has ended.

use std::{
    cell::RefCell,
    pin::pin,
    sync::{Arc, LazyLock},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::MAX_MESSAGE_BYTES;

/// Shorter messages need no room.
pub(crate) const LARGE_MESSAGE_BYTES: usize = 1024 * 1024;

/// A message exists several times on its way through the host, so this is well below the memory of a small machine.
const PROCESS_BUDGET_BYTES: usize = 3 * MAX_MESSAGE_BYTES;

/// A peer that stops in the middle of a message must not hold up the others.
const STALL_TIMEOUT: Duration = Duration::from_secs(5);

static PROCESS_BUDGET: LazyLock<MessageBudget> =
    LazyLock::new(|| MessageBudget::new(PROCESS_BUDGET_BYTES));

tokio::task_local! {
    static ANSWER_ROOM: RefCell<AnswerRoom>;
}

/// The room of the last large answer that the request of a task received, and its waits for others.
#[derive(Debug, Default)]
struct AnswerRoom {
    room: Option<MessageRoom>,
    waits: usize,
}

/// One wait of the running request for an answer. A request that waits keeps no room, which the answer may need.
pub(crate) struct AnswerWait(());

/// Cheap to clone; clones share the room.
#[derive(Debug, Clone)]
pub(crate) struct MessageBudget {
    room: Arc<Semaphore>,
    bytes: usize,
}

/// Room for one message, until it is dropped.
#[derive(Debug)]
pub(crate) struct MessageRoom(OwnedSemaphorePermit);

impl MessageBudget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { room: Arc::new(Semaphore::new(bytes)), bytes }
    }

    /// Returns the budget that all connections share.
    pub(crate) fn of_process() -> Self {
        PROCESS_BUDGET.clone()
    }
}

/// The room of the message that one connection reads.
#[derive(Debug)]
pub(crate) struct RoomReservation {
    budget: MessageBudget,
    /// The longest message of the connection, which also fits into the budget.
    limit: usize,
    room: Option<MessageRoom>,
}

impl RoomReservation {
    pub(crate) fn new(budget: MessageBudget, limit: usize) -> Self {
        let limit = limit.min(budget.bytes);
        Self { budget, limit, room: None }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Waits for room if the message has become large. Cancel-safe.
    pub(crate) async fn admit(&mut self, length: usize) {
        if length <= LARGE_MESSAGE_BYTES || self.room.is_some() {
            return;
        }
        let bytes = u32::try_from(self.limit).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        let room = Arc::clone(&self.budget.room).acquire_many_owned(bytes).await;
        self.room = room.ok().map(MessageRoom);
    }

    /// Waits for more of the message. Gives the room back while the peer stalls.
    pub(crate) async fn read<T>(&mut self, read: impl Future<Output = T>) -> T {
        if self.room.is_none() {
            return read.await;
        }
        let mut read = pin!(read);
        if let Ok(output) = timeout(STALL_TIMEOUT, &mut read).await {
            return output;
        }
        self.room = None;
        read.await
    }

    /// Takes the room of a complete message of this length.
    pub(crate) fn finish(&mut self, length: usize) -> Option<MessageRoom> {
        let MessageRoom(mut room) = self.room.take()?;
        let surplus = room.num_permits().saturating_sub(length);
        drop(room.split(surplus));
        Some(MessageRoom(room))
    }
}

/// Runs the work for one request. It keeps the room of a large answer until it ends.
pub(crate) async fn keep_answer_room<Work: Future>(work: Work) -> Work::Output {
    ANSWER_ROOM.scope(RefCell::default(), work).await
}

impl AnswerWait {
    pub(crate) fn start() -> Self {
        change_answer_room(|kept| {
            kept.room = None;
            kept.waits += 1;
        });
        Self(())
    }

    /// Keeps the room of the answer, unless the request waits for another one.
    pub(crate) fn finish(self, room: Option<MessageRoom>) {
        change_answer_room(|kept| kept.room = room.filter(|_| kept.waits == 1));
    }
}

impl Drop for AnswerWait {
    fn drop(&mut self) {
        change_answer_room(|kept| kept.waits = kept.waits.saturating_sub(1));
    }
}

/// Without a running request the room of an answer is free at once.
fn change_answer_room(change: impl FnOnce(&mut AnswerRoom)) {
    ANSWER_ROOM.try_with(|kept| change(&mut kept.borrow_mut())).ok();
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const LIMIT: usize = 4 * LARGE_MESSAGE_BYTES;

    #[tokio::test]
    async fn the_second_large_message_waits_until_the_first_is_dropped() {
        let budget = MessageBudget::new(LIMIT);
        let mut first = RoomReservation::new(budget.clone(), LIMIT);
        let mut second = RoomReservation::new(budget.clone(), LIMIT);
        second.admit(LARGE_MESSAGE_BYTES).now_or_never().unwrap();
        first.admit(LARGE_MESSAGE_BYTES + 1).await;
        assert!(second.admit(LARGE_MESSAGE_BYTES + 1).now_or_never().is_none());
        let room = first.finish(LARGE_MESSAGE_BYTES + 1);
        assert!(second.admit(LARGE_MESSAGE_BYTES + 1).now_or_never().is_none());
        drop(room);
        second.admit(LARGE_MESSAGE_BYTES + 1).now_or_never().unwrap();
        assert_eq!(budget.room.available_permits(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_stalls_gives_its_room_back() {
        let budget = MessageBudget::new(LIMIT);
        let mut stalled = RoomReservation::new(budget.clone(), LIMIT);
        stalled.admit(LIMIT).await;
        let reading = stalled.read(std::future::pending::<()>());
        assert!(timeout(STALL_TIMEOUT * 2, reading).await.is_err());
        RoomReservation::new(budget, LIMIT).admit(LIMIT).now_or_never().unwrap();
    }

    #[tokio::test]
    async fn a_request_keeps_the_room_of_its_last_answer_until_it_ends() {
        let budget = MessageBudget::new(LIMIT);
        let mut reservation = RoomReservation::new(budget.clone(), LIMIT);
        keep_answer_room(async {
            for _ in 0..2 {
                let wait = AnswerWait::start();
                reservation.admit(LIMIT).now_or_never().unwrap();
                wait.finish(reservation.finish(LIMIT));
                assert_eq!(budget.room.available_permits(), 0);
            }
            let (first, second) = (AnswerWait::start(), AnswerWait::start());
            reservation.admit(LIMIT).now_or_never().unwrap();
            first.finish(reservation.finish(LIMIT));
            assert_eq!(budget.room.available_permits(), LIMIT, "it waits for another answer");
            reservation.admit(LIMIT).now_or_never().unwrap();
            second.finish(reservation.finish(LIMIT));
            assert_eq!(budget.room.available_permits(), 0);
        })
        .await;
        assert_eq!(budget.room.available_permits(), LIMIT);
    }
}
