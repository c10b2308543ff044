import type { Client, ClientFields } from '../../lib/contracts/index.ts';

/** What an app is, in a person's words: they choose where it runs, which says the rest. */
export type Kind = 'service' | Place;

/** Where an app runs that people sign in to. */
export type Place = 'server' | 'browser' | 'device';

const PLACES: readonly Place[] = ['server', 'browser', 'device'];

export function kindOf({ confidential, grantType, native }: Client): Kind {
  if (grantType === 'client_credentials') return 'service';
  if (confidential) return 'server';
  return native ? 'device' : 'browser';
}

/** What follows from where an app runs: only a server can keep a secret (RFC 6749 section 2.1). */
export function fieldsOfPlace(place: Place): Pick<ClientFields, 'confidential' | 'native'> {
  return { confidential: place === 'server', native: place === 'device' };
}

export function isPlace(text: string): text is Place {
  return PLACES.some((place) => place === text);
}
