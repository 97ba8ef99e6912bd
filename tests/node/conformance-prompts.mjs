// The prompts the conformance suite asks for.

import { redPixel } from './media.mjs';

const userMessage = (content) => ({ role: 'user', content });
const text = (words) => userMessage({ type: 'text', text: words });
const argument = (name, description) => ({ name, description, required: true });

const prompts = [
  {
    name: 'test_simple_prompt',
    description: 'A prompt without arguments',
    messages: () => [text('This is a simple prompt for testing.')],
  },
  {
    name: 'test_prompt_with_arguments',
    description: 'A prompt that repeats its arguments',
    arguments: [argument('arg1', 'First argument'), argument('arg2', 'Second argument')],
    messages: ({ arg1, arg2 }) => [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'A prompt that carries a resource',
    arguments: [argument('resourceUri', 'The resource to carry')],
    messages: ({ resourceUri }) => [
      userMessage({
        type: 'resource',
        resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
      }),
      text('Please process the embedded resource above.'),
    ],
  },
  {
    name: 'test_prompt_with_image',
    description: 'A prompt that carries a picture',
    messages: () => [
      userMessage({ type: 'image', data: redPixel, mimeType: 'image/png' }),
      text('Please analyze the image above.'),
    ],
  },
];

export function listPrompts() {
  return prompts.map(({ messages, ...prompt }) => prompt);
}

/** The messages of a prompt, or nothing when there is none of that name. */
export function getPrompt(name, given) {
  return prompts.find((prompt) => prompt.name === name)?.messages(given);
}
