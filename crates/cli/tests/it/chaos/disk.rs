//! A disk that is full, and one that can only be read: a clear error, nothing broken, and service
//! again as soon as there is room.
//!
//! The disks are real: a small tmpfs, and a file with ext4 that is told to give up. Both need
//! root; where they cannot be had that is said, and counted as not tried.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};

use super::{Place, Report, address, start, thread, verified};

/// What is kept free for later, by being taken first.
const BALLAST: usize = 4 << 20;

pub(super) async fn run(client: &Client, report: &mut Report) {
    let place = Place::new("full", report);
    match Disk::small(&place.path.join("disk")) {
        Ok(disk) => {
            full(&disk, client, report).await;
            if place.is_kept(report) {
                disk.copy(&place.path);
            }
        }
        Err(why) => report.tried(format!("disk full: NOT TRIED, {why}")),
    }
    place.done(report);
    let place = Place::new("read-only", report);
    match Disk::file(&place.path) {
        Ok(disk) => read_only(&disk, client, report).await,
        Err(why) => report.tried(format!("read-only disk: NOT TRIED, {why}")),
    }
    place.done(report);
}

/// A file system of its own, gone when dropped.
struct Disk {
    path: PathBuf,
    image: Option<PathBuf>,
}

impl Disk {
    fn small(path: &Path) -> Result<Self, String> {
        std::fs::create_dir_all(path).unwrap();
        let path = path.to_owned();
        command("mount", &["-t", "tmpfs", "-o", "size=24m", "tmpfs"], &path)?;
        Ok(Self { path, image: None })
    }

    fn file(folder: &Path) -> Result<Self, String> {
        let (path, image) = (folder.join("disk"), folder.join("image"));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        command("mkfs.ext4", &["-q", "-F"], &image)?;
        command("mount", &["-o", "loop", image.to_str().unwrap()], &path)?;
        Ok(Self { path, image: Some(image) })
    }

    fn db(&self) -> PathBuf {
        self.path.join("s.db")
    }

    /// Copies what is on it to a folder, as it is gone when dropped.
    fn copy(&self, folder: &Path) {
        for file in std::fs::read_dir(&self.path).unwrap().map(Result::unwrap) {
            std::fs::copy(file.path(), folder.join(file.file_name())).unwrap();
        }
    }

    fn remount(&self, options: &str) {
        command("mount", &["-o", &format!("remount,{options}")], &self.path).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if command("umount", &[], &self.path).is_err() {
            let _ = command("umount", &["-l"], &self.path);
        }
    }
}

/// Runs a command on a path; why it could not.
fn command(program: &str, args: &[&str], path: &Path) -> Result<(), String> {
    let output = Command::new(program).args(args).arg(path).output();
    let output = output.map_err(|error| format!("`{program}`: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("`{program}`: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// A writer, and what was acknowledged to it.
struct Writer<'a> {
    client: &'a Client,
    url: String,
    acknowledged: Vec<(u64, String)>,
    tried: usize,
}

impl Writer<'_> {
    /// Tries to append a new event; otherwise what the server says.
    async fn append(&mut self, bytes: usize) -> Result<(), (u16, String)> {
        self.tried += 1;
        let name = format!("e{}", self.tried);
        let event = json!({"kind": "system", "name": name, "data": "x".repeat(bytes)});
        let url = format!("{}/api/threads/t/events", self.url);
        let answer = self.client.post(url).body(event.to_string()).send().await.unwrap();
        let (status, text) = (answer.status().as_u16(), answer.text().await.unwrap());
        if status != 200 {
            return Err((status, text));
        }
        let answer: Value = serde_json::from_str(&text).unwrap();
        self.acknowledged.push((answer["first"].as_u64().unwrap(), name));
        Ok(())
    }

    /// Whether the journal has all that was acknowledged, and nothing that was refused.
    async fn check(&self, report: &mut Report, when: &str) {
        let mut found: Vec<(u64, String)> = Vec::new();
        let shown = self.get("/api/threads/t").await;
        let epoch = shown["cursor"].as_str().unwrap_or("0.0").split('.').next().unwrap().to_owned();
        let mut at = 0;
        loop {
            let path = format!("/api/threads/t/events?limit=1000&after={epoch}.{at}");
            let page = self.get(&path).await;
            let entries = page["entries"].as_array().cloned().unwrap_or_default();
            for entry in &entries {
                at += 1;
                report.hold(entry["seq"] == at, || format!("{when}: a hole before {at}"));
                if let Some(name) = entry["event"]["name"].as_str() {
                    found.push((at, name.to_owned()));
                }
            }
            if entries.is_empty() || page["head"] == at {
                break;
            }
        }
        report.hold(found == self.acknowledged, || {
            let (found, known) = (found.len(), self.acknowledged.len());
            format!("{when}: {found} events are there, {known} were acknowledged")
        });
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.client.get(format!("{}{path}", self.url)).send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert_eq!(status.as_u16(), 200, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }
}

/// Whether it is said clearly that the disk cannot be written.
fn is_clear((status, text): &(u16, String)) -> bool {
    let answer: Value = serde_json::from_str(text).unwrap_or_default();
    *status == 503 && answer["error"]["code"] == "storage"
}

async fn full(disk: &Disk, client: &Client, report: &mut Report) {
    let ballast = disk.path.join("ballast");
    std::fs::write(&ballast, vec![7; BALLAST]).unwrap();
    let server = start(&disk.db());
    thread(client, &server.url, "t").await;
    let url = server.url.clone();
    let mut writer = Writer { client, url, acknowledged: Vec::new(), tried: 0 };
    let mut refused = 0;
    // Large ones until there is no room, then small ones until there is none for them either.
    for bytes in [64 << 10, 4 << 10, 200] {
        let mut left = 3;
        while left > 0 && writer.tried < 20_000 {
            if let Err(answer) = writer.append(bytes).await {
                report.hold(is_clear(&answer), || format!("disk full: {answer:?}"));
                (refused, left) = (refused + 1, left - 1);
            }
        }
    }
    report.hold(refused > 0, || "the disk was never full".to_owned());
    writer.check(report, "disk full").await;
    let before = writer.acknowledged.len();
    std::fs::remove_file(&ballast).unwrap();
    let began = Instant::now();
    let mut last = Ok(());
    while writer.acknowledged.len() < before + 100 {
        last = writer.append(2000).await;
        // However long an append takes: what counts is whether it is still refused.
        if last.is_err() {
            if began.elapsed() > Duration::from_secs(60) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    let resumed = began.elapsed();
    report.hold(last.is_ok(), || format!("with room again: {last:?}"));
    writer.check(report, "with room again").await;
    // Copies of the file are made beside it.
    disk.remount("size=256m");
    verified(report, &["--url", &server.url]);
    server.kill();
    verified(report, &["--db", disk.db().to_str().unwrap()]);
    let server = start(&disk.db());
    writer.url.clone_from(&server.url);
    writer.check(report, "after a restart").await;
    report.tried(format!(
        "disk full: {before} events until there was no room, {refused} refused as `storage`, 100 \
         more within {} ms of room without a restart, nothing lost",
        resumed.as_millis()
    ));
    server.kill();
}

async fn read_only(disk: &Disk, client: &Client, report: &mut Report) {
    let server = start(&disk.db());
    thread(client, &server.url, "t").await;
    let url = server.url.clone();
    let mut writer = Writer { client, url, acknowledged: Vec::new(), tried: 0 };
    for _ in 0..100 {
        writer.append(2000).await.unwrap();
    }
    disk.remount("abort");
    let mut refused = 0;
    for _ in 0..10 {
        match writer.append(2000).await {
            Ok(()) => report.hold(false, || "a read-only disk takes an event".to_owned()),
            Err(answer) => {
                report.hold(is_clear(&answer), || format!("read-only disk: {answer:?}"));
                refused += 1;
            }
        }
    }
    writer.check(report, "read-only disk").await;
    server.kill();
    let (code, said) = refused_start(&disk.db());
    report.hold(code.is_some_and(|code| code != 0) && !said.contains("panicked"), || {
        format!("a start on a read-only disk: {code:?} {said}")
    });
    // As after a repair: checked, and mounted again.
    let image = disk.image.clone().unwrap();
    command("umount", &[], &disk.path).unwrap();
    let _ = command("e2fsck", &["-y"], &image);
    command("mount", &["-o", "loop", image.to_str().unwrap()], &disk.path).unwrap();
    let server = start(&disk.db());
    writer.url.clone_from(&server.url);
    writer.check(report, "mounted again").await;
    let last = writer.append(2000).await;
    report.hold(last.is_ok(), || format!("mounted again: {last:?}"));
    verified(report, &["--url", &server.url]);
    server.kill();
    verified(report, &["--db", disk.db().to_str().unwrap()]);
    let said = said.lines().next().unwrap_or("").trim().to_owned();
    report.tried(format!(
        "read-only disk: 100 events, {refused} refused as `storage` while all could be read; a \
         start says {said:?}; mounted again nothing is lost",
    ));
}

/// Starts a server that cannot start; its exit code, and what it says.
fn refused_start(db: &Path) -> (Option<i32>, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_selvedge"))
        .args(["serve", "--listen", &address(), "--db", db.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // One that does start goes on until it is ended here.
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() && began.elapsed() < Duration::from_secs(300) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    let text = [output.stderr, output.stdout].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}
