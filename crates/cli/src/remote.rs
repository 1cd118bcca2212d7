//! Talking to a server: what all commands over HTTP share.

use selvedge_client::Client;

use crate::error::Error;

/// Which server, and who asks.
#[derive(clap::Args)]
pub(crate) struct Remote {
    /// The server
    #[arg(
        long,
        env = "SELVEDGE_URL",
        default_value = "http://127.0.0.1:4180",
        value_name = "URL",
        hide_env_values = true
    )]
    url: String,
    /// The key to use
    #[arg(long, env = "SELVEDGE_KEY", value_name = "KEY", hide_env_values = true)]
    key: Option<String>,
}

impl Remote {
    /// Where the server is, without a slash at the end.
    pub(crate) fn url(&self) -> &str {
        self.url.trim_end_matches('/')
    }

    /// The server as a client sees it.
    pub(crate) fn client(&self) -> Client {
        let client = Client::new(&self.url);
        match &self.key {
            Some(key) => client.with_key(key),
            None => client,
        }
    }
}

/// Runs what has to wait for a server.
pub(crate) fn run<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|cause| Error::Read { name: "the network".to_owned(), cause })?;
    runtime.block_on(work)
}
