//! Something that hardly ever happens, waited for beside something that happens all the time.
//!
//! A future that waits with others is asked again whenever any of them has news. Most of those that
//! end a stream take locks to say that there are none, for each event and each reader. One of these
//! is asked only after it has called by itself.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::future::BoxFuture;
use futures_util::task::AtomicWaker;

/// A future that is asked only when it has something to say.
pub(crate) struct Seldom<T> {
    future: BoxFuture<'static, T>,
    bell: Arc<Bell>,
    waker: Waker,
}

struct Bell {
    rung: AtomicBool,
    task: AtomicWaker,
}

impl<T> Seldom<T> {
    pub(crate) fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        // It has to be asked once, to know whom to call.
        let bell = Arc::new(Bell { rung: AtomicBool::new(true), task: AtomicWaker::new() });
        let waker = Waker::from(bell.clone());
        Self { future: Box::pin(future), bell, waker }
    }
}

impl<T> Future for Seldom<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        // In this order: a ring in between wakes the task again.
        self.bell.task.register(cx.waker());
        if !self.bell.rung.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        let Self { future, waker, .. } = &mut *self;
        future.as_mut().poll(&mut Context::from_waker(waker))
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rung.store(true, Ordering::Release);
        self.task.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use futures_util::task::noop_waker_ref;
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn it_is_asked_once_and_then_when_it_calls() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let (sender, mut receiver) = oneshot::channel::<u8>();
        let mut seldom = Seldom::new(std::future::poll_fn(move |cx| {
            count.fetch_add(1, Ordering::Relaxed);
            Pin::new(&mut receiver).poll(cx)
        }));
        let mut cx = Context::from_waker(noop_waker_ref());
        for _ in 0..3 {
            assert!(Pin::new(&mut seldom).poll(&mut cx).is_pending());
        }
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        sender.send(7).unwrap();
        assert_eq!(Pin::new(&mut seldom).poll(&mut cx), Poll::Ready(Ok(7)));
    }
}
