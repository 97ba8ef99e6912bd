//! A cached value that is expensive to compute.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Mutex, time::Instant};

/// Computed by at most one task at a time. Clones share the value.
pub(super) struct RecentValue<T> {
    max_age: Duration,
    latest: Arc<Mutex<Option<(Instant, T)>>>,
}

impl<T> Clone for RecentValue<T> {
    fn clone(&self) -> Self {
        Self { max_age: self.max_age, latest: Arc::clone(&self.latest) }
    }
}

impl<T: Clone + Send + 'static> RecentValue<T> {
    pub(super) fn new(max_age: Duration) -> Self {
        Self { max_age, latest: Arc::default() }
    }

    /// The value, no older than the maximum age; `None` when the computation failed.
    pub(super) async fn get(
        &self,
        find_out: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let mut latest = Arc::clone(&self.latest).lock_owned().await;
        if let Some((at, value)) = &*latest
            && at.elapsed() < self.max_age
        {
            return Some(value.clone());
        }
        // A separate task continues when the caller is gone, and holds the lock until it is done.
        let finding = tokio::spawn(async move {
            let value = find_out.await;
            *latest = Some((Instant::now(), value.clone()));
            value
        });
        finding.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::{sync::Semaphore, time::advance};

    use super::*;

    const MAX_AGE: Duration = Duration::from_secs(5);

    /// Counts the computations; each waits for a permit.
    #[derive(Clone)]
    struct Source {
        recent: RecentValue<usize>,
        begun: Arc<AtomicUsize>,
        permits: Arc<Semaphore>,
    }

    impl Source {
        fn new() -> Self {
            let (begun, permits) = (Arc::default(), Arc::new(Semaphore::new(0)));
            Self { recent: RecentValue::new(MAX_AGE), begun, permits }
        }

        async fn get(&self) -> usize {
            let (begun, permits) = (Arc::clone(&self.begun), Arc::clone(&self.permits));
            let finding = async move {
                let number = begun.fetch_add(1, Ordering::SeqCst) + 1;
                permits.acquire().await.unwrap().forget();
                number
            };
            self.recent.get(finding).await.unwrap()
        }

        fn ask(&self) -> tokio::task::JoinHandle<usize> {
            let source = self.clone();
            tokio::spawn(async move { source.get().await })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_value_is_found_out_once_for_all_who_ask_and_again_when_it_is_old() {
        let source = Source::new();
        let asking: Vec<_> = (0..20).map(|_| source.ask()).collect();
        source.permits.add_permits(1);
        for one in asking {
            assert_eq!(one.await.unwrap(), 1);
        }
        advance(MAX_AGE.saturating_sub(Duration::from_millis(1))).await;
        assert_eq!(source.get().await, 1);
        advance(Duration::from_millis(1)).await;
        source.permits.add_permits(1);
        assert_eq!(source.get().await, 2);
        assert_eq!(source.begun.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn one_who_asks_and_leaves_does_not_start_another_one() {
        let source = Source::new();
        for _ in 0..20 {
            let asking = source.ask();
            // Yield until it waits for a permit or for the lock.
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            asking.abort();
            assert!(asking.await.unwrap_err().is_cancelled());
        }
        assert_eq!(source.begun.load(Ordering::SeqCst), 1);
        source.permits.add_permits(1);
        assert_eq!(source.get().await, 1);
    }
}
