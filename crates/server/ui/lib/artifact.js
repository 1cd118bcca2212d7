// An artifact, inline: a file's preview, a record as a tree, a dataset as a table with a quick chart.

import { api, threadPath } from './api.js';
import { code } from './code.js';
import { Picture } from './content.js';
import { Dataset } from './dataset.js';
import { bytes, full } from './format.js';
import { icon } from './icons.js';
import { Json } from './json.js';
import { markdown, safeLink } from './markdown.js';
import { Copy } from './parts.js';
import { html, useEffect, useMemo, useState } from './ui.js';

const LINES = 24;

/** @param {{threadId: string, version: object, rev: number}} props a version of lib/fold/artifacts.js */
export function Artifact({ threadId, version, rev }) {
  const { artifact } = version;
  const name = artifact.name ?? artifact.id;
  const size = artifact.kind === 'dataset' ? `${full(version.rows.length)} rows` : artifact.kind === 'file' && version.text ? bytes(sizeOf(version)) : null;
  return html`<figure class="artifact" data-kind=${artifact.kind}>
    <figcaption>
      ${icon(artifact.kind)}<span class="name">${name}</span>
      <span class="dim">${[version.number > 1 || artifact.versions.length > 1 ? `version ${version.number}` : null, version.mime, size, version.complete ? null : 'writing…'].filter(Boolean).join(' · ')}</span>
      <span class="grow"></span>
      <${Copy} text=${() => textOf(version)} label="Copy its content" />
      <button type="button" class="copy" aria-label=${`Download ${name}`} title="Download" disabled=${!version.complete} onClick=${() => download(threadId, version)}>${icon('download', 14)}</button>
    </figcaption>
    ${artifact.description && html`<p class="about">${artifact.description}</p>`}
    <${Body} version=${version} rev=${rev} />
  </figure>`;
}

function Body({ version, rev }) {
  const { artifact } = version;
  if (artifact.kind === 'data') return html`<div class="pad"><${Json} value=${version.data} open=${2} /></div>`;
  if (artifact.kind === 'dataset') return html`<${Dataset} rows=${version.rows} schema=${version.schema} rev=${rev} />`;
  return html`<${File} version=${version} rev=${rev} />`;
}

function File({ version, rev }) {
  const mime = (version.mime ?? '').toLowerCase();
  const name = (version.artifact.name ?? '').toLowerCase();
  const [all, setAll] = useState(false);
  const [source, setSource] = useState(false);
  const base64 = version.encoding === 'base64';
  const link = !version.text ? safeLink(version.uri) : null;
  const isMarkdown = mime.includes('markdown') || name.endsWith('.md');
  const text = useMemo(() => (base64 ? decoded(version.text, mime, name) : version.text), [version, rev]);
  if (link) return html`<p class="pad"><a href=${link} target="_blank" rel="noopener noreferrer">${version.uri}</a></p>`;
  if (/^image\/(png|jpe?g|gif|webp|avif)$/.test(mime) && base64 && version.complete) return html`<${Blob_} text=${version.text} mime=${mime} alt=${version.artifact.name ?? 'image'} base64 />`;
  // An SVG as an image runs nothing and asks for nothing.
  if (mime === 'image/svg+xml' && version.complete && !source) {
    return html`<${Blob_} text=${version.text} mime=${mime} alt=${version.artifact.name ?? 'drawing'} base64=${base64} /><div class="pad"><button type="button" class="plain" onClick=${() => setSource(true)}>Show the source</button></div>`;
  }
  if (text === null) return html`<p class="pad dim">${bytes(sizeOf(version))} that cannot be shown as text.</p>`;
  if (isMarkdown && !source) {
    return html`<div class="prose pad">${markdown(text)}</div><div class="pad"><button type="button" class="plain" onClick=${() => setSource(true)}>Show the source</button></div>`;
  }
  const json = version.complete && (mime.includes('json') || name.endsWith('.json')) ? parsed(text) : undefined;
  if (json !== undefined && !source) return html`<div class="pad"><${Json} value=${json} open=${2} /></div>`;
  const lines = text.split('\n');
  return html`<pre class="file" tabindex="0"><code>${code(all ? text : lines.slice(0, LINES).join('\n'), language(mime, name))}</code></pre>
    ${lines.length > LINES && html`<button type="button" class="plain more" onClick=${() => setAll(!all)}>${all ? 'Show less' : `Show all ${full(lines.length)} lines`}</button>`}`;
}

/** A language by the name's ending, else by the media type. */
const language = (mime, name) => /\.([a-z0-9]{1,8})$/.exec(name)?.[1] ?? mime;

/** An image from its bytes. */
function Blob_({ text, mime, alt, base64 }) {
  const [url, setUrl] = useState(null);
  useEffect(() => {
    let made = null;
    try {
      const data = base64 ? Uint8Array.from(atob(text.replace(/\s/g, '')), (c) => c.charCodeAt(0)) : text;
      made = URL.createObjectURL(new Blob([data], { type: mime }));
      setUrl(made);
    } catch {
      setUrl(null);
    }
    return () => made && URL.revokeObjectURL(made);
  }, [text, mime]);
  return html`<div class="pad">${url && html`<${Picture} src=${url} alt=${alt} />`}</div>`;
}

const sizeOf = (version) => (version.encoding === 'base64' ? Math.floor((version.text.length * 3) / 4) : new Blob([version.text]).size);

function decoded(text, mime, name) {
  if (!/^text\/|json|xml|yaml|csv|javascript/.test(mime) && !/\.(txt|md|csv|json|ya?ml|toml|xml|html|js|ts|py|rs|go)$/.test(name)) return null;
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(text.replace(/\s/g, '')), (c) => c.charCodeAt(0)));
  } catch {
    return text;
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const textOf = ({ artifact, data, rows, text }) => (artifact.kind === 'data' ? JSON.stringify(data, null, 2) : artifact.kind === 'dataset' ? JSON.stringify(rows, null, 2) : text);

async function download(threadId, { artifact, number }) {
  const path = threadPath(threadId, `/artifacts/${encodeURIComponent(artifact.id)}/content?version=${number}${artifact.kind === 'dataset' ? '&format=csv' : ''}`);
  const blob = await (await api(path, { raw: true })).blob();
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  const name = (artifact.name ?? artifact.id).replace(/[/\\]/g, '_');
  link.download = artifact.kind === 'dataset' ? `${name}.csv` : artifact.kind === 'data' && !name.endsWith('.json') ? `${name}.json` : name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
