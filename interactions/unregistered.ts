import type { Client, Interaction } from '../lib/contracts/index.ts';
import { isLoopback } from '../lib/contracts/loopback.ts';
import { vouchedForBy } from '../lib/contracts/trust.ts';
import type { PageRequest } from './page-request.ts';
import { plain, printable, sentence } from './sentence.ts';
import type { Sentence } from './sentence.ts';
import type { Texts } from './text.ts';

/*
 * How pages name apps that nobody registered. The name of such an app is what it calls itself, so it is in quotation marks, and where
 * the id is the URL of a document, the host of that URL comes first: it alone is certain.
 */

/** The name of an app in a heading or a sentence. */
export function nameOfApp(client: Client, text: Texts): string {
  if (vouchedForBy(client) !== 'nobody') return client.name;
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
  { client, redirectUri }: Pick<Interaction, 'client' | 'redirectUri'>,
  { brand, text }: Pick<PageRequest, 'brand' | 'text'>,
): readonly Sentence[] {
  if (vouchedForBy(client) !== 'nobody') return [];
  const host = hostOf(client);
  const names = { client: client.name, brand };
  const who =
    host === undefined
      ? sentence(text['consent.caution.dynamic'], names)
      : sentence(text['consent.caution.document'], { ...names, name: host });
  const url = URL.parse(redirectUri);
  const isOnDevice = url !== null && (url.origin === 'null' || isLoopback(url.hostname));
  return isOnDevice ? [who, sentence(text['consent.caution.device'])] : [who];
}

function hostOf({ id, registration }: Pick<Client, 'id' | 'registration'>): string | undefined {
  return registration === 'metadata_document' ? URL.parse(id)?.host : undefined;
}

function quoted({ name }: Pick<Client, 'name'>, text: Texts): string {
  return plain(sentence(text['consent.quoted'], { name }));
}
