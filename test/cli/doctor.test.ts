import { writeFileSync } from 'node:fs';

import test from '../harness/test.ts';
import { createAdministration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { temporaryFile } from '../adapters/temporary-file.ts';
import { startPlatform } from '../harness/platform.ts';
import { gatehouse } from './gatehouse.ts';

test('the doctor reports nothing for a correct server, and a warning with its remedy: exit code 0', async (t) => {
  const DATABASE_URL = `sqlite:${temporaryFile()}`;
  await using platform = await startPlatform({ storage: knexStorage(DATABASE_URL) });
  await platform.registerApp();
  t.deepEqual(await gatehouse(`doctor --issuer ${platform.auth.issuer}`, { DATABASE_URL }), {
    code: 0,
    output:
      'Checked: the database and its tables, the clock, pruning, keys, clients, and what the server answers at its issuer.\nNo findings.\n',
    errors: '',
  });

  const storage = knexStorage(DATABASE_URL);
  const operator = createAdministration({ storage });
  const { client, secret } = await operator.clients.create({
    name: 'Nightly',
    grantType: 'client_credentials',
  });
  await operator.clients.deleteSecret(client.id, secret!.id);
  await operator.close();
  t.deepEqual(await gatehouse('doctor', { DATABASE_URL }), {
    code: 0,
    output: `warning  client_without_secret
         Confidential clients without a valid secret get no tokens: "Nightly" (${client.id}).
         → Add one with \`gatehouse client secrets add\`, or disable the client.

Checked: the database and its tables, the clock, pruning, keys and clients. With --issuer also what the server answers.
0 errors, 1 warning.
`,
    errors: '',
  });
});

test('an error is exit code 1, with --json too', async (t) => {
  const file = temporaryFile();
  writeFileSync(file, '');
  for (const [DATABASE_URL, found] of [
    [`sqlite:${file}`, 'migration_pending'],
    ['postgres://u:geheim@127.0.0.1:1/x', 'database_unreachable'],
  ] as const) {
    const { code, errors, output } = await gatehouse('doctor --json', { DATABASE_URL });
    t.deepEqual([code, errors], [1, '']);
    const document = JSON.parse(output) as { findings: { code: string }[]; errors: number };
    t.like(document.findings[0], { code: found, severity: 'error' });
    t.is(document.errors, document.findings.length);
    t.false(output.includes('geheim'));
  }
});
