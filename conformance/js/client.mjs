// What the clients of surfaces share: saying what was seen to work, and leaving with a reason.

export const url = process.argv[2];

// Runs one check; the first that fails ends the program.
export async function check(name, run) {
  // It also keeps node alive: some clients wait for their next try with timers that do not.
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error('not done in 60 s')), 60_000);
  });
  try {
    await Promise.race([run(), late]);
  } catch (error) {
    console.error(`${name}: ${error?.stack ?? error}`);
    process.exit(1);
  }
  clearTimeout(timer);
  console.log(name);
}

// The native API, for what a client's own protocol cannot say.
export async function api(path, body) {
  const response = await fetch(url + path, body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) });
  const text = await response.text();
  return text ? JSON.parse(text) : undefined;
}

// An answer that breaks off after some bytes, in the middle of an event if it comes so: `how` is
// `error`, as of a lost connection, or `close`, as of one that was ended.
export function cut(response, bytes, how = 'error') {
  const reader = response.body.getReader();
  const body = new ReadableStream({
    async pull(to) {
      const { done, value } = await reader.read();
      if (done) return to.close();
      to.enqueue(value.subarray(0, Math.max(0, bytes)));
      bytes -= value.length;
      if (bytes > 0) return;
      await reader.cancel();
      how === 'error' ? to.error(new TypeError('network error')) : to.close();
    },
  });
  const short = new Response(body, { status: response.status, headers: response.headers });
  return Object.defineProperty(short, 'url', { value: response.url });
}
