import { globSync } from 'node:fs'

/**
 * Returns all test files below `root`, sorted. `.taprc` contains the same pattern. A file with another ending is not a
 * test.
 */
export const testFiles = (root = '.'): string[] =>
  globSync('{config-schema,kernel/test,migrations,plugins,examples,test}/**/*.test.ts', {
    cwd: root,
    exclude: (path) => /(^|\/)(node_modules|dist)$/.test(path),
  })
    .map((file) => file.replaceAll('\\', '/'))
    .sort()
