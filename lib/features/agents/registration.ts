import { randomBytes } from 'node:crypto';

import { checkClientFields } from '../../clients/fields.ts';
import type { KnownNames } from '../../clients/fields.ts';
import { NO_FURTHER_FIELDS } from '../../clients/further-fields.ts';
import type { CheckAppName } from '../../clients/app-names.ts';
import { checkClientChanges, newClient } from '../../clients/registry.ts';
import type { RegistryFor } from '../../clients/registry.ts';
import { makeSecret } from '../../clients/secrets.ts';
import { now } from '../../contracts/clock.ts';
import { confirmAbsence } from '../../contracts/confirm-absence.ts';
import type {
  AuditLog,
  AuditOrigin,
  Checked,
  Client,
  ClientAttempt,
  StoredSecret,
  Limiter,
  Seconds,
  Storage,
  StoredClient,
} from '../../contracts/index.ts';
import { ClientInvalidError } from '../../errors.ts';
import { hashCredential, matchesHash } from '../../keys/hash.ts';
import type { ClientMetadata, RegisteredAuthMethod, RegistrationStore } from './types.ts';
import type { RegistrationPolicy, RegistrationRequest } from './options.ts';
import {
  invalidMetadata,
  permittedScopes,
  readMetadata,
  refusalOf,
  RegistrationRefused,
  toClientMetadata,
  unavailable,
} from './metadata.ts';
import { SELF_REGISTERED } from './sources.ts';
import { createFindRepeated } from './repeated.ts';
import type { RepetitionPorts } from './repeated.ts';

/** The parts of the server that a registration needs. */
export interface RegistrationParts {
  readonly audit: Pick<AuditLog, 'record'>;
  /** Makes the id of a public client from its address and its metadata. */
  readonly idOf: RepetitionPorts['idOf'];
  readonly loadNameCheck: () => Promise<CheckAppName>;
  readonly names: KnownNames;
  /** Called with each app that was deleted to make room for another one. */
  readonly onRemoved: (client: Pick<Client, 'id' | 'name'>) => void;
  readonly registryFor: RegistryFor;
  readonly storage: Pick<Storage, 'clients' | 'confirm'>;
  readonly registrations: RegistrationStore;
  readonly limiters: RegistrationLimiters;
}

/** Limits the apps that register themselves. */
export interface RegistrationLimiters {
  /** The apps that are registered from an address. */
  readonly registered: Limiter<string>;
  /** The changes of registered apps. */
  readonly changed: Limiter<ClientAttempt>;
  /** A keyed hash of the widest network of an address. */
  readonly networkOf: (address: string) => string;
}

/** The address of a request, and the origin of the records about it. */
export interface RegistrationCaller {
  readonly address: string;
  readonly origin: AuditOrigin;
}

/** A client that registered itself, with the metadata that is registered. */
export interface Registered {
  readonly client: Client;
  readonly metadata: ClientMetadata;
  /** The value of the client's secret, where the server knows it: when it was just made, or when the client has sent it. */
  readonly secret?: string | undefined;
  /** The registration access token, which is stored only as a hash; `undefined` when no token manages the client. */
  readonly token?: string | undefined;
}

interface Authenticated extends Pick<StoredClient, 'client' | 'secrets'> {
  readonly authMethod: RegisteredAuthMethod;
}

/** The registration access token is not that of an existing client. */
export class NotRegistered extends Error {}

// The prefix lets secret scanners recognize a leaked token.
const TOKEN_PREFIX = 'gatehouse_registration_';
const TOKEN_FORM = /^gatehouse_registration_[\w-]{43}$/;

// When all places are taken: how many apps are kept that only one user has authorized, and for how many seconds such an app is kept
// unused.
export const PER_USER = 5;
export const UNUSED = 30 * 86_400;

// A place becomes free when an app is removed, which takes hours or a person.
const RETRY_WHEN_FULL: Seconds = 3600;

type Sent = Readonly<Record<string, unknown>>;

/**
 * Registers clients (RFC 7591) and lets them manage their registration (RFC 7592). Each method throws RegistrationRefused, and what the
 * limiters and `allow` throw; the methods that take a token also throw NotRegistered.
 */
export function createDynamicRegistration(
  policy: RegistrationPolicy,
  {
    audit,
    idOf,
    loadNameCheck,
    names,
    onRemoved,
    registryFor,
    storage,
    registrations,
    limiters,
  }: RegistrationParts,
) {
  const { clients } = storage;
  const { on: further } = names.further ?? NO_FURTHER_FIELDS;
  const findRepeated = createFindRepeated({
    idOf,
    clients,
    registrations,
    unauthorizedAfter: policy.unauthorizedAfter,
  });

  const toMetadata = (
    client: Parameters<typeof toClientMetadata>[0],
    authMethod: RegisteredAuthMethod,
  ): ClientMetadata =>
    toClientMetadata(client, { authMethod, further: (names.further ?? NO_FURTHER_FIELDS).all });

  async function checkName(name: string): Promise<void> {
    const mistake = (await loadNameCheck())(name);
    if (mistake) throw refusalOf([mistake]);
  }

  async function requireAllowed(request: RegistrationRequest): Promise<void> {
    if (policy.allow === undefined) return;
    const isAllowed: unknown = await policy.allow(request);
    // Anything but `true` refuses: a policy in JavaScript may forget to return.
    if (isAllowed === true) return;
    throw invalidMetadata('the policy of this server refuses this app');
  }

  /** Stores a registration, unless another request has stored the same one meanwhile. */
  async function insertOnce(
    ...[registered, places]: Parameters<typeof registrations.insert>
  ): Promise<Awaited<ReturnType<typeof registrations.insert>> | 'repeated'> {
    const { confidential, id } = registered.client;
    try {
      return await registrations.insert(registered, places);
    } catch (error) {
      if (confidential || !(await registrations.find(id))) throw error;
      await registrations.removeToken(id);
      return 'repeated';
    }
  }

  /** The client of a token, with its secrets. */
  async function find(id: string, token: string): Promise<Authenticated | undefined> {
    const registration = TOKEN_FORM.test(token) ? await registrations.find(id) : undefined;
    if (!registration || !matchesHash(token, registration.tokenHash)) return undefined;
    const stored = await clients.find(id);
    return stored && { ...stored, authMethod: effectiveAuthMethod(stored.client, registration.authMethod) };
  }

  function requireValid<T>({ checked, mistakes }: Checked<T>): T {
    if (mistakes) throw refusalOf(mistakes, further);
    return checked;
  }

  return {
    async register(sent: Sent, { address, origin }: RegistrationCaller): Promise<Registered> {
      const requested = readMetadata(sent, { further });
      const { authMethod } = requested;
      const { defaultScopes } = policy;
      // Some agents always name a scope of their own service, which is as good as none here.
      const named = requested.scopes.filter((scope) => policy.scopes.includes(scope));
      const isNone = named.length === 0 && defaultScopes.length > 0;
      const scopes = isNone ? defaultScopes : permittedScopes(requested, policy.scopes, defaultScopes);
      const fields = requireValid(checkClientFields({ ...requested.fields, scopes }, names));
      await checkName(fields.name);
      const metadata = toMetadata(fields, authMethod);
      const repeated = fields.confidential ? undefined : await findRepeated(address, fields);
      if (!repeated?.existing) await limiters.registered.take(address);
      await requireAllowed({ metadata, requestedMetadata: sent, address, clientId: undefined });
      if (repeated?.existing) return { client: repeated.existing, metadata };
      const client = newClient(fields, SELF_REGISTERED.name, repeated?.id);
      const { createdAt: at } = client;
      const token = TOKEN_PREFIX + randomBytes(32).toString('base64url');
      const secret = client.confidential ? makeSecret({ label: 'registered' }) : undefined;
      const registration = {
        clientId: client.id,
        tokenHash: hashCredential(token),
        authMethod,
        removableAt: at + policy.unauthorizedAfter,
        unusedAfter: Math.max(policy.unusedAfter, policy.unauthorizedAfter),
        network: limiters.networkOf(address),
      };
      const secrets = secret ? [secret.stored] : [];
      const places = { limit: policy.maxClients, perUser: PER_USER, unusedSince: at - UNUSED, now: at };
      const displaced = await insertOnce({ client, secrets, registration }, places);
      if (displaced === 'repeated') return { client, metadata };
      if (!displaced) throw unavailable('no more apps can be registered at the moment', 503, RETRY_WHEN_FULL);
      for (const removed of displaced) onRemoved(removed);
      const { id: clientId, name } = client;
      audit.record({ type: 'client_created', clientId, name, source: SELF_REGISTERED.name }, origin);
      return { client, metadata, secret: secret?.returned.value, token };
    },

    async read(id: string, token: string): Promise<Registered> {
      const { authMethod, client } = await authenticate(find(id, token));
      return { client, metadata: toMetadata(client, authMethod), token };
    },

    async update(
      { id, token }: { readonly id: string; readonly token: string },
      sent: Sent,
      { address, origin }: RegistrationCaller,
    ): Promise<Registered> {
      const { authMethod, client: before, secrets } = await authenticate(find(id, token));
      const secret = checkManagement(sent, before, secrets);
      const requested = readMetadata(sent, { registered: authMethod, further });
      const { confidential: _confidential, grantType: _grantType, ...fields } = requested.fields;
      // The app keeps or loses scopes and never gains one, so that it cannot get back what an administrator has taken away.
      const changesOf = ({ scopes }: Client) => {
        const allowed = policy.scopes.filter((scope) => scopes?.includes(scope) ?? true);
        return { ...fields, scopes: permittedScopes(requested, allowed, scopes) };
      };
      const asked = { ...before, ...requireValid(checkClientChanges(before, changesOf(before), names)) };
      if (asked.name !== before.name) await checkName(asked.name);
      const metadata = toMetadata(asked, authMethod);
      await limiters.changed.take({ clientId: id, address });
      await requireAllowed({ metadata, requestedMetadata: sent, address, clientId: id });
      try {
        const client = await registryFor(origin).update(id, (current) => {
          // An administrator may have disabled the client since it was read.
          refuseDisabled(current);
          return changesOf(current);
        });
        return { client, metadata: toMetadata(client, authMethod), secret, token };
      } catch (error) {
        throw error instanceof ClientInvalidError ? refusalOf(error.fields, further) : error;
      }
    },

    async remove(id: string, token: string, { origin }: RegistrationCaller): Promise<void> {
      await authenticate(confirmAbsence(storage, find(id, token)));
      await registryFor(origin).delete(id);
    },
  };
}

async function authenticate(finding: Promise<Authenticated | undefined>): Promise<Authenticated> {
  const found = await finding;
  if (!found) throw new NotRegistered();
  refuseDisabled(found.client);
  return found;
}

function refuseDisabled({ disabled }: Client): void {
  if (disabled) throw new RegistrationRefused('access_denied', 'the app is disabled', 403);
}

/** The authentication method of a client now: an administrator may have made it public, or given it a secret. */
function effectiveAuthMethod(
  { confidential }: Client,
  registered: RegisteredAuthMethod,
): RegisteredAuthMethod {
  if (!confidential) return 'none';
  return registered === 'none' ? 'client_secret_basic' : registered;
}

const NOT_CHANGED = [
  'registration_access_token',
  'registration_client_uri',
  'client_secret_expires_at',
  'client_id_issued_at',
];

/**
 * Checks what RFC 7592 section 2.2 requires of a change besides the metadata.
 *
 * @returns the secret that the client has sent, if any
 * @throws RegistrationRefused
 */
function checkManagement(
  sent: Readonly<Record<string, unknown>>,
  { id }: Client,
  secrets: readonly StoredSecret[],
): string | undefined {
  if (sent['client_id'] !== id) throw invalidMetadata('client_id: send that of the app');
  const wrong = NOT_CHANGED.find((member) => sent[member] !== undefined);
  if (wrong !== undefined) throw invalidMetadata(`${wrong}: cannot be changed; leave it out`);
  const secret = sent['client_secret'] ?? undefined;
  if (secret === undefined) return undefined;
  const isCurrent =
    typeof secret === 'string' &&
    secrets.some(({ expiresAt = Infinity, hash }) => expiresAt > now() && matchesHash(secret, hash));
  if (isCurrent) return secret;
  throw invalidMetadata('client_secret: this is not the secret of the app; leave it out');
}
