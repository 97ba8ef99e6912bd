// A model that does what a script says, on loopback, behind the APIs of four providers. What an agent sends is read into
// one form, the script answers in one form, and each API has a file that translates.
//
// The script is an async generator: it is given the first turn of the conversation, yields what the model says (a text,
// or calls of tools), and is given the next turn. Other requests that agents make, such as for a title, get a text.

import http from 'node:http';

import * as anthropic from './formats/anthropic.mjs';
import * as chat from './formats/chat.mjs';
import * as gemini from './formats/gemini.mjs';
import * as responses from './formats/responses.mjs';

const FORMATS = [anthropic, chat, gemini, responses];

const ASIDE = { text: 'Notes' };
const STOPPED = { text: 'The script is over.' };

export async function startModel({ isConversation, script }) {
  const log = [];
  let walk;
  let queue = Promise.resolve();

  async function next(turn) {
    if (!walk) {
      walk = script(turn);
      return (await walk.next()).value ?? STOPPED;
    }
    return (await walk.next(turn)).value ?? STOPPED;
  }

  async function answer(request, response) {
    const url = new URL(request.url, 'http://model');
    const format = FORMATS.find((one) => one.takes(request.method, url.pathname));
    if (!format) {
      log.push({ url: `${request.method} ${url.pathname}` });
      return sendJson(response, request.method === 'GET' ? 200 : 404, { object: 'list', data: [], models: [] });
    }
    const body = JSON.parse(await read(request));
    const turn = format.read(body);
    const isMain = isConversation(turn);
    log.push({ url: `${request.method} ${url.pathname}`, isMain, turn, body });
    if (format.counts?.(url.pathname)) return sendJson(response, 200, format.count());
    // One turn after the other, however an agent sends them.
    const said = isMain ? (queue = queue.then(() => next(turn))) : Promise.resolve(ASIDE);
    const reply = await said;
    if (!format.streams(url, body)) return sendJson(response, 200, format.whole(reply, body));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of format.events(reply, body)) response.write(event);
    response.end();
  }

  const server = http.createServer((request, response) => {
    answer(request, response).catch((error) => {
      log.push({ error });
      if (!response.headersSent) sendJson(response, 500, { error: { message: String(error?.stack ?? error) } });
      else response.end();
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    log,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function read(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

function sendJson(response, status, value) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}
