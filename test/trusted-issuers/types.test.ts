import test from '../harness/test.ts';
import { trustedIssuers } from 'koa-gatehouse';

import { startPlatform } from '../harness/platform.ts';

const ISSUER = 'https://idp.example';
const idp = { profile: 'id-jag', scopes: ['schools:read'], findUser: () => undefined } as const;
const rule = { client: 'c', match: { sub: 'repo:acme/app:ref:refs/heads/main' } } as const;

test('a misspelt option, a wrong profile and a member of another profile do not compile', (t) => {
  const compiled = [
    () => trustedIssuers({ [ISSUER]: idp }),
    () => trustedIssuers({ [ISSUER]: { profile: 'workload', rules: [rule] } }),
    // @ts-expect-error -- the profile is not known
    () => trustedIssuers({ [ISSUER]: { ...idp, profile: 'saml' } }),
    // @ts-expect-error -- an identity provider needs findUser
    () => trustedIssuers({ [ISSUER]: { profile: 'id-jag', scopes: ['a'] } }),
    // @ts-expect-error -- an identity provider has no rules
    () => trustedIssuers({ [ISSUER]: { profile: 'id-jag', scopes: ['a'], findUser() {}, rules: [rule] } }),
    // @ts-expect-error -- the option is scopes
    () => trustedIssuers({ [ISSUER]: { profile: 'id-jag', scope: ['a'], findUser() {} } }),
    // @ts-expect-error -- a workload has no findUser
    () => trustedIssuers({ [ISSUER]: { profile: 'workload', rules: [rule], findUser() {} } }),
    // @ts-expect-error -- a rule needs a sub
    () => trustedIssuers({ [ISSUER]: { profile: 'workload', rules: [{ client: 'c', match: {} }] } }),
    // @ts-expect-error -- a server without the feature has no such member
    async () => (await startPlatform()).auth.trustedIssuers,
  ];
  t.true(compiled.length > 0);
});
