import type { Client } from '../../contracts/index.ts';
import type { Check } from '../../options/declare.ts';
import { fn } from '../../options/values.ts';

/** Whether requests have to be pushed: those of all clients, or of those for which a function says so. */
type Required = boolean | ((client: Client) => boolean);

export const requiredOption: Check<Required> = (place, given) =>
  typeof given === 'boolean'
    ? given
    : fn<Exclude<Required, boolean>>('pass true or false, or a function (client) => boolean')(place, given);

/** Whether requests of a client that were not pushed are refused. @param client - `undefined`: those of every client */
export function isRequired(required: Required, client: Client | undefined): boolean {
  if (typeof required === 'boolean') return required;
  if (!client) return false;
  // A function of the host may return anything: the stricter one counts.
  const answer: unknown = required(client);
  return Boolean(answer);
}
