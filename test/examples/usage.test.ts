import { execFile } from 'node:child_process';
import { join } from 'node:path';

import test from 'ava';

const EXAMPLES = join(import.meta.dirname, '../../examples');

for (const [file, line] of [
  ['device.ts', 'Usage: node device.ts ISSUER CLIENT_ID'],
  ['resource-server.ts', 'Set ISSUER, CLIENT_ID and CLIENT_SECRET, such as ISSUER=http://localhost:3000 ...'],
  [
    'two-nodes.ts',
    'Set DATABASE_URL to an empty PostgreSQL database, such as postgres://localhost/gatehouse',
  ],
] as const) {
  test(`${file} without what it needs prints one line`, async (t) => {
    const { code, errors } = await new Promise<{ code: unknown; errors: string }>((resolve) => {
      const words = ['--conditions=gatehouse:source', join(EXAMPLES, file)];
      const { PATH = '' } = process.env;
      execFile(process.execPath, words, { env: { PATH } }, (error, _output, stderr) =>
        resolve({ code: error?.code, errors: stderr }),
      );
    });
    t.is(code, 2);
    t.is(errors, `${line}\n`);
  });
}
