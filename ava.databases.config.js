import config from './ava.config.js';

/** The tests of `npm test` that also run on database servers. */
export default { ...config, files: ['test/groups/*.test.ts'], match: ['PostgreSQL:*', 'MariaDB:*'] };
