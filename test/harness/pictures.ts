import { crc32, deflateSync } from 'node:zlib';

/** A PNG of one colour. */
export function png(
  { height = 64, width = 64 }: { height?: number; width?: number } = {},
  [red, green, blue]: readonly number[] = [11, 87, 208],
): Buffer {
  const row = [0, ...Array.from({ length: width }, () => [red!, green!, blue!]).flat()];
  const pixels = Buffer.concat(Array.from({ length: height }, () => Buffer.from(row)));
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits for each of three colours.
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(pixels)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A part of a PNG. */
export function chunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(content));
  return Buffer.concat([length, content, checksum]);
}

/** The beginning of a JPEG, to the frame header. */
export function jpeg({ height = 64, width = 64 }: { height?: number; width?: number } = {}): Buffer {
  const application = [0xff, 0xe0, 0, 4, 1, 2];
  const frame = [0xff, 0xc0, 0, 11, 8, height >> 8, height & 255, width >> 8, width & 255, 1, 1, 0x11, 0];
  return Buffer.from([0xff, 0xd8, ...application, ...frame]);
}
