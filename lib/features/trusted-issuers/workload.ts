import type { Client } from '../../contracts/index.ts';
import { audiencesOf, isOnlyFor } from './assertion.ts';
import type { WorkloadSettings } from './options.ts';
import type { WorkloadRule } from './rules.ts';

/**
 * The rule by which a workload speaks for a client; for any client, the first rule that it meets.
 *
 * @param claims - of which nothing may be verified yet: then the rule only says which client is meant
 */
export function ruleFor(
  { rules, ...settings }: Pick<WorkloadSettings, 'finalSlash' | 'rules'>,
  claims: Readonly<Record<string, unknown>>,
  { client, issuer }: { readonly client: Client['id'] | undefined; readonly issuer: string },
): WorkloadRule | undefined {
  const audiences = audiencesOf(settings, issuer);
  return rules.find(
    (rule) => (client === undefined || rule.client === client) && isMet(rule.match, claims, audiences),
  );
}

function isMet(
  { aud, sub, ...others }: WorkloadRule['match'],
  claims: Readonly<Record<string, unknown>>,
  audiences: readonly string[],
): boolean {
  return (
    isOnlyFor(claims['aud'], aud === undefined ? audiences : [String(aud)]) &&
    isSubject(claims['sub'], sub) &&
    Object.entries(others).every(([name, value]) => claims[name] === value) &&
    !isOfStranger(claims, { ...others, sub })
  );
}

function isSubject(subject: unknown, sub: string): boolean {
  if (typeof subject !== 'string' || !sub.endsWith(':*')) return subject === sub;
  return subject.startsWith(sub.slice(0, -1)) && subject.length > sub.length - 1;
}

/**
 * Whether somebody without rights in a repository may have started the job, by a pull request from a fork, and the rule does not name that.
 * One that runs in the target (`pull_request_target`) has the `sub` of a branch.
 */
function isOfStranger(
  claims: Readonly<Record<string, unknown>>,
  { event_name: event, sub }: WorkloadRule['match'],
): boolean {
  const isPull = String(claims['event_name']).startsWith('pull_request') && event === undefined;
  const namesPull = /:pull_request(?:$|:)/;
  return (isPull && !namesPull.test(sub)) || (sub.endsWith(':*') && namesPull.test(String(claims['sub'])));
}
