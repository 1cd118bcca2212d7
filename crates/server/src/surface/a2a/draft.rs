//! HTTP+JSON of 0.3: its SDKs speak the JSON of the 0.3 protobuf there, which is neither the JSON of
//! 0.3 nor that of 1.0. It is translated to and from that of 1.0.
//!
//! Requests may come in the plain JSON of 0.3 too.

use selvedge_protocol::json::Doc;
use serde_json::{Map, Value, json};

use super::fault::Fault;

/// A request's body as 1.0 has it.
pub(super) fn request(text: &str) -> Result<String, Fault> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    // As strict as all else here, before it is read into values.
    Doc::parse(text).map_err(|error| Fault::at("", format!("not JSON: {error}")))?;
    let mut body: Value =
        serde_json::from_str(text).map_err(|error| Fault::at("", format!("not JSON: {error}")))?;
    let Some(members) = body.as_object_mut() else {
        return Err(Fault::at("", "the body must be an object"));
    };
    let mut is_draft = false;
    if let Some(mut message) = members.remove("request").or_else(|| members.remove("message")) {
        is_draft = message.get("content").is_some();
        to_message(&mut message);
        members.insert("message".to_owned(), message);
    }
    if let Some(Value::Object(asked)) = members.get_mut("configuration") {
        if let Some(blocking) = asked.remove("blocking") {
            asked.insert("returnImmediately".to_owned(), json!(blocking != json!(true)));
        } else if is_draft {
            // What protobuf leaves out is false.
            asked.insert("returnImmediately".to_owned(), json!(true));
        }
        let push =
            asked.remove("pushNotification").or_else(|| asked.remove("pushNotificationConfig"));
        if let Some(push) = push {
            asked.insert("taskPushNotificationConfig".to_owned(), push);
        }
        // Nothing asked for is all of it.
        if asked.get("historyLength") == Some(&json!(0)) {
            asked.remove("historyLength");
        }
    }
    Ok(body.to_string())
}

fn to_message(message: &mut Value) {
    let Some(members) = message.as_object_mut() else { return };
    members.remove("kind");
    if let Some(content) = members.remove("content") {
        members.insert("parts".to_owned(), content);
    }
    if members.get("role") == Some(&json!("user")) {
        members.insert("role".to_owned(), json!("ROLE_USER"));
    }
    let parts = members.get_mut("parts").and_then(Value::as_array_mut);
    for part in parts.into_iter().flatten() {
        *part = to_part(part.take());
    }
}

fn to_part(part: Value) -> Value {
    let Value::Object(mut part) = part else { return part };
    part.remove("kind");
    if let Some(Value::Object(mut file)) = part.remove("file") {
        let mut out = Map::new();
        let bytes = file.remove("bytes");
        let twice = file.remove("fileWithBytes").map(|bytes| match unwrapped(&bytes) {
            Some(inner) => Value::String(inner),
            None => bytes,
        });
        if let Some(bytes) = bytes.or(twice) {
            out.insert("raw".to_owned(), bytes);
        }
        if let Some(uri) = file.remove("uri").or_else(|| file.remove("fileWithUri")) {
            out.insert("url".to_owned(), uri);
        }
        for (old, new) in [("mimeType", "mediaType"), ("name", "filename")] {
            if let Some(value) = file.remove(old) {
                out.insert(new.to_owned(), value);
            }
        }
        return Value::Object(out);
    }
    if let Some(Value::Object(data)) = part.get_mut("data")
        && data.len() == 1
        && let Some(inner) = data.remove("data")
    {
        part.insert("data".to_owned(), inner);
    }
    Value::Object(part)
}

/// A result or an event of 1.0 as this binding has it.
pub(super) fn response(text: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    from_value(&mut value);
    value.to_string()
}

/// Translates objects by what they have, from the outside in.
fn from_value(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(from_value),
        Value::Object(members) => {
            if let Some(update) = members.get_mut("statusUpdate") {
                let state = update["status"]["state"].as_str().unwrap_or_default();
                let last = !matches!(state, "TASK_STATE_SUBMITTED" | "TASK_STATE_WORKING");
                update["final"] = json!(last);
            }
            if members.get("state") == Some(&json!("TASK_STATE_CANCELED")) {
                members.insert("state".to_owned(), json!("TASK_STATE_CANCELLED"));
            }
            if members.contains_key("messageId")
                && let Some(parts) = members.remove("parts")
            {
                members.insert("content".to_owned(), parts);
            }
            for name in ["parts", "content"] {
                if let Some(Value::Array(parts)) = members.get_mut(name) {
                    parts.iter_mut().for_each(|part| *part = from_part(part.take()));
                }
            }
            for (name, inner) in members.iter_mut() {
                if !matches!(name.as_str(), "metadata" | "parts" | "content") {
                    from_value(inner);
                }
            }
        }
        _ => {}
    }
}

fn from_part(part: Value) -> Value {
    let Value::Object(mut part) = part else { return part };
    if let Some(data) = part.remove("data") {
        let data = if data.is_object() { data } else { json!({ "value": data }) };
        return json!({ "data": { "data": data } });
    }
    let raw =
        part.remove("raw").map(|raw| ("fileWithBytes", wrapped(raw.as_str().unwrap_or_default())));
    let url =
        part.remove("url").map(|url| ("fileWithUri", url.as_str().unwrap_or_default().to_owned()));
    match raw.or(url) {
        Some((key, content)) => {
            let mut file = json!({ key: content });
            for (new, old) in [("mediaType", "mimeType"), ("filename", "name")] {
                if let Some(value) = part.remove(new) {
                    file[old] = value;
                }
            }
            json!({ "file": file })
        }
        None => json!({ "text": part.remove("text").unwrap_or_default() }),
    }
}

/// A push notification config of 1.0 as this binding has it.
pub(super) fn config(text: &str) -> String {
    let one = |config: &Value| {
        let mut own = config.clone();
        let task = own["taskId"].take();
        let name = format!(
            "tasks/{}/pushNotificationConfigs/{}",
            task.as_str().unwrap_or_default(),
            own["id"].as_str().unwrap_or_default()
        );
        if let Some(members) = own.as_object_mut() {
            members.remove("taskId");
            if let Some(Value::Object(auth)) = members.get_mut("authentication")
                && let Some(scheme) = auth.remove("scheme")
            {
                auth.insert("schemes".to_owned(), json!([scheme]));
            }
        }
        json!({ "name": name, "pushNotificationConfig": own })
    };
    match serde_json::from_str::<Value>(text) {
        Ok(value) if value["configs"].is_array() => {
            let configs: Vec<Value> =
                value["configs"].as_array().into_iter().flatten().map(one).collect();
            json!({ "configs": configs }).to_string()
        }
        Ok(value) if value["url"].is_string() => one(&value).to_string(),
        _ => text.to_owned(),
    }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Text in base64: bytes are base64 already, and their writer encodes them once more.
fn wrapped(text: &str) -> String {
    let mut out = String::with_capacity(text.len().div_ceil(3) * 4);
    for chunk in text.as_bytes().chunks(3) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for (i, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit = DIGITS.get((bits >> shift & 63) as usize).copied().unwrap_or(b'=');
            out.push(if i <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

/// The base64 inside base64, if that is what it is.
fn unwrapped(value: &Value) -> Option<String> {
    let (mut bits, mut have, mut out) = (0u32, 0u32, String::new());
    for byte in value.as_str()?.trim_end_matches('=').bytes() {
        let byte = match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        };
        let six = u32::try_from(DIGITS.iter().position(|digit| *digit == byte)?).ok()?;
        bits = bits << 6 | six;
        have += 6;
        if have >= 8 {
            have -= 8;
            let byte = (bits >> have & 0xff) as u8;
            if !byte.is_ascii_alphanumeric() && !b"+/-_=".contains(&byte) {
                return None;
            }
            out.push(char::from(byte));
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_in_the_shapes_of_the_protobuf_and_of_its_json() {
        let new = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [
            {"text": "a"}, {"raw": "dGNr", "mediaType": "text/plain", "filename": "f"},
            {"url": "https://a.example/"}, {"data": {"a": 1}}
        ]}});
        let draft = json!({"request": {"messageId": "m", "role": "ROLE_USER", "content": [
            {"text": "a"}, {"file": {"fileWithBytes": wrapped("dGNr"), "mimeType": "text/plain", "name": "f"}},
            {"file": {"fileWithUri": "https://a.example/"}}, {"data": {"data": {"a": 1}}}
        ]}});
        let plain = json!({"message": {"kind": "message", "messageId": "m", "role": "user", "parts": [
            {"kind": "text", "text": "a"},
            {"kind": "file", "file": {"bytes": "dGNr", "mimeType": "text/plain", "name": "f"}},
            {"kind": "file", "file": {"uri": "https://a.example/"}}, {"kind": "data", "data": {"a": 1}}
        ]}});
        for old in [draft, plain] {
            let read: Value = serde_json::from_str(&request(&old.to_string()).unwrap()).unwrap();
            assert_eq!(read, new);
        }
    }

    #[test]
    fn tasks_are_told_in_the_shapes_of_the_protobuf() {
        let new = json!({"statusUpdate": {"taskId": "t", "contextId": "c", "metadata": {"parts": []},
            "status": {"state": "TASK_STATE_CANCELED", "message": {"messageId": "m", "parts": [
                {"raw": "dGNr", "mediaType": "text/plain"}]}}}});
        let told: Value = serde_json::from_str(&response(&new.to_string())).unwrap();
        assert_eq!(
            told,
            json!({"statusUpdate": {"taskId": "t", "contextId": "c", "final": true,
            "metadata": {"parts": []}, "status": {"state": "TASK_STATE_CANCELLED", "message": {
                "messageId": "m", "content": [
                    {"file": {"fileWithBytes": "ZEdOcg==", "mimeType": "text/plain"}}]}}}})
        );
        assert_eq!(unwrapped(&json!("ZEdOcg==")).as_deref(), Some("dGNr"));
    }
}
