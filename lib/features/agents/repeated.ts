import { isDeepStrictEqual } from 'node:util';

import { now } from '../../contracts/clock.ts';
import type { Client, ClientStore, Seconds } from '../../contracts/index.ts';
import type { CheckedFields } from '../../clients/fields.ts';
import type { RegistrationStore } from './types.ts';

/** What {@link createFindRepeated} takes. */
export interface RepetitionPorts {
  readonly clients: Pick<ClientStore, 'find'>;
  readonly registrations: Pick<RegistrationStore, 'find' | 'removeToken'>;
  /** Makes an id from an address and metadata: always the same id, which nobody else can make. */
  readonly idOf: (address: string, metadata: string) => string;
  /** The time after which an app that no user has authorized is removed. */
  readonly unauthorizedAfter: Seconds;
}

/** The place of a registration: the client that exists already, or the id for the client that is to be made. */
export interface FoundRegistration {
  readonly id: string;
  readonly existing: Client | undefined;
  /** Whether a registration access token manages the client. */
  readonly hasToken: boolean;
}

/**
 * Makes the function that finds the public client that was registered before with the same metadata from the same address, and that no
 * user has authorized yet. Programs register again at each start, after a lost response, and on each computer of a school; in this way
 * they do not add a row each time. A confidential client is never found again, because its secret is for one program alone.
 *
 * The ids of such clients follow from the address, the metadata, the time and a number. A client that was authorized keeps its number,
 * and the next client takes another one: with `n` authorized clients, about `2 log n` are read.
 */
export function createFindRepeated({ clients, idOf, registrations, unauthorizedAfter }: RepetitionPorts) {
  async function findAt(id: string, fields: CheckedFields): Promise<FoundRegistration | undefined> {
    const client = (await clients.find(id))?.client;
    if (!client) return { id, existing: undefined, hasToken: false };
    const registration = await registrations.find(id);
    // A consent moves `removableAt`.
    const isAuthorized = registration && registration.removableAt > client.createdAt + unauthorizedAfter;
    if (!registration || isAuthorized || !isSame(client, fields)) return undefined;
    return { id, existing: client, hasToken: registration.tokenHash !== '' };
  }

  return async function findRepeated(address: string, fields: CheckedFields): Promise<FoundRegistration> {
    // A client that is not authorized in one period is removed soon after the next period has begun.
    const period = Math.floor(now() / unauthorizedAfter);
    const find = async (number: number) =>
      findAt(idOf(address, JSON.stringify([fields, period, number])), fields);
    let taken = -1;
    let free = 0;
    let found = await find(free);
    while (!found) {
      taken = free;
      free = 2 * free + 1;
      found = await find(free);
    }
    while (free - taken > 1) {
      const middle = Math.floor((taken + free) / 2);
      const at = await find(middle);
      if (at) [free, found] = [middle, at];
      else taken = middle;
    }
    if (!found.hasToken) return found;
    // From now on others rely on the client, and whoever has the token could change or delete it.
    await registrations.removeToken(found.id);
    return (await findAt(found.id, fields)) ?? findRepeated(address, fields);
  };
}

/** Whether a client still has these fields: an administrator, or the holder of its registration access token, may have changed it. */
function isSame(client: Client, fields: CheckedFields): boolean {
  return (
    !client.disabled &&
    (Object.keys(fields) as (keyof CheckedFields)[]).every((field) =>
      isDeepStrictEqual(client[field], fields[field]),
    )
  );
}
