//! Readers of one view that wait for news, and are told of it together.
//!
//! An event is news for all of them. Woken by the store, a thousand would be woken by the one writer,
//! while the next append waits. So the writer calls once, and a task where streams are written wakes
//! them: in rounds, each of which is over when the last of them was asked what it wants. What comes
//! meanwhile is brought by the next, all at once: what costs is the number of writes.
//!
//! Invariant: who waits was told that there is nothing after it had said that it waits, so that no
//! news is missed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::lock;

/// So many are woken by whoever has the news.
const FEW: usize = 8;
/// How long a round may take before the next may begin, for each who was woken and at least: someone
/// may be asked much later, and the others do not wait for that.
const EACH: Duration = Duration::from_micros(20);
const ROUND: Duration = Duration::from_millis(10);

/// All who wait for news of a view, or have.
#[derive(Default)]
pub(super) struct Crowd {
    places: Mutex<Places>,
    /// Whether there is news that the crier has not told.
    rung: AtomicBool,
    crier: AtomicWaker,
}

#[derive(Default)]
struct Places {
    places: Vec<Place>,
    /// Those of readers that are gone.
    free: Vec<usize>,
    /// The round that is under way, and how many of it were not asked yet.
    round: u64,
    left: usize,
    crier: Option<AbortHandle>,
}

/// Where a reader stands.
enum Place {
    /// It does something else, or is gone.
    Away,
    Waits(Waker),
    /// It was woken in a round and was not asked since.
    Woken(u64),
}

/// A reader's ear for news.
pub(super) struct Ear {
    crowd: Arc<Crowd>,
    place: Option<usize>,
    waits: bool,
}

impl Ear {
    pub(super) fn new(crowd: Arc<Crowd>) -> Self {
        Self { crowd, place: None, waits: false }
    }

    /// Whether it waits for news.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// Waits from now on. What came before this is to be looked for afterwards.
    pub(super) fn wait(&mut self, cx: &Context<'_>) {
        self.place = Some(self.crowd.wait(self.place, cx.waker()));
        self.waits = true;
    }

    /// Waits no more: it is asked again.
    pub(super) fn asked(&mut self) {
        if let Some(place) = self.place.filter(|_| self.waits) {
            self.crowd.asked(place);
        }
        self.waits = false;
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.asked();
        if let Some(place) = self.place {
            lock(&self.crowd.places).free.push(place);
        }
    }
}

impl Crowd {
    /// Lets a reader wait at its place, or at one that it gets.
    fn wait(self: &Arc<Self>, place: Option<usize>, waker: &Waker) -> usize {
        let mut places = lock(&self.places);
        let at = place.or_else(|| places.free.pop()).unwrap_or_else(|| {
            places.places.push(Place::Away);
            places.places.len() - 1
        });
        if let Some(place) = places.places.get_mut(at) {
            *place = Place::Waits(waker.clone());
        }
        if places.crier.is_none() && places.places.len() > FEW {
            // Where the readers are, so that waking them is not felt elsewhere.
            let crier = Handle::try_current().map(|here| here.spawn(cry(Arc::downgrade(self))));
            places.crier = crier.ok().map(|crier| crier.abort_handle());
        }
        at
    }

    /// A reader is asked what it wants.
    fn asked(&self, at: usize) {
        let (_before, is_last) = {
            let mut places = lock(&self.places);
            let Places { places, round, left, .. } = &mut *places;
            let before = places.get_mut(at).map(|place| std::mem::replace(place, Place::Away));
            let counts = matches!(before, Some(Place::Woken(of)) if of == *round);
            *left -= usize::from(counts);
            (before, counts && *left == 0)
        };
        if is_last {
            self.crier.wake();
        }
    }

    /// There is news.
    pub(super) fn ring(&self) {
        let crier = lock(&self.places).crier.is_some();
        if crier {
            self.rung.store(true, Ordering::Release);
            self.crier.wake();
        } else {
            let _ = self.wake_all();
        }
    }

    /// Wakes all who wait: a round begins. Gives how many they are.
    fn wake_all(&self) -> usize {
        let mut woken = Vec::new();
        {
            let mut places = lock(&self.places);
            let Places { places, round, left, .. } = &mut *places;
            *round += 1;
            for place in places.iter_mut().filter(|place| matches!(place, Place::Waits(_))) {
                if let Place::Waits(waker) = std::mem::replace(place, Place::Woken(*round)) {
                    woken.push(waker);
                }
            }
            *left = woken.len();
        }
        let count = woken.len();
        for waker in woken {
            waker.wake();
        }
        count
    }

    fn poll_rung(&self, cx: &Context<'_>) -> Poll<()> {
        self.crier.register(cx.waker());
        if self.rung.swap(false, Ordering::AcqRel) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Ready when all who were woken in this round were asked.
    fn poll_over(&self, cx: &Context<'_>) -> Poll<()> {
        self.crier.register(cx.waker());
        if lock(&self.places).left == 0 { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Wake for Crowd {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        if let Some(crier) = &lock(&self.places).crier {
            crier.abort();
        }
    }
}

/// Tells the crowd what there is, round after round.
async fn cry(crowd: Weak<Crowd>) {
    let poll = |ask: fn(&Crowd, &Context<'_>) -> Poll<()>| {
        let crowd = crowd.clone();
        // Without a crowd it was aborted already.
        std::future::poll_fn(move |cx| {
            crowd.upgrade().map_or(Poll::Pending, |crowd| ask(&crowd, cx))
        })
    };
    loop {
        poll(Crowd::poll_rung).await;
        let woken = crowd.upgrade().map_or(0, |crowd| crowd.wake_all());
        let patience = EACH.saturating_mul(u32::try_from(woken).unwrap_or(u32::MAX));
        let _ = timeout(patience.max(ROUND), poll(Crowd::poll_over)).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Calls(AtomicUsize);

    impl Wake for Calls {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    struct Listener {
        ear: Ear,
        calls: Arc<Calls>,
    }

    impl Listener {
        fn new(crowd: &Arc<Crowd>) -> Self {
            let mut listener = Self { ear: Ear::new(crowd.clone()), calls: Arc::default() };
            listener.wait();
            listener
        }

        fn wait(&mut self) {
            let waker = Waker::from(self.calls.clone());
            self.ear.wait(&Context::from_waker(&waker));
        }

        fn calls(&self) -> usize {
            self.calls.0.load(Ordering::Relaxed)
        }
    }

    fn listeners(crowd: &Arc<Crowd>, count: usize) -> Vec<Listener> {
        (0..count).map(|_| Listener::new(crowd)).collect()
    }

    async fn until(is_so: impl Fn() -> bool) {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[test]
    fn who_waits_is_woken_once_and_who_was_asked_is_not() {
        let crowd = Arc::new(Crowd::default());
        let mut all = listeners(&crowd, 2);
        all[1].ear.asked();
        crowd.ring();
        crowd.ring();
        assert_eq!((all[0].calls(), all[1].calls()), (1, 0));
        all[0].ear.asked();
        all[0].wait();
        crowd.ring();
        assert_eq!((all[0].calls(), all[1].calls()), (2, 0));
    }

    #[test]
    fn whoever_is_gone_leaves_their_place_and_nothing_else() {
        let crowd = Arc::new(Crowd::default());
        for _ in 0..100 {
            let calls = Listener::new(&crowd).calls.clone();
            assert_eq!(Arc::strong_count(&calls), 1);
        }
        assert_eq!(lock(&crowd.places).places.len(), 1);
    }

    #[tokio::test]
    async fn many_are_woken_by_a_task_and_not_by_whoever_has_the_news() {
        let crowd = Arc::new(Crowd::default());
        let mut all = listeners(&crowd, FEW + 1);
        crowd.ring();
        assert!(all.iter().all(|listener| listener.calls() == 0));
        until(|| all.iter().all(|listener| listener.calls() == 1)).await;
        for listener in &mut all {
            listener.ear.asked();
            listener.wait();
        }
        crowd.ring();
        until(|| all.iter().all(|listener| listener.calls() == 2)).await;
    }

    #[tokio::test]
    async fn who_is_not_asked_for_long_does_not_keep_news_from_the_others() {
        let crowd = Arc::new(Crowd::default());
        let mut all = listeners(&crowd, FEW + 2);
        for round in 1..=3 {
            crowd.ring();
            let (_silent, others) = all.split_first_mut().unwrap();
            until(|| others.iter().all(|listener| listener.calls() == round)).await;
            for listener in others {
                listener.ear.asked();
                listener.wait();
            }
        }
        crowd.ring();
        until(|| all[1..].iter().all(|listener| listener.calls() == 4)).await;
        // Asked at last, it is not taken for one of this round.
        assert_eq!(all[0].calls(), 1);
        all[0].ear.asked();
        assert_eq!(lock(&crowd.places).left, FEW + 1);
    }

    #[tokio::test]
    async fn the_task_ends_with_the_crowd() {
        let crowd = Arc::new(Crowd::default());
        let all = listeners(&crowd, FEW + 1);
        let crier = lock(&crowd.places).crier.clone().unwrap();
        drop((all, crowd));
        until(|| crier.is_finished()).await;
    }
}
