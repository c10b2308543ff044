// A database is replaced by an older copy of itself, as after the loss of a disk.
import type { ExecutionContext } from 'ava';

import { onEachDatabaseInSeries } from '../../adapters/databases.ts';
import type { TestDatabase } from '../../adapters/databases.ts';
import { connectHost } from '../../adapters/host-knex.ts';
import { gatehouse } from '../../cli/gatehouse.ts';
import { Browser } from '../../harness/browser.ts';
import { passTime } from '../../harness/clock.ts';
import { authorizeUrl, signIn } from '../../harness/platform.ts';
import { clientToken } from '../../harness/tokens.ts';
import { familiesOf } from '../../oidc/families.ts';
import { platformOn } from '../../oidc/on-databases.ts';

// In seconds, more than the default `tokens.revocationLag`.
const LAG = 6;

/** Copies the rows of the storage now; the returned function puts them back in place of those of then. */
async function backUp(
  t: ExecutionContext,
  client: TestDatabase['client'],
  address: string,
): Promise<() => Promise<void>> {
  const host = connectHost(client, address);
  t.teardown(async () => host.destroy());
  const tables = 'clients client_secrets consents grants credentials revocations sessions keys'.split(' ');
  const copies = new Map<string, object[]>();
  for (const table of tables) copies.set(`gatehouse_${table}`, await host(`gatehouse_${table}`).select());
  return async () =>
    host.transaction(async (transaction) => {
      for (const [table, rows] of copies) {
        await transaction(table).delete();
        if (rows.length > 0) await transaction(table).insert(rows);
      }
    });
}

onEachDatabaseInSeries(
  'what a restored backup brings back, and what revocations make of it, on every node',
  async (t, { client }, address) => {
    const here = await platformOn(t, address);
    const there = await platformOn(t, address, { issuer: here.origin, users: here.users });
    const app = await here.registerApp();
    const [service, other] = [await here.registerService(), await here.registerService()];
    const { canRefresh, family, guard } = familiesOf(here, app);
    const atThere = familiesOf(there, app);
    const logins = { ann: new Browser() };
    const spent = await family(app, logins.ann);
    const revoked = await family(app);
    const restore = await backUp(t, client, address);

    t.true(await canRefresh(spent.refresh));
    // Their numbers, which tokens of clients carry, are not in the backup.
    for (const user of ['1', '2', '3']) await here.auth.revoke({ userId: user });
    for (const { client: own } of [service, other]) await here.auth.revoke({ clientId: own.id });
    const later = await clientToken(here, service);
    const ofOther = await clientToken(here, other);
    const connected = await family(app);
    await restore();
    passTime(LAG);

    t.deepEqual([await guard(revoked.access), await guard(spent.access)], [200, 200], 'undone revocations');
    t.true(await canRefresh(spent.refresh), 'a refresh token that was spent');
    t.is(await guard(later), 200, 'a token of a client that was issued after the backup');
    t.is(await guard(connected.access), 'token_revoked', 'its grant is not in the backup');
    t.is(await guard(ofOther), 200);
    await here.auth.revoke({ clientId: other.client.id });
    t.deepEqual(
      [await guard(ofOther), await guard(await clientToken(here, other))],
      ['token_revoked', 200],
      'a client that is revoked loses the tokens that it got between backup and restore',
    );
    const back = await logins.ann.open(authorizeUrl(here, app));
    t.truthy(back.location?.searchParams.get('code'), 'a login that was ended, and a consent');

    const { code, output } = await gatehouse(`revoke --all --yes --database ${address}`);
    t.is(code, 0);
    t.regex(output, /^Revoked: all tokens, logins, authorizations and remembered consents/);
    passTime(LAG);
    for (const token of [revoked.access, spent.access, later, connected.access]) {
      t.deepEqual([await guard(token), await atThere.guard(token)], ['token_revoked', 'token_revoked']);
    }
    for (const { refresh } of [revoked, spent, connected]) t.false(await canRefresh(refresh));
    const login = await logins.ann.open(authorizeUrl(here, app));
    t.is(login.heading, 'Sign in');
    t.regex((await signIn(logins.ann, login)).html, /Authorize<\/button>/, 'consent is asked again');

    const fresh = [(await family(app)).access, await clientToken(there, service)];
    for (const token of fresh) t.deepEqual([await guard(token), await atThere.guard(token)], [200, 200]);
  },
);
