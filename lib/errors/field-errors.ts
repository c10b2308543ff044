/** What can be wrong with a field, in words for a program. `{most}` and its like stand for the parameters of an error. */
const MISTAKES = {
  unknown_field: 'there is no such field',
  not_boolean: 'true or false',
  not_string: 'give a string',
  not_strings: 'give an array of strings',
  out_of_range: 'give a number from 1 to {most}',

  name_length: 'give a name of 1 to {most} characters',
  control_characters: 'no control characters',
  grant_type_unknown: 'choose authorization_code or client_credentials',
  grant_type_fixed: 'cannot be changed; register another client',
  authorization_code_only: 'for authorization code clients only',
  client_credentials_only: "for client credentials only; here the user's own apply",
  native_with_secret: 'an installed app cannot keep a secret; set confidential to false',
  secret_required: 'client credentials need a secret (RFC 6749 section 4.4)',
  user_id: "give a user's id",
  client_id_form: '1 to 255 printable ASCII characters without spaces',
  administrators_only: 'for an administrator to decide',
  first_party_fixed: 'of a first-party client only an administrator changes this',
  name_reserved: 'this name, or one that looks like it, belongs to the platform',
  name_mixed_scripts: 'use the letters of one script; some of others look the same (UTS 39)',
  too_many_apps: '{most} are the most that one person can have; delete one first',

  redirect_uri_missing: 'an authorization code client needs at least one',
  redirect_uri_unused: 'a client credentials client has none',
  too_many_redirect_uris: 'at most {most}',
  uri_empty: 'give a URI',
  uri_length: 'at most {most} characters',
  uri_characters: 'no spaces, control characters or letters outside of ASCII; encode them',
  uri_relative: 'give an absolute URI, such as https://app.example/callback',
  uri_fragment: 'a redirect URI has no fragment (RFC 6749 section 3.1.2)',
  uri_wildcard: 'wildcards are not matched; register each URI (RFC 9700 section 2.1)',
  uri_credentials: 'no user name or password',
  uri_form: 'write it as https://host/path',
  uri_scheme: 'use https; other schemes are for native apps',
  uri_insecure:
    'use https; http is for loopback addresses only, such as http://localhost (RFC 9700 section 2.6)',
  uri_private_scheme:
    'a scheme of your own is a reversed domain name, such as com.example.app:/callback (RFC 8252 section 7.1)',
  uri_http_host: 'a native app uses http on 127.0.0.1, [::1] or localhost only (RFC 8252 section 7.3)',
  uri_https_loopback: 'use http on a loopback address (RFC 8252 section 7.3)',

  unknown_scope: 'there is no scope "{name}"',
  unknown_role: 'there is no role "{name}"',
  unknown_permission: 'there is no permission "{name}"',
  not_assignable: '"{name}" is not among what you may give',
  assignment_form: 'give an object with roles and permissions',
  assignment_field: 'there is no such field; give roles and permissions',
  user_id_length: "give a user's id, 1 to {most} characters",

  label_form: 'at most {most} characters, without control characters',
  public_client: 'a public client has no secrets',
  too_many_secrets: 'a client has at most {most} secrets; remove one that is not used',
  secret_empty: 'an empty secret protects nothing',
  bcrypt_form: 'this is not a bcrypt hash, such as $2y$10$..., with a cost of 4 to 15',
  not_seconds: 'give whole seconds, or 0',
  time_form: 'give whole seconds since 1970',
  time_past: 'give a time to come',
} as const;

/**
 * What is wrong with a field. Codes are stable: match on them, not on messages.
 *
 * @useDeclaredType
 */
export type FieldErrorCode = keyof typeof MISTAKES;

/** What the message of a {@link FieldError} mentions, such as `{ most: 100 }`. */
export type FieldErrorParameters = Readonly<Partial<Record<'most' | 'name', string | number>>>;

/** What is wrong with one field of a client or an assignment. */
export interface FieldError {
  /** The field, such as `name` or `redirectUris[1]`. */
  field: string;
  code: FieldErrorCode;
  /** What is wrong, in English and for a developer. */
  message: string;
  /** Absent when the message mentions nothing. */
  parameters?: FieldErrorParameters;
}

/** Describes what is wrong with a field. */
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
