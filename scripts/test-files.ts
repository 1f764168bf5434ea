import { globSync } from 'node:fs'

/** Returns all test files below `root`, sorted. A file with another ending is no test. The same pattern stands in `.taprc`. */
export const testFiles = (root = '.'): string[] =>
  globSync('{config-schema,kernel/test,migrations,plugins,examples,test}/**/*.test.ts', {
    cwd: root,
    exclude: (path) => /(^|\/)(node_modules|dist)$/.test(path),
  })
    .map((file) => file.replaceAll('\\', '/'))
    .sort()
