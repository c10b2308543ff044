import { DAY } from '../../contracts/duration.ts';
import { now } from '../../contracts/clock.ts';
import { describeKeys } from '../../keys/stored-keys.ts';
import { failure, warning } from '../../findings/finding.ts';
import type { Findings } from '../../findings/finding.ts';
import type { CheckedServer } from './check.ts';

/**
 * Checks that the server's own keys exist, can be decrypted, are encrypted where required, and with the newest key-encryption key,
 * and are rotated in time.
 */
export async function* checkKeys(server: CheckedServer): Findings {
  const { cookieKeys, keyRotation, storage } = server;
  const signing = describeKeys(await storage.keys.list('token'));
  const cookie = cookieKeys === undefined ? describeKeys(await storage.keys.list('cookie')) : [];
  const idToken = describeKeys(await storage.keys.list('id_token'));
  if (signing.length === 0) {
    yield warning(
      'signing_key_missing',
      'There is no signing key.',
      'Start a server, which creates one, or run `gatehouse signing-keys rotate`.',
    );
  }
  yield* checkEncryption(server, [...signing, ...idToken, ...cookie]);

  const age = now() - Math.max(...signing.map(({ createdAt }) => createdAt));
  // One day of tolerance for servers that were not running when the rotation was due.
  if (signing.length > 0 && keyRotation > 0 && age > keyRotation + DAY) {
    yield warning(
      'signing_key_old',
      `The newest signing key is ${Math.floor(age / DAY)} days old; a new one was due after ${Math.floor(keyRotation / DAY)}.`,
      'Run `gatehouse signing-keys rotate`, and check that a server is running, which rotates keys.',
    );
  }
}

/** A stored key, and whether it signs. */
type Key = ReturnType<typeof describeKeys>[number];

async function* checkEncryption(
  { keys, reportPlainKeys, storage }: CheckedServer,
  stored: readonly Key[],
): Findings {
  const encrypted = stored.filter(({ material }) => keys.protectionOf(material) !== 'none');
  const plain = stored.filter((key) => !encrypted.includes(key));
  if (plain.length > 0 && storage.durable && (keys.encrypts || reportPlainKeys)) {
    yield warning(
      'keys_unencrypted',
      `${count(plain)} stored unencrypted: anyone who reads the database can make tokens.`,
      keys.encrypts
        ? 'Run `gatehouse signing-keys encrypt` with KEY_ENCRYPTION_KEY set.'
        : 'Set secrets.keyEncryptionKey on the servers, then run `gatehouse signing-keys encrypt` with KEY_ENCRYPTION_KEY set to it.',
    );
  }
  if (encrypted.length > 0 && !keys.encrypts) {
    yield warning(
      'keys_not_checked',
      `${count(encrypted)} encrypted, and no secrets.keyEncryptionKey was given.`,
      "Give the servers' secrets.keyEncryptionKey; on the command line in KEY_ENCRYPTION_KEY.",
    );
    return;
  }
  const results = await Promise.allSettled(encrypted.map(async ({ material }) => keys.read(material)));
  const unreadable = encrypted.filter((_, index) => results[index]!.status === 'rejected');
  if (unreadable.length > 0) {
    yield failure(
      'keys_unreadable',
      `${count(unreadable)} encrypted with another secrets.keyEncryptionKey than the given one, or damaged: ${names(unreadable)}.`,
      'Also give the secrets.keyEncryptionKey that they were encrypted with, after the new one.',
    );
  }
  const former = encrypted.filter(
    (key) => !unreadable.includes(key) && keys.protectionOf(key.material) === 'former',
  );
  if (former.length > 0) {
    yield warning(
      'keys_need_former',
      `${count(former)} encrypted with a former secrets.keyEncryptionKey, which servers still need: ${names(former)}.`,
      'When all servers have the new secrets.keyEncryptionKey, first in the list, run `gatehouse signing-keys encrypt` with KEY_ENCRYPTION_KEY set to the same list. Then remove the former one.',
    );
  }
}

function count({ length }: readonly Key[]): string {
  return length === 1 ? '1 key of the server is' : `${length} keys of the server are`;
}

/** Each key by its use, its id and whether it signs. */
function names(keys: readonly Key[]): string {
  return keys.map(({ id, status, use }) => `${use} ${id} (${status})`).join(', ');
}
