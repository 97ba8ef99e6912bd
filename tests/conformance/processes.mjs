// Programs that a run starts, and ends again however it ends itself.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const startTimeout = 60_000;
const children = new Set();

/** Starts a program that says its address as JSON with a `url`; gives the address and a way to end it. */
export async function startServer(command, args, env) {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  children.add(child);
  const lines = createInterface({ input: child.stdout });
  const url = await new Promise((resolve, reject) => {
    const giveUp = (why) => reject(new Error(`${command} ${args.join(' ')}: ${why}`));
    const timer = setTimeout(() => giveUp('printed no address in time'), startTimeout);
    timer.unref();
    child.once('error', (error) => giveUp(error.message));
    child.once('exit', (code) => giveUp(`ended with ${code} before it printed its address`));
    lines.on('line', (line) => {
      const found = /http:\/\/127\.0\.0\.1:\d+(\/mcp)?/.exec(line)?.[0];
      if (found) resolve(found);
    });
  });
  return { url, stop: () => stop(child) };
}

/** Runs a program to its end; gives its exit code and everything it printed. */
export async function run(command, args) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  children.delete(child);
  return { code, output };
}

/** Ends whatever still runs. */
export async function stopAll() {
  await Promise.all([...children].map(stop));
}

async function stop(child) {
  children.delete(child);
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill();
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await ended;
  clearTimeout(timer);
}
