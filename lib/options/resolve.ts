import type { Configuration } from 'oidc-provider';

import type { Gate, User } from '../contracts/index.ts';
import {
  checkAlgorithm,
  checkCount,
  checkDuration,
  checkIssuer,
  checkLifetimes,
  checkLogger,
  checkLoginUrl,
  checkMountPath,
  checkNames,
  checkPagePath,
  checkPositiveInteger,
  checkSecrets,
} from './checks.ts';
import { checkClientIdMetadata } from './client-id-metadata.ts';
import { checkDeviceAuthorization } from './device-authorization.ts';
import { checkKnownOptions } from './known-options.ts';
import {
  checkGate,
  checkInteractions,
  checkKeyEncryptionKey,
  checkStorage,
  checkUsers,
  requireKeyEncryptionKey,
} from './ports.ts';
import { checkRegistration } from './registration.ts';
import { checkResources, scopesOfAll } from './resources.ts';
import { checkThrottling } from './throttling.ts';
import { checkBoolean, checkFunction } from './values.ts';
import type { AuthServerOptions, TokenClaims } from './options.ts';
import type { ResolvedOptions } from './resolved-options.ts';

const OPTIONS: Readonly<Record<keyof AuthServerOptions, true>> = {
  issuer: true,
  mountPath: true,
  users: true,
  currentUser: true,
  signOut: true,
  loginUrl: true,
  developerPath: true,
  reservedNames: true,
  accountPath: true,
  storage: true,
  migrate: true,
  interactions: true,
  gate: true,
  scopes: true,
  resources: true,
  dynamicRegistration: true,
  clientIdMetadata: true,
  lifetimes: true,
  requirePkce: true,
  privateKeyJwt: true,
  tokenClaims: true,
  deviceAuthorization: true,
  signingAlgorithm: true,
  cookieKeys: true,
  keyEncryptionKey: true,
  revocationLag: true,
  cachedTokens: true,
  refreshGrace: true,
  keyRotation: true,
  pruneInterval: true,
  auditRetention: true,
  maxRequests: true,
  bodyTimeout: true,
  maxBodyBytes: true,
  throttling: true,
  trustProxy: true,
  logger: true,
  configure: true,
  engine: true,
};

/**
 * Checks the options, fills in the defaults and freezes the result.
 *
 * @param emptyGate - the default of the option `gate`
 * @throws ConfigError for the first option that is wrong, with the remedy
 */
export function resolveOptions<P extends string, R extends string, U extends User>(
  options: AuthServerOptions<P, R, U>,
  emptyGate: Gate<P, R>,
): ResolvedOptions<P, R, U> {
  checkKnownOptions(options, OPTIONS);
  const issuer = checkIssuer(options.issuer);
  const {
    accountPath = '/account/apps',
    auditRetention = '90 days',
    bodyTimeout = '30 seconds',
    cachedTokens = 10_000,
    developerPath = '/developer/apps',
    gate = emptyGate,
    interactions,
    keyRotation = '90 days',
    lifetimes = 'long',
    maxBodyBytes = 32 * 1024 * 1024,
    maxRequests = 1000,
    migrate = false,
    privateKeyJwt = false,
    pruneInterval = '1 hour',
    refreshGrace = 60,
    requirePkce = false,
    reservedNames = [],
    revocationLag = 5,
    scopes = {},
    signingAlgorithm = 'ES256',
    storage,
    throttling = {},
    trustProxy = false,
    users,
  } = options;
  checkUsers(users);
  checkStorage(storage);
  checkGate(gate);
  requireKeyEncryptionKey(options.keyEncryptionKey, storage);
  const checkedLifetimes = checkLifetimes(lifetimes);
  const resources = checkResources(options.resources, {
    issuer: issuer.issuer,
    gate,
    scopes,
    lifetimes: checkedLifetimes,
  });
  const allScopes = scopesOfAll(resources.values());
  const checkedDeveloperPath = checkPagePath('developerPath', developerPath);
  return Object.freeze({
    ...issuer,
    mountPath: checkMountPath(options.mountPath, issuer.basePath),
    users,
    currentUser: checkFunction('currentUser', options.currentUser),
    signOut: checkFunction('signOut', options.signOut),
    loginUrl: checkLoginUrl(options.loginUrl, issuer.issuer, options.currentUser !== undefined),
    developerPath: gate.has('manage_apps') ? checkedDeveloperPath : undefined,
    reservedNames: checkNames('reservedNames', reservedNames),
    accountPath: checkPagePath('accountPath', accountPath),
    storage,
    migrate: checkBoolean('migrate', migrate),
    interactions: interactions === undefined ? undefined : checkInteractions(interactions),
    gate,
    scopes: allScopes,
    resources,
    dynamicRegistration: checkRegistration(options.dynamicRegistration, allScopes),
    clientIdMetadata: checkClientIdMetadata(options.clientIdMetadata, allScopes),
    lifetimes: checkedLifetimes,
    tokenClaims: checkFunction('tokenClaims', options.tokenClaims) as TokenClaims | undefined,
    requirePkce: checkBoolean('requirePkce', requirePkce),
    privateKeyJwt: checkBoolean('privateKeyJwt', privateKeyJwt),
    deviceAuthorization: checkDeviceAuthorization(options.deviceAuthorization, storage),
    signingAlgorithm: checkAlgorithm(signingAlgorithm),
    cookieKeys: options.cookieKeys === undefined ? undefined : checkSecrets('cookieKeys', options.cookieKeys),
    keyEncryptionKeys: checkKeyEncryptionKey(options.keyEncryptionKey),
    revocationLag: checkDuration('revocationLag', revocationLag, 1),
    cachedTokens: checkPositiveInteger('cachedTokens', cachedTokens),
    refreshGrace: checkDuration('refreshGrace', refreshGrace, 0),
    keyRotation: checkDuration('keyRotation', keyRotation, 0),
    pruneInterval: checkDuration('pruneInterval', pruneInterval, 0),
    auditRetention: checkDuration('auditRetention', auditRetention, 0),
    maxRequests: checkCount('maxRequests', maxRequests),
    bodyTimeout: checkDuration('bodyTimeout', bodyTimeout, 1),
    maxBodyBytes: checkCount('maxBodyBytes', maxBodyBytes),
    throttling: checkThrottling(throttling),
    trustProxy: checkBoolean('trustProxy', trustProxy),
    logger: checkLogger(options.logger),
    engine: checkFunction('engine', options.engine),
    configure:
      checkFunction('configure', options.configure) ?? ((configuration: Configuration) => configuration),
  });
}
