//! Following a thread through lost connections.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::{Method, Response};
use selvedge_protocol::sse::{Cutter, Frame};

use crate::requests::of;
use crate::{Client, Error};

/// The server says something every ten seconds; silence means that the connection is gone.
const SILENCE: Duration = Duration::from_secs(30);
/// The first and the longest wait before another try.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What to follow.
#[derive(Debug, Clone, Default)]
pub struct Follow {
    /// Where to begin: a cursor, `earliest` (also if there is none) or `tail`.
    pub after: Option<String>,
    /// Further query parameters, such as `dialect` or `kinds`.
    pub query: Vec<(String, String)>,
    /// Whether to end at the live edge instead of waiting for more.
    pub until: Until,
}

/// When following ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Until {
    /// Never by itself.
    #[default]
    Forever,
    /// When everything that is there has been seen.
    CaughtUp,
}

/// A thread's frames, live. Lost connections are made again, without a gap or a duplicate.
#[derive(Debug)]
pub struct Tail {
    client: Client,
    path: String,
    follow: Follow,
    last: Option<String>,
    open: Option<Response>,
    /// What a broken connection leaves unfinished comes again after the resume.
    cutter: Cutter,
    ready: VecDeque<Frame>,
    wait: Duration,
    connections: u64,
    /// Whether the thread is gone, so that nothing more can come.
    gone: bool,
}

impl Tail {
    pub(crate) fn new(client: Client, thread: &str, follow: Follow) -> Self {
        Self {
            client,
            path: of(thread, "/stream"),
            last: follow.after.clone(),
            follow,
            open: None,
            cutter: Cutter::unlimited(),
            ready: VecDeque::new(),
            wait: FIRST_WAIT,
            connections: 0,
            gone: false,
        }
    }

    /// Where it stands: what to give as `after` to go on from here.
    pub fn cursor(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// How often the connection was made again.
    pub fn reconnects(&self) -> u64 {
        self.connections.saturating_sub(1)
    }

    /// The next frame; none at the end. Control frames (`gap`, `folded`, `caught-up`, `gone`) are passed on
    /// too; `gone` is the last.
    /// A refusal that trying again would not change is an error.
    pub async fn next(&mut self) -> Result<Option<Frame>, Error> {
        loop {
            while let Some(frame) = self.ready.pop_front() {
                if let Some(id) = &frame.id {
                    self.last = Some(id.clone());
                }
                if frame.event == "resync" {
                    self.open = None;
                    continue;
                }
                self.gone |= frame.event == "gone" && frame.id.is_none();
                if frame.event == "caught-up" && self.follow.until == Until::CaughtUp {
                    return Ok(None);
                }
                if !frame.data.is_empty() {
                    return Ok(Some(frame));
                }
            }
            match &mut self.open {
                _ if self.gone => return Ok(None),
                None => {
                    // A server that ends every answer at once is not to be asked without pause.
                    if self.connections > 0 {
                        self.pause().await;
                    }
                    self.connect().await?;
                }
                Some(response) => {
                    let piece = tokio::time::timeout(SILENCE, response.chunk()).await;
                    match piece {
                        Ok(Ok(Some(bytes))) => {
                            self.wait = FIRST_WAIT;
                            let ready = &mut self.ready;
                            let cut = self.cutter.push(&bytes, |event| {
                                ready.extend(Frame::read(&String::from_utf8_lossy(event)));
                            });
                            if cut.is_err() {
                                self.open = None;
                            }
                        }
                        _ => self.open = None,
                    }
                }
            }
        }
    }

    async fn connect(&mut self) -> Result<(), Error> {
        let mut request = self.client.request(Method::GET, &self.path).query(&self.follow.query);
        if let Some(last) = &self.last {
            request = request.query(&[("after", last)]);
        }
        match self.client.send(request).await {
            Ok(response) => {
                self.open = Some(response);
                self.cutter = Cutter::unlimited();
                self.connections += 1;
                Ok(())
            }
            Err(error) if error.is_retryable() => {
                if self.connections == 0 {
                    self.pause().await;
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    async fn pause(&mut self) {
        tokio::time::sleep(self.wait).await;
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
    }
}
