import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Parser } from 'tap-parser'

/** The result of one test file. */
export interface TestRun {
  /** Full names of the failed assertions: titles of the enclosing tests, then the message. */
  readonly failed: readonly string[]
  readonly passed: number
  /** False if the run was killed because it exceeded its time limit. */
  readonly hasEnded: boolean
  /** True if the process ended without an error and all assertions passed. */
  readonly isGood: boolean
  /** The end of the output. */
  readonly output: string
}

const outputTail = 4_000
/** Time limit of waits in browser tests. After a change, most of them wait for something that never happens. */
const browserWaitMs = 40_000
const testSetup = new URL('../../scripts/test-setup.mjs', import.meta.url).href
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) killTree(child)
})

/** Returns the ids of all descendants of a process. This works only on Linux. */
function descendants(pid: number): number[] {
  if (!existsSync('/proc/self/stat')) return []
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const [, parent = ''] = /^.*\) \S (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? []
      children.set(Number(parent), [...(children.get(Number(parent)) ?? []), Number(name)])
    } catch {
      // The process has ended meanwhile.
    }
  }
  const below = (parent: number): number[] => (children.get(parent) ?? []).flatMap((child) => [child, ...below(child)])
  return below(pid)
}

/** Kills a process with all its descendants, even those in another process group. */
function killTree({ pid }: ChildProcess): void {
  if (pid === undefined) return
  for (const one of [...descendants(pid), -pid]) {
    try {
      process.kill(one, 'SIGKILL')
    } catch {
      // The process has ended meanwhile.
    }
  }
}

/** Returns the environment without the variables that a test run sets for its child processes. */
const cleanEnvironment = () =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:TAP|_TAPJS|PLINTH_TEST_TEMPLATES$|NODE_OPTIONS$)/.test(name)),
  )

const literally = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

/**
 * Runs a test file in a child process. After `limitMs` milliseconds, the process is killed with all its descendants.
 * @param root root directory of the repository or of a copy; it is the working directory of the process
 * @param only beginning of the titles of the tests that run, then of their subtests; all tests if omitted
 */
export async function runTestFile(
  root: string,
  file: string,
  limitMs: number,
  only: readonly string[] = [],
): Promise<TestRun> {
  const child = spawn(process.execPath, ['--import', testSetup, file], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: {
      ...cleanEnvironment(),
      // Each run has its own template databases. Otherwise other runs would use databases that were migrated by changed
      // sources.
      PLINTH_TEST_TEMPLATES: join(root, '.tap/templates', randomUUID()),
      TAP_TIMEOUT: String(limitMs / 1_000),
      PLINTH_TEST_WAIT_MS: String(browserWaitMs),
      TAP_GREP: only.map((title) => `/^${literally(title)}/`).join('\n'),
    },
  })
  running.add(child)
  const failed: string[] = []
  let passed = 0
  const read = (parser: Parser) => {
    parser.on('child', read)
    parser.on('assert', ({ ok, skip, todo, fullname }) => {
      if (!ok) failed.push(fullname)
      else if (!skip && !todo) passed += 1
    })
  }
  const parser = new Parser()
  read(parser)
  const parsed = new Promise<{ ok: boolean }>((resolve) => parser.once('complete', resolve))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-outputTail)
    })
  }
  child.stdout.pipe(parser)
  let hasEnded = true
  const limit = setTimeout(() => {
    hasEnded = false
    killTree(child)
  }, limitMs)
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  clearTimeout(limit)
  running.delete(child)
  const { ok } = await parsed
  return { failed, passed, hasEnded, isGood: code === 0 && ok && failed.length === 0 && passed > 0, output }
}
