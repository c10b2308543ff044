import type { PassportClient } from 'koa-gatehouse/adapters/knex';

/**
 * Keeps an owner who is a user. Somebody of another table has ids of their own: a team's would make a stranger with the
 * same id the owner.
 */
export function mapOwner({ owner, provider = 'users' }: PassportClient): {
  readonly ownerId: string | undefined;
  readonly note?: string;
} {
  if (owner === undefined) return { ownerId: undefined };
  const { id, type } = owner;
  const isUser = type === undefined ? provider === 'users' : /(?:^|\\)user$/i.test(type);
  if (isUser) return { ownerId: id };
  return {
    ownerId: undefined,
    note: `It has no owner here: it was owned by ${type ?? `the provider "${provider}"`}, not by a user.`,
  };
}
