/** The mistakes in the fields of a client or an assignment, each with a code and an English message. */

/** The messages of field errors, by code. `{most}` and `{name}` are replaced by the parameters of the error. */
const MISTAKES = {
  unknown_field: 'there is no such field',
  not_boolean: 'give true or false',
  not_string: 'give a string',
  not_strings: 'give an array of strings',
  out_of_range: 'give a number from 1 to {most}',

  name_length: 'give a name of 1 to {most} characters',
  control_characters: 'leave out control characters',
  client_uri_form:
    'give an https URL of at most {most} characters, of ASCII without spaces, and without user name, password and fragment; http is for loopback addresses only',
  logout_uri_form:
    'give an https URL of at most {most} characters, of ASCII without spaces, and without user name, password and fragment; http is for loopback addresses only',
  logout_uri_private: 'give a public address, which this server can connect to',
  logo_form: 'give a PNG or JPEG picture of at most {most} pixels in width and height',
  logo_size: 'give a file of at most {most} bytes',
  grant_type_unknown: 'choose one of {name}',
  grant_type_fixed: 'cannot be changed; register another client',
  grant_type_off: 'give the server the feature for {name} first',
  authorization_code_only: 'for authorization code clients only',
  client_credentials_only: "for client credentials only; for other clients the user's own apply",
  native_with_secret: 'an installed app cannot keep a secret; set confidential to false',
  secret_required: 'client credentials need a secret (RFC 6749 section 4.4)',
  user_id: "give a user's id",
  client_id_form: '1 to 255 printable ASCII characters without spaces',
  administrators_only: 'only an administrator can set this',
  first_party_fixed: 'only an administrator can change this of a first-party client',
  name_reserved: 'this name, or one that looks like it, is reserved',
  name_mixed_scripts:
    'use the letters of one script; letters of different scripts can look the same (UTS 39)',
  from_source: 'comes from what describes the client, and is changed there',
  unregistered_first_party: 'nobody has registered this client, so users are always asked for consent',
  unregistered_app:
    'nobody has registered this client, so it has no homepage, no logo and is not verified; register it to give it them',
  unregistered_scopes: 'list the scopes; a client that nobody registered cannot have all',
  disabled_live:
    'a disabled client like this would come back with its next request; leave it disabled, or enable it first',
  too_many_apps: 'a user can have at most {most} apps; delete one first',

  redirect_uri_missing: 'an authorization code client needs at least one',
  redirect_uri_unused: 'only an authorization code client has redirect URIs',
  too_many_redirect_uris: 'at most {most}',
  uri_empty: 'give a URI',
  uri_length: 'at most {most} characters',
  uri_characters: 'percent-encode spaces, control characters and letters outside of ASCII',
  uri_relative: 'give an absolute URI, such as https://app.example/callback',
  uri_fragment: 'a redirect URI has no fragment (RFC 6749 section 3.1.2)',
  uri_wildcard: 'wildcards are not matched; register each URI (RFC 9700 section 2.1)',
  uri_credentials: 'leave out the user name and password',
  uri_form: 'write it as https://host/path',
  uri_scheme: 'use https; other schemes are for native apps',
  uri_insecure:
    'use https; http is for loopback addresses only, such as http://localhost (RFC 9700 section 2.6)',
  uri_private_scheme:
    'use a scheme of your own, such as com.example.app:/callback (RFC 8252 section 7.1), and none of a protocol, a browser or a system',
  uri_http_host: 'a native app uses http on 127.0.0.1, [::1] or localhost only (RFC 8252 section 7.3)',
  uri_https_loopback: 'use http on a loopback address (RFC 8252 section 7.3)',

  unknown_scope: 'there is no scope "{name}"',
  unknown_role: 'there is no role "{name}"',
  unknown_permission: 'there is no permission "{name}"',
  gate_name_form:
    '"{name}" can be no name of a gate, which is lower-case words joined by underscores, dots or colons, such as view_schools',
  not_assignable: 'you cannot assign "{name}"',
  assignment_form: 'give an object with roles and permissions',
  assignment_field: 'there is no such field; give roles and permissions',
  user_id_length: "give a user's id, 1 to {most} characters",

  unknown_user: 'users.find() finds no user with this id',
  unknown_resource: 'the server has no such API; give the URL of one of the option resources',
  too_many_tokens: 'a user can have at most {most} personal access tokens; end one first',
  scope_missing: 'choose at least one scope',
  permissions_of_scopes: 'this API has scopes; give scopes',
  lifetime_longer: 'at most {most} s, which is the option maxLifetime',

  keys_form: "give { jwks: { keys: [...] } } or { jwksUri: 'https://...' }",
  keys_not_accepted: 'this server accepts no keys of clients; switch on its option clients.privateKeyJwt',
  keys_of_public_client: 'a public client does not authenticate; keys are for confidential clients',
  jwks_form: 'give a JWK Set: an object with an array "keys" (RFC 7517 section 5)',
  keys_count: 'give 1 to {most} keys',
  keys_size: 'at most {most} characters of JSON',
  key_form: 'give a public key as a JWK, an object (RFC 7517 section 4)',
  key_private:
    'it has its private part (such as d, p, q or k), which has left its owner now and must not be used any more; make a new pair of keys, and give the public one only',
  key_id_form: 'its kid is text of 1 to {most} characters, without control characters',
  key_id_missing: 'with several keys, give each a kid of its own, which assertions name',
  key_duplicate: 'another key has the kid "{name}" too',
  key_type: 'give an RSA key, an EC key (crv P-256, P-384 or P-521), or an OKP key (crv Ed25519)',
  key_algorithm: 'its alg does not belong to this kind of key; give {name}, or leave it out',
  key_use: 'it is not for signatures; its use is "sig", and key_ops have "verify"',
  key_invalid: 'its values are those of no valid public key',
  key_length: 'give an RSA key of 2048 to 4096 bits',
  jwks_uri_form:
    'give an https URL of at most {most} characters, without user name, password, fragment and spaces',
  jwks_uri_private: 'give a public address; for tests on one machine, give the keys themselves',
  label_form: 'at most {most} characters, without control characters',
  public_client: 'a public client has no secrets',
  too_many_secrets: 'a client has at most {most} secrets; delete one that is not used',
  secret_empty: 'the secret is empty; give its value',
  bcrypt_form: 'this is not a bcrypt hash, such as $2y$10$..., with a cost of 4 to 15',
  lifetimes_form: "give an object such as { accessToken: '15 minutes' }",
  unknown_lifetime: 'there is no such lifetime; give accessToken, refreshToken or refreshTokenAbsolute',
  lifetime_too_short: 'give at least 1 s',
  lifetime_too_long: "at most {most} s, which is the server's own: a client can only shorten it",
  not_duration: "give seconds, or a number and a unit such as '1 hour'",
  time_form: 'give whole seconds since 1970',
  time_past: 'give a time in the future',
} as const;

/**
 * The code of a field error. Codes are stable: match on them, not on messages.
 *
 * @useDeclaredType
 */
export type FieldErrorCode = keyof typeof MISTAKES;

/** The values in the message of a {@link FieldError}, such as `{ most: 100 }`. */
export type FieldErrorParameters = Readonly<Partial<Record<'most' | 'name', string | number>>>;

/** An error in one field of a client or an assignment. */
export interface FieldError {
  /** The field, such as `name` or `redirectUris[1]`. */
  field: string;
  code: FieldErrorCode;
  /** The mistake in English, for developers. */
  message: string;
  /** Absent if the message has no values. */
  parameters?: FieldErrorParameters;
}

/** The mistake in a value: the arguments of `fieldError()` after the field. */
export type Mistake = readonly [code: FieldErrorCode, parameters?: FieldErrorParameters];

/** A value that was checked, or the mistakes in it, at least one. */
export type Checked<T> =
  | { readonly checked: T; readonly mistakes?: undefined }
  | { readonly checked?: undefined; readonly mistakes: readonly FieldError[] };

/** Creates the error of a field. */
export function fieldError(
  field: string,
  code: FieldErrorCode,
  parameters?: FieldErrorParameters,
): FieldError {
  const message = MISTAKES[code].replaceAll(/\{(most|name)\}/g, (_, name: 'most' | 'name') =>
    String(parameters?.[name] ?? ''),
  );
  return { field, code, message, ...(parameters ? { parameters } : {}) };
}
