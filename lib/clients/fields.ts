import { isDeepStrictEqual } from 'node:util';

import type {
  Assignment,
  Checked,
  Client,
  ClientFields,
  FieldError,
  FurtherFields,
  Gate,
} from '../contracts/index.ts';
import { fieldError } from '../contracts/field-errors.ts';
import { GATE_NAME } from '../contracts/gate-names.ts';
import { hasControls } from '../contracts/joiners.ts';
import { CORE_KINDS, kindsByName } from './kinds/core.ts';
import type { ClientKinds } from '../contracts/client-kinds.ts';
import type { ClientSources } from '../contracts/client-sources.ts';
import { checkLifetimes } from './lifetimes.ts';
import type { CompleteLifetimes } from './lifetimes.ts';
import { checkClientKeys, lacksKeyIds } from './public-keys.ts';
import { forbiddenTo, furtherMistakes, furtherValues, NO_FURTHER_FIELDS } from './further-fields.ts';
import { LONGEST_URI, MOST_REDIRECT_URIS, redirectUriMistake } from './redirect-uris.ts';

/*
 * What a client may be, whoever registers it: a program, a developer, an import, or a source of a feature. Each of
 * them has the mistakes from here, and says them in its own names and errors.
 */

export const LONGEST_NAME = 100;

/**
 * The configuration of the server that a client is checked against. Where a member is `undefined`, it is not known, and any value is
 * accepted.
 */
export interface KnownNames {
  readonly gate?: Pick<Gate, 'has' | 'roles'> | undefined;
  readonly scopes?: ReadonlyMap<string, unknown> | undefined;
  /** The lifetimes of the server, which are the longest for a client. */
  readonly lifetimes?: CompleteLifetimes | undefined;
  /** Whether clients may authenticate with keys. */
  readonly privateKeyJwt?: boolean | undefined;
  /** @default those of the core */
  readonly kinds?: ClientKinds | undefined;
  /** The sources of clients besides people. @default none */
  readonly sources?: ClientSources | undefined;
  /** The fields that features bring. @default none */
  readonly further?: FurtherFields | undefined;
}

const CORE: ClientKinds = {
  on: kindsByName(CORE_KINDS),
  all: kindsByName(CORE_KINDS),
  firstCallOf: (kind) => kind.firstCall,
};

/** The fields of a client, complete. */
export type CheckedFields = Omit<
  Client,
  'id' | 'logoHash' | 'source' | 'defaultScopes' | 'createdAt' | 'updatedAt' | 'disabled' | 'disabledBy'
>;

/**
 * Checks all fields of a client and fills in the defaults.
 *
 * @param registered - the stored client, when it is changed: values that were accepted before stay valid
 */
export function checkClientFields(
  given: ClientFields,
  known: KnownNames,
  registered?: Pick<Client, 'keys' | 'lifetimes' | 'redirectUris'>,
): Checked<CheckedFields> {
  // A caller in JavaScript can leave the argument out.
  const fields: Partial<ClientFields> = given ?? {};
  const { confidential = true, firstParty = false, native = false, verified = false } = fields;
  const { clientUri, grantType, ownerId } = fields;
  const flags = { confidential, firstParty, native, verified };
  const name = typeof fields.name === 'string' ? fields.name.trim() : '';
  const lists = {
    redirectUris: list(fields.redirectUris),
    scopes: fields.scopes === undefined ? undefined : list(fields.scopes),
    roles: list(fields.roles),
    permissions: list(fields.permissions),
  };
  const { all: further } = known.further ?? NO_FURTHER_FIELDS;
  const keys = checkClientKeys(fields.keys);
  const lifetimes = checkLifetimes(fields.lifetimes, known.lifetimes, registered?.lifetimes);
  const checked = {
    name,
    clientUri,
    grantType,
    ...flags,
    ...lists,
    ...Object.fromEntries(
      furtherValues(fields, further).map(([{ isList, name: field }, value]) => [
        field,
        isList ? list(value) : value,
      ]),
    ),
    ownerId,
    keys: keys.checked,
    lifetimes: lifetimes.checked ?? {},
  };

  const kinds = known.kinds ?? CORE;
  const misplaced = misplacedFields({ ...fields, ...flags }, { ...known, kinds }, registered);
  const isMisplaced = ({ field }: FieldError): boolean =>
    misplaced.some((one) => field.startsWith(one.field));
  const mistakes = [
    ...Object.keys(fields)
      .filter((field) => !Object.hasOwn(checked, field))
      .map((field) => fieldError(field, 'unknown_field')),
    ...nameMistakes(name),
    ...(clientUri === undefined || redirectUriMistake(clientUri, { native: false }) === undefined
      ? []
      : [fieldError('clientUri', 'client_uri_form', { most: LONGEST_URI })]),
    ...furtherMistakes(fields, { native }, further),
    ...Object.entries(flags)
      .filter(([, value]) => typeof value !== 'boolean')
      .map(([field]) => fieldError(field, 'not_boolean')),
    ...(['redirectUris', 'scopes', 'roles', 'permissions'] as const)
      .filter((field) => fields[field] !== undefined && !isStrings(fields[field]))
      .map((field) => fieldError(field, 'not_strings')),
    ...(ownerId === undefined || isUserId(ownerId) ? [] : [fieldError('ownerId', 'user_id')]),
    ...unknownNames(lists, known),
    ...redirectUriMistakes(lists.redirectUris, { native }),
    ...(keys.mistakes ?? keysMistakes(keys.checked, { confidential }, known, registered)),
    ...(lifetimes.mistakes ?? []),
    ...(native && confidential ? [fieldError('native', 'native_with_secret')] : []),
    ...(grantType !== undefined && !kinds.on.has(grantType) && kinds.all.has(grantType) && !registered
      ? [fieldError('grantType', 'grant_type_off', { name: grantType })]
      : []),
  ];
  // In a field that the client must not have, other mistakes do not matter.
  const all = [...mistakes.filter((mistake) => !isMisplaced(mistake)), ...misplaced];
  return all.length > 0 || grantType === undefined
    ? { mistakes: all }
    : { checked: { ...checked, grantType } as CheckedFields };
}

/** The fields that a client lacks, or has but must not have, by its grant type. */
function misplacedFields(
  fields: Partial<ClientFields>,
  { further = NO_FURTHER_FIELDS, kinds: { all, on } }: KnownNames & { readonly kinds: ClientKinds },
  registered: Pick<Client, 'redirectUris'> | undefined,
): readonly FieldError[] {
  const { grantType } = fields;
  const kind = grantType === undefined ? undefined : all.get(grantType);
  if (!kind) return [fieldError('grantType', 'grant_type_unknown', { name: [...on.keys()].join(', ') })];
  const { required } = kind;
  const forbidden = { ...kind.forbidden, ...forbiddenTo(kind.name, further.all) };
  const values: Readonly<Record<string, unknown>> = {
    ...fields,
    ...Object.fromEntries(
      Object.entries(fields.lifetimes ?? {}).map(([lifetime, value]) => [`lifetimes.${lifetime}`, value]),
    ),
  };
  // A client that its source has withdrawn has no redirect URIs.
  const isKept = (field: string): boolean =>
    field === 'redirectUris' && registered?.redirectUris.length === 0;
  return [
    ...Object.entries(required).filter(([field]) => isEmpty(values[field]) && !isKept(field)),
    ...Object.entries(forbidden).filter(([field]) => !isEmpty(values[field])),
  ].map(([field, code]) => fieldError(field, code));
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === false || (Array.isArray(value) && value.length === 0);
}

function nameMistakes(name: string): readonly FieldError[] {
  const isShort = name !== '' && name.length <= LONGEST_NAME;
  return [
    ...(isShort ? [] : [fieldError('name', 'name_length', { most: LONGEST_NAME })]),
    ...(hasControls(name) ? [fieldError('name', 'control_characters')] : []),
  ];
}

function redirectUriMistakes(
  uris: readonly string[],
  client: { readonly native: boolean },
): readonly FieldError[] {
  const most = MOST_REDIRECT_URIS.registered;
  const ofEach = uris.flatMap((uri, index) => {
    const mistake = redirectUriMistake(uri, client);
    return mistake ? [fieldError(`redirectUris[${index}]`, ...mistake)] : [];
  });
  return uris.length > most
    ? [fieldError('redirectUris', 'too_many_redirect_uris', { most }), ...ofEach]
    : ofEach;
}

function keysMistakes(
  keys: Client['keys'],
  { confidential }: { readonly confidential: boolean },
  { privateKeyJwt }: KnownNames,
  registered: Pick<Client, 'keys'> | undefined,
): readonly FieldError[] {
  if (!keys) return [];
  const isNew = !isDeepStrictEqual(keys, registered?.keys);
  return [
    ...(isNew && privateKeyJwt === false ? [fieldError('keys', 'keys_not_accepted')] : []),
    ...(isNew && lacksKeyIds(keys) ? [fieldError('keys.jwks', 'key_id_missing')] : []),
    ...(confidential ? [] : [fieldError('keys', 'keys_of_public_client')]),
  ];
}

/** A mistake for each name that the server does not define. */
export function unknownNames(
  { permissions, roles, scopes = [] }: Assignment & Partial<Pick<Client, 'scopes'>>,
  known: Pick<KnownNames, 'gate' | 'scopes'>,
): readonly FieldError[] {
  const { gate } = known;
  return [
    ...scopes
      .filter((name) => known.scopes?.has(name) === false)
      .map((name) => fieldError('scopes', 'unknown_scope', { name })),
    ...roles
      .filter((name) => gate && !Object.hasOwn(gate.roles, name))
      .map((name) => fieldError('roles', 'unknown_role', { name })),
    ...permissions
      .filter((name) => gate?.has(name) === false)
      .map((name) => fieldError('permissions', 'unknown_permission', { name })),
    // Where the gate is not known, such as on the command line, only the form of a name is checked.
    ...Object.entries(gate ? {} : { permissions, roles }).flatMap(([field, names]) =>
      names
        .filter((name) => !GATE_NAME.test(name))
        .map((name) => fieldError(field, 'gate_name_form', { name })),
    ),
  ];
}

function isUserId(id: unknown): boolean {
  return typeof id === 'string' && id !== '' && id.length <= 255 && !id.includes('\0');
}

/** The entries of a list, each once; an empty list for any other value. */
export function list(value: unknown): readonly string[] {
  return isStrings(value) ? [...new Set(value)] : [];
}

/** Whether a value is an array of strings. */
export function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}
