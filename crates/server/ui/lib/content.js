// What a message holds besides text: parts in the shapes that protocols give them, and attachments.

import { api } from './api.js';
import { icon } from './icons.js';
import { Json } from './json.js';
import { markdown, safeImage, safeLink } from './markdown.js';
import { html, useEffect, useState } from './ui.js';

const RASTER = /^image\/(png|jpe?g|gif|webp|avif)$/i;

/**
 * The parts of a message: `{type: 'text', text}`, `{type: 'image', src, alt}`,
 * `{type: 'file', name, href, mime}` or `{type: 'json', value}`.
 */
export function partsOf(content) {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (content === null || content === undefined) return [];
  return (Array.isArray(content) ? content : [content]).map(part);
}

function part(one) {
  if (typeof one === 'string') return { type: 'text', text: one };
  if (!one || typeof one !== 'object') return { type: 'json', value: one };
  const text = typeof one.text === 'string' ? one.text : typeof one.text?.value === 'string' ? one.text.value : null;
  if (text !== null) return { type: 'text', text };
  const file = one.file && typeof one.file === 'object' ? one.file : one.source && typeof one.source === 'object' ? one.source : one;
  const mime = [one.mediaType, one.mimeType, file.mimeType, file.media_type, file.mime_type, one.media_type].find((own) => typeof own === 'string') ?? null;
  const name = [one.filename, one.name, file.name, file.filename, one.file_id].find((own) => typeof own === 'string') ?? null;
  const raw = [file.bytes, file.data, one.raw].find((own) => typeof own === 'string');
  const url = [one.image_url?.url, one.image_url, one.image, one.url, file.uri, file.url, one.uri].find((own) => typeof own === 'string');
  const inline = raw && mime && RASTER.test(mime) ? `data:${mime};base64,${raw.replace(/^data:[^,]*,/, '').replace(/\s/g, '')}` : null;
  const image = safeImage(inline) ?? safeImage(url);
  if (image) return { type: 'image', src: image, alt: name ?? 'image' };
  if (url || name || raw) return { type: 'file', name: name ?? url ?? 'file', href: safeLink(url) ?? (url?.startsWith('/api/') ? url : null), mime };
  return { type: 'json', value: one };
}

/** The parts of a message, as people read them. */
export function Parts({ content, attachments }) {
  const all = [...partsOf(content), ...(Array.isArray(attachments) ? attachments.map(part) : [])];
  return all.map((one, n) => html`<${Part} key=${n} part=${one} />`);
}

function Part({ part: one }) {
  if (one.type === 'text') return html`<div class="prose">${markdown(one.text)}</div>`;
  if (one.type === 'image') return html`<${Picture} src=${one.src} alt=${one.alt} />`;
  if (one.type === 'file') {
    const inner = html`${icon('file')}<span>${one.name}</span>${one.mime && html`<span class="dim">${one.mime}</span>`}`;
    return one.href ? html`<a class="attached" href=${one.href} target="_blank" rel="noopener noreferrer">${inner}</a>` : html`<span class="attached">${inner}</span>`;
  }
  return html`<${Json} value=${one.value} />`;
}

/** An image; one of this server is asked for with the key. */
export function Picture({ src, alt }) {
  const [shown, setShown] = useState(src.startsWith('data:') || src.startsWith('blob:') ? src : null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (!src.startsWith('/')) return undefined;
    let made = null;
    let gone = false;
    api(src, { raw: true }).then((answer) => answer.blob()).then((blob) => {
      if (gone || !RASTER.test(blob.type)) return setFailed(true);
      made = URL.createObjectURL(blob);
      return setShown(made);
    }).catch(() => setFailed(true));
    return () => {
      gone = true;
      if (made) URL.revokeObjectURL(made);
    };
  }, [src]);
  if (failed) return html`<span class="attached">${icon('file')}${alt}</span>`;
  return shown ? html`<img class="picture" src=${shown} alt=${alt} onError=${() => setFailed(true)} />` : html`<span class="picture empty-picture"></span>`;
}
