//! Any bytes as server-sent events: cut alike however they arrive, and read back as written.

use selvedge_protocol::sse::{self, Cutter, Frame};

use crate::bytes::Numbers;

/// Panics if a promise is broken.
pub(crate) fn check(bytes: &[u8]) {
    let mut numbers = Numbers::of(bytes);
    let (whole, rest) = cut(&[bytes]);
    let (pieces, rest_of_pieces) = cut(&numbers.pieces(bytes));
    assert_eq!(pieces, whole, "in pieces it is cut otherwise");
    assert_eq!(rest_of_pieces, rest, "another rest");
    let all: Vec<u8> = whole.iter().flatten().chain(&rest).copied().collect();
    assert_eq!(all, bytes, "every byte is in one event");

    let limit = 16 + numbers.below(200);
    let mut limited = Cutter::limited(limit);
    for piece in numbers.pieces(bytes) {
        if limited.push(piece, |_| ()).is_err() {
            break;
        }
        assert!(limited.rest().len() <= limit, "more is held than allowed");
    }

    for event in whole.iter().chain([&rest]) {
        let text = String::from_utf8_lossy(event);
        let _ = (sse::data(&text), sse::around(&text), sse::is_event(&text));
        let frame = Frame::read(&text);
        assert_eq!(frame.as_ref().map(|frame| &*frame.data), expected(&text).as_deref());
        let Some(frame) = frame.filter(|frame| !frame.data.contains('\n')) else { continue };
        let written = sse::write(Some(&frame.event), frame.id.as_deref(), &frame.data);
        let (again, rest) = cut(&[written.as_bytes()]);
        assert_eq!((again.len(), rest.len()), (1, 0), "it is not one event: {written:?}");
        let again = Frame::read(&String::from_utf8_lossy(&again[0]));
        assert_eq!(again, Some(frame), "{written:?}");
    }
}

/// The data of an event as the specification has it: its lines, joined. None where no field says
/// anything.
fn expected(event: &str) -> Option<String> {
    let text = event.strip_prefix('\u{feff}').unwrap_or(event);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut data = Vec::new();
    let mut says = false;
    for line in text.split('\n') {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => data.push(value.to_owned()),
            "event" => (),
            "id" if !value.contains('\0') => (),
            _ => continue,
        }
        says = true;
    }
    says.then(|| data.join("\n"))
}

fn cut(pieces: &[&[u8]]) -> (Vec<Vec<u8>>, Vec<u8>) {
    let mut cutter = Cutter::unlimited();
    let mut events = Vec::new();
    for piece in pieces {
        cutter.push(piece, |event| events.push(event.to_vec())).expect("there is no limit");
    }
    (events, cutter.rest().to_vec())
}
