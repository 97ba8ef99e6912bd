// The resources the conformance suite reads.

import { redPixel } from './media.mjs';

const resources = [
  {
    uri: 'test://static-text',
    name: 'Static text',
    description: 'Text that never changes',
    mimeType: 'text/plain',
    text: 'This is the content of the static text resource.',
  },
  {
    uri: 'test://static-binary',
    name: 'Static binary',
    description: 'A picture of one pixel',
    mimeType: 'image/png',
    blob: redPixel,
  },
  {
    uri: 'test://watched-resource',
    name: 'Watched resource',
    description: 'Can be subscribed to',
    mimeType: 'text/plain',
    text: 'Nothing has happened yet.',
  },
];

export function listResources() {
  return resources.map(({ uri, name, description, mimeType }) => ({ uri, name, description, mimeType }));
}

export function listTemplates() {
  return [
    {
      uriTemplate: 'test://template/{id}/data',
      name: 'Data by id',
      description: 'Says which id was asked for',
      mimeType: 'application/json',
    },
  ];
}

/** The contents of a resource, or nothing when there is none. */
export function readResource(uri) {
  const found = resources.find((resource) => resource.uri === uri);
  if (found) {
    const { mimeType, text, blob } = found;
    return blob === undefined ? { uri, mimeType, text } : { uri, mimeType, blob };
  }
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id === undefined) return undefined;
  const data = { id, templateTest: true, data: `Data for ID: ${id}` };
  return { uri, mimeType: 'application/json', text: JSON.stringify(data) };
}
