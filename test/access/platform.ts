/** A small school platform: users, clients, a gate and a signing key. A test sets its clock. */
import { randomUUID } from 'node:crypto';

import { generateKeyPair, jwtVerify, SignJWT } from 'jose';

import { defineGate } from '../../lib/access/gate.ts';
import { createGuard } from '../../lib/access/guard.ts';
import type { Guard, GuardOptions } from '../../lib/access/guard.ts';
import {
  createFindClientPermissions,
  createUserAssignments,
  createPrincipalLoader,
} from '../../lib/access/principal.ts';
import { createRequires } from '../../lib/access/requires.ts';
import type {
  AccessTokenClaims,
  AssignmentStore,
  Client,
  Gate,
  Logger,
  User,
  VerifyAccessToken,
} from '../../lib/contracts/index.ts';
import { createFindUsable } from '../../lib/token/usable-token.ts';
import type { IsTokenActive } from '../../lib/token/verify-access-token.ts';
import { completeClient } from '../harness/client.ts';

export const ISSUER = 'https://platform.example';
const START: number = Date.UTC(2026, 0, 1);

export type Permission = 'view_schools' | 'edit_schools' | 'view_grades';

export interface Person extends User {
  readonly permissions: readonly string[];
  readonly roles: readonly string[];
}

export const gate: Gate<Permission, 'registrar'> = defineGate({
  permissions: {
    view_schools: 'View schools',
    edit_schools: 'Edit schools',
    view_grades: { description: 'View grades', message: 'You may not see grades.' },
  },
  roles: { registrar: ['view_schools', 'edit_schools'] },
});

export const scopes: ReadonlyMap<string, { permissions: readonly Permission[] }> = new Map([
  ['schools:read', { permissions: ['view_schools'] }],
  ['grades:read', { permissions: ['view_grades'] }],
  ['profile', { permissions: [] }],
]);

/** The API of the guard, with these scopes and without metadata. */
export const API: { resource: string; scopes: typeof scopes; metadataUrl: undefined } = {
  resource: ISSUER,
  scopes,
  metadataUrl: undefined,
};

const keys = generateKeyPair('ES256');
const foreignKeys = generateKeyPair('ES256');

export function person(changes: Partial<Person> = {}): Person {
  return {
    id: 'ann',
    name: 'Ann',
    email: 'ann@example.org',
    permissions: [],
    roles: ['registrar'],
    ...changes,
  };
}

export function app(changes: Partial<Client> = {}): Client {
  return completeClient({
    id: '0a8f2c5e-6a31-4c55-9df0-30dd5be9a111',
    name: 'Reports',
    redirectUris: ['https://reports.example/callback'],
    ...changes,
  });
}

/** The assignment store of a server whose user store returns roles and permissions. */
const unusedAssignments: Pick<AssignmentStore, 'find'> = {
  async find() {
    throw new Error('The user store returns roles and permissions');
  },
};

/** How often the guard called each function. */
export interface Counts {
  verify: number;
  isActive: number;
  findUser: number;
  findClient: number;
}

/** What a test changes of the guard. */
export interface GuardChanges extends Partial<GuardOptions<Permission, Person>> {
  readonly isActive?: IsTokenActive;
}

export interface Platform {
  /** `clientAge`: how long ago a client was read that is found now, as one that is cached. */
  readonly clock: { time: number; clientAge: number };
  readonly users: Map<string, Person>;
  readonly clients: Map<string, Client>;
  /** Ids of revoked tokens and grants. */
  readonly revoked: Set<string>;
  readonly counts: Counts;
  readonly log: { fields: Readonly<Record<string, unknown>>; message: string }[];
  readonly logger: Logger;
  readonly requires: ReturnType<typeof createRequires<Permission>>;
  guard(options?: GuardChanges): Guard<Permission, Person>;
  userToken(claims?: Partial<AccessTokenClaims> & { nbf?: number }): Promise<string>;
  clientToken(claims?: Partial<AccessTokenClaims>): Promise<string>;
  /** A token with the signature of another key. */
  forgedToken(): Promise<string>;
}

export function createPlatform(): Platform {
  const clock = { time: START, clientAge: 0 };
  const ann = person();
  const reports = app();
  const sync = app({
    id: randomUUID(),
    name: 'Sync',
    grantType: 'client_credentials',
    permissions: ['view_schools'],
  });
  const users = new Map([[ann.id, ann]]);
  const clients = new Map([reports, sync].map((client) => [client.id, client]));
  const revoked = new Set<string>();
  const counts: Counts = { verify: 0, isActive: 0, findUser: 0, findClient: 0 };
  const log: Platform['log'] = [];
  const write = (fields: object, message: string) => void log.push({ fields: { ...fields }, message });
  const logger: Logger = { debug: write, info: write, warn: write, error: write };

  const verify: VerifyAccessToken = async (token) => {
    counts.verify += 1;
    try {
      const { payload } = await jwtVerify<AccessTokenClaims>(token, (await keys).publicKey, {
        issuer: ISSUER,
        audience: ISSUER,
        typ: 'at+jwt',
        algorithms: ['ES256'],
        currentDate: new Date(clock.time),
      });
      return payload;
    } catch {
      return undefined;
    }
  };

  const userAssignments = createUserAssignments<Person>({
    users: {
      async find(id) {
        counts.findUser += 1;
        return users.get(id);
      },
      permissions: async (user) => user.permissions,
      roles: async (user) => user.roles,
    },
    assignments: unusedAssignments,
    gate,
    logger,
  });
  const findUsable = createFindUsable(
    { aboutUser: undefined, resources: new Map([[ISSUER, API]]) },
    {
      clients: {
        async findDated(id) {
          counts.findClient += 1;
          const client = clients.get(id);
          return (
            client && { stored: { client, secrets: [], sequence: 0 }, readAt: clock.time - clock.clientAge }
          );
        },
      },
      async endMissingUser() {},
    },
  );

  const isStillActive: IsTokenActive = async (claims) => {
    counts.isActive += 1;
    return !revoked.has(claims.jti) && (claims.grant_id === undefined || !revoked.has(claims.grant_id));
  };

  const sign = async (claims: Partial<AccessTokenClaims>, pair = keys) =>
    new SignJWT({
      iss: ISSUER,
      aud: ISSUER,
      iat: Math.floor(clock.time / 1000),
      exp: Math.floor(clock.time / 1000) + 3600,
      jti: randomUUID(),
      ...claims,
    })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
      .sign((await pair).privateKey);

  const ofUser = { principal: 'user', sub: ann.id, client_id: reports.id, grant_id: 'grant-1' } as const;
  const ofClient = { principal: 'client', sub: sync.id, client_id: sync.id } as const;

  return {
    clock,
    users,
    clients,
    revoked,
    counts,
    log,
    logger,
    requires: createRequires({ gate, realm: ISSUER }),
    guard: ({ isActive = isStillActive, ...options } = {}) =>
      createGuard({
        api: API,
        issuer: ISSUER,
        logger,
        verify,
        loadPrincipal: createPrincipalLoader<Permission, Person>({
          gate,
          api: API,
          userAssignments,
          clientPermissions: createFindClientPermissions(gate, userAssignments),
          findUsable,
          isActive,
        }),
        revocationLag: 5,
        cachedTokens: 10_000,
        now: () => clock.time,
        ...options,
      }),
    userToken: async (claims) => sign({ ...ofUser, ...claims }),
    clientToken: async (claims) => sign({ ...ofClient, ...claims }),
    forgedToken: async () => sign(ofUser, foreignKeys),
  };
}
