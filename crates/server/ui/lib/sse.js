// Server-sent events from pieces of text, as the standard says.

/** Takes text as it arrives; calls `frame({ id, event, data })` for each whole one. */
export function parser(frame) {
  let rest = '';
  let began = false;
  return (text) => {
    if (!began && text) {
      began = true;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    // A line may end with \r\n, whose halves may come apart: the last \r waits.
    const held = rest.endsWith('\r');
    rest += text;
    if (held || text.includes('\r')) {
      const open = rest.endsWith('\r');
      rest = (open ? rest.slice(0, -1) : rest).replace(/\r\n?/g, '\n') + (open ? '\r' : '');
    }
    let from = 0;
    for (let end; (end = rest.indexOf('\n\n', from)) >= 0; from = end + 2) {
      if (end > from) read(rest.slice(from, end), frame);
    }
    if (from > 0) rest = rest.slice(from);
  };
}

function read(text, frame) {
  const found = { id: null, event: 'message', data: null };
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    if (colon === 0) continue;
    const name = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? '' : line.slice(colon + 1);
    if (value.charCodeAt(0) === 32) value = value.slice(1);
    if (name === 'data') found.data = found.data === null ? value : `${found.data}\n${value}`;
    else if (name === 'id') found.id = value;
    else if (name === 'event') found.event = value;
  }
  frame(found);
}
