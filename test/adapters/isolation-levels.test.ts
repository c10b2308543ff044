// A host chooses the isolation level. At each level, a credential is redeemed once, a request is begun once, and what was
// ended or removed stays so.
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { auditContract } from '../../lib/testing/storage/audit.ts';
import { credentialContract } from '../../lib/testing/storage/credentials.ts';
import { grantContract } from '../../lib/testing/storage/grants.ts';
import { idempotencyContract, leaseContract } from '../../lib/testing/storage/idempotency.ts';
import { redemptionContract } from '../../lib/testing/storage/redemption.ts';
import { revocationContract } from '../../lib/testing/storage/revocations.ts';
import { sessionContract } from '../../lib/testing/storage/sessions.ts';
import { mariadb, postgresql } from './databases.ts';
import { hostKnex } from './host-knex.ts';

const isolation = 'transaction isolation level';

const CONTRACTS = [
  redemptionContract,
  grantContract,
  auditContract,
  idempotencyContract,
  leaseContract,
  credentialContract,
  revocationContract,
  sessionContract,
];

const RACES =
  /at once|at the same time|by many|wholly|saved later|whenever it is saved|both or neither|a hundred/;

for (const [{ name, register, cleared }, client, setting] of [
  [postgresql, 'pg', `set session characteristics as ${isolation} repeatable read`],
  [postgresql, 'pg', `set session characteristics as ${isolation} serializable`],
  [mariadb, 'mysql2', `set session ${isolation} read uncommitted`],
  [mariadb, 'mysql2', `set session ${isolation} read committed`],
  [mariadb, 'mysql2', `set session ${isolation} serializable`],
  // The default from MariaDB 11.6 on.
  [mariadb, 'mysql2', `set session innodb_snapshot_isolation = on`],
] as const) {
  for (const contract of CONTRACTS) {
    contract((title, run) => {
      if (!RACES.test(title)) return;
      register(`${name}, ${setting}: ${title}`, async (t) => {
        const host = hostKnex(client, await cleared(), setting);
        t.teardown(async () => host.destroy());
        const storage = knexStorage(host);
        await storage.migrate();
        await run(t, storage);
      });
    });
  }
}
