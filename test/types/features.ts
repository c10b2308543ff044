import {
  agents,
  createAdministration,
  createAuthServer,
  developer,
  devices,
  openid,
  laravelPassport,
  laravelPassportSource,
  personalTokens,
} from 'koa-gatehouse';
import type { AuthServer, AuthServerOptions, Developer, Feature } from 'koa-gatehouse';
import type { DeviceFlow, PersonalTokenFields, PersonalTokens } from 'koa-gatehouse/types';

import { same } from './same.ts';

declare const needed: Pick<AuthServerOptions, 'issuer' | 'users' | 'storage'>;

// With a feature, its members are there and typed; with several, those of all.
const one = await createAuthServer({ ...needed, features: [personalTokens({ perUser: 3 })] });
same<typeof one.personalTokens, PersonalTokens<PersonalTokenFields>>();
one satisfies AuthServer;
// @ts-expect-error the feature is not given
void one.devices;
const several = await createAuthServer({
  ...needed,
  features: [agents(), developer(), devices({ lifetime: '5 minutes' }), openid(), personalTokens()],
});
same<typeof several.devices, DeviceFlow>();
same<Awaited<ReturnType<typeof several.developer>>, Developer>();
for (const { id } of await several.personalTokens.list('1')) await several.personalTokens.revoke(id);
// @ts-expect-error there is no such option
await several.personalTokens.create({ userId: '1', name: 'Nightly', lifetime: '1 day', scope: ['read'] });

// Without the feature, its members are not.
const none = await createAuthServer(needed);
// @ts-expect-error the feature is not given
void none.personalTokens;
const empty = await createAuthServer({ ...needed, features: [] });
// @ts-expect-error the feature is not given
void empty.personalTokens;

// Of a list that is composed at run time, the members are found by the value.
declare const isOn: boolean;
const tokens = personalTokens();
const composed = await createAuthServer({ ...needed, features: isOn ? [devices(), tokens] : [] });
const found = composed.featureMembers(tokens);
same<typeof found.personalTokens, PersonalTokens<PersonalTokenFields>>();
// Also where type arguments are given, or the type of the server is named.
const explicit = await createAuthServer<'view_schools'>({ ...needed, features: [tokens] });
(explicit as AuthServer).featureMembers(tokens).personalTokens satisfies PersonalTokens<PersonalTokenFields>;
// @ts-expect-error the value of another feature
void composed.featureMembers(tokens).devices;
// @ts-expect-error the function, not its value
void composed.featureMembers(personalTokens);
const administration = createAdministration({ storage: needed.storage, features: [tokens] });
(await administration.featureMembers(tokens)).personalTokens satisfies PersonalTokens<PersonalTokenFields>;
// @ts-expect-error the value of another feature
void (await administration.featureMembers(tokens)).devices;

// A feature of one's own adds its members too.
declare const waitingList: Feature<{ readonly waitingList: readonly string[] }>;
const own = await createAuthServer({ ...needed, features: [waitingList] });
same<typeof own.waitingList, readonly string[]>();

// Misspelt options.
// @ts-expect-error features
await createAuthServer({ ...needed, featurs: [personalTokens()] });
// @ts-expect-error features
createAdministration({ storage: needed.storage, featurs: [personalTokens()] });
// @ts-expect-error called
await createAuthServer({ ...needed, features: [devices] });
// @ts-expect-error a list
await createAuthServer({ ...needed, features: devices() });
// @ts-expect-error path
developer({ paths: '/apps' });
// @ts-expect-error lifetime
devices({ lifetimes: '5 minutes' });
// @ts-expect-error userCodes.perUser
devices({ userCodes: { perUsers: 3 } });
// @ts-expect-error no unit
devices({ lifetime: '5' });
// @ts-expect-error registration
agents({ registrations: false });
// @ts-expect-error documents are switched off by false
agents({ documents: 'off' });
// @ts-expect-error perUser
personalTokens({ perUsers: 3 });
// @ts-expect-error a number
personalTokens({ perUser: '3' });
// @ts-expect-error claims
openid({ claim: () => ({}) });
// @ts-expect-error no unit
openid({ idTokenLifetime: '5' });
const laravel = { publicKey: '', source: laravelPassportSource('mysql://db.example/laravel') };
laravelPassport({ ...laravel, until: '2027-06-30' }) satisfies Feature;
// @ts-expect-error until is missing
laravelPassport(laravel);
// @ts-expect-error appKey
laravelPassport({ ...laravel, until: '2027-06-30', appkey: '' });
// @ts-expect-error readOnly
laravelPassportSource('mysql://db.example/laravel', { readonly: true });
