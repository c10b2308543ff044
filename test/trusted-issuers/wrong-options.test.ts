// Each wrong option is refused at the start, with its name and a remedy.
import test from '../harness/test.ts';
import { trustedIssuers } from 'koa-gatehouse';

import type { TrustedIssuerOptions } from '../../lib/features/trusted-issuers/options.ts';
import { startPlatform } from '../harness/platform.ts';
import { CI, IDP, startTrusted } from './identity-provider.ts';

const idp = { profile: 'id-jag', scopes: ['schools:read'], findUser: () => undefined } as const;
const rule = { client: 'c', match: { sub: 'repo:acme/app:ref:refs/heads/main' } };
const ofIdp = (more: object): object => ({ [IDP]: { ...idp, ...more } });
const ofCi = (more: object): object => ({ [CI]: { profile: 'workload', rules: [rule], ...more } });
const ofRule = (match: unknown): object => ofCi({ rules: [{ client: 'c', match }] });

const AT_IDP = `trustedIssuers()['${IDP}']`;
const AT_CI = `trustedIssuers()['${CI}']`;
const URL_REMEDY = 'name the issuer by its https URL, as its assertions have it in iss';
const SUB_REMEDY = 'pass the whole sub of the workload; only :* at its end stands for anything';
const VALUE_REMEDY = 'pass a text, a number or a boolean; no star stands for anything';
const KEYS_REMEDY = 'pass a JWK Set with public keys, or the https URL of one';

const WRONG: Readonly<Record<string, readonly [options: unknown, message: string]>> = {
  'a list of issuers': [
    [IDP],
    "trustedIssuers(): pass an object such as { 'https://idp.example': { profile } }",
  ],
  'an http URL': [{ 'http://idp.example': idp }, `trustedIssuers()['http://idp.example']: ${URL_REMEDY}`],
  'an http URL on loopback that is not for trials': [
    { 'http://localhost:9000': idp },
    `trustedIssuers()['http://localhost:9000']: ${URL_REMEDY}`,
  ],
  'an http URL of another host for trials': [
    { 'http://idp.example': { ...idp, loopback: true } },
    `trustedIssuers()['http://idp.example']: ${URL_REMEDY}`,
  ],
  'a host name': [{ 'idp.example': idp }, `trustedIssuers()['idp.example']: ${URL_REMEDY}`],
  'a star': [{ 'https://*.idp.example': idp }, `trustedIssuers()['https://*.idp.example']: ${URL_REMEDY}`],
  'a query': [{ 'https://idp.example?a': idp }, `trustedIssuers()['https://idp.example?a']: ${URL_REMEDY}`],
  'a password': [
    { 'https://a:b@idp.example': idp },
    `trustedIssuers()['https://a:b@idp.example']: ${URL_REMEDY}`,
  ],
  'no profile': [ofIdp({ profile: undefined }), `${AT_IDP}.profile: choose id-jag or workload`],
  'another profile': [ofIdp({ profile: 'saml' }), `${AT_IDP}.profile: choose id-jag or workload`],
  'an unknown option': [ofIdp({ key: 1 }), `${AT_IDP}.key: there is no such option`],
  'an option of the other profile': [ofIdp({ rules: [rule] }), `${AT_IDP}.rules: there is no such option`],
  'no function that finds users': [
    ofIdp({ findUser: undefined }),
    `${AT_IDP}.findUser: pass a function that finds the user of an assertion`,
  ],
  'no scopes': [
    ofIdp({ scopes: [] }),
    `${AT_IDP}.scopes: list at least one scope: without a scope, an assertion gives nothing`,
  ],
  'an empty list of tenants': [
    ofIdp({ tenants: [] }),
    `${AT_IDP}.tenants: list the tenants, such as ['f2b9…']`,
  ],
  'an empty tenant': [ofIdp({ tenants: [''] }), `${AT_IDP}.tenants: list the tenants, such as ['f2b9…']`],
  'a secret key': [ofIdp({ keys: { keys: [{ kty: 'oct', k: 'AAAA' }] } }), `${AT_IDP}.keys: ${KEYS_REMEDY}`],
  'keys at an http URL': [ofIdp({ keys: 'http://idp.example/keys' }), `${AT_IDP}.keys: ${KEYS_REMEDY}`],
  'no rules': [ofCi({ rules: [] }), `${AT_CI}.rules: list at least one rule`],
  'one rule without a list': [ofCi({ rules: rule }), `${AT_CI}.rules: list at least one rule`],
  'once as a text': [ofCi({ once: 'no' }), `${AT_CI}.once: pass true or false`],
  'a rule without a client': [
    ofCi({ rules: [{ match: rule.match }] }),
    `${AT_CI}.rules[0].client: pass the id of a client`,
  ],
  'a rule with another member': [
    ofCi({ rules: [{ ...rule, sub: 'x' }] }),
    `${AT_CI}.rules[0].sub: there is no such option`,
  ],
  'a rule without claims': [ofRule(undefined), `${AT_CI}.rules[0].match: pass an object such as { sub }`],
  'a rule without a sub': [ofRule({ repository_id: '1' }), `${AT_CI}.rules[0].match.sub: ${SUB_REMEDY}`],
  'a rule for any sub': [ofRule({ sub: '*' }), `${AT_CI}.rules[0].match.sub: ${SUB_REMEDY}`],
  'a star in a sub': [ofRule({ sub: 'repo:*:main' }), `${AT_CI}.rules[0].match.sub: ${SUB_REMEDY}`],
  'a star right after a name': [ofRule({ sub: 'repo:acme*' }), `${AT_CI}.rules[0].match.sub: ${SUB_REMEDY}`],
  'nothing before the star': [ofRule({ sub: ':*' }), `${AT_CI}.rules[0].match.sub: ${SUB_REMEDY}`],
  'a star in an audience': [ofRule({ sub: 'a', aud: '*' }), `${AT_CI}.rules[0].match.aud: ${VALUE_REMEDY}`],
  'an empty audience': [
    ofRule({ sub: 'a', aud: '' }),
    `${AT_CI}.rules[0].match.aud: pass the whole audience`,
  ],
  'several audiences': [
    ofRule({ sub: 'a', aud: ['b'] }),
    `${AT_CI}.rules[0].match.aud: pass the whole audience`,
  ],
  'a star in a claim': [ofRule({ sub: 'a', ref: 'refs/*' }), `${AT_CI}.rules[0].match.ref: ${VALUE_REMEDY}`],
  'a claim that is an object': [
    ofRule({ sub: 'a', ref: {} }),
    `${AT_CI}.rules[0].match.ref: ${VALUE_REMEDY}`,
  ],
};

for (const [name, [options, message]] of Object.entries(WRONG))
  test(`refused: ${name}`, (t) => {
    const error = t.throws(() => trustedIssuers(options as TrustedIssuerOptions), { code: 'ERR_CONFIG' });
    t.true(error.message.startsWith(message), error.message);
  });

test('what only a server knows is refused when it starts', async (t) => {
  const refused = async (starting: Promise<unknown>, message: string): Promise<void> => {
    await t.throwsAsync(starting, { code: 'ERR_CONFIG', message });
  };
  await refused(
    startTrusted({ idp: { scopes: ['schools:read', 'nothing'] } }),
    `${AT_IDP}.scopes: no API of this server has the scope nothing`,
  );
  await refused(
    startPlatform({ features: [trustedIssuers()] }),
    "trustedIssuers(): name an issuer, such as { 'https://idp.example': { profile } }",
  );
  const own = 'https://platform.example';
  await refused(
    startTrusted({ more: { [own]: idp } }, { issuer: own }),
    'trustedIssuers(): leave out the issuer of this server',
  );
});
