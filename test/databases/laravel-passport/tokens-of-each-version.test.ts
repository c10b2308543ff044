import type { Row } from '../../laravel-passport/laravel.ts';
import { onEachEmptyDatabase } from '../../adapters/databases.ts';
import { until } from '../../harness/until.ts';
import { APP_KEY, claimsOf, issue, vectors, vectorsOf, VERSIONS } from '../../laravel-passport/laravel.ts';
import { codeOf, moveIn, refresh, REFUSED, startLaravel } from '../../laravel-passport/moved-platform.ts';

const APP_KEYS = [...new Set(vectors.tokens.map(({ app_key: key = APP_KEY }) => key))];

for (const version of VERSIONS) {
  onEachEmptyDatabase(
    `the tokens of Passport ${version} are accepted while they are live, and refreshed`,
    async (t, { client }, address) => {
      await using laravel = await startLaravel(version, { client, address });
      await using platform = await moveIn(laravel, { passport: { appKey: APP_KEYS } });
      const { clientId } = laravel;
      for (const { name, scopes, user_id: userId, ...vector } of vectorsOf(version)) {
        const { body, status } = await platform.api('/identity', vector.access_token);
        if (vector.access_ended) {
          t.deepEqual([status, body['code']], [401, 'token_invalid'], name);
          continue;
        }
        const type = userId === null ? 'client' : 'user';
        const data = body['data'] as Row;
        t.like(data, { type, id: userId ?? clientId, client_id: clientId }, name);
        // `*` and none are not limited; the scope `profile` is not defined here.
        t.deepEqual(
          data['scopes'],
          scopes.filter((scope) => scope.startsWith('orders:')),
          name,
        );
      }
      for (const { name, refresh_token: token, scopes, user_id: id, ...vector } of vectorsOf(version)) {
        if (token === undefined) continue;
        const answer = await refresh(platform, laravel, token);
        if (vector.refresh_ended) {
          t.like(answer, REFUSED, name);
          continue;
        }
        t.is(answer.status, 200, name);
        const known = scopes.filter((scope) => scope.startsWith('orders:'));
        t.is(answer.body.scope, known.length > 0 ? known.join(' ') : undefined, name);
        t.like((await platform.api('/identity', answer.body.access_token)).body, { data: { id } }, name);
        const [stored] = await laravel
          .database('oauth_refresh_tokens')
          .where({ access_token_id: claimsOf(vector.access_token).jti });
        t.true(Boolean(stored.revoked), name);
        // The answer may have been lost: the same one again.
        const again = await refresh(platform, laravel, token.toUpperCase());
        t.is(again.body.refresh_token, answer.body.refresh_token, name);
        t.is((await refresh(platform, laravel, answer.body.refresh_token, { scope: '*' })).status, 200, name);
      }
    },
  );
}

onEachEmptyDatabase(
  'what Laravel revokes is refused within the lag, and accepted again afterwards',
  async (t, { client }, address) => {
    await using laravel = await startLaravel('13', { client, address });
    await using platform = await moveIn(laravel);
    const { clientId, database } = laravel;
    const { accessToken, id } = await issue(database, { clientId, userId: 42 });
    const code = async (): Promise<unknown> => codeOf(platform, accessToken);
    const row = database('oauth_access_tokens').where({ id });
    for (const rows of [row, database('oauth_clients').where({ id: clientId })]) {
      t.is(await code(), undefined);
      await rows.clone().update({ revoked: true });
      await until(async () => (await code()) === 'token_revoked');
      await rows.clone().update({ revoked: false });
      t.is(await code(), undefined);
    }
    await row.clone().delete();
    await until(async () => (await code()) === 'token_revoked');
  },
);
