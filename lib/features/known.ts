import { CORE_KINDS, kindsByName } from '../clients/kinds/core.ts';
import type { ClientKinds } from '../contracts/client-kinds.ts';
import type { ClientSources } from '../contracts/client-sources.ts';
import type { FurtherFields, Storage } from '../contracts/index.ts';
import type { Findings } from '../findings/finding.ts';
import type { AnyFeature } from '../options/features.ts';
import { CORE_EVENTS } from '../record/core-events.ts';
import type { EventRules } from '../record/event-rules.ts';
import type { Feature, PruneClients } from './feature.ts';
import { withStored } from './shipped.ts';
import { FEATURE_CLIENT_FIELDS, FEATURE_EVENTS } from './tables.ts';

/*
 * What is known of features without a server. Rows that a feature has stored are there when it is off, so that what reads, exports or
 * deletes them knows the features of this package too that are not given.
 */

/** The features of the options, with their full type. */
export function featuresOf({ features }: { readonly features: readonly AnyFeature[] }): readonly Feature[] {
  return features as readonly Feature[];
}

/** The kinds of clients. @param given - `undefined` when it is not known which features the servers have: all kinds are then on */
export function clientKindsOf(given: readonly Feature[] | undefined): ClientKinds {
  const all = kindsOf(withStored(given ?? []));
  return {
    on: given ? kindsOf(given) : all,
    all,
    firstCallOf(kind, client) {
      const changed = given?.map((feature) => feature.firstCall?.(kind.name, client));
      return changed?.find((lines) => lines !== undefined) ?? kind.firstCall;
    },
  };
}

function kindsOf(features: readonly Feature[]): ClientKinds['on'] {
  const kinds = [...CORE_KINDS, ...features.flatMap(({ clientKinds = [] }) => clientKinds)];
  const added = features
    .map(({ grantTypesOfKinds }) => grantTypesOfKinds)
    .filter((types) => types !== undefined);
  if (added.length === 0) return kindsByName(kinds);
  return kindsByName(
    kinds.map((kind) => {
      const grantTypes = added.flatMap((ofKinds) => ofKinds[kind.name] ?? []);
      return Object.assign({}, kind, { grantTypes: [...kind.grantTypes, ...grantTypes] });
    }),
  );
}

/** The fields of clients that features bring. */
export function clientFieldsOf(given: readonly Feature[] | undefined): FurtherFields {
  const all = FEATURE_CLIENT_FIELDS;
  return { on: given?.flatMap(({ clientFields = [] }) => clientFields) ?? all, all };
}

/** The sources of clients, besides people. */
export function clientSourcesOf(given: readonly Feature[]): ClientSources {
  // A feature leaves out the source of a part that is switched off, but clients of this source may still be stored.
  return { on: sourcesOf(given), all: new Map([...sourcesOf(withStored([])), ...sourcesOf(given)]) };
}

function sourcesOf(features: readonly Feature[]): ClientSources['on'] {
  return new Map(
    features.flatMap(({ clientSources = [] }) => clientSources).map((source) => [source.name, source]),
  );
}

/** The rules of the events of features, for recording events. */
export function eventRulesOf(given: readonly Feature[]): EventRules {
  return Object.assign({}, ...given.map(({ events }) => events)) as EventRules;
}

/** The rules of all events that may be stored, those of the core and of features that are off too. */
export function storedEventRulesOf(given: readonly Feature[]): EventRules {
  return { ...CORE_EVENTS, ...FEATURE_EVENTS, ...eventRulesOf(given) };
}

/** The functions that return the features' members of the export of a user. */
export function exportsOf(
  given: readonly Feature[],
  storage: Storage,
): readonly ((userId: string) => Promise<object>)[] {
  return withStored(given).flatMap(({ exportUser }) =>
    exportUser ? [async (userId: string) => exportUser(storage, userId)] : [],
  );
}

/** The functions that delete unused clients. */
export function prunesOf(given: readonly Feature[]): readonly PruneClients[] {
  return withStored(given).flatMap(({ prune }) => prune ?? []);
}

/** The functions by which features examine a server over the network. */
export function examinationsOf(given: readonly Feature[]): readonly ((issuer: string) => Findings)[] {
  return withStored(given).flatMap(({ examine }) => examine ?? []);
}
