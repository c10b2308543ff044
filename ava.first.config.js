import config from './ava.config.js';

/**
 * `npm test`: what needs nothing but Node. A group is a file that imports test files of some folders, which share its process: loading and
 * warming up the platform takes longer than most of their tests.
 */
export default {
  ...config,
  files: ['test/groups/*.test.ts', 'test/alone/**/*.test.ts'],
  require: [...config.require, './test/harness/this-process.js'],
  environmentVariables: { TEST_DATABASES: 'SQLite' },
};
