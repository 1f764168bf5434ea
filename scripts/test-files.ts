import { execFileSync } from 'node:child_process'
import { existsSync, globSync, statSync } from 'node:fs'

/** All test files of the house, by their paths below `root`, in the order of their names. A file that ends otherwise is no test. */
export const testFiles = (root = '.'): string[] =>
  globSync('{config-schema,kernel,migrations,plugins,examples,test}/**/*.test.ts', {
    cwd: root,
    // The tests of templates run in the folders that are created from them: see test/create.test.ts.
    exclude: (path) => /(^|\/)(node_modules|dist|kernel\/templates)$/.test(path),
  })
    .map((file) => file.replaceAll('\\', '/'))
    .sort()

/**
 * Returns the test files that were asked for: files, and all files of folders; with `--changed` those of the packages in which a
 * file differs from the last commit; without any word all.
 *
 * @throws Error when a word is neither a test file nor a folder with test files
 */
export function selectedFiles(words: readonly string[], all = testFiles(), changed = changedFiles): string[] {
  const named = words.filter((word) => !word.startsWith('--')).map((word) => word.replace(/^\.\/|\/$/g, ''))
  if (named.length === 0 && !words.includes('--changed')) return all
  const selected = new Set<string>()
  for (const word of named) {
    const files =
      existsSync(word) && statSync(word).isFile() ? [word] : all.filter((file) => file.startsWith(`${word}/`))
    if (files.length === 0) throw new Error(`No test file and no folder with test files: ${word}`)
    for (const file of files) selected.add(file)
  }
  const homes = words.includes('--changed') ? new Set(changed().map(homeOf)) : new Set()
  for (const file of all) if (homes.has(homeOf(file))) selected.add(file)
  return [...selected]
}

/** Paths that differ from the last commit, and new ones. */
function changedFiles(): readonly string[] {
  const git = (...words: string[]) => execFileSync('git', words, { encoding: 'utf8' }).split('\n')
  const paths = [...git('diff', '--name-only', 'HEAD'), ...git('ls-files', '--others', '--exclude-standard')]
  return paths.filter((path) => path !== '')
}

/** The package that a file belongs to, or the folder of the house: `plugins/iam`, `kernel`, `test`. */
export const homeOf = (file: string): string | undefined => /^(?:(?:plugins|examples)\/)?[^/]+(?=\/)/.exec(file)?.[0]
