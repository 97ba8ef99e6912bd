// `generateContent` of Gemini.

import { sse } from './parts.mjs';

export const takes = (method, path) => method === 'POST' && /:(streamGenerateContent|generateContent|countTokens)$/.test(path);
export const counts = (path) => path.endsWith(':countTokens');
export const count = () => ({ totalTokens: 100 });
export const streams = (url) => url.pathname.endsWith(':streamGenerateContent');

export function read(body) {
  const declared = (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []);
  const tools = declared.map((tool) => (
    { name: tool.name, description: tool.description ?? '', schema: tool.parametersJsonSchema ?? tool.parameters, sent: tool }));
  const last = (body.contents ?? []).at(-1) ?? { parts: [] };
  const answers = last.parts.filter((part) => part.functionResponse).map((part) => part.functionResponse.response);
  const results = answers.map((answer) => answer.output ?? answer.error ?? JSON.stringify(answer));
  return { tools, results, system: JSON.stringify(body.systemInstruction ?? '') };
}

export function whole(reply) {
  const parts = reply.calls
    ? reply.calls.map(({ name, args }) => ({ functionCall: { name, args } }))
    : [{ text: reply.text }];
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 },
    modelVersion: 'scripted',
  };
}

export function* events(reply) {
  yield sse(whole(reply));
}
