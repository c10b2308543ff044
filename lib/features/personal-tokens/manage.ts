import { randomUUID } from 'node:crypto';

import { now } from '../../contracts/clock.ts';
import { parseDuration } from '../../contracts/duration.ts';
import { fieldError } from '../../contracts/field-errors.ts';
import type { AuditLog, AuditOrigin, Duration, FieldError, Mistake, Seconds } from '../../contracts/index.ts';
import { hasControls } from '../../contracts/joiners.ts';
import { hashCredential } from '../../keys/hash.ts';
import { optional, readOptions, unchecked } from '../../options/declare.ts';
import type { Given } from '../../options/declare.ts';
import { PersonalTokenInvalidError } from './errors.ts';
import type { EndPersonalToken } from './end.ts';
import type {
  NewPersonalToken,
  NewPersonalTokenRow,
  PersonalToken,
  PersonalTokens,
  PersonalTokenStore,
} from './types.ts';
import { makePersonalTokenValue } from './value.ts';

// Checked below, where each mistake is reported for its field, because people type these values.
const CREATE = {
  /** The id of the user. */
  userId: unchecked<string>,
  /** The user's own words for the token, 1 to 100 characters. */
  name: unchecked<string>,
  /** How long the token works: at least a second, at most the option `maxLifetime`. */
  lifetime: unchecked<Duration>,
  /** The API that the token is for: the issuer or one of the option `resources`. @default the issuer */
  resource: optional(unchecked<string>),
  /** At least one scope of the API, where it has scopes. */
  scopes: optional(unchecked<readonly string[]>),
  /** Permissions that the user has, where the API has no scopes. @default none: the token says who the user is */
  permissions: optional(unchecked<readonly string[]>),
};

/** A personal access token to create. */
export interface PersonalTokenFields extends Given<typeof CREATE> {}

/** What `createPersonalTokens()` takes. */
export interface PersonalTokenPorts {
  readonly store: Pick<PersonalTokenStore, 'insert' | 'list'>;
  readonly audit: Pick<AuditLog, 'record'>;
  readonly end: EndPersonalToken;
  /** `RevocationStore.latestSequence`. */
  readonly latestSequence: () => Promise<number>;
  /** The default API; `undefined` when it is not known, as in an administration. */
  readonly issuer: string | undefined;
  /** The scopes of an API by its URL, or of the default API without a URL; `undefined` when there is no such API. */
  readonly scopesOf: (resource: string | undefined) => ReadonlyMap<string, unknown> | undefined | 'unknown';
  /**
   * The permissions that a user has now; `undefined` when there is no such user, and `unknown` when they are not known, as in an
   * administration.
   */
  readonly permissionsOf: (userId: string) => Promise<ReadonlyMap<string, unknown> | undefined | 'unknown'>;
  readonly maxLifetime: Seconds;
  readonly perUser: number;
}

/** The personal access tokens of users, with what the server itself may do. */
export interface PersonalTokenRegistry extends PersonalTokens<PersonalTokenFields> {
  /**
   * @param origin - who created the token, and from where
   * @param sequence - `RevocationStore.latestSequence` at the login by which the token is created. @default the latest
   */
  create(
    this: void,
    options: PersonalTokenFields,
    origin?: AuditOrigin,
    sequence?: number,
  ): Promise<NewPersonalToken>;
  revoke(this: void, id: string, origin?: AuditOrigin): Promise<boolean>;
  /** Ends a token by its id, if it is a token of the user. */
  revokeOfUser(this: void, userId: string, id: string, origin?: AuditOrigin): Promise<boolean>;
  list(this: void, userId: string): Promise<readonly PersonalToken[]>;
}

const LONGEST_NAME = 100;

/** Creates, lists and ends personal access tokens. */
export function createPersonalTokens(ports: PersonalTokenPorts): PersonalTokenRegistry {
  const { audit, end, perUser, store } = ports;

  async function check(given: PersonalTokenFields): Promise<Omit<NewPersonalTokenRow, 'hash' | 'sequence'>> {
    const options = readOptions(CREATE, given, 'personalTokens.create()');
    const { lifetime: duration, name, userId } = options;
    const resource = options.resource === ports.issuer ? undefined : options.resource;
    const userPermissions = isFilled(userId) ? await ports.permissionsOf(userId) : undefined;
    const lifetime = parseDuration(duration);
    const mistakes = [
      ...(userPermissions ? [] : [fieldError('userId', 'unknown_user')]),
      ...inField('name', nameMistake(name)),
      ...inField('lifetime', lifetimeMistake(lifetime, ports.maxLifetime)),
      ...accessMistakes(options, { apiScopes: ports.scopesOf(resource), userPermissions }),
    ];
    if (mistakes.length > 0) throw new PersonalTokenInvalidError(mistakes);
    const createdAt = now();
    const { permissions = [], scopes } = options;
    return {
      id: randomUUID(),
      userId,
      name: name.trim(),
      resource,
      scopes: scopes && [...new Set(scopes)],
      permissions: scopes ? undefined : [...new Set(permissions)],
      createdAt,
      expiresAt: createdAt + lifetime!,
    };
  }

  return {
    async create(options, origin, givenSequence) {
      // Read first, so that ending the user from here on ends this token too.
      const sequence = givenSequence ?? (await ports.latestSequence());
      const token = await check(options);
      const value = makePersonalTokenValue();
      const row = { ...token, hash: hashCredential(value), sequence };
      if (!(await store.insert(row, { limit: perUser, now: token.createdAt })))
        throw new PersonalTokenInvalidError([fieldError('userId', 'too_many_tokens', { most: perUser })]);
      const { createdAt: _createdAt, id: tokenId, ...about } = token;
      audit.record({ type: 'personal_token_created', tokenId, ...about }, origin);
      return { ...token, lastUsedAt: undefined, lastUsedFrom: undefined, value };
    },
    list: async (userId) => store.list(userId, now()),
    revoke: end.byId,
    revokeOfUser: end.ofUser,
  };
}

function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function inField(field: string, mistake: Mistake | undefined): FieldError[] {
  return mistake ? [fieldError(field, ...mistake)] : [];
}

function nameMistake(name: unknown): Mistake | undefined {
  if (typeof name !== 'string' || name.trim() === '' || name.length > LONGEST_NAME)
    return ['name_length', { most: LONGEST_NAME }];
  return hasControls(name) ? ['control_characters'] : undefined;
}

function lifetimeMistake(lifetime: Seconds | undefined, most: number): Mistake | undefined {
  if (lifetime === undefined) return ['not_duration'];
  if (lifetime < 1) return ['lifetime_too_short'];
  return lifetime > most ? ['lifetime_longer', { most }] : undefined;
}

/**
 * @param apiScopes - `unknown` when the scopes are not checked
 * @param userPermissions - the permissions of the user
 */
function accessMistakes(
  { permissions, scopes }: Pick<PersonalTokenFields, 'permissions' | 'scopes'>,
  {
    userPermissions,
    apiScopes,
  }: {
    readonly apiScopes: ReturnType<PersonalTokenPorts['scopesOf']>;
    readonly userPermissions: ReadonlyMap<string, unknown> | undefined | 'unknown';
  },
): FieldError[] {
  if (apiScopes === undefined) return [fieldError('resource', 'unknown_resource')];
  for (const [field, names] of Object.entries({ permissions, scopes })) {
    if (names !== undefined && !(Array.isArray(names) && names.every(isFilled)))
      return [fieldError(field, 'not_strings')];
  }
  if (apiScopes !== 'unknown' && apiScopes.size > 0 && permissions !== undefined)
    return [fieldError('permissions', 'permissions_of_scopes')];
  if (scopes?.length === 0 || (scopes === undefined && apiScopes !== 'unknown' && apiScopes.size > 0))
    return [fieldError('scopes', 'scope_missing')];
  return [
    ...(scopes ?? [])
      .filter((name) => apiScopes !== 'unknown' && !apiScopes.has(name))
      .map((name) => fieldError('scopes', 'unknown_scope', { name })),
    ...(permissions ?? [])
      .filter(
        (name) =>
          userPermissions !== undefined && userPermissions !== 'unknown' && !userPermissions.has(name),
      )
      .map((name) => fieldError('permissions', 'not_assignable', { name })),
  ];
}
