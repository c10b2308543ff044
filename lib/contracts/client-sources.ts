import type { ClientFields } from './client-registry.ts';

/**
 * How clients become known that nobody of the platform has registered: a feature has one for each way. Of such a client, users are
 * always asked, nothing is vouched for, and its name is what it calls itself.
 */
export interface ClientSource {
  /** As clients have it: `Client.source`. */
  readonly name: string;
  /** In the words of the command line, such as `by the app itself`. */
  readonly about: string;
  /** The sentences of the pages about it. Each one is `source.<name>.<key>` there. */
  readonly texts: { readonly en: SourceTexts; readonly de: SourceTexts };
  /** The fields that the source decides, and nobody else changes. */
  readonly decides?: readonly (keyof ClientFields)[];
  /** Whether its clients are looked up at each authorization: they are refused while the feature is off, and a deleted one comes back. */
  readonly isLive: boolean;
  /** Whether its clients may be on this machine, with an issuer there. */
  readonly loopback?: boolean;
}

/** The sentences about a source. */
export interface SourceTexts {
  /** Who has registered such an app. */
  readonly name: string;
  /** What users have to know before they authorize one: of `{client}`, what it calls itself, `{name}`, the host of its id, and `{brand}`. */
  readonly caution: string;
  /** Why its fields are not changed here. */
  readonly fixed?: string;
  /** Why a disabled one is not deleted. */
  readonly returns?: string;
}

/** The sources, by name. */
export interface ClientSources {
  /** Those of the server. */
  readonly on: ReadonlyMap<string, ClientSource>;
  /** And those of features that are off, of which clients may be stored. */
  readonly all: ReadonlyMap<string, ClientSource>;
}

/** The sentences of sources in one language, by the names that pages have for them. */
export function textsOfSources(
  sources: Iterable<ClientSource>,
  language: 'en' | 'de',
): Record<string, string> {
  return Object.fromEntries(
    [...sources].flatMap(({ name, texts }) =>
      Object.entries(texts[language]).map(([key, text]) => [`source.${name}.${key}`, String(text)]),
    ),
  );
}
