import { deflateSync } from 'node:zlib';

import { createCanvas, loadImage } from '@napi-rs/canvas';

import { chunk } from '../../harness/pictures.ts';

// Differences of colours that nobody sees in a picture of a page.
const STEP = 8;
const MOST_COLOURS = 256;

/** A PNG with a palette, a third of the size of the one with all colours; undefined where the picture has too many. */
export async function toIndexedPng(png: Buffer): Promise<Buffer | undefined> {
  const image = await loadImage(png);
  const { height, width } = image;
  const context = createCanvas(width, height).getContext('2d');
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const palette = new Map<number, number>();
  // Each row begins with its filter: none.
  const rows = Buffer.alloc(height * (width + 1));
  for (let pixel = 0; pixel < width * height; pixel++) {
    const [red, green, blue] = [0, 1, 2].map((part) => rounded(data[pixel * 4 + part]!));
    const colour = (red! << 16) | (green! << 8) | blue!;
    if (!palette.has(colour)) palette.set(colour, palette.size);
    rows[pixel + Math.floor(pixel / width) + 1] = palette.get(colour)!;
  }
  if (palette.size > MOST_COLOURS) return undefined;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits for the number of a colour.
  header.set([8, 3, 0, 0, 0], 8);
  const colours = [...palette.keys()].flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(colours)),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function rounded(part: number): number {
  return Math.min(255, Math.round(part / STEP) * STEP);
}
