//! A provider of one answer: a socket that says given bytes in given pieces.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use selvedge_agents::model::{
    Failure, Http, Key, Model, Provider, Request, Said, Settings, Speech, Timeouts, ToolSpec,
};
use selvedge_protocol::journal::Event;
use selvedge_protocol::json::Doc;
use selvedge_protocol::perspective::{History, View};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The key that every request carries.
pub(crate) const KEY: &str = "sk-not-to-be-told";

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As HTTP has it.
    Proper,
    /// The connection is cut.
    Cut,
    /// The connection stays, and nothing comes.
    Silence,
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: &'static str,
    pub(crate) pieces: Vec<Vec<u8>>,
    pub(crate) ending: Ending,
}

impl Answer {
    /// A stream of events, in one piece.
    pub(crate) fn stream(text: &str) -> Self {
        Self::pieces(vec![text.as_bytes().to_vec()])
    }

    pub(crate) fn pieces(pieces: Vec<Vec<u8>>) -> Self {
        let headers = "content-type: text/event-stream\r\n";
        Self { status: 200, headers, pieces, ending: Ending::Proper }
    }

    pub(crate) fn error(status: u16, headers: &'static str, body: &str) -> Self {
        Self { status, headers, pieces: vec![body.as_bytes().to_vec()], ending: Ending::Proper }
    }

    pub(crate) fn ending(self, ending: Ending) -> Self {
        Self { ending, ..self }
    }
}

/// What was asked: the head of the request and its body.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: serde_json::Value,
}

/// A server that answers one request so; its end is what was asked, told when the connection is
/// gone.
pub(crate) async fn serve(answer: Answer) -> (String, JoinHandle<Asked>) {
    let (listener, url) = listen().await;
    (url, tokio::spawn(async move { serve_one(&listener, &answer).await }))
}

/// A server that answers so, one request after the other.
pub(crate) async fn serve_all(answers: Vec<Answer>) -> (String, JoinHandle<Vec<Asked>>) {
    let (listener, url) = listen().await;
    let served = tokio::spawn(async move {
        let mut asked = Vec::new();
        for answer in &answers {
            asked.push(serve_one(&listener, answer).await);
        }
        asked
    });
    (url, served)
}

/// What a server was asked so far.
pub(crate) type Log = Arc<Mutex<Vec<Asked>>>;

/// A server that answers as a function says, many at once, until the test ends.
pub(crate) async fn serve_with(
    answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
) -> (String, Log) {
    let (listener, url) = listen().await;
    let (log, answer) = (Log::default(), Arc::new(answer));
    let asked_of = log.clone();
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let (log, answer) = (asked_of.clone(), answer.clone());
            tokio::spawn(async move {
                socket.set_nodelay(true).unwrap();
                let asked = request(&mut socket).await;
                log.lock().unwrap().push(asked.clone());
                let answer = answer(&asked);
                let _ = write(&mut socket, &answer).await;
                if answer.ending == Ending::Silence {
                    let _ = socket.read(&mut [0]).await;
                }
            });
        }
    });
    (url, log)
}

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

async fn serve_one(listener: &TcpListener, answer: &Answer) -> Asked {
    let (mut socket, _) = listener.accept().await.unwrap();
    socket.set_nodelay(true).unwrap();
    let asked = request(&mut socket).await;
    // A client that goes away amid the answer is no failure of the server's.
    let _ = write(&mut socket, answer).await;
    if answer.ending == Ending::Silence {
        let gone = socket.read(&mut [0]).await;
        assert!(matches!(gone, Ok(0) | Err(_)), "the client says more");
    }
    asked
}

async fn request(socket: &mut TcpStream) -> Asked {
    let mut bytes = Vec::new();
    let (end, length) = loop {
        assert!(socket.read_buf(&mut bytes).await.unwrap() > 0, "the request is cut");
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            break (end + 4, length.map_or(0, |n| n.parse::<usize>().unwrap()));
        }
    };
    while bytes.len() < end + length {
        assert!(socket.read_buf(&mut bytes).await.unwrap() > 0, "the request is cut");
    }
    Asked {
        head: String::from_utf8_lossy(&bytes[..end]).into_owned(),
        // A request may have no body.
        body: serde_json::from_slice(&bytes[end..]).unwrap_or_default(),
    }
}

async fn write(socket: &mut TcpStream, answer: &Answer) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 {} X\r\n{}", answer.status, answer.headers);
    let rest = "connection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    socket.write_all(format!("{head}{rest}").as_bytes()).await?;
    for piece in answer.pieces.iter().filter(|piece| !piece.is_empty()) {
        // A chunk of HTTP reaches the client as a piece of its own.
        socket.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
        socket.write_all(piece).await?;
        socket.write_all(b"\r\n").await?;
    }
    if answer.ending == Ending::Proper {
        socket.write_all(b"0\r\n\r\n").await?;
    }
    socket.flush().await
}

/// A model at a URL, with little patience.
pub(crate) fn model(provider: Provider, url: &str) -> Model {
    // Reading the system's certificates takes longer than all the rest.
    static SHARED: OnceLock<Http> = OnceLock::new();
    let http = SHARED.get_or_init(|| Http::new(Duration::from_secs(5)).unwrap());
    let patience = Duration::from_secs(20);
    Model::new(provider, "a-model", Some(url), http.clone())
        .unwrap()
        .with_key(Key::new(KEY).unwrap())
        .with_timeouts(Timeouts { first_byte: patience, idle: patience })
}

/// A thread in which somebody said something.
pub(crate) fn thread(lines: &[&str]) -> History {
    let mut history = History::new();
    for line in lines {
        let doc = Doc::parse(line).unwrap();
        history.apply(&Event::parse(doc.root()).unwrap());
    }
    history
}

pub(crate) fn hello() -> History {
    thread(&[r#"{"kind":"message","role":"user","content":"Hello"}"#])
}

/// Asks a model with nothing but a thread.
pub(crate) async fn ask(model: &Model, history: &History) -> Result<Speech, Failure> {
    ask_with(model, history, &[], &Settings::default()).await
}

pub(crate) async fn ask_with(
    model: &Model,
    history: &History,
    tools: &[ToolSpec],
    settings: &Settings,
) -> Result<Speech, Failure> {
    let (view, system) = (View::Recorder, Some("Be brief."));
    model.stream(&Request { history, view, system, tools, settings, iteration: 1, heard: 0 }).await
}

/// All that is said, and the failure that it ended with; checks that it ended once.
pub(crate) async fn all(saying: Result<Speech, Failure>) -> (Vec<Said>, Option<Failure>) {
    let mut said = Vec::new();
    let mut saying = match saying {
        Ok(saying) => saying,
        Err(failure) => return (said, Some(failure)),
    };
    let mut failure = None;
    while let Some(next) = saying.next().await {
        assert!(failure.is_none(), "nothing follows a failure");
        assert!(!matches!(said.last(), Some(Said::Done(_))), "nothing follows the end");
        match next {
            Ok(piece) => said.push(piece),
            Err(error) => failure = Some(error),
        }
    }
    let done = matches!(said.last(), Some(Said::Done(_)));
    assert!(done != failure.is_some(), "it ends once: {said:?} {failure:?}");
    assert!(saying.next().await.is_none(), "nothing follows the end");
    (said, failure)
}

/// What a provider's model says when the provider answers so.
pub(crate) async fn said(provider: Provider, answer: Answer) -> (Vec<Said>, Option<Failure>) {
    let (url, served) = serve(answer).await;
    let told = all(ask(&model(provider, &url), &hello()).await).await;
    served.await.unwrap();
    told
}

/// What is said in an answer that is whole, however its bytes are cut in two.
pub(crate) async fn said_in_any_pieces(provider: Provider, text: &str) -> Vec<Said> {
    let (whole, failure) = said(provider, Answer::stream(text)).await;
    assert_eq!(failure, None);
    for at in 1..text.len() {
        let (first, second) = text.as_bytes().split_at(at);
        let pieces = Answer::pieces(vec![first.to_vec(), second.to_vec()]);
        let (cut, failure) = said(provider, pieces).await;
        assert_eq!((cut, failure), (whole.clone(), None), "cut at {at}");
    }
    let bytes = Answer::pieces(text.bytes().map(|byte| vec![byte]).collect());
    assert_eq!(said(provider, bytes).await, (whole.clone(), None), "byte by byte");
    whole
}

/// What a call says that is written in these pieces.
pub(crate) fn call(id: &str, name: &str, pieces: &[&str]) -> Vec<Said> {
    let (owned, name) = (id.to_owned(), name.to_owned());
    let mut said = vec![Said::CallBegun { id: owned.clone(), name: name.clone() }];
    said.extend(pieces.iter().map(|piece| piece_of(id, piece)));
    said.push(Said::Call { id: owned, name, arguments: pieces.concat() });
    said
}

pub(crate) fn piece_of(id: &str, delta: &str) -> Said {
    Said::CallPiece { id: id.to_owned(), delta: delta.to_owned() }
}

pub(crate) fn text(text: &str) -> Said {
    Said::Text(text.to_owned())
}

pub(crate) fn thought(text: &str) -> Said {
    Said::Thought(text.to_owned())
}

pub(crate) fn signed(signature: &str, provider: &'static str) -> Said {
    Said::ThoughtEnd { signature: Some(signature.to_owned()), provider }
}

/// Events as a provider sends them that gives each a type.
pub(crate) fn typed(events: &[&str]) -> String {
    let event = |data: &&str| {
        let value: serde_json::Value = serde_json::from_str(data).unwrap();
        format!("event: {}\ndata: {data}\n\n", value["type"].as_str().unwrap())
    };
    events.iter().map(event).collect()
}

/// Events that are only data.
pub(crate) fn bare(events: &[&str]) -> String {
    events.iter().map(|data| format!("data: {data}\n\n")).collect()
}
