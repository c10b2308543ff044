import test from '../harness/test.ts';
import fc from 'fast-check';

import { defineGate } from '../../lib/access/gate.ts';
import { createFindClientPermissions, createPrincipalLoader } from '../../lib/access/principal.ts';
import type { AccessTokenClaims, Assignment, Gate, Principal } from '../../lib/contracts/index.ts';
import { PermissionMissingError } from '../../lib/errors.ts';
import { createFindUsable } from '../../lib/token/usable-token.ts';
import { SEED } from '../harness/seed.ts';
import { app } from './platform.ts';

const PERMISSIONS = ['view', 'edit', 'grade', 'constructor', 'to_string'];
const ROLES = ['teacher', 'registrar', 'constructor'];
const SCOPES = ['read', 'write', 'toString'];
const RESOURCES = [0, 1, 2];

/** Names in any order; names from the storage may be repeated or no longer defined. */
const someOf = (names: readonly string[]): fc.Arbitrary<string[]> =>
  fc.uniqueArray(fc.constantFrom(...names));
const storedNames = (names: readonly string[]): fc.Arbitrary<string[]> =>
  fc.array(fc.constantFrom(...names, 'withdrawn', '__proto__'), { maxLength: 4 });
const setsNamed = (names: readonly string[]): fc.Arbitrary<Record<string, string[]>> =>
  fc.dictionary(fc.constantFrom(...names), someOf(PERMISSIONS), { noNullPrototype: true });

/** A gate, a role assignment, and the scopes of an access token. */
const situations = fc.record({
  roles: setsNamed(ROLES),
  /** The resources that each rule allows. */
  rules: fc.dictionary(fc.constantFrom(...PERMISSIONS), fc.subarray(RESOURCES), { noNullPrototype: true }),
  scopes: setsNamed(SCOPES),
  assignment: fc.record({ roles: storedNames(ROLES), permissions: storedNames(PERMISSIONS) }),
  granted: fc.option(storedNames(SCOPES), { nil: undefined }),
  kind: fc.constantFrom<AccessTokenClaims['principal'][]>('user', 'client'),
});

type Situation = typeof situations extends fc.Arbitrary<infer T> ? T : never;

function gateOf({ roles, rules }: Situation): Gate<string, string, Record<string, number>> {
  return defineGate<string, string, Record<string, number>>({
    permissions: Object.fromEntries(PERMISSIONS.map((name) => [name, name])),
    roles,
    rules: Object.fromEntries(
      Object.entries(rules).map(([name, allowedResources]) => [
        name,
        (_principal, resource: number) => allowedResources.includes(resource),
      ]),
    ),
  });
}

async function principalOf(gate: Gate, { assignment, scopes, granted, kind }: Situation): Promise<Principal> {
  const nothing: Assignment = { roles: [], permissions: [] };
  const userAssignments = {
    find: async (id: string) => ({ user: { id }, assignment: kind === 'user' ? assignment : nothing }),
  };
  const api = {
    resource: 'https://platform.example',
    scopes: new Map(Object.entries(scopes).map(([name, permissions]) => [name, { permissions }])),
    metadataUrl: undefined,
  };
  const client = app(kind === 'client' ? assignment : nothing);
  const load = createPrincipalLoader({
    gate,
    api,
    userAssignments,
    clientPermissions: createFindClientPermissions(gate, userAssignments),
    findUsable: createFindUsable(
      { aboutUser: undefined, resources: new Map([[api.resource, api]]) },
      {
        clients: {
          findDated: async () => ({ stored: { client, secrets: [], sequence: 0 }, readAt: 0 }),
        },
        async endMissingUser() {},
      },
    ),
    isActive: async () => true,
  });
  const claims = { iss: 'i', aud: api.resource, sub: 's', client_id: 'c', iat: 0, exp: 1, jti: 'j' };
  const loaded = await load({ ...claims, principal: kind, scope: granted?.join(' ') });
  if (!('principal' in loaded)) throw new Error(loaded.detail);
  return loaded.principal;
}

/** The rules of the design, written independently of the product. */
function model({ roles, rules, assignment, scopes, granted = [] }: Situation): {
  isAssigned: (permission: string) => boolean;
  can: (permission: string) => boolean;
  allows: (permission: string, resource: number) => boolean;
} {
  const isAssigned = (permission: string): boolean =>
    assignment.permissions.includes(permission) ||
    assignment.roles.some((role) => isIn(roles, role, permission));
  const can = (permission: string): boolean =>
    isAssigned(permission) &&
    (granted.length === 0 || granted.some((scope) => isIn(scopes, scope, permission)));
  return {
    isAssigned,
    can,
    allows: (permission, resource) => can(permission) && rules[permission]!.includes(resource),
  };
}

function isIn(sets: Readonly<Record<string, string[]>>, name: string, permission: string): boolean {
  return Object.hasOwn(sets, name) && sets[name]!.includes(permission);
}

function isAuthorized(authorize: () => void): boolean {
  try {
    authorize();
    return true;
  } catch (error) {
    if (error instanceof PermissionMissingError) return false;
    throw error;
  }
}

test('can(), rules and sources follow the design, for any gate, assignment and scopes', async (t) => {
  await fc.assert(
    fc.asyncProperty(situations, async (situation) => {
      const { assignment, roles, rules } = situation;
      const gate = gateOf(situation);
      const principal = (await principalOf(gate, situation)) as Principal<
        string,
        never,
        Record<string, number>
      >;
      const { isAssigned, can, allows } = model(situation);
      for (const permission of PERMISSIONS) {
        t.is(principal.can(permission), can(permission), permission);
        t.is(gate.can(principal, permission), can(permission), permission);
        const authorize = (): void => gate.authorize(principal, permission);
        t.is(isAuthorized(authorize), can(permission), permission);
        t.is(principal.permissions.has(permission), can(permission), permission);
        t.is(principal.sources.has(permission), isAssigned(permission), permission);
      }
      for (const permission of Object.keys(rules)) {
        for (const resource of RESOURCES) {
          const allowed = allows(permission, resource);
          t.is(principal.can(permission, resource), allowed);
          t.is(gate.can(principal, permission, resource), allowed);
          const authorize = (): void => gate.authorize(principal, permission, resource);
          t.is(isAuthorized(authorize), allowed);
        }
      }
      for (const name of [...principal.permissions, ...principal.sources.keys()])
        t.true(PERMISSIONS.includes(name));
      for (const [permission, sources] of principal.sources) {
        const actual = sources.map((source) => (source.type === 'role' ? source.role : 'direct'));
        const expected = new Set(assignment.permissions.includes(permission) ? ['direct'] : []);
        for (const role of assignment.roles) if (isIn(roles, role, permission)) expected.add(role);
        t.deepEqual(actual, [...expected]);
      }
    }),
    { seed: SEED, numRuns: 300 },
  );
});
