// What was found: words that were said, with what stands around them, as one types.

import { api } from '../lib/api.js';
import { titleOf } from '../lib/format.js';
import { Loading, Problem, When } from '../lib/parts.js';
import { link, threadLink } from '../lib/router.js';
import { html, useEffect, useRef, useState } from '../lib/ui.js';
import { VirtualList } from '../lib/virtual.js';

const PAUSE = 150;

/** @param {{words: string}} props */
export function Search({ words }) {
  const [found, setFound] = useState({ for: null, items: [], next: null, error: null });
  const busy = useRef(false);
  useEffect(() => {
    const ending = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const { results, next } = await api(link('/api/search', { q: asked(words), limit: 50 }), { signal: ending.signal });
        setFound({ for: words, items: results, next, error: null });
      } catch (error) {
        if (error.name !== 'AbortError') setFound({ for: words, items: [], next: null, error });
      }
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [words]);
  const more = async () => {
    if (!found.next || busy.current) return;
    busy.current = true;
    try {
      const { results, next } = await api(link('/api/search', { q: asked(found.for), after: found.next, limit: 50 }));
      setFound((before) => (before.for === found.for ? { ...before, items: [...before.items, ...results], next } : before));
    } catch {
      // Scrolling on asks again.
    } finally {
      busy.current = false;
    }
  };
  if (found.error && found.error.status !== 400) return html`<${Problem} error=${found.error} title="The search did not work" />`;
  if (found.for === null) return html`<${Loading} what="Searching" />`;
  if (!found.items.length) return html`<div class="empty" role="status"><h2>Nothing was said about “${found.for}”</h2><p>All words must be in one message. Quote words that stand together; <code>flight*</code> finds any ending.</p></div>`;
  return html`<p class="unseen" role="status">${found.items.length}${found.next ? ' or more' : ''} found</p>
    <${VirtualList} items=${found.items} keyOf=${(one) => `${one.thread}\u0000${one.seq}`} estimate=${64} onEnd=${more} role="list" rowRole="listitem" label="What was found" class="thread-list" rowClass="thread-row"
      render=${(one) => html`<a class="found" href=${threadLink(one.thread, { e: one.seq })}>
        <span class="snippet">${one.snippet.map((piece) => (piece.hit !== undefined ? html`<mark>${piece.hit}</mark>` : piece.text))}</span>
        <span class="where"><span>${titleOf({ title: one.title, id: one.thread })}</span><span class="dim">entry ${one.seq}</span><${When} at=${Date.parse(one.at)} /></span></a>`} />`;
}

/** The last word may go on: whoever types has not ended it. */
const asked = (words) => (/[\p{L}\p{N}]$/u.test(words) && !words.includes('"') ? `${words}*` : words);
