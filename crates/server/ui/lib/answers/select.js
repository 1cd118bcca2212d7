// One of several options, or some of them.

import { html, useState } from '../ui.js';
import { safeImage } from '../markdown.js';

/** What an option is known by, and how it reads. */
function shown(option, n) {
  if (option === null || typeof option !== 'object') return { value: option, title: String(option), about: null, image: null, price: null };
  const value = ['id', 'value', 'name', 'label'].map((name) => option[name]).find((one) => one !== undefined && one !== null);
  const title = ['name', 'label', 'title', 'value', 'id'].map((name) => option[name]).find((one) => typeof one === 'string' || typeof one === 'number');
  const about = ['short_description', 'description', 'about', 'reviewsCount'].map((name) => option[name]).find((one) => typeof one === 'string');
  const price = typeof option.amount === 'number' || typeof option.amount === 'string' ? `${option.amount} ${option.currency ?? ''}`.trim() : null;
  return { value: value ?? option, title: String(title ?? `Option ${n + 1}`), about: about ?? null, image: safeImage(option.image_url), price };
}

export function Select({ question, submit, busy, focus }) {
  const { options, metadata } = question.event;
  const many = metadata?.multiple === true;
  const [chosen, setChosen] = useState([]);
  const list = options.map(shown);
  const pick = (n) => setChosen(many ? (chosen.includes(n) ? chosen.filter((one) => one !== n) : [...chosen, n]) : [n]);
  const done = (event) => {
    event.preventDefault();
    const values = [...chosen].sort((a, b) => a - b).map((n) => list[n].value);
    submit({ value: many ? values : values[0] });
  };
  const name = `select-${question.id}`;
  return html`<form onSubmit=${done}>
    <fieldset class="options"><legend class="unseen">${many ? 'Choose any' : 'Choose one'}</legend>
      ${list.map((one, n) => html`<label key=${n} class="option">
        <input type=${many ? 'checkbox' : 'radio'} name=${name} checked=${chosen.includes(n)} onChange=${() => pick(n)} autofocus=${focus && n === 0} />
        ${one.image && html`<img src=${one.image} alt="" />`}
        <span><span class="title">${one.title}</span>${one.about && html`<span class="about">${one.about}</span>`}</span>
        ${one.price && html`<span class="price">${one.price}</span>`}
      </label>`)}
    </fieldset>
    <div class="actions"><button type="submit" class="primary" disabled=${busy || (!many && !chosen.length)}>${many ? `Choose ${chosen.length || 'none'}` : 'Choose'}</button></div>
  </form>`;
}
