import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT } from './guides.ts';

/** The groups of the options of `createAuthServer()`, their declarations, and their files in `lib/options`. */
export const GROUPS = [
  ['login', 'login', 'options'],
  ['clients', 'CLIENTS', 'clients'],
  ['tokens', 'tokens', 'tokens'],
  ['secrets', 'SECRETS', 'options'],
  ['limits', 'LIMITS', 'options'],
  ['paths', 'PATHS', 'options'],
  ['retention', 'RETENTION', 'options'],
] as const;

/** Where options are documented: the file, the interface or the declaration, and what stands before the names of its members. */
export type Place = readonly [file: string, name: string, prefix: string];

/** The options of `createAuthServer()` in the order in which a reader meets them: a group before what is in it. */
export const SERVER_OPTIONS: readonly Place[] = [
  ['lib/options/options.ts', 'AuthServerOptions', ''],
  ['lib/contracts/people.ts', 'UserStore', 'users.'],
  ...GROUPS.map(([group, declared, file]): Place => [`lib/options/${file}.ts`, declared, `${group}.`]),
  ['lib/options/lifetimes.ts', 'Lifetimes', 'tokens.lifetimes.'],
  ['lib/options/attempts.ts', 'AttemptLimits', 'limits.attempts.'],
  ['lib/options/attempts.ts', 'LOGIN', 'limits.attempts.login.'],
  ['lib/options/attempts.ts', 'CLIENT_AUTHENTICATION', 'limits.attempts.clientAuthentication.'],
];

/** The options of the features, and the prefix of their names where several functions are together. */
export const FEATURE_OPTIONS: Readonly<Record<string, readonly Place[]>> = {
  agents: [
    ['lib/features/agents/options.ts', 'AgentOptions', ''],
    ['lib/features/agents/options.ts', 'DynamicRegistrationOptions', 'registration.'],
    ['lib/features/agents/options.ts', 'ClientIdMetadata', 'documents.'],
  ],
  developer: [['lib/features/developer/index.ts', 'DeveloperOptions', '']],
  devices: [
    ['lib/features/devices/index.ts', 'DeviceOptions', ''],
    ['lib/features/devices/index.ts', 'USER_CODES', 'userCodes.'],
    ['lib/features/devices/index.ts', 'REQUESTS', 'requests.'],
  ],
  openid: [
    ['lib/features/openid/options.ts', 'OpenIdOptions', ''],
    ['lib/features/openid/options.ts', 'IDENTITY_SCOPE', 'scopes.<name>.'],
  ],
  laravelPassport: [['lib/features/laravel-passport/options.ts', 'PassportOptions', '']],
  personalTokens: [['lib/features/personal-tokens/index.ts', 'PersonalTokenOptions', '']],
  pushedRequests: [
    ['lib/features/pushed-requests/index.ts', 'PushedRequestOptions', ''],
    ['lib/features/pushed-requests/index.ts', 'REQUESTS', 'requests.'],
  ],
  trustedIssuers: [
    ['lib/features/trusted-issuers/options.ts', 'OF_ANY', '<issuer>.'],
    ['lib/features/trusted-issuers/options.ts', 'IdJagIssuer', '<id-jag issuer>.'],
    ['lib/features/trusted-issuers/options.ts', 'WorkloadIssuer', '<workload issuer>.'],
  ],
};

export interface Documented {
  readonly option: string;
  readonly isOptional: boolean;
  /** The text before `@default`. */
  readonly about: string;
  /** The text after `@default`. */
  readonly text: string | undefined;
}

/** The options that a file documents, in order. */
export function documentedIn([file, name, prefix]: Place): Documented[] {
  const source = readFileSync(join(ROOT, file), 'utf8');
  const declared =
    new RegExp(`^export interface ${name}\\b[^{]*\\btypeof (\\w+)`, 'm').exec(source)?.[1] ?? name;
  const start = `^(?:export )?(?:const|function|interface) ${declared}\\b`;
  const body = new RegExp(`${start}[\\s\\S]*?^}`, 'm').exec(source)?.[0] ?? '';
  const members = body.matchAll(
    /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(?:readonly )?(\w+)(\?|:\s*optional\(|)?/g,
  );
  return Array.from(members, ([, comment = '', member = '', optional]) => {
    const [about = '', text] = comment.replaceAll(/\n\s*\* ?/g, ' ').split('@default ');
    return {
      option: prefix + member,
      isOptional: Boolean(optional),
      about: about.trim(),
      text: text?.trim(),
    };
  });
}
