import type { BundledPages } from '../lib/contracts/pages.ts';
import type { PageRouter } from './page-router.ts';

/** The bundled pages of a feature. @typeParam Key - the names of its sentences, of which each language has all */
export interface FeaturePages<Key extends string = string> extends BundledPages {
  readonly texts: { readonly en: Readonly<Record<Key, string>>; readonly de: Readonly<Record<Key, string>> };
  readonly link?: { readonly path: string; readonly text: Key };
  /** Adds its routes. @param basePath - of the issuer, in front of the paths of links */
  addRoutes(router: PageRouter, basePath: string): void;
}
