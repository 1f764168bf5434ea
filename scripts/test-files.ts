import { globSync } from 'node:fs'

/** All test files of the house, by their paths below `root`, in the order of their names. A file that ends otherwise is no test. */
export const testFiles = (root = '.'): string[] =>
  globSync('{config-schema,kernel,migrations,plugins,examples,test}/**/*.test.ts', {
    cwd: root,
    exclude: (path) => /(^|\/)(node_modules|dist)$/.test(path),
  })
    .map((file) => file.replaceAll('\\', '/'))
    .sort()

/** The package that a file belongs to, or the folder of the house: `plugins/iam`, `kernel`, `test`. */
export const homeOf = (file: string): string | undefined => /^(?:(?:plugins|examples)\/)?[^/]+(?=\/)/.exec(file)?.[0]
