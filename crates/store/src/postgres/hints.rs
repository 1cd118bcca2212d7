//! Telling other nodes, and hearing them.
//!
//! A message is who tells, and threads with how far each has come: `tag num:head num:head! num`.
//! `!` says that tasks may be concerned; a thread without a head is to be looked at whatever is
//! known of it.

mod nats;
mod notify;
mod redis;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use tokio::sync::mpsc::{Sender, channel};
use tokio::task::AbortHandle;

use super::herald::Word;
use super::writer::Link;
use crate::Hints;
use crate::db::{self, Connection, params};

/// Bytes of one message: PostgreSQL takes fewer than 8000.
const MESSAGE: usize = 7500;

/// Messages that may wait for a service.
const WAITING: usize = 64;

/// What is new in a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct News {
    /// How far it has come, if that is all.
    pub(super) head: Option<u64>,
    /// Whether something may follow for those who work on tasks.
    pub(super) stirs: bool,
}

impl News {
    /// Both.
    pub(super) fn and(self, other: Self) -> Self {
        let head = self.head.zip(other.head).map(|(own, other)| own.max(other));
        Self { head, stirs: self.stirs || other.stirs }
    }
}

/// News of threads by their numbers, as messages.
pub(super) fn messages(tag: &str, news: &BTreeMap<i64, News>) -> Vec<String> {
    let mut messages = Vec::new();
    let mut text = tag.to_owned();
    for (thread, News { head, stirs }) in news {
        let at = text.len();
        let _ = write!(text, " {thread}");
        if let Some(head) = head {
            let _ = write!(text, ":{head}");
        }
        if *stirs {
            text.push('!');
        }
        if text.len() > MESSAGE {
            let last = text.split_off(at);
            messages.push(std::mem::replace(&mut text, format!("{tag}{last}")));
        }
    }
    messages.push(text);
    messages
}

/// What a message of another node says; nothing if it is one's own.
pub(super) fn news<'m>(tag: &str, message: &'m str) -> impl Iterator<Item = (i64, News)> + use<'m> {
    let mut words = message.split_ascii_whitespace();
    let is_own = words.next() == Some(tag);
    words.filter(move |_| !is_own).filter_map(|word| {
        let (word, stirs) = word.strip_suffix('!').map_or((word, false), |word| (word, true));
        let (thread, head) = match word.split_once(':') {
            Some((thread, head)) => (thread, Some(head.parse().ok()?)),
            None => (word, None),
        };
        Some((thread.parse().ok()?, News { head, stirs }))
    })
}

/// Where what other nodes tell goes.
#[derive(Clone)]
pub(super) struct Ear(pub(super) SyncSender<Word>);

impl Ear {
    /// Whether someone takes it in. What is not taken in is found by the next look.
    pub(super) fn heard(&self, message: &str) {
        let _ = self.0.try_send(Word::Heard(message.to_owned()));
    }

    /// Something may have been told that was not heard.
    pub(super) fn missed(&self) {
        let _ = self.0.try_send(Word::Missed);
    }
}

/// A way to other nodes.
pub(super) enum Wire {
    Database { channel: String, _ear: Listening },
    Service { told: Sender<String>, _ears: Vec<Listening> },
    Nothing,
}

/// Hears until it is dropped.
pub(super) struct Listening(AbortHandle);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Wire {
    pub(super) fn open(hints: &Hints, url: &str, link: &mut Link, ear: Ear) -> db::Result<Self> {
        // Stores in other schemas of the database have nodes of their own.
        let (conn, _) = link.get()?;
        let subject: String = conn.query_row(
            "SELECT 'selvedge_' || md5(coalesce(CAST(current_schema() AS text), ''))",
            [],
            |row| row.get(0),
        )?;
        Ok(match hints {
            Hints::Notify => {
                let listen = notify::listen(url.into(), subject.clone(), ear);
                Self::Database { channel: subject, _ear: spawned(listen)? }
            }
            Hints::Redis(at) => {
                let (told, telling) = channel(WAITING);
                let name = Self::subject(conn, &subject)?;
                let hear = redis::listen(at.clone(), name.clone(), ear);
                let tell = redis::publish(at.clone(), name, telling);
                Self::Service { told, _ears: vec![spawned(hear)?, spawned(tell)?] }
            }
            Hints::Nats(at) => {
                let (told, telling) = channel(WAITING);
                let name = Self::subject(conn, &subject)?;
                let speak = nats::speak(at.clone(), name, ear, telling);
                Self::Service { told, _ears: vec![spawned(speak)?] }
            }
            Hints::Poll | Hints::Never => Self::Nothing,
        })
    }

    /// The channel's name where other databases use the same service.
    fn subject(conn: &Connection, channel: &str) -> db::Result<String> {
        let database: String =
            conn.query_row("SELECT md5(CAST(current_database() AS text))", [], |row| row.get(0))?;
        Ok(format!("{channel}_{database}"))
    }

    /// Tells, or does not.
    pub(super) fn tell(&self, link: &mut Link, message: &str) -> db::Result<()> {
        match self {
            Self::Database { channel, .. } => {
                let (conn, _) = link.get()?;
                conn.query_row(
                    "SELECT pg_notify(?1, ?2) IS NULL",
                    params![channel, message],
                    |_| Ok(()),
                )
            }
            Self::Service { told, .. } => {
                // Who cannot keep up is found by those who look.
                let _ = told.try_send(message.to_owned());
                Ok(())
            }
            Self::Nothing => Ok(()),
        }
    }
}

/// Runs something beside all that blocks.
fn spawned(run: impl Future<Output = ()> + Send + 'static) -> db::Result<Listening> {
    Ok(Listening(super::client::sockets()?.spawn(run).abort_handle()))
}

/// The wait before the next try to reach someone: longer each time.
pub(super) async fn rest(tries: &mut u32) {
    let wait = std::time::Duration::from_millis(50 << (*tries).min(5));
    *tries += 1;
    tokio::time::sleep(wait).await;
}

/// A text that tasks share.
type Text = Arc<str>;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{MESSAGE, News, messages, news};

    #[test]
    fn what_is_told_is_heard_by_others_in_messages_that_fit() {
        let told: BTreeMap<i64, News> = (1..2000)
            .map(|num| {
                let head = (num % 3 > 0).then(|| num as u64 * 1_000_000_007);
                (num * 7, News { head, stirs: num % 5 == 0 })
            })
            .collect();
        let all = messages("ab12", &told);
        assert!(all.len() > 1 && all.iter().all(|message| message.len() <= MESSAGE));
        let heard: BTreeMap<i64, News> =
            all.iter().flat_map(|message| news("other", message)).collect();
        assert_eq!(heard, told);
        assert_eq!(all.iter().flat_map(|message| news("ab12", message)).count(), 0);
        assert_eq!(news("x", "y 1:2:3 nonsense -! 4:x 5").count(), 1);
    }

    #[test]
    fn of_two_news_the_later_counts_and_a_look_is_a_look() {
        let at = |head| News { head: Some(head), stirs: false };
        assert_eq!(at(3).and(at(2)), at(3));
        let look = News { head: None, stirs: true };
        assert_eq!(at(3).and(look), look);
    }
}
