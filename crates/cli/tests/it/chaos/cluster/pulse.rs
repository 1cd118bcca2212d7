//! Whether this machine stood still: what is slow then is nobody's fault.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

const BEAT: Duration = Duration::from_millis(50);

/// Something that ought to happen every moment.
pub(super) struct Pulse(oneshot::Sender<()>, JoinHandle<Duration>);

impl Pulse {
    pub(super) fn begin() -> Self {
        let (end, mut ended) = oneshot::channel();
        let beat = async move {
            let mut longest = Duration::ZERO;
            while ended.try_recv().is_err() {
                let began = Instant::now();
                sleep(BEAT).await;
                longest = longest.max(began.elapsed().saturating_sub(BEAT));
            }
            longest
        };
        Self(end, tokio::spawn(beat))
    }

    /// The longest time for which it did not.
    pub(super) async fn end(self) -> Duration {
        let _ = self.0.send(());
        self.1.await.unwrap()
    }
}
