// Splits a file into its records: the data of Server-Sent Events, the items of
// a JSON array, the lines of NDJSON, or one JSON value.

import { readFile } from 'node:fs/promises';

/** Reads JSON messages: an array, or one object. */
export async function readMessages(path) {
  const value = JSON.parse(await readFile(path, 'utf8'));
  return Array.isArray(value) ? value : [value];
}

/** Reads the streams of an SSE file as arrays of records; `[DONE]` ends one. */
export async function readStreams(path) {
  const text = await readFile(path, 'utf8');
  const streams = [[]];
  for (const data of isSse(text) ? sseData(text) : jsonData(text)) {
    if (data === '[DONE]') streams.push([]);
    else streams.at(-1).push(typeof data === 'string' ? JSON.parse(data) : data);
  }
  return streams.filter((stream) => stream.length > 0);
}

function isSse(text) {
  return /^\s*(data|event|id|retry)?:/.test(text);
}

function* sseData(text) {
  for (const block of text.replaceAll('\r\n', '\n').split('\n\n')) {
    const lines = block.split('\n').filter((line) => line.startsWith('data:'));
    if (lines.length > 0) yield lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n');
  }
}

function jsonData(text) {
  try {
    const value = JSON.parse(text);
    return Array.isArray(value) ? value : [value];
  } catch {
    return text.split('\n').filter((line) => line.trim() !== '');
  }
}
