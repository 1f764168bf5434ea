import { globSync } from 'node:fs'

/** Returns all test files below `root`, sorted. A file with another ending is no test. The same pattern stands in `.taprc`. */
export const testFiles = (root = '.'): string[] =>
  globSync('{config-schema,kernel,migrations,plugins,examples,test}/**/*.test.ts', {
    cwd: root,
    // The tests of templates run in the folders that are created from them: see test/create.test.ts.
    exclude: (path) => /(^|\/)(node_modules|dist|kernel\/templates)$/.test(path),
  })
    .map((file) => file.replaceAll('\\', '/'))
    .sort()
