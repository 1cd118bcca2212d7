//! A small MCP server of our own, over standard input and output: toy flights, always the same.
//! The demonstration calls it, so that a real tool is called through a real protocol.

use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The version that it speaks when a client asks for one that it does not know.
const PROTOCOL: &str = "2025-11-25";
const KNOWN: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", PROTOCOL];
/// Airlines that are asked, one step each.
const AIRLINES: [(&str, &str, i64); 3] =
    [("Nordlys", "NL", 120), ("Kestrel Air", "KA", 95), ("Blue Heron", "BH", 210)];

/// Serves until the input ends. Each airline takes `pace` to answer.
pub fn serve(
    input: impl BufRead,
    output: impl Write + Send + 'static,
    pace: Duration,
) -> io::Result<()> {
    let out = Out(Arc::new(Mutex::new(output)));
    for line in input.lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id").cloned())
        else {
            // A notification, or an answer to nothing: there is nothing to do.
            continue;
        };
        let params = message["params"].clone();
        match method {
            "initialize" => out.result(&id, initialized(&params))?,
            "ping" => out.result(&id, json!({}))?,
            "tools/list" => out.result(&id, json!({"tools": tools()}))?,
            "tools/call" => {
                let out = out.clone();
                // Calls run side by side; one that outlives the input dies with the process.
                thread::spawn(move || {
                    let answer = call(&params, &out, pace);
                    let answer = answer.unwrap_or_else(|error| {
                        json!({"content": [{"type": "text", "text": error}], "isError": true})
                    });
                    out.result(&id, answer)
                });
            }
            _ => {
                let error = json!({"code": -32601, "message": format!("no method `{method}`")});
                out.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}))?;
            }
        }
    }
    Ok(())
}

fn initialized(params: &Value) -> Value {
    let wanted = params["protocolVersion"].as_str().unwrap_or_default();
    let version = if KNOWN.contains(&wanted) { wanted } else { PROTOCOL };
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "selvedge-demo", "version": env!("CARGO_PKG_VERSION")},
    })
}

fn tools() -> Value {
    let text = json!({"type": "string", "minLength": 1});
    json!([
        {
            "name": "search_flights",
            "description": "Find flights between two cities on a day.",
            "inputSchema": {
                "type": "object",
                "properties": {"from": text, "to": text, "date": text},
                "required": ["from", "to"],
            },
            "annotations": {"readOnlyHint": true},
        },
        {
            "name": "book_flight",
            "description": "Book a flight that was found.",
            "inputSchema": {
                "type": "object",
                "properties": {"flight": text, "passenger": text},
                "required": ["flight", "passenger"],
            },
            "annotations": {"idempotentHint": true},
        },
    ])
}

fn call<W: Write>(params: &Value, out: &Out<W>, pace: Duration) -> Result<Value, String> {
    let argument = |name: &str| match params["arguments"][name].as_str() {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(format!("`{name}` is missing")),
    };
    match params["name"].as_str() {
        Some("search_flights") => {
            let (from, to) = (argument("from")?, argument("to")?);
            let date = argument("date").unwrap_or_else(|_| "any day".to_owned());
            let mut flights = Vec::new();
            for (i, (airline, code, price)) in AIRLINES.iter().enumerate() {
                thread::sleep(pace);
                out.progress(params, i + 1, &format!("asked {airline}"))
                    .map_err(|e| e.to_string())?;
                // Prices differ by route, and are the same every time.
                let far = from.bytes().chain(to.bytes()).map(i64::from).sum::<i64>() % 90;
                flights.push(json!({"flight": format!("{code}{}", 100 + far), "airline": airline,
                    "from": from, "to": to, "date": date, "price": price + far, "currency": "EUR"}));
            }
            let found = json!({"flights": flights});
            Ok(json!({"content": [{"type": "text", "text": found.to_string()}],
                      "structuredContent": found}))
        }
        Some("book_flight") => {
            let (flight, passenger) = (argument("flight")?, argument("passenger")?);
            thread::sleep(pace);
            let booked = json!({"booking": format!("{flight}-{}", passenger.len()), "flight": flight,
                                "passenger": passenger, "status": "confirmed"});
            Ok(json!({"content": [{"type": "text", "text": booked.to_string()}],
                      "structuredContent": booked}))
        }
        other => Err(format!("there is no tool `{}`", other.unwrap_or_default())),
    }
}

/// Where messages go, one at a time. Clones share it.
struct Out<W>(Arc<Mutex<W>>);

impl<W> Clone for Out<W> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<W: Write> Out<W> {
    fn send(&self, message: &Value) -> io::Result<()> {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(out, "{message}")?;
        out.flush()
    }

    fn result(&self, id: &Value, result: Value) -> io::Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    /// Says how far a call has come, to a client that wants to know.
    fn progress(&self, params: &Value, step: usize, message: &str) -> io::Result<()> {
        let token = &params["_meta"]["progressToken"];
        if token.is_null() {
            return Ok(());
        }
        let params = json!({"progressToken": token, "progress": step, "total": AIRLINES.len(),
                            "message": message});
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
    }
}
