// Files that go with a message: chosen, dropped or pasted; as parts of it, within bounds.

import { bytes } from '../../lib/format.js';
import { icon } from '../../lib/icons.js';
import { html, useRef, useState } from '../../lib/ui.js';

/** Of one message: files, and bytes of all of them. The server takes events of 16 MiB; base64 makes 4 of 3. */
const MOST = 10;
const BYTES = 8 << 20;

/**
 * What is attached: `{ files, problem, add(list), remove(file), clear() }`; a file is `{ name, type, size, url }`
 * with its content in the URL.
 */
export function useFiles() {
  const [files, setFiles] = useState([]);
  const [problem, setProblem] = useState(null);
  const known = useRef([]);
  const set = (list) => {
    known.current = list;
    setFiles(list);
  };
  const add = async (list) => {
    setProblem(null);
    for (const file of list) {
      const before = known.current;
      const sum = before.reduce((all, one) => all + one.size, file.size);
      if (before.length === MOST) return setProblem(`A message takes ${MOST} files. ${file.name} is left out.`);
      if (sum > BYTES) return setProblem(`A message takes ${bytes(BYTES)} of files. ${file.name} (${bytes(file.size)}) is left out.`);
      try {
        const url = await read(file);
        set([...known.current, { name: file.name, type: file.type || 'application/octet-stream', size: file.size, url }]);
      } catch {
        setProblem(`${file.name} could not be read.`);
      }
    }
    return undefined;
  };
  const clear = () => {
    setProblem(null);
    set([]);
  };
  return { files, problem, add, remove: (file) => set(known.current.filter((one) => one !== file)), clear };
}

const read = (file) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  // Text has a charset here and there; a type is enough.
  reader.onload = () => resolve(reader.result.replace(/^data:[^;,]*(;[^,]*)?,/, `data:${file.type || 'application/octet-stream'};base64,`));
  reader.onerror = () => reject(reader.error);
  reader.readAsDataURL(file);
});

/** What a message holds, as the API takes it: text, or parts where files go with it. */
export function contentOf(text, files) {
  if (!files.length) return text;
  const parts = files.map(({ name, type, url }) => ({ type: 'file', mediaType: type, filename: name, url }));
  return text.trim() ? [{ type: 'text', text }, ...parts] : parts;
}

/** The files, each of which can be left out again. */
export function Files({ files, remove }) {
  if (!files.length) return null;
  return html`<ul class="files" aria-label="Attached">${files.map((file) => html`<li key=${file.url}>
    ${/^image\/(png|jpe?g|gif|webp|avif)$/.test(file.type) ? html`<img src=${file.url} alt="" />` : icon('file', 14)}
    <span class="name">${file.name}</span><span class="dim">${bytes(file.size)}</span>
    <button type="button" class="copy" aria-label=${`Leave out ${file.name}`} title="Leave it out" onClick=${() => remove(file)}>${icon('close', 12)}</button></li>`)}</ul>`;
}

/** The button that chooses some. */
export function Attach({ add }) {
  const field = useRef();
  const chosen = (event) => {
    add([...event.target.files]);
    event.target.value = '';
  };
  return html`<button type="button" class="plain attach" aria-label="Attach files" title="Attach files" onClick=${() => field.current.click()}>${icon('clip')}</button>
    <input type="file" multiple hidden ref=${field} aria-label="Files" onChange=${chosen} />`;
}
