import { ConfigError } from '../../errors.ts';
import { checkNames, isObject } from '../../options/declare.ts';
import type { Check } from '../../options/declare.ts';

/** Which workloads speak for a client. */
export interface WorkloadRule {
  /** The id of a client with the grant type `client_credentials`. */
  readonly client: string;
  /**
   * Claims that the assertion has to have, compared as they are. `sub` is required; with `:*` at its end, anything may follow. `aud` is the
   * issuer of this server unless it is given. Name ids that nobody else can get, such as `repository_id`: a name can be given to somebody
   * else. A job that a pull request has started is refused unless `sub` or `event_name` says so.
   */
  readonly match: Readonly<Record<string, string | number | boolean>> & { readonly sub: string };
}

export const rules: Check<readonly WorkloadRule[]> = (place, given: unknown) => {
  if (!Array.isArray(given) || given.length === 0) throw new ConfigError(place, 'list at least one rule');
  return Object.freeze(given.map((rule: unknown, index) => checkRule(`${place}[${index}]`, rule)));
};

function checkRule(place: string, rule: unknown): WorkloadRule {
  checkNames(rule, { client: true, match: true }, place);
  const { client, match } = rule as Readonly<Record<string, unknown>>;
  if (typeof client !== 'string' || client === '')
    throw new ConfigError(`${place}.client`, 'pass the id of a client');
  if (!isObject(match)) throw new ConfigError(`${place}.match`, 'pass an object such as { sub }');
  const { aud, sub } = match;
  // A star in the middle, or right after a name, would match what somebody else can choose.
  if (typeof sub !== 'string' || !/^[^*]*[^*:](?::\*)?$/.test(sub))
    throw new ConfigError(
      `${place}.match.sub`,
      'pass the whole sub of the workload; only :* at its end stands for anything',
    );
  if (aud !== undefined && (typeof aud !== 'string' || aud === ''))
    throw new ConfigError(`${place}.match.aud`, 'pass the whole audience');
  const wrong = Object.entries(match).find(([name, value]) => name !== 'sub' && !isExact(value));
  if (wrong)
    throw new ConfigError(
      `${place}.match.${wrong[0]}`,
      'pass a text, a number or a boolean; no star stands for anything',
    );
  return Object.freeze({ client, match: Object.freeze({ ...(match as WorkloadRule['match']) }) });
}

function isExact(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value) && !String(value).includes('*');
}
