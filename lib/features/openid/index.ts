import type { User } from '../../contracts/index.ts';
import type { Feature } from '../feature.ts';
import { OPENID_CLIENT_FIELDS } from './client-fields.ts';
import { OPENID_EVENTS } from './events.ts';
import { complete, OPENID, readOpenId, USERINFO } from './options.ts';
import type { OpenIdOptions } from './options.ts';

export type { OpenIdOptions } from './options.ts';

/**
 * OpenID Connect: apps sign users in with their account here, by a discovery URL, a client id and a secret. Apps request `scope=openid`,
 * with `profile` and `email` if they need them. This tells them who the user is, and permits nothing else. An app that also calls an API
 * names scopes of the API too.
 *
 *     openid({ claims: (user) => ({ groups: user.groups }), scopes: { groups: { description, claims: ['groups'] } } })
 *
 * @throws ConfigError for a wrong option
 */
export function openid<U extends User = User>(options: OpenIdOptions<U> = {}): Feature {
  const settings = complete(readOpenId(options));
  const { algorithm, idTokenLifetime, scopes } = settings;
  return {
    name: 'openid',
    aboutUser: {
      signIn: OPENID,
      scopes,
      path: USERINFO,
      key: { algorithm, lifetime: idTokenLifetime },
    },
    clientFields: OPENID_CLIENT_FIELDS,
    events: OPENID_EVENTS,
    install: async (core) => (await import('./install.ts')).installOpenId(core, settings),
  };
}

// So that the compiler finds what it adds to the events wherever a program imports the feature.
// oxlint-disable-next-line unicorn/require-module-specifiers -- hosts name none of them
export type {} from './events.ts';
