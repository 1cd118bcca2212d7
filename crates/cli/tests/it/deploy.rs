//! The committed configurations of proxies, in front of real nodes: events pass at once, what is
//! silent is kept, and a cut is resumed.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::{Client, Response};

use crate::database::database;
use crate::server::{Server, http};
use crate::{Folder, selvedge};

/// What is read of a stream in time, or else it was held back.
const AT_ONCE: Duration = Duration::from_secs(3);
/// Longer than the proxy waits for something: a node's word every 10 seconds keeps the stream.
const SILENCE: Duration = Duration::from_secs(40);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nginx,
    Caddy,
}

/// A proxy with the committed configuration, on a port of its own.
struct Proxy {
    kind: Kind,
    folder: Folder,
    child: Child,
    url: String,
}

impl Proxy {
    /// None where it is not installed.
    fn start(kind: Kind, nodes: &[&Server]) -> Option<Self> {
        let (name, program, version) = match kind {
            Kind::Nginx => ("nginx", "nginx", "-v"),
            Kind::Caddy => ("caddy", "caddy", "version"),
        };
        let there = Command::new(program).arg(version).output().is_ok();
        if !there {
            assert!(std::env::var_os("SELVEDGE_NEED_PROXIES").is_none(), "there is no {name}");
            crate::skipped(&format!("streams through {name}, which is not installed"));
            return None;
        }
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = Folder::new(&format!("deploy-{name}-{free}"));
        match kind {
            Kind::Nginx => nginx(&folder, nodes, free),
            Kind::Caddy => caddy(&folder, nodes, free),
        }
        let child = run(kind, &folder);
        let proxy = Self { kind, folder, child, url: format!("http://127.0.0.1:{free}") };
        proxy.wait();
        Some(proxy)
    }

    fn wait(&self) {
        let until = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(self.url.trim_start_matches("http://")).is_err() {
            let log = std::fs::read_to_string(self.folder.path("log")).unwrap_or_default();
            assert!(Instant::now() < until, "it does not listen: {log}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Cuts all that goes through it, and lets new ones through.
    fn cut(&mut self) {
        self.stop();
        self.child = run(self.kind, &self.folder);
        self.wait();
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(kind: Kind, folder: &Folder) -> Child {
    let log = std::fs::File::create(folder.path("log")).unwrap();
    let mut command = match kind {
        Kind::Nginx => {
            let mut command = Command::new("nginx");
            command.args(["-p", &folder.path(""), "-c", &folder.path("main.conf")]);
            command
        }
        Kind::Caddy => {
            let mut command = Command::new("caddy");
            command.args(["run", "--adapter", "caddyfile", "--config", &folder.path("Caddyfile")]);
            command.env("HOME", folder.path("")).env("XDG_DATA_HOME", folder.path("data"));
            command
        }
    };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

fn committed(name: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/");
    std::fs::read_to_string(format!("{root}{name}")).unwrap()
}

/// The text with something in another's place, which must be there.
fn with(text: &str, was: &str, is: &str) -> String {
    assert!(text.contains(was), "the configuration has no `{was}`");
    text.replace(was, is)
}

fn address(node: &Server) -> &str {
    node.url.trim_start_matches("http://")
}

/// One process, so that it ends as a whole; plain HTTP; a short silence is death.
fn nginx(folder: &Folder, nodes: &[&Server], port: u16) {
    let mut site = committed("nginx.conf");
    site = with(&site, "listen 443 ssl http2;", &format!("listen 127.0.0.1:{port};"));
    site = with(&site, "proxy_read_timeout 60s;", "proxy_read_timeout 25s;");
    site = with(&site, "/var/log/nginx/selvedge.log", &folder.path("access.log"));
    let lines = site.lines().filter(|line| !line.trim_start().starts_with("ssl_certificate"));
    site = lines.collect::<Vec<_>>().join("\n");
    for (nth, place) in ["127.0.0.1:4181", "127.0.0.1:4182", "127.0.0.1:4183"].iter().enumerate() {
        let own = nodes.get(nth).map(|node| format!("server {} ", address(node)));
        let line = format!("server {place} max_fails=1 fail_timeout=2s;");
        let node = own.map_or(String::new(), |own| format!("{own}max_fails=1 fail_timeout=2s;"));
        site = with(&site, &line, &node);
    }
    folder.file("site.conf", site.as_bytes());
    let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {};\n", folder.path(name)))
        .concat();
    let main = format!(
        "daemon off;\nmaster_process off;\npid {};\nerror_log stderr;\nevents {{}}\nhttp {{\n{paths}\
         include {};\n}}\n",
        folder.path("pid"),
        folder.path("site.conf")
    );
    folder.file("main.conf", main.as_bytes());
}

fn caddy(folder: &Folder, nodes: &[&Server], port: u16) {
    let mut site = committed("Caddyfile");
    let all: Vec<&str> = nodes.iter().map(|node| address(node)).collect();
    site = with(&site, "127.0.0.1:4181 127.0.0.1:4182 127.0.0.1:4183", &all.join(" "));
    site = with(&site, "\nthreads.example {", &format!("\nhttp://127.0.0.1:{port} {{"));
    let log = format!("log {{\n\t\toutput file {}", folder.path("access.log"));
    site = with(&site, "log {", &log);
    folder.file("Caddyfile", format!("{{\n\tadmin off\n}}\n{site}").as_bytes());
}

/// A stream, read to some words of it.
struct Stream {
    answer: Response,
    read: String,
}

impl Stream {
    async fn open(client: &Client, url: &str, key: &str, after: Option<&str>) -> Self {
        // In the query, as browsers have to send it.
        let url = format!("{url}/api/threads/t/stream?access_token={key}");
        let mut request = client.get(url);
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 200);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Self { answer, read: String::new() }
    }

    /// Reads until some words have come.
    async fn until(&mut self, words: &str, time: Duration) {
        let read = async {
            while !self.read.contains(words) {
                let piece = self.answer.chunk().await.unwrap().expect("it goes on");
                self.read.push_str(std::str::from_utf8(&piece).unwrap());
            }
        };
        let in_time = tokio::time::timeout(time, read).await;
        assert!(in_time.is_ok(), "`{words}` did not come in {time:?}: {}", self.read);
    }

    /// Reads to the cut.
    async fn read_out(&mut self) {
        while let Ok(Some(piece)) = self.answer.chunk().await {
            self.read.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }

    fn last_id(&self) -> String {
        let mut ids = self.read.lines().filter_map(|line| line.strip_prefix("id: "));
        ids.next_back().expect("an id").to_owned()
    }
}

/// Appends, again if need be: what was on its way to a node that died may have been done, so no
/// proxy sends it again.
async fn append(client: &Client, url: &str, key: &str, word: &str) {
    let url = format!("{url}/api/threads/t/events");
    for _ in 0..20 {
        let body = format!(r#"{{"kind":"message","role":"user","content":"{word}"}}"#);
        let request = client.post(&url).bearer_auth(key).header("idempotency-key", word);
        let answer = request.body(body).send().await.unwrap();
        match answer.status().as_u16() {
            200 => return,
            502..=504 => tokio::time::sleep(Duration::from_millis(100)).await,
            other => panic!("{word}: {other}"),
        }
    }
    panic!("{word} was never taken");
}

async fn make(client: &Client, url: &str, key: &str) {
    let new = client.post(format!("{url}/api/threads")).bearer_auth(key).body(r#"{"id":"t"}"#);
    assert_eq!(new.send().await.unwrap().status().as_u16(), 201);
}

fn key(place: &[&str]) -> String {
    let who = ["--tenant", "acme", "--scope", "read,write", "--name", "test"];
    let made = selvedge(&[&["keys", "add"], place, &who].concat());
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    made.stdout.trim().to_owned()
}

/// A node, and a stream through a proxy in front of it.
async fn streams(kind: Kind) {
    let folder = Folder::new(&format!("deploy-{}", kind as u8));
    let db = folder.path("s.db");
    let key = key(&["--db", &db]);
    let node = Server::start(db.as_ref());
    let Some(mut proxy) = Proxy::start(kind, &[&node]) else { return };
    let client = http();
    make(&client, &proxy.url, &key).await;
    let mut stream = Stream::open(&client, &proxy.url, &key, None).await;
    stream.until("event: caught-up", AT_ONCE).await;

    // At once: nothing else comes that would push it through.
    for word in ["first", "second"] {
        append(&client, &proxy.url, &key, word).await;
        stream.until(&format!("\"content\":\"{word}\""), AT_ONCE).await;
    }
    // Silent for longer than the proxy waits.
    tokio::time::sleep(SILENCE).await;
    append(&client, &proxy.url, &key, "late").await;
    stream.until("\"content\":\"late\"", AT_ONCE).await;

    // Cut off, it goes on where it was: nothing is missing, nothing comes twice.
    proxy.cut();
    stream.read_out().await;
    append(&client, &node.url, &key, "meanwhile").await;
    let mut again = Stream::open(&client, &proxy.url, &key, Some(&stream.last_id())).await;
    again.until("\"content\":\"meanwhile\"", AT_ONCE).await;
    append(&client, &proxy.url, &key, "live").await;
    again.until("\"content\":\"live\"", AT_ONCE).await;
    assert!(!again.read.contains("\"late\""), "{}", again.read);
    assert_eq!(again.read.matches("\"content\":").count(), 2, "{}", again.read);

    // No token is in the proxy's log, which has a stream when it is over.
    drop((stream, again));
    let until = Instant::now() + Duration::from_secs(30);
    let log = loop {
        let log = std::fs::read_to_string(proxy.folder.path("access.log")).unwrap();
        if log.contains("/api/threads/t/stream") {
            break log;
        }
        assert!(Instant::now() < until, "{log}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(!log.contains(&key), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_passes_nginx_as_it_comes_and_resumes_after_a_cut() {
    streams(Kind::Nginx).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_passes_caddy_as_it_comes_and_resumes_after_a_cut() {
    streams(Kind::Caddy).await;
}

/// Three nodes on one database behind a proxy, one of which dies while someone reads.
async fn nodes(kind: Kind) {
    let Some(url) = database() else { return };
    let key = key(&["--store", &url]);
    let node = || Server::start_with(&["--listen", "127.0.0.1:0", "--store", &url]);
    let mut all = [node(), node(), node()].map(Some);
    let there: Vec<&Server> = all.iter().flatten().collect();
    let Some(proxy) = Proxy::start(kind, &there) else { return };
    let client = http();
    make(&client, &proxy.url, &key).await;
    let page = async || {
        let url = format!("{}/api/threads/t/events?limit=1000", proxy.url);
        let answer = client.get(url).bearer_auth(&key).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 200);
        answer.text().await.unwrap()
    };
    // Whichever node writes, whoever reads at another hears of it.
    let mut before = Stream::open(&client, &proxy.url, &key, None).await;
    for i in 0..12 {
        append(&client, &proxy.url, &key, &format!("w{i}.")).await;
        before.until(&format!("\"w{i}.\""), AT_ONCE).await;
        assert!(page().await.contains(&format!("\"w{i}.\"")), "whichever node is asked");
    }
    all[1].take().map(Server::kill);
    // It may have been the one that was read from.
    let mut after = Stream::open(&client, &proxy.url, &key, Some(&before.last_id())).await;
    for i in 12..24 {
        append(&client, &proxy.url, &key, &format!("w{i}.")).await;
        after.until(&format!("\"w{i}.\""), AT_ONCE).await;
        assert!(page().await.contains(&format!("\"w{i}.\"")), "whichever node is left");
    }
    assert!(!after.read.contains("\"w11.\""), "{}", after.read);
    let all = page().await;
    for i in 0..24 {
        assert_eq!(all.matches(&format!("\"content\":\"w{i}.\"")).count(), 1, "w{i}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_nodes_behind_nginx_are_one_server_and_one_may_die() {
    nodes(Kind::Nginx).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_nodes_behind_caddy_are_one_server_and_one_may_die() {
    nodes(Kind::Caddy).await;
}

#[test]
fn the_unit_of_systemd_has_no_mistakes() {
    let folder = Folder::new("deploy-unit");
    let unit = committed("selvedge@.service");
    let unit = with(&unit, "/usr/local/bin/selvedge", env!("CARGO_BIN_EXE_selvedge"));
    let path = folder.file("selvedge@.service", unit.as_bytes());
    let Ok(run) = Command::new("systemd-analyze").args(["verify", &path]).output() else {
        return crate::skipped("the unit of systemd, which is not installed");
    };
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && !told.contains("selvedge@"), "{told}");
}

#[cfg(target_os = "linux")]
#[test]
fn systemd_is_told_when_requests_are_taken_and_when_it_ends() {
    use std::os::unix::net::UnixDatagram;

    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("notify");
    let told = UnixDatagram::bind(&place).unwrap();
    told.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let next = || {
        let mut text = [0; 64];
        let length = told.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    let db = folder.path().join("s.db");
    let args = ["--listen", "127.0.0.1:0", "--db", db.to_str().unwrap()];
    let server = Server::start_in(&args, &[("NOTIFY_SOCKET", place.to_str().unwrap())]);
    assert_eq!(next(), "READY=1");
    let address = server.url.trim_start_matches("http://");
    std::net::TcpStream::connect(address).expect("it takes requests by then");
    let process = server.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    assert_eq!(next(), "STOPPING=1");
}
