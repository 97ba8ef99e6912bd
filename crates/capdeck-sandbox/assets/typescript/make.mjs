// Makes `compiler.js.zst` and the notices beside it from the npm packages named here.
//
//   node crates/capdeck-sandbox/assets/typescript/make.mjs
//
// The same packages give the same text: its SHA-256 is printed at the end and is what a test of the crate holds the file to.
// The compiler's own command line is cut off, what the checker does not need falls away with it, and the standard declarations that
// a cell can use are put in as one text without comments. Needs Node 22.15 or later and npm; the product needs neither.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { constants, zstdCompressSync } from 'node:zlib';

const PACKAGES = { typescript: '6.0.3', esbuild: '0.28.2' };

// The language as the engine has it. There is no `Intl` and no shared memory in a cell.
const LIBRARY = 'es2024';
const LEFT_OUT = /intl|sharedmemory|decorators/;

// Where the compiler ends and its command line begins.
const COMMAND_LINE = '// src/tsc/tsc.ts';
const EXPORTS = 'export { createProgram, createSourceFile, flattenDiagnosticMessageText, getLineAndCharacterOfPosition };\nexport { default as library } from "./library.txt";\n';

const folder = mkdtempSync(join(tmpdir(), 'compiler-'));
try {
  const wanted = Object.entries(PACKAGES).map(([name, version]) => `${name}@${version}`);
  execFileSync('npm', ['install', '--prefix', folder, '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts', ...wanted], { stdio: 'ignore' });
  const load = createRequire(join(folder, 'package.json'));
  const source = join(folder, 'node_modules/typescript');
  writeFileSync(join(folder, 'library.txt'), library(load('typescript'), join(source, 'lib')));
  const compiler = readFileSync(join(source, 'lib/_tsc.js'), 'utf8');
  const end = compiler.indexOf(COMMAND_LINE);
  if (end < 0) throw new Error(`\`${COMMAND_LINE}\` is not in the compiler: look at how this version is built`);
  writeFileSync(join(folder, 'entry.js'), compiler.slice(0, end) + EXPORTS);
  const { outputFiles: [built] } = load('esbuild').buildSync({
    absWorkingDir: folder,
    entryPoints: ['entry.js'],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    globalName: 'ts',
    platform: 'neutral',
    // Asked for only where there is a `process`, which the engine does not have.
    external: ['fs', 'inspector', 'os', 'path'],
    target: 'es2022',
    legalComments: 'none',
    logLevel: 'error',
  });
  const params = { [constants.ZSTD_c_compressionLevel]: 22, [constants.ZSTD_c_checksumFlag]: 1 };
  const packed = zstdCompressSync(built.contents, { params });
  writeFileSync(join(import.meta.dirname, 'compiler.js.zst'), packed);
  for (const notice of ['LICENSE.txt', 'ThirdPartyNoticeText.txt']) copyFileSync(join(source, notice), join(import.meta.dirname, notice));
  console.log(`${packed.length} bytes, ${built.contents.length} unpacked, sha256 ${createHash('sha256').update(built.contents).digest('hex')}`);
} finally {
  rmSync(folder, { recursive: true });
}

// All standard declarations that `LIBRARY` refers to, once each, in order, as one script.
function library(ts, folder) {
  const seen = new Set();
  const printer = ts.createPrinter({ removeComments: true });
  const texts = [];
  const take = (name) => {
    if (seen.has(name) || LEFT_OUT.test(name)) return;
    seen.add(name);
    const file = ts.createSourceFile(name, readFileSync(join(folder, `lib.${name}.d.ts`), 'utf8'), ts.ScriptTarget.ESNext);
    for (const reference of file.libReferenceDirectives) take(reference.fileName);
    texts.push(printer.printFile(file).replace(/^\/\/\/.*\n/gm, '').replace(/^ +/gm, ''));
  };
  take(LIBRARY);
  return texts.join('\n');
}
