import { now } from '../../contracts/clock.ts';
import type { Finding } from '../../contracts/index.ts';
import { describeKeys } from '../../keys/stored-keys.ts';
import type { CheckedServer } from './check.ts';

const DAY = 86_400;

/**
 * Checks that the server's own keys exist, can be decrypted, are encrypted where required, and with the newest key-encryption key,
 * and are rotated in time.
 */
export async function checkKeys(server: CheckedServer): Promise<readonly Finding[]> {
  const { storage, cookieKeys } = server;
  const signing = describeKeys(await storage.keys.list('token'));
  const cookie = cookieKeys === undefined ? describeKeys(await storage.keys.list('cookie')) : [];
  return [
    ...checkPresence(signing),
    ...checkEncryption(server, [...signing, ...cookie]),
    ...(await checkDecryption(server, [...signing, ...cookie])),
    ...checkAge(server, signing),
  ];
}

/** A stored key, and whether it signs. */
type Key = ReturnType<typeof describeKeys>[number];

function checkPresence(signing: readonly Key[]): Finding[] {
  if (signing.length > 0) return [];
  return [
    {
      code: 'signing_key_missing',
      severity: 'warning',
      message: 'There is no signing key.',
      remedy: 'Start a server, which creates one, or run `gatehouse keys rotate`.',
    },
  ];
}

function checkEncryption(
  { keys, reportPlainKeys, storage }: CheckedServer,
  stored: readonly Key[],
): Finding[] {
  const plain = stored.filter(({ material }) => keys.protectionOf(material) === 'none');
  if (plain.length === 0 || !storage.durable || (!keys.encrypts && !reportPlainKeys)) return [];
  return [
    {
      code: 'keys_unencrypted',
      severity: 'warning',
      message: `${count(plain)} stored unencrypted: anyone who reads the database can make tokens.`,
      remedy: keys.encrypts
        ? 'Run `gatehouse keys encrypt` with KEY_ENCRYPTION_KEY set.'
        : 'Set secrets.keyEncryptionKey on the servers, then run `gatehouse keys encrypt` with KEY_ENCRYPTION_KEY set to it.',
    },
  ];
}

async function checkDecryption({ keys }: CheckedServer, stored: readonly Key[]): Promise<Finding[]> {
  const encrypted = stored.filter(({ material }) => keys.protectionOf(material) !== 'none');
  if (encrypted.length === 0) return [];
  if (!keys.encrypts) {
    return [
      {
        code: 'keys_not_checked',
        severity: 'warning',
        message: `${count(encrypted)} encrypted, and no secrets.keyEncryptionKey was given.`,
        remedy: "Give the servers' secrets.keyEncryptionKey; on the command line in KEY_ENCRYPTION_KEY.",
      },
    ];
  }
  const results = await Promise.allSettled(encrypted.map(async ({ material }) => keys.read(material)));
  const unreadable = encrypted.filter((_, index) => results[index]!.status === 'rejected');
  const former = encrypted.filter(
    (key) => !unreadable.includes(key) && keys.protectionOf(key.material) === 'former',
  );
  return [...reportUnreadable(unreadable), ...reportFormer(former)];
}

function reportUnreadable(keys: readonly Key[]): Finding[] {
  if (keys.length === 0) return [];
  return [
    {
      code: 'keys_unreadable',
      severity: 'error',
      message: `${count(keys)} encrypted with another secrets.keyEncryptionKey than the given one, or damaged: ${names(keys)}.`,
      remedy: 'Also give the secrets.keyEncryptionKey that they were encrypted with, after the new one.',
    },
  ];
}

function reportFormer(keys: readonly Key[]): Finding[] {
  if (keys.length === 0) return [];
  return [
    {
      code: 'keys_need_former',
      severity: 'warning',
      message: `${count(keys)} encrypted with a former secrets.keyEncryptionKey, which servers still need: ${names(keys)}.`,
      remedy:
        'When all servers have the new secrets.keyEncryptionKey, first in the list, run `gatehouse keys encrypt` with KEY_ENCRYPTION_KEY set to the same list. Then remove the former one.',
    },
  ];
}

function checkAge({ keyRotation }: CheckedServer, signing: readonly Key[]): Finding[] {
  if (keyRotation === 0 || signing.length === 0) return [];
  const age = now() - Math.max(...signing.map(({ createdAt }) => createdAt));
  // One day of tolerance for servers that were not running when the rotation was due.
  if (age <= keyRotation + DAY) return [];
  return [
    {
      code: 'signing_key_old',
      severity: 'warning',
      message: `The newest signing key is ${Math.floor(age / DAY)} days old; a new one was due after ${Math.floor(keyRotation / DAY)}.`,
      remedy: 'Run `gatehouse keys rotate`, and check that a server is running, which rotates keys.',
    },
  ];
}

function count({ length }: readonly Key[]): string {
  return length === 1 ? '1 key of the server is' : `${length} keys of the server are`;
}

/** Each key by its use, its id and whether it signs. */
function names(keys: readonly Key[]): string {
  return keys.map(({ id, status, use }) => `${use} ${id} (${status})`).join(', ');
}
