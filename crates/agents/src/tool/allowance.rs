//! How long a tool may take. Time in which it waits for someone's answer does not count.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// A time that stands still while answers are waited for. Clones share it.
#[derive(Clone)]
pub(crate) struct Allowance {
    limit: Duration,
    /// Questions that are waited for.
    waiting: Arc<watch::Sender<usize>>,
}

/// As long as it lives, time stands still.
pub(crate) struct Pause(Arc<watch::Sender<usize>>);

/// The time is over.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Over;

impl Allowance {
    /// So long.
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, waiting: Arc::new(watch::Sender::new(0)) }
    }

    /// Lets time stand still.
    pub(crate) fn pause(&self) -> Pause {
        self.waiting.send_modify(|count| *count += 1);
        Pause(self.waiting.clone())
    }

    /// What comes of something, if it comes in time.
    pub(crate) async fn with<T>(&self, work: impl Future<Output = T>) -> Result<T, Over> {
        let mut work = std::pin::pin!(work);
        let mut waiting = self.waiting.subscribe();
        let mut left = self.limit;
        loop {
            let stands = *waiting.borrow_and_update() > 0;
            let began = Instant::now();
            tokio::select! {
                done = &mut work => return Ok(done),
                () = tokio::time::sleep(left), if !stands => return Err(Over),
                // The sender is held by `self`.
                _ = waiting.changed() => {
                    if !stands {
                        left = left.saturating_sub(began.elapsed());
                    }
                }
            }
        }
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_time_in_which_nobody_is_waited_for_counts() {
        let allowance = Allowance::new(Duration::from_secs(10));
        let own = allowance.clone();
        let work = async move {
            tokio::time::sleep(Duration::from_secs(4)).await;
            let pause = own.pause();
            tokio::time::sleep(Duration::from_secs(1000)).await;
            drop(pause);
            tokio::time::sleep(Duration::from_secs(4)).await;
        };
        assert_eq!(allowance.with(work).await, Ok(()));
        let began = Instant::now();
        let own = allowance.clone();
        let work = async move {
            drop(own.pause());
            tokio::time::sleep(Duration::from_secs(11)).await;
        };
        assert_eq!(allowance.with(work).await, Err(Over));
        assert_eq!(began.elapsed(), Duration::from_secs(10));
    }
}
