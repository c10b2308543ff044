import { writeFileSync } from 'node:fs';

import test from 'ava';
import { createAdministration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { temporaryFile } from '../adapters/temporary-file.ts';
import { startPlatform } from '../harness/platform.ts';
import { registerAsBefore } from '../harness/storage.ts';
import { gatehouse, gatehouseJson } from './gatehouse.ts';

interface DoctorDocument {
  readonly findings: readonly { readonly code: string; readonly severity: string }[];
  readonly errors: number;
  readonly warnings: number;
}

test('the doctor reports nothing for a correct server, checked over HTTP too', async (t) => {
  const DATABASE_URL = `sqlite:${temporaryFile()}`;
  await using platform = await startPlatform({ storage: knexStorage(DATABASE_URL) });
  await platform.registerApp();
  const { code, errors, output } = await gatehouse(`doctor --issuer ${platform.auth.issuer}`, {
    DATABASE_URL,
  });
  t.deepEqual(
    [code, output, errors],
    [
      0,
      'Checked: the database and its tables, the clock, pruning, keys, clients, and what the server answers at its issuer.\nNo findings.\n',
      '',
    ],
  );
});

test('a warning is printed with its remedy, and the exit code is 0', async (t) => {
  const DATABASE_URL = `sqlite:${temporaryFile()}`;
  const storage = knexStorage(DATABASE_URL);
  await storage.migrate();
  const operator = createAdministration({ storage });
  await operator.keys.rotate();
  const redirectUris = ['http://portal.example/'];
  const client = await registerAsBefore(operator, storage, {
    name: 'Portal',
    grantType: 'authorization_code',
    redirectUris,
  });
  await operator.close();
  const { code, errors, output } = await gatehouse('doctor', { DATABASE_URL });
  t.deepEqual([code, errors], [0, '']);
  t.is(
    output,
    `warning  redirect_uri_insecure
         Authorization codes are sent over http, without encryption: "Portal" (${client.id}, http://portal.example/).
         → Serve those apps over https and change the redirect URI with \`gatehouse client update\`.

Checked: the database and its tables, the clock, pruning, keys and clients. With --issuer also what the server answers.
0 errors, 1 warning.
`,
  );
});

test('an error is exit code 1, with --json too', async (t) => {
  const file = temporaryFile();
  writeFileSync(file, '');
  const DATABASE_URL = `sqlite:${file}`;
  const { code, output } = await gatehouse('doctor --json', { DATABASE_URL });
  t.is(code, 1);
  const document = JSON.parse(output) as DoctorDocument;
  t.like(document.findings[0], { code: 'migration_pending', severity: 'error' });
  t.is(document.errors, document.findings.length);

  const away = await gatehouseJson<DoctorDocument>('doctor', {
    DATABASE_URL: 'postgres://u:geheim@127.0.0.1:1/x',
  });
  t.like(away, { findings: [{ code: 'database_unreachable' }], errors: 1, warnings: 0 });
  t.false(JSON.stringify(away).includes('geheim'));
});
