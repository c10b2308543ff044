import { isDeepStrictEqual } from 'node:util';

import { now } from '../../contracts/clock.ts';
import type { Client, ClientStore, Seconds } from '../../contracts/index.ts';
import type { CheckedFields } from '../../clients/fields.ts';
import type { RegistrationStore } from './types.ts';

/** What {@link createFindRepeated} takes. */
export interface RepetitionPorts {
  readonly clients: Pick<ClientStore, 'find'>;
  readonly registrations: Pick<RegistrationStore, 'find' | 'removeToken'>;
  /** Makes an id out of what it is for, the same one each time, which nobody else can make. */
  readonly idOf: (address: string, metadata: string) => string;
  /** After what time an app that no user has authorized is removed. */
  readonly unauthorizedAfter: Seconds;
}

/** The place of a registration: the client that is there already, or the id of the one that is to be made. */
export interface FoundRegistration {
  readonly id: string;
  readonly existing: Client | undefined;
  /** Whether a registration access token manages it. */
  readonly hasToken: boolean;
}

/**
 * Makes the function that finds the public client that was registered before with the same metadata from the same address, and that no
 * user has authorized yet. Programs register again at each start, after a lost response, and on each computer of a school; that way
 * they add no row each time. No confidential client is found again, because its secret is for one program alone.
 *
 * The ids of such clients follow from the address, the metadata, the time and a number. A client that was authorized keeps its number,
 * so that the next one takes another: of `n` authorized ones, about `2 log n` are read.
 */
export function createFindRepeated({ clients, idOf, registrations, unauthorizedAfter }: RepetitionPorts) {
  async function findAt(id: string, fields: CheckedFields): Promise<FoundRegistration | undefined> {
    const client = (await clients.find(id))?.client;
    if (!client) return { id, existing: undefined, hasToken: false };
    const registration = await registrations.find(id);
    // A consent moves it.
    const isAuthorized = registration && registration.removableAt > client.createdAt + unauthorizedAfter;
    if (!registration || isAuthorized || !isSame(client, fields)) return undefined;
    return { id, existing: client, hasToken: registration.tokenHash !== '' };
  }

  return async function findRepeated(address: string, fields: CheckedFields): Promise<FoundRegistration> {
    // When the next period begins, one that was not authorized in this one is soon removed.
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
    // Whoever has the token could change or delete the client that others rely on from now on.
    await registrations.removeToken(found.id);
    return (await findAt(found.id, fields)) ?? findRepeated(address, fields);
  };
}

/** Whether a client has the fields still: an administrator may have changed it, and whoever has its registration access token. */
function isSame(client: Client, fields: CheckedFields): boolean {
  return (
    !client.disabled &&
    (Object.keys(fields) as (keyof CheckedFields)[]).every((field) =>
      isDeepStrictEqual(client[field], fields[field]),
    )
  );
}
