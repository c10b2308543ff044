import type { PageRouter } from '../../interactions/page-router.ts';

/** The bundled pages of a feature. */
export interface FeaturePages<Key extends string = string> {
  /** The EJS of its views, by name, such as `device/code`. */
  readonly views: Readonly<Record<string, string>>;
  /** Its sentences. */
  readonly texts: { readonly en: Readonly<Record<Key, string>>; readonly de: Readonly<Record<Key, string>> };
  /** A link in the header of a signed-in user, with the name of its text. */
  readonly link?: { readonly path: string; readonly text: Key };
  /** Adds its routes. @param basePath - of the issuer, in front of the paths of links */
  addRoutes(router: PageRouter, basePath: string): void;
}
