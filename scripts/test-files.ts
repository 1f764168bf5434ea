import { globSync } from 'node:fs'
import { longTests } from './long-tests.ts'

/** Returns the files that a pattern matches, without installed packages and built files, sorted. */
export const findFiles = (pattern: string, root = '.'): string[] =>
  globSync(pattern, { cwd: root, exclude: (path) => /(^|\/)(node_modules|dist)$/.test(path) })
    .map((file) => file.replaceAll('\\', '/'))
    .sort()

const filesWith = (ending: string, root: string): string[] =>
  findFiles(
    `{config-schema,inbox-element,dev/test,kernel/test,migrations,plugins,examples,test}/**/*.${ending}.ts`,
    root,
  )

/** Returns all test files below `root`, sorted. `.taprc` contains the same pattern. */
export const testFiles = (root = '.'): string[] => filesWith('test', root)

/** Returns the files of `npm test` below `root`, sorted: all test files but the long ones. */
export const shortTestFiles = (root = '.'): string[] => {
  const long = new Set(longTests.flatMap((pattern) => findFiles(pattern, root)))
  return testFiles(root).filter((file) => !long.has(file))
}

/** Returns the files that only `npm run proof` runs, sorted. */
export const proofFiles = (root = '.'): string[] => filesWith('proof', root)
