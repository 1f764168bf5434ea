import { spawnSync } from 'node:child_process'
import { matchesGlob } from 'node:path'
import { coveredByTests, proofs } from './proofs.ts'

/** Runs git. Returns undefined if it fails, for example because the history is missing. */
export function git(...words: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('git', words, { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

/**
 * Returns the commit with which a change is compared: `PLINTH_CI_BASE`, or the merge base with the default branch. If this is the
 * current commit, returns its first parent. Returns undefined if the history is missing. Nothing is fetched.
 */
export function baseOfChange(): string | undefined {
  const given = process.env['PLINTH_CI_BASE']
  if (given) return git('rev-parse', '--verify', '--quiet', `${given}^{commit}`)
  const head = git('rev-parse', 'HEAD')
  const branch = git('rev-parse', '--abbrev-ref', 'origin/HEAD') ?? 'main'
  const base = git('merge-base', branch, 'HEAD')
  return base === head || base === undefined ? git('rev-parse', '--verify', '--quiet', 'HEAD^') : base
}

/** Returns the paths that differ between a commit and the working tree, with untracked files. */
export const changedPaths = (base: string): string[] =>
  [git('diff', '--name-only', base), git('ls-files', '--others', '--exclude-standard')].flatMap(
    (text) => text?.split('\n').filter((line) => line !== '') ?? [],
  )

const matchesAny = (path: string, globs: readonly string[]) => globs.some((glob) => matchesGlob(path, glob))

/** Returns the names of the proofs that changed paths concern. A path that is in no list concerns all proofs. */
export function concernedProofs(paths: readonly string[]): string[] {
  const concerns = Object.entries(proofs).map(([name, { paths: globs, files }]) => ({
    name,
    globs: [...globs, ...files.filter((glob) => glob.endsWith('.proof.ts'))],
  }))
  const isCovered = (path: string) =>
    matchesAny(path, coveredByTests) || concerns.some(({ globs }) => matchesAny(path, globs))
  if (!paths.every(isCovered)) return Object.keys(proofs)
  return concerns.filter(({ globs }) => paths.some((path) => matchesAny(path, globs))).map(({ name }) => name)
}
