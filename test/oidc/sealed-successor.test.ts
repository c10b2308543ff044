import { randomBytes } from 'node:crypto';

import test from 'ava';

import type { Credential, Grant, GrantStore } from '../../lib/contracts/index.ts';
import { hashCredential } from '../../lib/keys/hash.ts';
import { redeem } from '../../lib/token/redemption.ts';

const FUTURE = 4_000_000_000;

function token(): string {
  return randomBytes(32).toString('base64url');
}

function aCredential(value: string): Credential {
  return {
    kind: 'refresh_token',
    id: hashCredential(value),
    grantId: 'grant',
    payload: {},
    expiresAt: FUTURE,
    consumedAt: undefined,
    sealedSuccessor: undefined,
  };
}

/** Redeems a token, and returns what would be stored with it. */
async function seal(presented: string, successor: string): Promise<string> {
  let sealed: string | undefined;
  const grants: Pick<GrantStore, 'redeem'> = {
    async redeem(_spent, { sealedSuccessor }) {
      sealed = sealedSuccessor;
      return { outcome: 'redeemed' };
    },
  };
  const found = {
    credential: aCredential(presented),
    grant: { id: 'grant' } as Grant,
    expiresIn: 60,
    spentFor: undefined,
  };
  await redeem(
    grants,
    { ...found, value: presented, resource: undefined, scopes: [] },
    {
      successor: { value: successor, credential: aCredential(successor) },
      accessTokenExpiresAt: FUTURE,
      signedInUntil: 0,
      refreshGrace: 10,
    },
  );
  return sealed!;
}

const nonceOf = (sealed: string): string => Buffer.from(sealed, 'base64url').subarray(0, 12).toString('hex');

test('each successor that two requests seal with the key of one token has a nonce of its own', async (t) => {
  const presented = token();
  const sealed = await Promise.all(Array.from({ length: 200 }, async () => seal(presented, token())));
  t.is(new Set(sealed.map(nonceOf)).size, sealed.length);
});

test('a successor has another nonce with another token', async (t) => {
  const successor = token();
  const sealed = await Promise.all(Array.from({ length: 200 }, async () => seal(token(), successor)));
  t.is(new Set(sealed.map(nonceOf)).size, sealed.length);
});

test('what is stored contains neither token', async (t) => {
  const [presented, successor] = [token(), token()];
  const bytes = Buffer.from(await seal(presented, successor), 'base64url');
  for (const value of [presented, successor]) {
    t.false(bytes.includes(value));
    t.false(bytes.includes(Buffer.from(value, 'base64url')));
  }
});
