//! Talking to a server: what all commands over HTTP share.

use std::fs;

use selvedge_client::{Authorities, Client};

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
    /// Trust these authorities too, over HTTPS (PEM)
    #[arg(long, env = "SELVEDGE_CA", value_name = "FILE", hide_env_values = true, value_parser = authorities)]
    ca: Option<Authorities>,
}

impl Remote {
    /// Where the server is, without a slash at the end.
    pub(crate) fn url(&self) -> &str {
        self.url.trim_end_matches('/')
    }

    /// The server as a client sees it.
    pub(crate) fn client(&self) -> Client {
        let client = match &self.ca {
            Some(authorities) => Client::trusting(&self.url, authorities),
            None => Client::new(&self.url),
        };
        match &self.key {
            Some(key) => client.with_key(key),
            None => client,
        }
    }
}

fn authorities(path: &str) -> Result<Authorities, String> {
    let text = fs::read(path).map_err(|error| error.to_string())?;
    Authorities::from_pem(&text).map_err(|error| error.to_string())
}

/// Runs what has to wait for a server.
pub(crate) fn run<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|cause| Error::Read { name: "the network".to_owned(), cause })?;
    runtime.block_on(work)
}
