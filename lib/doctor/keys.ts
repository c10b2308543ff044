import { now } from '../contracts/clock.ts';
import type { Finding, StoredKey } from '../contracts/index.ts';
import type { CheckedServer } from './check.ts';

const DAY = 86_400;

/** Checks that the server's own keys exist, can be decrypted, are encrypted where required, and are rotated in time. */
export async function checkKeys(server: CheckedServer): Promise<readonly Finding[]> {
  const { storage, cookieKeys } = server;
  const signing = (await storage.keys.list('token')).filter(isInUse);
  const cookie = cookieKeys === undefined ? (await storage.keys.list('cookie')).filter(isInUse) : [];
  return [
    ...checkPresence(signing),
    ...checkEncryption(server, [...signing, ...cookie]),
    ...(await checkDecryption(server, [...signing, ...cookie])),
    ...checkAge(server, signing),
  ];
}

function isInUse({ retiresAt }: StoredKey): boolean {
  return retiresAt === undefined || retiresAt > now();
}

function checkPresence(signing: readonly StoredKey[]): Finding[] {
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
  stored: readonly StoredKey[],
): Finding[] {
  const plain = stored.filter(({ material }) => !keys.isEncrypted(material));
  if (plain.length === 0 || !storage.durable || (!keys.encrypts && !reportPlainKeys)) return [];
  return [
    {
      code: 'keys_unencrypted',
      severity: 'warning',
      message: `${count(plain.length)} stored unencrypted: anyone who reads the database can make tokens.`,
      remedy: keys.encrypts
        ? 'Run `gatehouse keys rotate` with KEY_ENCRYPTION_KEY set; the old keys are removed when their last token has expired.'
        : 'Set keyEncryptionKey on the servers, then run `gatehouse keys rotate` with KEY_ENCRYPTION_KEY set to it.',
    },
  ];
}

async function checkDecryption({ keys }: CheckedServer, stored: readonly StoredKey[]): Promise<Finding[]> {
  const encrypted = stored.filter(({ material }) => keys.isEncrypted(material));
  if (encrypted.length === 0) return [];
  if (!keys.encrypts) {
    return [
      {
        code: 'keys_not_checked',
        severity: 'warning',
        message: `${count(encrypted.length)} encrypted, and no keyEncryptionKey was given.`,
        remedy: "Give the servers' keyEncryptionKey; on the command line in KEY_ENCRYPTION_KEY.",
      },
    ];
  }
  const results = await Promise.allSettled(encrypted.map(async ({ material }) => keys.read(material)));
  const unreadable = results.filter(({ status }) => status === 'rejected').length;
  if (unreadable === 0) return [];
  return [
    {
      code: 'keys_unreadable',
      severity: 'error',
      message: `${count(unreadable)} encrypted with another keyEncryptionKey than the given one, or damaged.`,
      remedy: 'Also give the keyEncryptionKey that they were encrypted with, after the new one.',
    },
  ];
}

function checkAge({ keyRotation }: CheckedServer, signing: readonly StoredKey[]): Finding[] {
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

function count(keys: number): string {
  return keys === 1 ? '1 key of the server is' : `${keys} keys of the server are`;
}
