// A form from a JSON Schema, AITP's forms among them (they come as schemas). What has no field of its
// own is written as JSON.

import { html, useId, useState } from '../ui.js';

const DEPTH = 4;

export function Form({ question, submit, busy, error }) {
  const { schema } = question.event;
  const [value, setValue] = useState(() => initial(schema, 0));
  const [broken, setBroken] = useState(new Set());
  const wrong = error?.body?.error?.pointer?.startsWith('/value') ? { at: error.body.error.pointer.slice(6), message: error.message } : null;
  const mark = (path, is) => {
    const next = new Set(broken);
    if (is) next.add(path);
    else next.delete(path);
    setBroken(next);
  };
  const done = (event) => {
    event.preventDefault();
    submit({ value: cleaned(schema, value) });
  };
  const decline = question.event.inputType === 'tool-execution' || question.event.inputType === 'confirmation';
  return html`<form class="form" onSubmit=${done}>
    <${Field} schema=${schema} value=${value} onChange=${setValue} path="" wrong=${wrong} mark=${mark} required depth=${0} />
    <div class="actions"><button type="submit" class="primary" disabled=${busy || broken.size > 0}>Submit</button>
      ${decline && html`<button type="button" disabled=${busy} onClick=${() => submit({ value: false })}>Reject</button>`}</div>
  </form>`;
}

const typeOf = (schema) => (Array.isArray(schema?.type) ? schema.type.find((one) => one !== 'null') : schema?.type);
const hasFields = (schema) => typeOf(schema) === 'object' && schema.properties && typeof schema.properties === 'object';
const choices = (schema) => (Array.isArray(schema?.enum) ? schema.enum : null);

function initial(schema, depth) {
  if (schema?.default !== undefined) return schema.default;
  if (schema?.const !== undefined) return schema.const;
  if (hasFields(schema) && depth < DEPTH) {
    return Object.fromEntries(Object.entries(schema.properties).map(([name, own]) => [name, initial(own, depth + 1)]));
  }
  if (typeOf(schema) === 'boolean') return false;
  if (typeOf(schema) === 'array') return [];
  return undefined;
}

/** Without what was left empty and may be. */
function cleaned(schema, value) {
  if (!hasFields(schema) || value === null || typeof value !== 'object') return value;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const kept = Object.entries(value).map(([name, own]) => [name, cleaned(schema.properties[name], own)])
    .filter(([name, own]) => own !== undefined && (own !== '' || required.has(name)));
  return Object.fromEntries(kept);
}

function Field({ schema, name, value, onChange, path, wrong, mark, required, depth }) {
  const id = useId();
  const own = schema && typeof schema === 'object' ? schema : {};
  const title = typeof own.title === 'string' ? own.title : name;
  const about = typeof own.description === 'string' ? own.description : null;
  const said = wrong && wrong.at === path ? wrong.message : null;
  if (hasFields(own) && depth < DEPTH) {
    const needs = new Set(Array.isArray(own.required) ? own.required : []);
    const fields = Object.entries(own.properties).map(([inner, one]) => html`<${Field} key=${inner} name=${inner} schema=${one}
      value=${value?.[inner]} path=${`${path}/${inner.replace(/~/g, '~0').replace(/\//g, '~1')}`} wrong=${wrong} mark=${mark}
      required=${needs.has(inner)} depth=${depth + 1} onChange=${(next) => onChange({ ...value, [inner]: next })} />`);
    return depth === 0 ? html`<div class="fields">${about && html`<p class="about">${about}</p>`}${fields}</div>`
      : html`<fieldset class="fields"><legend>${title}</legend>${about && html`<p class="about">${about}</p>`}${fields}</fieldset>`;
  }
  const common = { id, required, 'aria-invalid': said ? 'true' : undefined, 'aria-describedby': about || said ? `${id}-about` : undefined };
  return html`<div class="field">
    ${typeOf(own) === 'boolean' ? null : html`<label for=${id}>${title ?? 'Your answer'}${required ? '' : html` <span class="optional">optional</span>`}</label>`}
    ${control(own, value, onChange, common, path, mark, title)}
    ${(about || said) && html`<p id=${`${id}-about`} class=${said ? 'wrong' : 'about'}>${said ?? about}</p>`}
  </div>`;
}

function control(schema, value, onChange, common, path, mark, title) {
  const type = typeOf(schema);
  const all = choices(schema);
  if (type === 'boolean') {
    return html`<label class="check"><input ...${{ ...common, required: undefined }} type="checkbox" checked=${value === true} onChange=${(e) => onChange(e.target.checked)} />${title ?? 'Yes'}</label>`;
  }
  if (all) {
    const at = all.findIndex((one) => one === value);
    return html`<select ...${common} value=${at < 0 ? '' : String(at)} onChange=${(e) => onChange(e.target.value === '' ? undefined : all[Number(e.target.value)])}>
      <option value="">Choose…</option>${all.map((one, n) => html`<option key=${n} value=${String(n)}>${String(one)}</option>`)}</select>`;
  }
  if (type === 'number' || type === 'integer') {
    return html`<input ...${common} type="number" inputmode="decimal" step=${type === 'integer' ? 1 : 'any'} min=${schema.minimum} max=${schema.maximum}
      value=${value ?? ''} onInput=${(e) => onChange(e.target.value === '' ? undefined : Number(e.target.value))} />`;
  }
  if (type === 'array' && choices(schema.items)) {
    const list = Array.isArray(value) ? value : [];
    return html`<div class="checks" role="group" aria-labelledby=${common.id} id=${common.id} aria-label=${title}>${choices(schema.items).map((one, n) => html`<label key=${n} class="check">
      <input type="checkbox" checked=${list.includes(one)} onChange=${(e) => onChange(e.target.checked ? [...list, one] : list.filter((own) => own !== one))} />${String(one)}</label>`)}</div>`;
  }
  if (type === 'array' && ['string', 'number', 'integer'].includes(typeOf(schema.items))) {
    const number = typeOf(schema.items) !== 'string';
    return html`<textarea ...${common} rows="3" placeholder="One a line" onInput=${(e) => onChange(e.target.value.split('\n').filter((line) => line.trim()).map((line) => (number ? Number(line) : line)))}>${(Array.isArray(value) ? value : []).join('\n')}</textarea>`;
  }
  if (type === 'string' || (type === undefined && !schema.properties && !schema.$ref && !schema.anyOf && !schema.oneOf)) {
    return textField(schema, value, onChange, common);
  }
  return html`<${Json} schema=${schema} value=${value} onChange=${onChange} common=${common} path=${path} mark=${mark} />`;
}

const KINDS = { email: 'email', uri: 'url', date: 'date', time: 'time', password: 'password', tel: 'tel', 'date-time': 'datetime-local' };

function textField(schema, value, onChange, common) {
  const long = schema.format === 'textarea' || schema.maxLength > 200;
  const bounds = { minlength: schema.minLength, maxlength: schema.maxLength };
  if (long) return html`<textarea ...${common} ...${bounds} rows="4" value=${value ?? ''} onInput=${(e) => onChange(e.target.value)}></textarea>`;
  const list = Array.isArray(schema.examples) ? schema.examples.filter((one) => typeof one === 'string') : [];
  return html`<input ...${common} ...${bounds} type=${KINDS[schema.format] ?? 'text'} value=${value ?? ''} autocomplete="off"
      list=${list.length ? `${common.id}-list` : undefined} onInput=${(e) => onChange(e.target.value)} />
    ${list.length > 0 && html`<datalist id=${`${common.id}-list`}>${list.map((one) => html`<option key=${one} value=${one}></option>`)}</datalist>`}`;
}

/** Anything else, as JSON. */
function Json({ schema, value, onChange, common, path, mark }) {
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value, null, 2));
  const [bad, setBad] = useState(false);
  const change = (next) => {
    setText(next);
    try {
      onChange(next.trim() ? JSON.parse(next) : undefined);
      setBad(false);
      mark(path, false);
    } catch {
      setBad(true);
      mark(path, true);
    }
  };
  return html`<textarea ...${common} class="mono" rows="5" spellcheck="false" aria-invalid=${bad} placeholder="JSON" value=${text} onInput=${(e) => change(e.target.value)}></textarea>
    ${bad && html`<p class="wrong">This is not JSON yet.</p>`}
    ${typeof schema.$ref === 'string' && html`<p class="about">What is asked for is described at ${schema.$ref}</p>`}`;
}
