import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

import test from '../../harness/test.ts';

const WARNING = 'Unsupported runtime. Use Node.js v22.x LTS, or a later LTS release.';
const NOT_LTS = `Object.defineProperty(process, 'release', { value: { name: 'node' } });`;

test('the engine warns of a Node that is not an LTS release, and the guide has the text of the warning', async (t) => {
  const program = `${NOT_LTS} await import('koa-gatehouse');`;
  const words = ['--conditions=gatehouse:source', '--input-type=module', '--eval', program];
  const { stderr, stdout } = await promisify(execFile)(process.execPath, words, { cwd: import.meta.dirname });
  t.is(stdout + stderr, `oidc-provider WARNING: ${WARNING}\n`);
  const guide = await readFile(new URL('../../../docs/troubleshooting.md', import.meta.url), 'utf8');
  t.true(guide.includes(`\`${WARNING}\``));
});
