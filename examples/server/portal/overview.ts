import { PlatformError, readResource } from './platform.ts';
import type { Registration, Tokens } from './platform.ts';

/** The members of `GET /api/v1/identity` that the portal shows. */
export interface Identity {
  readonly name: string | null;
  readonly email: string | null;
  readonly permissions: readonly string[];
}

/** The members of `GET /api/v1/schools` that the portal shows. */
export interface School {
  readonly id: string;
  readonly name: string;
  readonly city: string;
  readonly open: boolean;
}

/** The response of the platform: the data, or the error. */
export type Answer<T> = { readonly data: T } | { readonly status: number; readonly message: string };

/** What the portal shows to a connected user. */
export interface Overview {
  readonly identity: Answer<Identity>;
  readonly schools: Answer<readonly School[]>;
}

/** Reads both resources with the user's access token. */
export async function readOverview(registration: Registration, { accessToken }: Tokens): Promise<Overview> {
  const [identity, schools] = await Promise.all([
    ask<Identity>(registration, '/api/v1/identity', accessToken),
    ask<readonly School[]>(registration, '/api/v1/schools', accessToken),
  ]);
  return { identity, schools };
}

async function ask<T>(registration: Registration, path: string, accessToken: string): Promise<Answer<T>> {
  try {
    return { data: await readResource<T>(registration, path, accessToken) };
  } catch (error) {
    if (error instanceof PlatformError) return { status: error.status, message: error.message };
    throw error;
  }
}
