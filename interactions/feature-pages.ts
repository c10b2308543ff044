import type { FurtherConnect } from './apps/views.ts';
import type { PageRequest } from './page-request.ts';
import type { PageRouter } from './page-router.ts';
import type { Sentence } from './sentence.ts';
import type { Client, InteractionFlow, User } from '../lib/contracts/index.ts';
import type { BundledPages } from '../lib/contracts/pages.ts';

/** The bundled pages of a feature. @typeParam Key - the names of its sentences, of which each language has all */
export interface FeaturePages<Key extends string = string> extends BundledPages {
  readonly texts: { readonly en: Readonly<Record<Key, string>>; readonly de: Readonly<Record<Key, string>> };
  readonly link?: { readonly path: string; readonly text: Key };
  /** Adds its routes, in front of those of the core. @param basePath - of the issuer, in front of the paths of links */
  addRoutes(router: PageRouter, basePath: string): void;
  /** What the pages of apps say of them besides. */
  readonly facts?: AppFacts;
}

/** What a feature knows of apps. */
export interface AppFacts {
  /** A sentence for a user, by the ids of the user's apps. */
  ofUser(request: PageRequest, user: Pick<User, 'id'>): Promise<ReadonlyMap<string, Sentence>>;
  /** A line for the developers of an app. */
  ofApp(
    request: PageRequest,
    client: Pick<Client, 'id'>,
  ): Promise<{ readonly label: string; readonly value: string } | undefined>;
  /** How the developers of an app connect it. */
  connect(request: PageRequest, client: Client): FurtherConnect | undefined;
}

/** The pages of features that a flow has. */
export const pagesOfFeatures = ({ features }: Pick<InteractionFlow, 'features'>): readonly FeaturePages[] =>
  features;
