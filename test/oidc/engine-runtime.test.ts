import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

import test from 'ava';

const WARNING = 'Unsupported runtime. Use Node.js v22.x LTS, or a later LTS release.';
const NOT_LTS = `Object.defineProperty(process, 'release', { value: { name: 'node' } });`;

/** The output of a program that loads the package after its first line. */
async function printed(first: string): Promise<string> {
  const program = `${first} await import('koa-gatehouse');`;
  const words = ['--conditions=gatehouse:source', '--input-type=module', '--eval', program];
  const { stderr, stdout } = await promisify(execFile)(process.execPath, words, { cwd: import.meta.dirname });
  return stdout + stderr;
}

test('the engine warns of a Node that is not an LTS release, and the guide has the text of the warning', async (t) => {
  t.is(await printed(NOT_LTS), `oidc-provider WARNING: ${WARNING}\n`);
  t.is(await printed(''), '');
  const guide = await readFile(new URL('../../docs/troubleshooting.md', import.meta.url), 'utf8');
  t.true(guide.includes(`\`${WARNING}\``));
});
