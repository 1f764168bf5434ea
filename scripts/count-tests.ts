/**
 * Runs test files and counts their assertions: `node scripts/count-tests.ts [--grep=/title/] [files and patterns]`. Without files, runs
 * all files of `npm test`.
 *
 * Each file is a program of Node.js that prints TAP, so it is started without the runner of tap, which loads a module into each process
 * that records the loaded files. That took a fifth of the processor time of a run.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { Parser } from 'tap-parser'
import { findFiles, shortTestFiles } from './test-files.ts'

export interface Counts {
  passed: number
  failed: number
  skipped: number
}

export interface RunOptions {
  readonly cwd?: string | undefined
  /** Variables in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** The run is stopped after this number of milliseconds, and has then failed. */
  readonly limitMs?: number | undefined
  /** Only tests whose title matches run, for example `/title/i`. */
  readonly grep?: string | undefined
}

/** The results of one test file. */
interface Outcome {
  readonly file: string
  passed: number
  readonly failures: string[]
  readonly skips: { readonly file: string; readonly name: string; readonly reason: string }[]
}

/** Maximum number of printed failures of one file, and maximum number of characters of each. */
const printedFailures = 10
const printedCharacters = 2_000
/** Many times the duration of any file, so that a busy machine is no failure. */
const fileLimitMs = 2_400_000
/** Tests wait for servers and processes part of the time. With more files at the same time, a run takes more processor time. */
const jobs = 2 * availableParallelism()
const setup = new URL('test-setup.mjs', import.meta.url)

/** Adds the results of a test to `outcome`. A test that contains other tests counts only if it failed itself. */
function collect(parser: Parser, outcome: Outcome) {
  const own = { count: 0, failed: 0 }
  let inner: typeof own | undefined
  parser.on('child', (child) => {
    inner = collect(child, outcome)
  })
  parser.on('assert', (result) => {
    const contained = inner
    inner = undefined
    own.count += 1
    own.failed += result.ok ? 0 : 1
    if (contained !== undefined && contained.count > 0 && (result.ok || contained.failed > 0)) return
    const name = result.fullname.replace(`${outcome.file} > `, '')
    if (result.skip || result.todo) outcome.skips.push({ file: outcome.file, name, reason: String(result.skip) })
    else if (result.ok) outcome.passed += 1
    else outcome.failures.push(`${name}\n${JSON.stringify(result.diag ?? {}, null, 2)}`)
  })
  return own
}

function print({ file, failures, skips }: Outcome, seconds: number, progress: string) {
  const skipped = skips.length > 0 ? `  (${skips.length} skipped)` : ''
  const state = failures.length === 0 ? 'ok    ' : 'FAILED'
  console.log(`${progress} ${state} ${seconds.toFixed(1).padStart(6)} s  ${file}${skipped}`)
  for (const failure of failures.slice(0, printedFailures))
    console.log(`${file}: ${failure.slice(0, printedCharacters)}`)
}

/** Runs one file. A file without any assertion has failed. */
async function runFile(file: string, { cwd, env, grep, limitMs }: RunOptions): Promise<Outcome> {
  const outcome: Outcome = { file, passed: 0, failures: [], skips: [] }
  const child = spawn(process.execPath, [`--import=${setup}`, file], {
    cwd,
    env: {
      ...process.env,
      PLINTH_TEST_COUNTED: '1',
      TAP_TIMEOUT: String(fileLimitMs / 1_000),
      ...(grep === undefined ? {} : { TAP_GREP: grep }),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: Math.ceil(Math.min(fileLimitMs, Math.max(limitMs ?? fileLimitMs, 1))),
    killSignal: 'SIGKILL',
  })
  const parser = new Parser()
  collect(parser, outcome)
  const parsed = once(parser, 'complete')
  child.stdout.pipe(parser)
  const [code, signal] = await once(child, 'close')
  const [results] = await parsed
  if (outcome.failures.length > 0) return outcome
  if (signal !== null) outcome.failures.push(`ended by ${signal}`)
  else if (code !== 0) outcome.failures.push(`exit code ${code}`)
  else if (!results.ok) outcome.failures.push(JSON.stringify(results.failures, null, 2))
  else if (outcome.passed + outcome.skips.length === 0) outcome.failures.push('no test in it')
  return outcome
}

/**
 * Runs test files and counts their assertions. Prints one line per file with the progress, its failures, the reasons of skipped
 * tests, and the CPU time. At the end, it prints one line per failure, which begins with `FAILED: `.
 *
 * With `PLINTH_TEST_MACHINE=complete`, as in `.ci/run`, a test that was skipped because something is missing on the machine (its
 * reason begins with "no ") has failed.
 *
 * @param words files and patterns
 * @returns a run without any passed assertion has failed, and so has a word without a file
 */
export async function runTests(words: readonly string[], options: RunOptions = {}): Promise<Counts> {
  const { cwd = '.', limitMs = Number.POSITIVE_INFINITY } = options
  const end = performance.now() + limitMs
  const found = words.map((word) => ({ word, files: findFiles(word, cwd) }))
  const missing = found.filter(({ files }) => files.length === 0)
  for (const { word } of missing) console.log(`FAILED: no such file: ${word}`)
  if (missing.length > 0) return { passed: 0, failed: missing.length, skipped: 0 }
  const files = [...new Set(found.flatMap((one) => one.files))]
  const waiting = [...files]
  const outcomes: Outcome[] = []

  async function runWaiting() {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const start = performance.now()
      const outcome = await runFile(file, { ...options, limitMs: end - start })
      outcomes.push(outcome)
      const progress = `[${String(outcomes.length).padStart(String(files.length).length)}/${files.length}]`
      print(outcome, (performance.now() - start) / 1_000, progress)
    }
  }
  await Promise.all(Array.from({ length: jobs }, runWaiting))

  const skips = outcomes.flatMap((one) => one.skips)
  for (const [reason, { length }] of Map.groupBy(skips, (skip) => skip.reason))
    console.log(`skipped ${length}: ${reason || 'without a reason'}`)
  const isComplete = process.env['PLINTH_TEST_MACHINE'] === 'complete'
  const wrong = isComplete ? skips.filter(({ reason }) => reason.startsWith('no ')) : []
  for (const { file, name, reason } of wrong) console.log(`MUST NOT BE SKIPPED ${file}: ${name} (${reason})`)
  const cpu = cpuLine()
  if (cpu !== undefined) console.log(cpu)
  for (const { file, failures } of outcomes)
    for (const failure of failures) console.log(`FAILED: ${file}: ${failure.split('\n', 1)[0]}`)

  const passed = outcomes.reduce((sum, one) => sum + one.passed, 0)
  const failed = outcomes.reduce((sum, one) => sum + one.failures.length, 0) + wrong.length
  return { passed, skipped: skips.length, failed: passed === 0 ? Math.max(failed, 1) : failed }
}

export function addCounts(total: Counts, more: Counts): void {
  for (const kind of ['passed', 'failed', 'skipped'] as const) total[kind] += more[kind]
}

/**
 * Returns a line with the CPU time so far: of this process, and of all processes that it started and that have ended.
 * `undefined` on other systems than Linux.
 */
export function cpuLine(): string | undefined {
  let stat: string
  try {
    stat = readFileSync('/proc/self/stat', 'utf8')
  } catch {
    return undefined
  }
  // Fields 14 to 17 of proc(5), in ticks of 10 ms: user and system time of this process, and of its ended children.
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map((ticks) => Number(ticks) / 100)
  const seconds = (value: number) => `${value.toFixed(0)} s`
  return `CPU: ${seconds(user + system + childUser + childSystem)} (user ${seconds(user + childUser)}, system ${seconds(system + childSystem)})`
}

export const lastLine = ({ passed, failed, skipped }: Counts): string =>
  `\n${passed} passed, ${failed} failed, ${skipped} skipped`

/** Reads the words of a command: files and patterns, and `--grep`. */
export function readWords(words = process.argv.slice(2)): { files: string[]; grep: string | undefined } {
  const { values, positionals } = parseArgs({
    args: words,
    options: { grep: { type: 'string' } },
    allowPositionals: true,
  })
  return { files: positionals, grep: values.grep }
}

if (import.meta.main) {
  const { files, grep } = readWords()
  const result = await runTests(files.length > 0 ? files : shortTestFiles(), { grep })
  console.log(lastLine(result))
  process.exit(result.failed === 0 ? 0 : 1)
}
