import type { ClientFields } from './client-registry.ts';

/**
 * A way in which clients become known that nobody of the platform has registered; features have one source for each way. Users are always
 * asked about such a client, nobody vouches for it, and its name is what it calls itself.
 */
export interface ClientSource {
  /** The name of the source, as in `Client.source`. */
  readonly name: string;
  /** The source in the words of the command line, such as `by the app itself`. */
  readonly about: string;
  /** The sentences of the pages about the source. The pages name each one `source.<name>.<key>`. */
  readonly texts: { readonly en: SourceTexts; readonly de: SourceTexts };
  /** The fields that the source decides, so that nobody else can change them. */
  readonly decides?: readonly (keyof ClientFields)[];
  /**
   * Whether the source's clients are looked up at each authorization. They are then refused while the feature is off, and a deleted
   * client comes back.
   */
  readonly isLive: boolean;
  /** Whether the source's clients may be on this machine when the issuer is too. */
  readonly loopback?: boolean;
}

/** The sentences about a source. */
export interface SourceTexts {
  /** Who has registered such an app. */
  readonly name: string;
  /**
   * What users have to know before they authorize such an app. It may contain `{client}`, what the app calls itself, `{name}`, the host
   * of its id, and `{brand}`.
   */
  readonly caution: string;
  /** Why the app's fields cannot be changed here. */
  readonly fixed?: string;
  /** Why a disabled app cannot be deleted. */
  readonly returns?: string;
}

/** The sources, by name. */
export interface ClientSources {
  /** The sources of the server. */
  readonly on: ReadonlyMap<string, ClientSource>;
  /** Also the sources of features that are off, because their clients may be stored. */
  readonly all: ReadonlyMap<string, ClientSource>;
}

/** The sentences of sources in one language, by their names on the pages. */
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
