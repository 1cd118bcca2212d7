//! Envelopes that arrive: checked, decided about, and appended with that, all or none.

use std::time::Duration;

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use selvedge_agents::router::{Routing, Team as _};
use selvedge_protocol::diagnostic::{Report, Severity};
use selvedge_protocol::dialect::envelope::DIALECT;
use selvedge_protocol::dialect::envelope::route::Lineage;
use selvedge_protocol::dialect::{DecodeOptions, Decoder, Start};
use selvedge_protocol::journal::{Batch, Event, Kind};
use selvedge_protocol::json::{Doc, Node, Raw, from_utf8, quote};
use selvedge_protocol::record::Record;
use selvedge_protocol::{time, validate};
use selvedge_store::{Append, AppendError, Appended, Create, Expect, Key, ThreadRef};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::answers::{self, Sent};
use super::handshake;
use super::routing::{desk, routing};
use crate::auth::Principal;
use crate::clock::now;
use crate::extract::Payload;
use crate::ingest::Lines;
use crate::query::Query;
use crate::surface::native::events::key;
use crate::{App, Error, ErrorCode};

/// Envelopes of one request, and bytes of an id.
const MOST: usize = 100;
const ID: usize = 200;

/// `POST /envelopes`
pub(crate) async fn receive(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let (app, principal, headers) = (&app, &principal, &headers);
    let query = &Query::new(query.as_deref());
    let body: &[u8] = &body;
    let wait = answers::wait(query, headers, app.options().request_timeout)?;
    let desk_rules = app.desk().map(|desk| desk.rules().lineage);
    let lineage = match query.get("mode") {
        None => desk_rules.unwrap_or(Lineage::Parent),
        Some(name) => Lineage::named(name).ok_or_else(|| {
            Error::new(ErrorCode::BadParameter, "`mode` must be parent or mux-v1")
        })?,
    };
    let text = checked(body, lineage)?;
    let docs = documents(text)?;
    let given = query.get("thread").map(str::to_owned);
    if let [only] = &*docs
        && handshake::is_handshake(only.root())
        && given.is_none()
    {
        return Ok(handshake::answer(app));
    }
    let id = given.unwrap_or_else(|| Uuid::now_v7().to_string());
    let wanted = principal.thread(&id);
    let thread = app.find_thread(&wanted).await?;
    let mut arrival = Arrival::new(app, &id, thread, lineage).await?;
    for (i, doc) in docs.iter().enumerate() {
        let pointer = if docs.len() == 1 { String::new() } else { format!("/{i}") };
        arrival.take(app, doc.root(), &pointer)?;
    }
    let mut append = Append::new(principal.thread(&id), arrival.lines.finish());
    append.create = Create::IfMissing;
    append.key = match &*arrival.ids {
        // Its id is all the key that it needs.
        [only] => {
            let digest = Sha256::digest(body).into();
            Some(Key { text: format!("envelope/{only}"), digest })
        }
        _ => key(headers, body)?,
    };
    if let Some(pointer) = &arrival.known {
        // Only a second try is taken, which its key finds before its head is looked at.
        append.expect = Expect::Head(u64::MAX);
        let there = "an envelope with this id is in the thread already";
        let refused = |error| match error {
            AppendError::Conflict { .. } => Error::new(ErrorCode::Conflict, there).at(pointer),
            other => Error::from(other),
        };
        let appended = app.append(append).await.map_err(refused)?;
        return respond(app, principal, headers, wait, arrival.sent(appended)).await;
    }
    let appended = app.append(append).await?;
    if let [only] = &*docs
        && handshake::is_handshake(only.root())
    {
        return Ok(handshake::answer(app));
    }
    respond(app, principal, headers, wait, arrival.sent(appended)).await
}

/// What the sender wants to hear.
async fn respond(
    app: &App,
    principal: &Principal,
    headers: &HeaderMap,
    wait: Option<Duration>,
    sent: Sent,
) -> Result<Response, Error> {
    if wants(headers, "text/event-stream") {
        return answers::stream(app, principal, sent).await;
    }
    let lines = wants(headers, "application/x-ndjson");
    match wait {
        Some(wait) => answers::wait_for(app, principal, sent, wait, lines).await,
        None => accepted(app, &sent).await,
    }
}

/// What was decided, at once.
pub(super) async fn accepted(app: &App, sent: &Sent) -> Result<Response, Error> {
    let body = answers::decisions(app, sent).await?;
    let json = [(header::CONTENT_TYPE, "application/json")];
    Ok((StatusCode::ACCEPTED, json, body).into_response())
}

fn wants(headers: &HeaderMap, what: &str) -> bool {
    let accepts = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepts.into_iter().any(|accepts| accepts.contains(what))
}

/// The body's text, if it is envelopes.
fn checked(body: &[u8], lineage: Lineage) -> Result<&str, Error> {
    let text = from_utf8(body).map_err(|error| {
        let message = format!("invalid UTF-8 at byte {}", error.valid_up_to());
        Error::new(ErrorCode::BadJson, message)
    })?;
    let mut report = Report::new();
    validate::validate(&DIALECT, body, &mut report);
    let wrong = report.diagnostics().iter().filter(|one| one.severity == Severity::Error);
    for one in wrong {
        let code = match one.code {
            "json-syntax" | "empty" => ErrorCode::BadJson,
            "unknown-value" if is_intent(&one.pointer) => ErrorCode::UnknownIntent,
            _ => ErrorCode::BadEnvelope,
        };
        // The document's mux reflects on what it does not know.
        if code != ErrorCode::UnknownIntent || lineage != Lineage::MuxV1 {
            return Err(Error::new(code, one.message.clone()).at(one.pointer.clone()));
        }
    }
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Whether a pointer is that of an envelope's own intent.
fn is_intent(pointer: &str) -> bool {
    let outer = pointer.strip_suffix("/intent");
    outer.is_some_and(|outer| outer.trim_start_matches('/').bytes().all(|b| b.is_ascii_digit()))
}

/// The envelopes of a body, each by itself.
fn documents(text: &str) -> Result<Vec<Doc<'_>>, Error> {
    let bad = |error: selvedge_protocol::json::SyntaxError| {
        Error::new(ErrorCode::BadJson, format!("not JSON: {error}"))
    };
    let mut docs = Vec::new();
    if text.trim_start().starts_with('[') {
        let all = Doc::parse(text).map_err(bad)?;
        for node in all.root().children() {
            docs.push(Doc::parse(node.raw()).map_err(bad)?);
        }
    } else {
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (doc, used) = Doc::parse_prefix(rest).map_err(bad)?;
            docs.push(Doc::parse(doc.root().raw()).map_err(bad)?);
            rest = rest.get(used..).unwrap_or("").trim_start();
        }
    }
    if docs.is_empty() || docs.len() > MOST {
        let message = format!("send 1 to {MOST} envelopes at once");
        return Err(Error::new(ErrorCode::BadEnvelope, message).at(""));
    }
    Ok(docs)
}

/// An append in the making.
struct Arrival {
    thread: String,
    lineage: Lineage,
    routing: Routing,
    decoder: Box<dyn Decoder>,
    lines: Lines,
    /// Envelopes that were decided about.
    ids: Vec<String>,
    /// Where the id of one stands that is in the thread already.
    known: Option<String>,
}

impl Arrival {
    async fn new(
        app: &App,
        id: &str,
        thread: Option<ThreadRef>,
        lineage: Lineage,
    ) -> Result<Self, Error> {
        let options = DecodeOptions {
            thread_id: Some(id.to_owned()),
            start: if thread.is_some() { Start::Continue } else { Start::NewThread },
            ..DecodeOptions::default()
        };
        let routing = match &thread {
            Some(thread) => routing(app, thread).await?.0,
            None => Routing::new(),
        };
        Ok(Self {
            thread: id.to_owned(),
            lineage,
            routing,
            decoder: (DIALECT.decoder)(&options),
            lines: Lines::new(Some(id)),
            ids: Vec::new(),
            known: None,
        })
    }

    fn sent(self, appended: Appended) -> Sent {
        Sent { id: self.thread, ids: self.ids, appended, lineage: self.lineage }
    }

    /// Takes in one envelope and decides about it.
    fn take(&mut self, app: &App, envelope: Node<'_, '_>, pointer: &str) -> Result<(), Error> {
        let mut batches: Vec<Batch<'static>> = Vec::new();
        self.decoder.record(Record::alone(envelope.raw()), &mut |batch| {
            batches.push(batch.to_owned());
        });
        let (context, now) = (Raw::string(&self.thread), stamp());
        let mut message = None;
        for event in batches.iter_mut().flat_map(|batch| &mut batch.events) {
            fill(event, "contextId", &context);
            fill(event, "timestamp", &now);
            if event.kind() == Kind::Message {
                fill(event, "messageId", &Raw::string(&Uuid::now_v7().to_string()));
                message = Some(event.clone());
            }
        }
        batches.iter().for_each(|batch| {
            self.lines.batch(batch);
        });
        let mut own = Vec::new();
        if handshake::is_handshake(envelope) {
            own.extend(handshake::joined(envelope));
        } else if let Some(message) = message {
            own = self.decide(app, envelope, &message, pointer)?;
        }
        for event in &mut own {
            fill(event, "contextId", &context);
            fill(event, "timestamp", &now);
            self.routing.apply(event);
        }
        if !own.is_empty() {
            self.lines.batch(&Batch::native(own));
        }
        Ok(())
    }

    fn decide(
        &mut self,
        app: &App,
        envelope: Node<'_, '_>,
        message: &Event<'static>,
        pointer: &str,
    ) -> Result<Vec<Event<'static>>, Error> {
        let id = message.str("messageId").unwrap_or_default().into_owned();
        let at = format!("{pointer}/trace/id");
        if id.is_empty() || id.len() > ID {
            let message = format!("an id has 1 to {ID} bytes");
            return Err(Error::new(ErrorCode::BadEnvelope, message).at(at));
        }
        if self.ids.contains(&id) {
            let message = format!("another envelope of this request has the id {}", quote(&id));
            return Err(Error::new(ErrorCode::BadEnvelope, message).at(at));
        }
        let team = desk(app)?;
        if self.routing.envelope(&id).is_some() {
            self.known = Some(at);
        }
        self.routing.apply(message);
        let decided = self.routing.decide(&id, team, self.lineage, Some(envelope));
        self.ids.push(id);
        match decided.refused {
            None => Ok(decided.events),
            Some((code, reason)) => {
                let code = match code {
                    "hop_limit" => ErrorCode::HopLimit,
                    "task_limit" => ErrorCode::TaskLimit,
                    "unknown_intent" => ErrorCode::UnknownIntent,
                    _ => ErrorCode::NoRule,
                };
                Err(Error::new(code, reason).at(format!("{pointer}/intent")))
            }
        }
    }
}

fn stamp() -> Raw<'static> {
    Raw::string(&time::from_millis(now()).unwrap_or_default())
}

fn fill(event: &mut Event<'static>, name: &'static str, value: &Raw<'static>) {
    if event.get(name).is_none() {
        event.set(name, value.clone());
    }
}
