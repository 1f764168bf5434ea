/** Applies recorded changes to copies of the repository, and runs the tests that must notice them. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { changedSource, type RecordedChange } from '../recorded-changes/recorded-change.ts'
import { SourceCopy } from './source-copy.ts'
import { runTestFile, type TestRun } from './test-run.ts'

export const repository = join(import.meta.dirname, '../..')

/** Time limit for one test file. A busy host needs many times longer than an idle one. */
const defaultLimitMs = 900_000

interface ProofOptions {
  /** Root of the repository; this repository if omitted. */
  readonly root?: string
  /** Number of changes tested at the same time; default is 1. */
  readonly jobs?: number
  /**
   * Time limit for one test file in milliseconds. A file that takes longer is killed, and the change counts as not
   * noticed.
   */
  readonly limitMs?: number
  /** Called with each result as soon as it is known. */
  readonly onResult?: (result: ChangeResult) => void
}

export interface ChangeResult {
  readonly change: RecordedChange
  /** Reasons why the change was not noticed; empty if it was noticed. */
  readonly problems: readonly string[]
  readonly seconds: number
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/**
 * Selects `count` changes at random. The same seed selects the same changes.
 * @param count maximum; if there are fewer changes, all are returned
 */
export function sampleOf(changes: readonly RecordedChange[], count: number, seed: string): readonly RecordedChange[] {
  const key = ({ file, fragment, replacement }: RecordedChange) =>
    sha256(JSON.stringify([seed, file, fragment, replacement]))
  return changes.toSorted((a, b) => (key(a) < key(b) ? -1 : 1)).slice(0, count)
}

/**
 * Returns a seed that depends on the sources and tests of the changes. With unchanged sources, the same sample is
 * selected.
 */
export function seedOfSources(changes: readonly RecordedChange[]): string {
  const files = new Set(changes.flatMap(({ file, noticedBy }) => [file, ...noticedBy]))
  return sha256([...files].map((file) => readFileSync(join(repository, file), 'utf8')).join('\0')).slice(0, 12)
}

function problemsOf({ breaks, noticedBy }: RecordedChange, runs: readonly TestRun[], limitMs: number): string[] {
  const failed = runs.flatMap((run) => run.failed)
  return [
    ...runs.flatMap(({ hasEnded, failed }, index) => {
      if (!hasEnded) return [`${noticedBy[index]} did not end within ${limitMs / 1_000} s`]
      return failed.length === 0 ? [`no test of ${noticedBy[index]} failed`] : []
    }),
    ...breaks.filter((id) => !failed.some((name) => name.includes(id))).map((id) => `no test of ${id} failed`),
  ]
}

/**
 * Applies each change, one after another, and runs its tests. Before that, each test file runs without a change,
 * because a file that fails anyway would seem to notice every change.
 * @throws Error if a fragment does not occur exactly once in its file
 */
export async function proveChanges(
  changes: readonly RecordedChange[],
  { root = repository, jobs = 1, limitMs = defaultLimitMs, onResult }: ProofOptions = {},
): Promise<readonly ChangeResult[]> {
  for (const change of changes) changedSource(change, readFileSync(join(root, change.file), 'utf8'))
  const waiting = [...changes]
  const results: ChangeResult[] = []
  const unchanged = new Map<string, Promise<TestRun>>()

  const runUnchanged = (copy: SourceCopy, file: string, only: readonly string[] | undefined) => {
    const tests = JSON.stringify([file, only])
    const run = unchanged.get(tests) ?? runTestFile(copy.root, file, limitMs, only)
    unchanged.set(tests, run)
    return run
  }
  const prove = async (copy: SourceCopy, change: RecordedChange): Promise<string[]> => {
    for (const file of change.noticedBy) {
      const { isGood, output } = await runUnchanged(copy, file, change.only)
      if (!isGood) return [`${file} fails without the change\n${output}`]
    }
    try {
      return await copy.with(change, async () => {
        const runs: TestRun[] = []
        for (const file of change.noticedBy) runs.push(await runTestFile(copy.root, file, limitMs, change.only))
        return problemsOf(change, runs, limitMs)
      })
    } catch (error) {
      return [error instanceof Error ? error.message : String(error)]
    }
  }
  const work = async () => {
    const copy = new SourceCopy(root)
    const remove = () => copy.remove()
    process.once('exit', remove)
    for (let change = waiting.shift(); change !== undefined; change = waiting.shift()) {
      const begunAt = performance.now()
      const problems = await prove(copy, change)
      const result = { change, problems, seconds: (performance.now() - begunAt) / 1_000 }
      results.push(result)
      onResult?.(result)
    }
    process.off('exit', remove)
    remove()
  }
  await Promise.all(Array.from({ length: Math.min(jobs, changes.length) }, work))
  return results
}
