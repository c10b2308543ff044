import { defineGate } from '../access/gate.ts';
import type { Gate, User } from '../contracts/index.ts';
import { beginStackAt } from '../errors.ts';
import type { Added } from '../features/feature.ts';
import type { Network } from '../http/public-request.ts';
import type { AnyFeature } from '../options/features.ts';
import type { AuthServerOptions } from '../options/options.ts';
import { resolveOptions } from '../options/resolve.ts';
import { createAccess } from './access.ts';
import type { AuthServer } from './auth-server.ts';
import { createBase } from './base.ts';
import { requireAwait } from './calls.ts';
import { createCore } from './core.ts';
import { startEngine } from './engine.ts';
import { createMembers } from './members.ts';
import { createMount } from './mount.ts';
import { createServerUserData } from './user-data.ts';
import { startWork } from './work.ts';

/**
 * Creates an authorization server from options.
 *
 *     const auth = await createAuthServer({
 *       issuer: 'https://platform.example',
 *       users,
 *       storage: knexStorage(knex),
 *     });
 *     app.use(auth.middleware());
 *
 * The storage has to be migrated: before the start by `storage.migrate()` or `gatehouse migrate`, or at start by the option
 * `migrate`.
 *
 * @throws ConfigError when an option is wrong; it names the option and the remedy
 * @throws GatehouseError `ERR_MIGRATIONS_PENDING` when migrations are pending and `migrate` is not set
 * @throws StorageError when the storage cannot be reached
 */
export function createAuthServer<
  P extends string = never,
  R extends string = never,
  U extends User = User,
  S extends object = object,
  A extends string = string,
  const F extends readonly AnyFeature[] = readonly AnyFeature[],
>(
  given: AuthServerOptions<P, R, U, S, A> & { readonly features?: F | undefined },
): Promise<AuthServer<Gate<P, R, S>, U, A> & Added<F>> {
  return requireAwait(createServer(given));
}
beginStackAt(createAuthServer);

/**
 * What {@link createAuthServer} does. No entry point of the package exports it, so that only tests replace the network.
 *
 * @param network - for documents and keys at the URLs of strangers. Left out: the internet
 */
export async function createServer<
  P extends string,
  R extends string,
  U extends User,
  S extends object,
  A extends string,
  const F extends readonly AnyFeature[] = readonly AnyFeature[],
>(
  given: AuthServerOptions<P, R, U, S, A> & { readonly features?: F | undefined },
  network?: Partial<Network>,
): Promise<AuthServer<Gate<P, R, S>, U, A> & Added<F>> {
  const options = resolveOptions(given, defineGate<P, R>({ permissions: {} as Record<P, string> }));
  const base = await createBase(options, network);
  const core = await createCore(options, base);
  const access = createAccess(options, { ...base, ...core });
  const userData = createServerUserData(options, { ...base, ...core });
  await base.invalidation.subscribe();
  const engine = await startEngine(options, { ...base, ...core, access });
  const mount = createMount(options, { ...base, ...core, ...engine });
  const work = await startWork(options, { ...base, ...core });
  const reportPlainKeys =
    given.secrets?.keyEncryptionKey === false || process.env['NODE_ENV'] === 'production';
  return createMembers<P, R, U, S, A>(options, {
    ...base,
    ...core,
    ...userData,
    ...engine,
    access,
    mount,
    work,
    reportPlainKeys,
  }) as AuthServer<Gate<P, R, S>, U, A> & Added<F>;
}
