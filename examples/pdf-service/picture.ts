import { ServiceError } from './service-error.ts';

/** How a page is rendered. */
export interface Picture {
  /** The first page is 1. */
  readonly page: number;
  readonly format: 'png' | 'jpg';
  /** Of a JPEG, 1 to 100. */
  readonly quality: number;
  /** In pixels. */
  readonly width: number;
}

/** Reads the query of `/render`, with its defaults. */
export function pictureOf(query: Readonly<Record<string, string | string[] | undefined>>): Picture {
  const { page = '1', format = 'png', quality, width = '1240' } = query;
  if (format !== 'png' && format !== 'jpg') throw invalid('format', 'must be png or jpg');
  if (quality !== undefined && format === 'png') throw invalid('quality', 'is for jpg only');
  return {
    page: whole('page', page, 1, 100_000),
    format,
    quality: whole('quality', quality ?? '80', 1, 100),
    width: whole('width', width, 16, 4096),
  };
}

function whole(name: string, text: string | string[], least: number, most: number): number {
  const number = typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (number >= least && number <= most) return number;
  throw invalid(name, `must be a whole number from ${least} to ${most}`);
}

function invalid(name: string, rule: string): ServiceError {
  return new ServiceError(400, 'parameter_invalid', `The parameter ${name} ${rule}.`);
}
