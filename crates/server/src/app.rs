//! What all handlers share.

use std::sync::Arc;

use selvedge_store::{Store, ThreadKey, ThreadRef};
use tokio::sync::watch;

use crate::Error;
use crate::view::Views;

/// How to serve.
#[derive(Debug, Clone)]
pub struct Options {
    /// The largest body taken, in bytes.
    pub body_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { body_bytes: 64 << 20 }
    }
}

/// The application: a store and its views. Clones share it.
#[derive(Clone)]
pub struct App {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    views: Views,
    options: Options,
    closing: watch::Sender<Closing>,
}

/// Whether streams are to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    NotYet,
    Now,
}

impl App {
    /// An application on a store.
    pub fn new(store: Store, options: Options) -> Self {
        let closing = watch::Sender::new(Closing::NotYet);
        Self { inner: Arc::new(Inner { store, views: Views::default(), options, closing }) }
    }

    /// Ends all open streams; each is told where it stands, to resume elsewhere or later.
    pub fn close_streams(&self) {
        self.inner.closing.send_replace(Closing::Now);
    }

    pub(crate) fn closing(&self) -> watch::Receiver<Closing> {
        self.inner.closing.subscribe()
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    pub(crate) fn views(&self) -> &Views {
        &self.inner.views
    }

    /// How it serves.
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Runs something that waits for the disk.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Store) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let store = self.inner.store.clone();
        match tokio::task::spawn_blocking(move || run(&store)).await {
            Ok(result) => result,
            Err(error) => Err(Error::new(crate::ErrorCode::Internal, error.to_string())),
        }
    }

    /// The thread, which must be there.
    pub(crate) async fn thread(&self, key: &ThreadKey) -> Result<ThreadRef, Error> {
        let wanted = key.clone();
        let found = self.blocking(move |store| Ok(store.thread(&wanted)?)).await?;
        found.ok_or_else(|| Error::no_thread(&key.id))
    }
}
