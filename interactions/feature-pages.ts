import type { Context } from 'koa';

import type { PageRequest } from './page-request.ts';
import type { PageRouter } from './page-router.ts';
import type { Sentence } from './sentence.ts';
import type { BundledPages, FlowParts } from '../lib/contracts/bundled-pages.ts';
import type { Client, User } from '../lib/contracts/index.ts';

/** The bundled pages of a feature. @typeParam Key - the names of its sentences, of which each language has all */
export interface FeaturePages<Key extends string = string> extends BundledPages {
  readonly texts: { readonly en: Readonly<Record<Key, string>>; readonly de: Readonly<Record<Key, string>> };
  link?(ctx: Context, user: User): Promise<{ readonly path: string; readonly text: Key } | undefined>;
  /** Adds its routes, in front of those of the core. */
  addRoutes?(router: PageRouter): void;
  /** What the pages of apps say of them besides. */
  readonly facts?: AppFacts;
}

/** What a feature knows of apps. */
export interface AppFacts {
  /** A sentence for a user, by the ids of the user's apps. */
  ofUser?(request: PageRequest, user: Pick<User, 'id'>): Promise<ReadonlyMap<string, Sentence>>;
  /** A line for the developers of an app. */
  ofApp?(
    request: PageRequest,
    client: Pick<Client, 'id'>,
  ): Promise<{ readonly label: string; readonly value: string } | undefined>;
  /** How the developers of an app connect it. */
  connect?(request: PageRequest, client: Client): FurtherConnect | undefined;
}

/** The settings with which a product uses this server, to paste. */
export interface AppSettings {
  readonly product: string;
  /** The redirect URI that the product has, with a host of yours. */
  readonly redirectUri: string;
  readonly code: string;
}

/** How an app is connected by a feature. */
export interface FurtherConnect {
  /** A URL that the app needs. */
  readonly label: string;
  readonly url: string;
  /** The settings of products, with what stands above them. Left out for an app that cannot have them. */
  readonly products?: {
    readonly heading: string;
    readonly hint: string;
    readonly settings: readonly AppSettings[];
  };
}

/** The pages of the features of a server. */
export const pagesOfFeatures = ({ features }: Pick<FlowParts, 'features'>): readonly FeaturePages[] =>
  features;
