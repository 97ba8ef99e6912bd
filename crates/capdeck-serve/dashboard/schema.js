// @ts-check
// Reads the JSON Schemas of tools for a form.

/** @typedef {Record<string, any>} Schema */

/**
 * Resolves local references and unwraps nullable types: `anyOf: [X, null]` is X.
 * @param {any} schema
 * @param {Schema} root
 * @param {number} [depth]
 * @returns {Schema}
 */
export function resolve(schema, root, depth = 0) {
  if (typeof schema !== 'object' || schema === null || depth > 8) return {};
  if (typeof schema.$ref === 'string') {
    const { $ref, ...beside } = schema;
    return { ...resolve(pointed($ref, root), root, depth + 1), ...beside };
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices)) {
    const real = choices.filter((choice) => choice?.type !== 'null');
    const { anyOf: _any, oneOf: _one, ...beside } = schema;
    if (real.length === 1) return { ...resolve(real[0], root, depth + 1), ...beside };
    if (real.length > 0 && real.every((choice) => choice?.const !== undefined)) return { ...beside, enum: real.map((choice) => choice.const) };
  }
  return schema;
}

/** @param {string} reference @param {Schema} root */
function pointed(reference, root) {
  if (!reference.startsWith('#')) return {};
  const steps = reference.slice(1).split('/').filter(Boolean).map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'));
  return steps.reduce((value, step) => (Object.hasOwn(value ?? {}, step) ? value[step] : undefined), /** @type {any} */ (root));
}

/**
 * The form control for a schema.
 * @param {Schema} schema resolved
 * @returns {'choice' | 'text' | 'long' | 'number' | 'switch' | 'lines' | 'group' | 'json'}
 */
export function control(schema) {
  const types = [schema.type].flat().filter((type) => type !== 'null');
  if (Array.isArray(schema.enum) && schema.enum.every((value) => ['string', 'number', 'boolean'].includes(typeof value))) return 'choice';
  if (types.length !== 1) return 'json';
  if (types[0] === 'string') return isLong(schema) ? 'long' : 'text';
  if (types[0] === 'number' || types[0] === 'integer') return 'number';
  if (types[0] === 'boolean') return 'switch';
  if (types[0] === 'array' && [schema.items?.type].flat()[0] === 'string' && !schema.items.enum) return 'lines';
  if (types[0] === 'object' && Object.keys(schema.properties ?? {}).length > 0 && !schema.anyOf && !schema.oneOf) return 'group';
  return 'json';
}

/** @param {Schema} schema */
function isLong(schema) {
  return (schema.maxLength ?? 0) > 300 || /markdown|multi-?line|body|content|code|sql/i.test(`${schema.format ?? ''} ${schema.contentMediaType ?? ''} ${schema.title ?? ''}`);
}

/**
 * The properties of an object schema, required ones first.
 * @param {Schema} schema
 * @param {Schema} root
 */
export function properties(schema, root) {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const all = Object.entries(schema.properties ?? {}).map(([name, member]) => ({ name, schema: resolve(member, root), required: required.has(name) }));
  return [...all.filter((member) => member.required), ...all.filter((member) => !member.required)];
}

/**
 * The defaults of the required properties.
 * @param {Schema} schema
 * @param {Schema} root
 * @returns {Record<string, any>}
 */
export function startingValue(schema, root) {
  const named = properties(resolve(schema, root), root).filter((member) => member.schema.default !== undefined && member.required);
  return Object.fromEntries(named.map((member) => [member.name, member.schema.default]));
}
