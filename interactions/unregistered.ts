import type { Client, ConsentForm } from '../lib/contracts/index.ts';
import { isLoopback } from '../lib/contracts/loopback.ts';
import { isRegistered } from '../lib/contracts/trust.ts';
import type { PageRequest } from './page-request.ts';
import { plain, printable, sentence } from './sentence.ts';
import type { Sentence } from './sentence.ts';
import type { Texts } from './text.ts';

/*
 * How pages name apps that nobody registered. The name of such an app is what it calls itself, so it is in quotation marks, and where
 * the id is a URL, the host of that URL comes first: it alone is certain.
 */

/** The name of an app in a heading or a sentence. */
export function nameOfApp(client: Client, text: Texts): string {
  if (isRegistered(client)) return client.name;
  return hostOf(client) ?? quoted(client, text);
}

/** The name of an app in a list, with the name that it gives itself. */
export function titleOfApp(client: Client, text: Texts): string {
  const host = hostOf(client);
  if (host === undefined) return printable(nameOfApp(client, text));
  return printable(`${host} ${quoted(client, text)}`);
}

/** What users have to know before they authorize an app that nobody registered; empty for any other app. */
export function warningsFor(
  { client, redirectUri }: Pick<ConsentForm, 'client' | 'redirectUri'>,
  { brand, text }: Pick<PageRequest, 'brand' | 'text'>,
): readonly Sentence[] {
  if (isRegistered(client)) return [];
  const who = sentence(text[`source.${client.source}.caution`] ?? '', {
    client: client.name,
    brand,
    name: hostOf(client) ?? '',
  });
  const url = URL.parse(redirectUri);
  const isOnDevice = url !== null && (url.origin === 'null' || isLoopback(url.hostname));
  return isOnDevice ? [who, sentence(text['consent.caution.device'])] : [who];
}

/** The host of an app that describes itself at a URL, its id; `undefined` for any other app. */
export function hostOf(client: Pick<Client, 'id' | 'source'>): string | undefined {
  return isRegistered(client) ? undefined : URL.parse(client.id)?.host;
}

function quoted({ name }: Pick<Client, 'name'>, text: Texts): string {
  return plain(sentence(text['consent.quoted'], { name }));
}
