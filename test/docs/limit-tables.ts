import {
  ASSERTION_ALGORITHMS,
  LEAST_MODULUS,
  MOST_KEYS,
  MOST_MODULUS,
} from '../../lib/clients/public-keys.ts';
import { LONGEST_NAME } from '../../lib/clients/fields.ts';
import { MOST_REDIRECT_URIS } from '../../lib/clients/redirect-uris.ts';
import { LEAST_PAUSE, MOST_FRESH, USABLE } from '../../lib/clients/remote-keys.ts';
import { toSeconds } from '../../lib/contracts/duration.ts';
import { CLOCK_TOLERANCE, LONGEST_LIFETIME } from '../../lib/engine/client-assertion.ts';
import { RULES as OAUTH_BODY } from '../../lib/engine/request-body.ts';
import { DOCUMENT, RETRY } from '../../lib/features/agents/document-fetch.ts';
import { LONGEST_ID } from '../../lib/features/agents/document.ts';
import { CHANGES, CHANGES_PER_APP, FETCHES, REGISTRATION_WINDOW } from '../../lib/features/agents/limits.ts';
import { AGENTS } from '../../lib/features/agents/options.ts';
import { PER_USER, UNUSED } from '../../lib/features/agents/registration.ts';
import { DEVICES } from '../../lib/features/devices/index.ts';
import { PUSHED_REQUESTS } from '../../lib/features/pushed-requests/index.ts';
import { MAX_DEPTH } from '../../lib/http/json.ts';
import { FETCHING } from '../../lib/http/public-fetch.ts';
import { MAX_ACCOUNTS } from '../../lib/limits/known-browsers.ts';
import { networksOf } from '../../lib/limits/networks.ts';
import { MOST_WAITING, PARTS } from '../../lib/limits/remote-waits.ts';
import { ATTEMPTS } from '../../lib/options/attempts.ts';
import { readOptions } from '../../lib/options/declare.ts';
import * as places from '../../lib/outbox/delivery-places.ts';
import { ANSWER_TIMEOUT } from '../../lib/outbox/delivery-sender.ts';
import { MOST_GUESSES } from '../../lib/token/authorization-code-grant.ts';
import { eventTable } from './event-table.ts';
import { span, table } from './markdown-table.ts';
import type { Row } from './markdown-table.ts';

const attempts = readOptions(ATTEMPTS, {});
const login = attempts.login!;
const authentication = attempts.clientAuthentication!;
const devices = readOptions(DEVICES, {});
const userCodes = devices.userCodes!;
const requests = devices.requests!;
const pushed = readOptions(PUSHED_REQUESTS, {}).requests!;
const registration = readOptions(AGENTS, {}).registration || undefined;

const DAY = 86_400;

/** The tables of numbers in the guides, by the name in the comments around them. A table is made of the declarations. */
export const LIMIT_TABLES: Readonly<Record<string, () => string>> = {
  attempts: () =>
    table(
      ['', 'within', 'limit'],
      [
        [
          'login, one account from a browser that it has signed in on before',
          span(login.window),
          `${login.perDevice}; the limits below do not apply`,
        ],
        ['login, one account from one address', span(login.window), login.perAccountAndAddress],
        ['login, one account from anywhere', span(login.window), login.perAccount],
        ['login, one address', span(login.window), login.perAddress],
        [
          "an app's secret or key, from one address",
          span(authentication.window),
          authentication.perClientAndAddress,
        ],
        ["apps' secrets and keys, one address", span(authentication.window), authentication.perAddress],
        ['wrong PKCE verifiers for one code', 'its life', MOST_GUESSES - 1],
        ['wrong codes of devices, one user', span(userCodes.window), userCodes.perUser],
        ['wrong codes of devices, one address', span(userCodes.window), userCodes.perAddress],
        ['requests of devices, one address, for public clients', span(requests.window), requests.perAddress],
        ['requests of devices, one confidential client', span(requests.window), requests.perClient],
        ['pushed requests, one address, for public clients', span(pushed.window), pushed.perAddress],
        ['pushed requests, one confidential client', span(pushed.window), pushed.perClient],
      ],
    ),

  networks: () =>
    table(
      ['a network', 'has the limit of an address'],
      ['192.0.2.1', '2001:db8::1'].flatMap((address) =>
        networksOf(address)
          .filter(({ multiplier }) => multiplier > 1)
          .map(({ multiplier, name }): Row => [
            `${address.includes(':') ? 'IPv6' : 'IPv4'} ${name.replace(/^.*(?=\/)/, '')}`,
            `× ${multiplier}`,
          ]),
      ),
    ),

  'known browsers': () =>
    table(
      ['a browser is known', ''],
      [
        ['for', `${span(login.deviceLifetime)} after a login`],
        ['for at most', `${MAX_ACCOUNTS} accounts`],
      ],
    ),

  documents: () =>
    table(
      ['', 'most'],
      [
        [
          'requests that wait, in all',
          `1/${PARTS.ofConcurrency} of \`limits.concurrency\`, and ${MOST_WAITING}`,
        ],
        [
          'of these, from one address',
          `1/${PARTS.ofAddress}: ${MOST_WAITING / PARTS.ofAddress} of ${MOST_WAITING}`,
        ],
        [
          'of these, for one document or one set of keys',
          `1/${PARTS.ofUrl}: ${MOST_WAITING / PARTS.ofUrl} of ${MOST_WAITING}`,
        ],
        [`requests of one address that wait for documents, in ${span(FETCHES.window)}`, FETCHES.perAddress],
        [`fetches of documents from one host, in ${span(FETCHES.window)}`, FETCHES.perHost],
        ['of these, for one address', FETCHES.perHostAndAddress],
        ['fetches at once', FETCHING.maxRunning],
        ['of these, from one origin', FETCHING.maxRunningPerOrigin],
        ['time of a fetch', span(toSeconds(FETCHING.timeout))],
        ['size of a document', `${DOCUMENT.maxBytes / 1024} KiB`],
        ['length of its URL', `${LONGEST_ID} characters`],
        ['length of a name', `${LONGEST_NAME} characters`],
        ['pause after a document that could not be used', span(RETRY)],
      ],
    ),

  assertions: () =>
    table(
      ['', ''],
      [
        ['algorithms', ASSERTION_ALGORITHMS.map((name) => `\`${name}\``).join(', ')],
        [
          'keys',
          `RSA of ${LEAST_MODULUS} to ${MOST_MODULUS} bits, EC on P-256, P-384 or P-521, or Ed25519; at most ${MOST_KEYS} for an app`,
        ],
        ['`exp`, ahead', `at most ${span(LONGEST_LIFETIME)}`],
        ['difference of clocks', `at most ${span(CLOCK_TOLERANCE)}`],
        [
          'keys at an address are used for',
          `${span(MOST_FRESH)}, or less by \`Cache-Control\`, but at least ${span(LEAST_PAUSE)}`,
        ],
        ['they are fetched again for an unknown `kid`, on each node', `once in ${span(LEAST_PAUSE)}`],
        ['they are used while the address does not answer, for', span(USABLE)],
      ],
    ),

  registrations: () =>
    table(
      ['', 'most'],
      [
        [`apps of one address, in ${span(REGISTRATION_WINDOW)} (\`perAddress\`)`, registration!.perAddress],
        ['apps in all (`maxClients`)', registration!.maxClients],
        [`changes of one app, in ${span(REGISTRATION_WINDOW)}`, CHANGES],
        [`changes from one address, in ${span(REGISTRATION_WINDOW)}`, `${CHANGES_PER_APP} × \`perAddress\``],
        ['a body', `${OAUTH_BODY.limit / 1024} KiB, ${MAX_DEPTH} levels`],
        ['redirect URIs', MOST_REDIRECT_URIS.selfRegistered],
        ['apps of one user that stay when all places are taken', PER_USER],
        ['time without use in which they stay', span(UNUSED)],
      ],
    ),

  'user codes': () => {
    const perDay = (limit: number): number => (limit * DAY) / userCodes.window;
    return table(
      ['attacker', 'guesses in a day', 'one hit in'],
      [
        ['one account', perDay(userCodes.perUser)],
        ['one address with any number of accounts', perDay(userCodes.perAddress)],
        ['a hundred addresses with a thousand accounts', 100 * perDay(userCodes.perAddress)],
      ].map(([who = '', guesses = 0]): Row => [
        who,
        guesses.toLocaleString('en'),
        longSpan(POSSIBLE_CODES / (OPEN_CODES * Number(guesses))),
      ]),
    );
  },

  logouts: () =>
    table(
      ['', 'most'],
      [
        ['in all', places.ALL.limit],
        ['of these, at one app', places.OF_RECEIVER],
        [
          `of these, at the platform's apps whose last answer took more than ${span(places.SLOW)}`,
          places.PLATFORM_SLOW.limit,
        ],
        ['at apps of users', places.OWNED.limit],
        ['of these, at those of one owner or user', places.OF_OWNER],
        ['of these, at one host', places.OF_HOST],
        [`of these, at apps whose last answer took more than ${span(places.SLOW)}`, places.OWNED_SLOW.limit],
        [
          `without a confirmation, at one host for apps of users, in ${span(places.UNCONFIRMED.within)}`,
          places.UNCONFIRMED.of,
        ],
        ['of these, for one owner or user', places.UNCONFIRMED.ofOwner],
        ['time of an attempt', span(toSeconds(ANSWER_TIMEOUT))],
      ],
    ),

  events: eventTable,
};

// Eight of twenty letters, and the open codes of others that the guides assume.
const POSSIBLE_CODES = 20 ** 8;
const OPEN_CODES = 1000;

const MARKED = /(<!-- ([\w ]+): `npm run options` -->\n)(?:(?!<!--)[\s\S])*(<!-- end -->)/g;

/** A guide with its tables of numbers as they are now. */
export function withLimitTables(guide: string): string {
  return guide.replaceAll(MARKED, (_all, start: string, name: string, end: string) => {
    const made = LIMIT_TABLES[name];
    if (!made) throw new Error(`there is no table "${name}"; add it to test/docs/limit-tables.ts`);
    return `${start}\n${made()}\n${end}`;
  });
}

/** The names of the tables that a guide has. */
export function limitTablesIn(guide: string): string[] {
  return Array.from(guide.matchAll(MARKED), ([, , name = '']) => name);
}

/** A guide without its tables of numbers. */
export function withoutLimitTables(guide: string): string {
  return guide.replaceAll(MARKED, '');
}

function longSpan(days: number): string {
  return days > 700 ? `${Math.round(days / 365.25)} years` : `${Math.round(days)} days`;
}
