import { createHash } from 'node:crypto';

import { fieldError } from '../contracts/field-errors.ts';
import type { Checked, Mistake } from '../contracts/field-errors.ts';

/* The logo of a client. Browsers get it from this server, never from the client's: that would learn who is about to authorize it. */

// In bytes. The picture is stored in the client's row, and pages load it.
const LARGEST = 64 * 1024;

// In pixels. A file of few bytes can be a picture of gigabytes.
const LONGEST_SIDE = 1024;

/** A checked logo. */
export interface CheckedLogo {
  readonly picture: Uint8Array;
  /** The SHA-256 of the picture, base64url. */
  readonly hash: string;
}

/** Checks the picture by its content, whatever its name or media type was. */
export function checkLogo(picture: unknown): Checked<CheckedLogo> {
  const mistake = logoMistake(picture);
  if (mistake) return { mistakes: [fieldError('logo', ...mistake)] };
  const given = picture as Uint8Array;
  return { checked: { picture: given, hash: createHash('sha256').update(given).digest('base64url') } };
}

function logoMistake(picture: unknown): Mistake | undefined {
  if (!(picture instanceof Uint8Array)) return NO_PICTURE;
  if (picture.byteLength > LARGEST) return ['logo_size', { most: LARGEST }];
  const sides = sidesOf(Buffer.from(picture));
  return sides?.every((side) => side >= 1 && side <= LONGEST_SIDE) ? undefined : NO_PICTURE;
}

const NO_PICTURE: Mistake = ['logo_form', { most: LONGEST_SIDE }];

/** The media type of a logo. */
export function typeOfLogo(picture: Uint8Array): 'image/png' | 'image/jpeg' {
  return picture[0] === JPEG[0] ? 'image/jpeg' : 'image/png';
}

// The signature, and the beginning of the first chunk, whose data are the width and the height (PNG, sections 5.2 and 11.2.1).
const PNG = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');

// SOI, and the first byte of the next marker (ITU-T T.81, annex B.1.1).
const JPEG = Buffer.from([0xff, 0xd8, 0xff]);

/** The width and the height of a picture; `undefined` when it is neither PNG nor JPEG. */
function sidesOf(picture: Buffer): readonly number[] | undefined {
  if (startsWith(picture, PNG) && picture.length >= 24)
    return [picture.readUInt32BE(16), picture.readUInt32BE(20)];
  return startsWith(picture, JPEG) ? sidesOfJpeg(picture) : undefined;
}

/** Goes from segment to segment to the frame header, which has the width and the height (ITU-T T.81, annex B.2.2). */
function sidesOfJpeg(picture: Buffer): readonly number[] | undefined {
  for (let at = 2; at + 9 <= picture.length && picture[at] === 0xff; at += 2 + picture.readUInt16BE(at + 2)) {
    const marker = picture[at + 1]!;
    if (FRAME_HEADERS.has(marker)) return [picture.readUInt16BE(at + 5), picture.readUInt16BE(at + 7)];
    if (!hasLength(marker)) return undefined;
  }
  return undefined;
}

/** Whether a segment with its length follows a marker (table B.1). A browser skips other markers, and would find another frame header. */
function hasLength(marker: number): boolean {
  return marker >= 0xc0 && marker < 0xff && !(marker >= 0xd0 && marker <= 0xd9);
}

// SOF0 to SOF2: the frames that browsers show.
const FRAME_HEADERS: ReadonlySet<number> = new Set([0xc0, 0xc1, 0xc2]);

function startsWith(picture: Buffer, signature: Buffer): boolean {
  return picture.subarray(0, signature.length).equals(signature);
}
