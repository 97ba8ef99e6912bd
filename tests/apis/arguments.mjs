// Arguments from an input schema: the least that is required, or everything that is offered.

const deepest = 4;

export function generate(schema, extent) {
  return value(schema, { root: schema, extent, depth: 0 });
}

function value(schema, context) {
  if (schema === true || schema === undefined) return 'any';
  // A file is given by its content here.
  if (schema.properties?.artifact && schema.properties.base64) return { base64: 'AAAA', filename: 'file.bin' };
  const { $ref, allOf, anyOf, ...own } = schema;
  if ($ref) return value({ ...resolve($ref, context.root), ...own }, context);
  if (allOf) return value(merge([own, ...(anyOf ? [{ anyOf }] : []), ...allOf], context.root), context);
  if (anyOf) return fromOptions(own, anyOf, context);
  if ('const' in schema) return schema.const;
  if (schema.enum) return schema.enum.find((choice) => choice !== null) ?? null;
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : schema.type;
  switch (type ?? guess(schema)) {
    case 'object':
      return object(schema, context);
    case 'array':
      return array(schema, context);
    case 'integer':
    case 'number':
      return number(schema);
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return text(schema);
  }
}

function guess(schema) {
  if (schema.properties || schema.additionalProperties || schema.required) return 'object';
  return schema.items ? 'array' : 'string';
}

/** The first alternative. Those that only ask for other members come on top of what is there. */
function fromOptions(own, options, context) {
  const option = options.find((one) => one.type !== 'null') ?? options[0];
  return value(merge([own, option], context.root), context);
}

function object(schema, context) {
  const members = {};
  const required = new Set(schema.required ?? []);
  let names = [...new Set([...required, ...Object.keys(schema.properties ?? {})])];
  // Of those that exclude each other, one has to be there.
  if (schema.maxProperties === 1) names = names.slice(0, 1);
  const isDeep = context.depth >= deepest;
  for (const name of names) {
    if (!required.has(name) && schema.maxProperties !== 1 && (context.extent === 'required' || isDeep)) continue;
    const member = schema.properties?.[name] ?? objectOf(schema.additionalProperties);
    members[name] = value(member, { ...context, depth: context.depth + 1 });
  }
  // Some bodies need a member and do not say which.
  const missing = (schema.minProperties ?? 0) - Object.keys(members).length;
  const optional = Object.keys(schema.properties ?? {}).filter((name) => !(name in members));
  for (let index = 0; index < missing; index++) {
    const name = optional[index] ?? `extra${index}`;
    const member = schema.properties?.[name] ?? objectOf(schema.additionalProperties);
    members[name] = value(member, { ...context, depth: context.depth + 1 });
  }
  return members;
}

function objectOf(schema) {
  return typeof schema === 'object' ? schema : true;
}

function array(schema, context) {
  const length = Math.max(schema.minItems ?? 0, schema.maxItems === 0 ? 0 : 1);
  const inner = { ...context, depth: context.depth + 1 };
  const items = Array.from({ length }, (_, index) => value(schema.prefixItems?.[index] ?? schema.items ?? true, inner));
  if (!schema.uniqueItems) return items;
  return items.map((item, index) => (typeof item === 'string' && index > 0 ? `${item}${index}` : item));
}

function number({ minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, type }) {
  const low = minimum ?? (exclusiveMinimum === undefined ? undefined : exclusiveMinimum + 1);
  const high = maximum ?? (exclusiveMaximum === undefined ? undefined : exclusiveMaximum - 1);
  const chosen = low ?? Math.min(high ?? 1, 1);
  if (multipleOf) return Math.ceil(chosen / multipleOf) * multipleOf;
  return type === 'integer' ? Math.ceil(chosen) : chosen;
}

const formats = {
  'date-time': '2024-01-02T03:04:05Z',
  date: '2024-01-02',
  email: 'someone@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
};

/** Texts for the patterns that are in use. */
const texts = [
  'text',
  '1',
  'a1b2c3',
  'A',
  '1.0',
  '1.2.3',
  'a'.repeat(40),
  '0'.repeat(64),
  `sha256:${'0'.repeat(64)}`,
  'ssh-ed25519 AAAA',
];

function text(schema) {
  const example = schema.examples?.find((one) => typeof one === 'string' && one !== '');
  const { pattern, minLength = 0, maxLength = Infinity } = schema;
  const candidates = [formats[schema.format], example, schema.default, ...texts];
  const fits = (one) =>
    typeof one === 'string' && one.length >= minLength && one.length <= maxLength && (!pattern || new RegExp(pattern, 'u').test(one));
  return candidates.find(fits) ?? 'x'.repeat(Math.min(Math.max(minLength, 1), 10_000)).slice(0, maxLength);
}

/** One schema that means all of these, as far as generating needs it. */
function merge(schemas, root) {
  const merged = {};
  for (const part of schemas) {
    const schema = part?.$ref ? { ...resolve(part.$ref, root), ...part, $ref: undefined } : part;
    for (const [key, member] of Object.entries(schema ?? {})) {
      if (member === undefined) continue;
      if (key === 'properties') merged.properties = { ...merged.properties, ...member };
      else if (key === 'required') merged.required = [...new Set([...(merged.required ?? []), ...member])];
      else if (key === 'allOf') Object.assign(merged, merge([merged, ...member], root));
      else merged[key] ??= member;
    }
  }
  return merged;
}

function resolve(reference, root) {
  const steps = reference.slice(2).split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return steps.reduce((value, step) => value[step], root);
}
