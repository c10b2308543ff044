import test from 'ava';
import fc from 'fast-check';

import { defineGate } from '../../lib/access/gate.ts';
import { createFindClientPermissions, createPrincipalLoader } from '../../lib/access/principal.ts';
import type { AccessTokenClaims, Assignment, Gate, Principal } from '../../lib/contracts/index.ts';
import { PermissionMissingError } from '../../lib/errors.ts';
import { app } from './platform.ts';

const PERMISSIONS = ['view', 'edit', 'grade', 'constructor', 'to_string'];
const ROLES = ['teacher', 'registrar', 'constructor'];
const SCOPES = ['read', 'write', 'toString'];
const SUBJECTS = [0, 1, 2];

/** Some of the names, in any order; those of the storage may be there twice, or be unknown by now. */
const someOf = (names: readonly string[]): fc.Arbitrary<string[]> =>
  fc.uniqueArray(fc.constantFrom(...names));
const stored = (names: readonly string[]): fc.Arbitrary<string[]> =>
  fc.array(fc.constantFrom(...names, 'withdrawn', '__proto__'), { maxLength: 4 });
const setsNamed = (names: readonly string[]): fc.Arbitrary<Record<string, string[]>> =>
  fc.dictionary(fc.constantFrom(...names), someOf(PERMISSIONS), { noNullPrototype: true });

/** A gate, somebody who holds something, and the scopes of their token. */
const situations = fc.record({
  roles: setsNamed(ROLES),
  /** The subjects that each rule admits. */
  rules: fc.dictionary(fc.constantFrom(...PERMISSIONS), fc.subarray(SUBJECTS), { noNullPrototype: true }),
  scopes: setsNamed(SCOPES),
  held: fc.record({ roles: stored(ROLES), permissions: stored(PERMISSIONS) }),
  granted: fc.option(stored(SCOPES), { nil: undefined }),
  kind: fc.constantFrom<AccessTokenClaims['principal'][]>('user', 'client'),
});

type Situation = typeof situations extends fc.Arbitrary<infer T> ? T : never;

function gateOf({ roles, rules }: Situation): Gate<string, string, Record<string, number>> {
  return defineGate<string, string, Record<string, number>>({
    permissions: Object.fromEntries(PERMISSIONS.map((name) => [name, name])),
    roles,
    rules: Object.fromEntries(
      Object.entries(rules).map(([name, admitted]) => [
        name,
        (_principal, subject: number) => admitted.includes(subject),
      ]),
    ),
  });
}

async function principalOf(gate: Gate, { held, scopes, granted, kind }: Situation): Promise<Principal> {
  const nothing: Assignment = { roles: [], permissions: [] };
  const userAssignments = {
    find: async (id: string) => ({ user: { id }, assignment: kind === 'user' ? held : nothing }),
  };
  const load = createPrincipalLoader({
    gate,
    scopes: new Map(Object.entries(scopes).map(([name, permissions]) => [name, { permissions }])),
    userAssignments,
    clientPermissions: createFindClientPermissions(gate, userAssignments),
    clients: {
      find: async () => ({ client: app(kind === 'client' ? held : nothing), secrets: [], sequence: 0 }),
    },
  });
  const claims = { iss: 'i', aud: 'a', sub: 's', client_id: 'c', iat: 0, exp: 1, jti: 'j' };
  return (await load({ ...claims, principal: kind, scope: granted?.join(' ') }))!;
}

/** What the design says, word by word. */
function model({ roles, rules, held, scopes, granted = [] }: Situation): {
  holds: (permission: string) => boolean;
  can: (permission: string) => boolean;
  admits: (permission: string, subject: number) => boolean;
} {
  const holds = (permission: string): boolean =>
    held.permissions.includes(permission) || held.roles.some((role) => isIn(roles, role, permission));
  const can = (permission: string): boolean =>
    holds(permission) && (granted.length === 0 || granted.some((scope) => isIn(scopes, scope, permission)));
  return {
    holds,
    can,
    admits: (permission, subject) => can(permission) && rules[permission]!.includes(subject),
  };
}

function isIn(sets: Readonly<Record<string, string[]>>, name: string, permission: string): boolean {
  return Object.hasOwn(sets, name) && sets[name]!.includes(permission);
}

function answers(authorize: () => void): boolean {
  try {
    authorize();
    return true;
  } catch (error) {
    if (error instanceof PermissionMissingError) return false;
    throw error;
  }
}

test('can() says what the design says, for any gate, assignment and scopes', async (t) => {
  await fc.assert(
    fc.asyncProperty(situations, async (situation) => {
      const gate = gateOf(situation);
      const principal = await principalOf(gate, situation);
      const { holds, can } = model(situation);
      for (const permission of PERMISSIONS) {
        t.is(principal.can(permission), can(permission), permission);
        t.is(gate.can(principal, permission), can(permission), permission);
        t.is(
          answers(() => gate.authorize(principal, permission)),
          can(permission),
          permission,
        );
        t.is(principal.permissions.has(permission), can(permission), permission);
        t.is(principal.sources.has(permission), holds(permission), permission);
      }
      t.true([...principal.permissions].every((permission) => PERMISSIONS.includes(permission)));
      t.true([...principal.sources.keys()].every((permission) => PERMISSIONS.includes(permission)));
    }),
    { numRuns: 500 },
  );
});

test('a rule never widens, for any subject', async (t) => {
  await fc.assert(
    fc.asyncProperty(situations, async (situation) => {
      const gate = gateOf(situation);
      const principal = (await principalOf(gate, situation)) as Principal<
        string,
        never,
        Record<string, number>
      >;
      const { admits } = model(situation);
      for (const permission of Object.keys(situation.rules)) {
        for (const subject of SUBJECTS) {
          const allowed = principal.can(permission, subject);
          t.is(allowed, admits(permission, subject));
          t.is(gate.can(principal, permission, subject), allowed);
          t.is(
            answers(() => gate.authorize(principal, permission, subject)),
            allowed,
          );
          t.true(!allowed || principal.can(permission));
        }
      }
    }),
    { numRuns: 500 },
  );
});

test('every source of a permission is told, and none that is not', async (t) => {
  await fc.assert(
    fc.asyncProperty(situations, async (situation) => {
      const { held, roles } = situation;
      const principal = await principalOf(gateOf(situation), situation);
      for (const [permission, sources] of principal.sources) {
        const told = sources.map((source) => (source.type === 'role' ? source.role : 'direct'));
        const expected = new Set(held.permissions.includes(permission) ? ['direct'] : []);
        for (const role of held.roles) {
          if (isIn(roles, role, permission)) expected.add(role);
        }
        t.deepEqual(told, [...expected]);
      }
    }),
    { numRuns: 500 },
  );
});
