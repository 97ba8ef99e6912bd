// Arguments for a tool, from its input schema alone: the least that is accepted, or everything there is.

// How deep optional members are filled in. Types may lead to themselves.
const depth = 3;

export function sample(schema, { full }) {
  return value(schema, schema, full, 0);
}

function value(schema, root, full, level) {
  if (schema === true || Object.keys(schema).length === 0) return 'anything';
  if ('const' in schema) return schema.const;
  if (schema.$ref) return value(pointer(root, schema.$ref), root, full, level);
  if (schema.enum) return schema.enum[0];
  const choice = (schema.anyOf ?? schema.oneOf)?.[0];
  if (choice) return value(choice, root, full, level);
  switch ([schema.type].flat()[0]) {
    case 'object':
      return members(schema, root, full, level);
    case 'array':
      return (full && level < depth) || schema.minItems > 0 ? [value(schema.items ?? {}, root, full, level + 1)] : [];
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 1, 1);
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'string':
      return text(schema);
    default:
      return 'anything';
  }
}

function members(schema, root, full, level) {
  const required = schema.required ?? [];
  let names = Object.keys(schema.properties ?? {});
  if (schema.maxProperties === 1) names = names.slice(0, 1);
  else if (!full || level >= depth) names = names.filter((name) => required.includes(name));
  return Object.fromEntries(names.map((name) => [name, value(schema.properties[name], root, full, level + 1)]));
}

function text(schema) {
  const formats = {
    'date-time': '2026-01-02T03:04:05Z',
    date: '2026-01-02',
    uri: 'https://example.com/',
    uuid: '8c5f2a4e-52a1-4b6e-9d7e-0a1b2c3d4e5f',
    email: 'ada@example.com',
  };
  return formats[schema.format] ?? 'text';
}

function pointer(root, reference) {
  return reference
    .slice(2)
    .split('/')
    .reduce((place, step) => place[step.replaceAll('~1', '/').replaceAll('~0', '~')], root);
}
