// Reads, checks and resolves an OpenAPI document with swagger-parser; prints time and memory as JSON.

import { createRequire } from 'node:module';
import path from 'node:path';

const [installed, document] = process.argv.slice(2);
const require = createRequire(path.join(installed, 'package.json'));
const { default: SwaggerParser } = await import(require.resolve('@apidevtools/swagger-parser'));
const started = performance.now();
const api = await SwaggerParser.validate(document, { dereference: { circular: 'ignore' } });
const ms = Math.round(performance.now() - started);
const operations = Object.values(api.paths).flatMap((item) => Object.values(item).filter((one) => one.responses)).length;
const peakMb = Math.round(process.resourceUsage().maxRSS / 1024);
console.log(JSON.stringify({ name: '@apidevtools/swagger-parser', ms, operations, peakMb }));
