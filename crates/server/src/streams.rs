//! Where streams are written: on threads of their own.
//!
//! One event can be a thousand writes. On the threads that take requests they would be in the way of
//! the next append, and each event would be written by itself; here they are not, and whoever is
//! late gets all that came meanwhile at once. So there are fewer of these threads than of cores.

use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};

/// Threads for streams, there from the first stream on.
#[derive(Default)]
pub(crate) struct Streams {
    runtime: OnceLock<Option<Runtime>>,
}

impl Streams {
    /// Runs something until it ends or the server does.
    pub(crate) fn spawn(&self, stream: impl Future<Output = ()> + Send + 'static) {
        let runtime = self.runtime.get_or_init(|| {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let mut builder = Builder::new_multi_thread();
            let builder =
                builder.worker_threads(cores.div_ceil(2)).thread_name("streams").enable_all();
            builder
                .build()
                .inspect_err(|error| tracing::warn!(%error, "no threads for streams"))
                .ok()
        });
        match runtime {
            Some(runtime) => drop(runtime.spawn(stream)),
            None => drop(tokio::spawn(stream)),
        }
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        // It would wait for what reads the disk, where nothing may wait.
        if let Some(runtime) = self.runtime.take().flatten() {
            runtime.shutdown_background();
        }
    }
}
