import type { Knex } from 'knex';

/**
 * Enlarges the buffer pool of a MariaDB server until the end of `scope`, if it is smaller than `size` in bytes.
 * An operator is told to do so: a server whose pool is smaller than its tables reads from the disk.
 */
export async function enlargeBufferPool(
  database: Knex,
  size: number,
  scope: AsyncDisposableStack,
): Promise<void> {
  const [[{ before }]] = (await database.raw('select @@innodb_buffer_pool_size as `before`')) as [
    [{ before: number }],
  ];
  if (before >= size) return;
  await database.raw('set global innodb_buffer_pool_size = ?', [size]);
  scope.defer(async () => void (await database.raw('set global innodb_buffer_pool_size = ?', [before])));
}
