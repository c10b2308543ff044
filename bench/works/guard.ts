import type { OAuthClient } from '../client/oauth-client.ts';
import type { Work } from './work.ts';

const ANSWER = JSON.stringify({ data: [{ id: 1, name: 'Hill School' }] });

async function call(client: OAuthClient, token: string): Promise<void> {
  const answer = await client.schools(token);
  if (answer !== ANSWER) throw new Error(`The route answered ${answer}`);
}

/** A guarded route with a number of tokens in turn. */
function warmGuard(tokenCount: number, about: string): Work {
  return {
    name: `guard-${tokenCount}`,
    about,
    contestants: ['koa-router', 'gatehouse', 'gatehouse-open', 'gatehouse-postgresql', 'jose', 'koa'],
    connections: 32,
    async prepare(client, _connections, smoke) {
      const length = smoke ? Math.min(tokenCount, 3) : tokenCount;
      const tokens = await Promise.all(Array.from({ length }, async () => client.clientCredentials()));
      let turn = 0;
      return {
        async run() {
          turn += 1;
          await call(client, tokens[turn % length]!);
        },
      };
    },
  };
}

export const guardOneToken: Work = warmGuard(
  1,
  'a guarded route as the README mounts it, always with the same token',
);

export const guardManyTokens: Work = warmGuard(1000, 'a guarded route, with a thousand tokens in turn');

export const guardColdToken: Work = {
  name: 'guard-cold',
  about: 'a guarded route, with a token that is not cached',
  contestants: ['koa-router', 'gatehouse', 'gatehouse-postgresql', 'jose'],
  connections: 32,
  async prepare(client, connections) {
    const tokens: string[] = [];
    return {
      async supply(count) {
        await Promise.all(
          Array.from({ length: connections }, async () => {
            for (let made = 0; made < count / connections; made += 1)
              tokens.push(await client.clientCredentials());
          }),
        );
      },
      async run() {
        await call(client, tokens.pop()!);
      },
    };
  },
};
