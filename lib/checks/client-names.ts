import type { Finding } from '../contracts.ts';
import { NamedClients } from './check.ts';
import type { CheckSubject } from './check.ts';
import type { ClientLook } from './clients.ts';

/** Names that the gate or the server has lost: nobody is told when they no longer give anything. */
export function lookAtNames({ gate, scopes }: Pick<CheckSubject, 'gate' | 'scopes'>): ClientLook {
  const found = [
    look('role', gate && ((name) => Object.hasOwn(gate.roles, name))),
    look('permission', gate && ((name) => gate.has(name))),
    look('scope', scopes && ((name) => scopes.has(name))),
  ];
  return {
    see({ client: { id, name, roles, permissions, scopes: allowed = [] } }) {
      const held = { role: roles, permission: permissions, scope: allowed };
      for (const { kind, known, clients } of found) {
        const unknown = known ? held[kind].find((one) => !known(one)) : undefined;
        if (unknown !== undefined) clients.add({ id, name }, unknown);
      }
    },
    findings: () => found.flatMap(({ kind, clients }) => unknownName(kind, clients)),
  };
}

type Kind = 'role' | 'permission' | 'scope';

/** @param known - `undefined`: nobody knows the names, so none is looked at */
function look(
  kind: Kind,
  known: ((name: string) => boolean) | undefined,
): { kind: Kind; known: typeof known; clients: NamedClients } {
  return { kind, known, clients: new NamedClients() };
}

function unknownName(kind: Kind, clients: NamedClients): Finding[] {
  if (clients.count === 0) return [];
  return [
    {
      code: `${kind}_unknown`,
      severity: 'warning',
      message: `Clients have a ${kind} that the ${kind === 'scope' ? 'server' : 'gate'} does not know: ${clients.toString()}.`,
      remedy: `Define the ${kind} again, or take it from the client with \`gatehouse client ${kind === 'scope' ? 'update' : 'permissions'}\`.`,
    },
  ];
}
