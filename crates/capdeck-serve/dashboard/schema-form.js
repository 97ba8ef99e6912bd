// @ts-check
// A form for a tool's input schema. What a form cannot express is entered as JSON.

import { control, properties, resolve } from './schema.js';
import { pretty } from './format.js';
import { html, useEffect, useId, useRef, useState } from './view.js';

/** Deeper objects are entered as JSON. */
const MAX_DEPTH = 3;

/**
 * @param {{ schema: any, value: Record<string, any>, onChange: (value: Record<string, any>) => void }} props
 */
export function SchemaForm({ schema, value, onChange }) {
  const whole = resolve(schema ?? {}, schema ?? {});
  const members = properties(whole, schema ?? {});
  if (members.length === 0) return html`<p class="soft">This tool takes no arguments.</p>`;
  return html`<${Members} schema=${whole} root=${schema} value=${value} onChange=${onChange} depth=${0} />`;
}

/** @param {{ schema: any, root: any, value: any, onChange: (value: any) => void, depth: number }} props */
function Members({ schema, root, value, onChange, depth }) {
  const change = (/** @type {string} */ name) => (/** @type {any} */ next) => {
    const { [name]: _old, ...others } = value ?? {};
    onChange(next === undefined ? others : { ...others, [name]: next });
  };
  return html`<div class="stack">${properties(schema, root).map((member) => html`<${Member}
    key=${member.name} name=${member.name} schema=${member.schema} root=${root} required=${member.required}
    value=${value?.[member.name]} onChange=${change(member.name)} depth=${depth} />`)}</div>`;
}

/** @param {{ name: string, schema: any, root: any, required: boolean, value: any, onChange: (value: any) => void, depth: number }} props */
function Member({ name, schema, root, required, value, onChange, depth }) {
  const id = useId();
  const kind = control(schema);
  if (kind === 'group' && depth < MAX_DEPTH) {
    return html`<fieldset class="group"><legend>${name}<${Required} is=${required} /></legend><${Hint} id=${`${id}-hint`} schema=${schema} />
      <${Members} schema=${schema} root=${root} value=${value} onChange=${onChange} depth=${depth + 1} />
    </fieldset>`;
  }
  const common = { id, name, required, 'aria-describedby': `${id}-hint` };
  if (kind === 'switch') {
    return html`<div class="field"><label class="check" for=${id}><input type="checkbox" ...${{ ...common, required: false }} checked=${value ?? schema.default ?? false} onChange=${(/** @type {any} */ event) => onChange(event.target.checked)} /><span>${name}</span></label><${Hint} id=${`${id}-hint`} schema=${schema} /></div>`;
  }
  return html`<div class="field">
    <label for=${id}>${name}<${Required} is=${required} /></label>
    <${Control} kind=${kind} common=${common} schema=${schema} value=${value} onChange=${onChange} />
    <${Hint} id=${`${id}-hint`} schema=${schema} />
  </div>`;
}

/** @param {{ is: boolean }} props */
function Required({ is }) {
  return is ? null : html` <span class="soft small">optional</span>`;
}

/** @param {{ id: string, schema: any }} props */
function Hint({ id, schema }) {
  const limits = [
    schema.format && `format ${schema.format}`,
    schema.minimum !== undefined && `at least ${schema.minimum}`,
    schema.maximum !== undefined && `at most ${schema.maximum}`,
    schema.default !== undefined && `default ${JSON.stringify(schema.default)}`,
  ].filter(Boolean);
  const text = typeof schema.description === 'string' ? schema.description : '';
  return html`<span class="hint" id=${id}>${[text, limits.join(', ')].filter(Boolean).join(' · ')}</span>`;
}

/** @param {{ kind: string, common: any, schema: any, value: any, onChange: (value: any) => void }} props */
function Control({ kind, common, schema, value, onChange }) {
  const text = (/** @type {any} */ event) => onChange(event.target.value === '' && !common.required ? undefined : event.target.value);
  switch (kind) {
    case 'choice':
      return html`<${Choice} common=${common} schema=${schema} value=${value} onChange=${onChange} />`;
    case 'text':
      return html`<input ...${common} type="text" value=${value ?? ''} pattern=${undefined} maxlength=${schema.maxLength} autocomplete="off" onInput=${text} />`;
    case 'long':
      return html`<textarea ...${common} value=${value ?? ''} onInput=${text} />`;
    case 'number':
      return html`<input ...${common} type="number" step=${[schema.type].flat().includes('integer') ? 1 : 'any'} min=${schema.minimum} max=${schema.maximum} value=${value ?? ''}
        onInput=${(/** @type {any} */ event) => onChange(event.target.value === '' ? undefined : Number(event.target.value))} />`;
    case 'lines':
      return html`<textarea ...${common} placeholder="one per line" value=${(value ?? []).join('\n')}
        onInput=${(/** @type {any} */ event) => onChange(event.target.value === '' ? undefined : event.target.value.split('\n'))} />`;
    default:
      return html`<${JsonInput} common=${common} value=${value} onChange=${onChange} />`;
  }
}

/** @param {{ common: any, schema: any, value: any, onChange: (value: any) => void }} props */
function Choice({ common, schema, value, onChange }) {
  const at = schema.enum.indexOf(value);
  return html`<select ...${common} value=${at < 0 ? '' : String(at)} onChange=${(/** @type {any} */ event) => onChange(event.target.value === '' ? undefined : schema.enum[Number(event.target.value)])}>
    <option value="">${common.required ? 'choose…' : 'Not set'}</option>
    ${schema.enum.map((/** @type {any} */ choice, /** @type {number} */ index) => html`<option value=${String(index)}>${String(choice)}</option>`)}
  </select>`;
}

/**
 * A value as JSON. Invalid JSON blocks the submission of the form.
 * @param {{ common: any, value: any, onChange: (value: any) => void, rows?: number }} props
 */
export function JsonInput({ common, value, onChange, rows = 4 }) {
  const element = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const [text, setText] = useState(value === undefined ? '' : pretty(value));
  const [wrong, setWrong] = useState('');
  useEffect(() => element.current?.setCustomValidity(wrong), [wrong]);
  const edit = (/** @type {any} */ event) => {
    setText(event.target.value);
    if (event.target.value.trim() === '') {
      setWrong('');
      onChange(undefined);
      return;
    }
    try {
      onChange(JSON.parse(event.target.value));
      setWrong('');
    } catch (error) {
      setWrong(`Invalid JSON: ${/** @type {Error} */ (error).message}`);
    }
  };
  return html`<textarea ...${common} ref=${element} class="code" rows=${rows} spellcheck=${false} placeholder="JSON" value=${text} aria-invalid=${wrong !== ''} onInput=${edit} />
    ${wrong && html`<span class="wrong" role="status">${wrong}</span>`}`;
}
