import { spawn } from 'node:child_process'
import { Parser } from 'tap-parser'

/** Maximum number of printed failures of one file, and maximum number of characters of each. */
const printedFailures = 10
const printedCharacters = 2_000

const newOutcome = (file) => ({ file, passed: 0, failures: [], skips: [] })

/** Adds the results of a test to `outcome`. A test that contains other tests counts only if it failed itself. */
function collect(parser, outcome) {
  const own = { count: 0, failed: 0 }
  let inner
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

function print({ file, failures, skips }, seconds) {
  const skipped = skips.length > 0 ? `  (${skips.length} skipped)` : ''
  console.log(`${failures.length === 0 ? 'ok    ' : 'FAILED'} ${seconds.toFixed(1).padStart(6)} s  ${file}${skipped}`)
  for (const failure of failures.slice(0, printedFailures))
    console.log(`${file}: ${failure.slice(0, printedCharacters)}`)
}

/**
 * Runs test files with tap and counts their assertions. Prints one line per file, its failures, and the reasons of skipped tests.
 *
 * With `PLINTH_TEST_MACHINE=complete`, as in `.ci/run`, a test that was skipped because something is missing on the machine (its
 * reason begins with "no ") has failed.
 *
 * @param {readonly string[]} words arguments of tap: files, patterns and options
 * @returns {Promise<{ passed: number, failed: number, skipped: number }>} a run without any passed assertion has failed
 */
export async function runTests(words) {
  const tap = spawn('tap', ['--reporter=tap', ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
    shell: process.platform === 'win32',
  })
  const outcomes = []
  let outcome = newOutcome('')
  const parser = new Parser()
  parser.on('child', (child) => {
    outcome = newOutcome(child.name)
    collect(child, outcome)
  })
  parser.on('assert', ({ ok, name, time, diag }) => {
    // If a file ended before its first test, `outcome` still belongs to another file.
    if (outcome.file !== name) outcome = newOutcome(name)
    const isEmpty = outcome.passed + outcome.failures.length + outcome.skips.length === 0
    if (!ok && outcome.failures.length === 0) outcome.failures.push(JSON.stringify(diag ?? {}, null, 2))
    else if (isEmpty) outcome.failures.push('no test in it')
    print(outcome, (time ?? 0) / 1_000)
    outcomes.push(outcome)
    outcome = newOutcome('')
  })
  const parsed = new Promise((resolve) => parser.once('complete', resolve))
  tap.stdout.pipe(parser)
  const code = await new Promise((resolve) => tap.once('close', resolve).once('error', () => resolve(1)))
  if (tap.pid !== undefined) await parsed

  const skips = outcomes.flatMap((one) => one.skips)
  for (const [reason, { length }] of Map.groupBy(skips, (skip) => skip.reason))
    console.log(`skipped ${length}: ${reason || 'without a reason'}`)
  const isComplete = process.env.PLINTH_TEST_MACHINE === 'complete'
  const wrong = isComplete ? skips.filter(({ reason }) => reason.startsWith('no ')) : []
  for (const { file, name, reason } of wrong) console.log(`MUST NOT BE SKIPPED ${file}: ${name} (${reason})`)

  const passed = outcomes.reduce((sum, one) => sum + one.passed, 0)
  const failed = outcomes.reduce((sum, one) => sum + one.failures.length, 0) + wrong.length
  const hasFailed = code !== 0 || passed === 0
  return { passed, skipped: skips.length, failed: hasFailed ? Math.max(failed, 1) : failed }
}

export const lastLine = ({ passed, failed, skipped }) => `\n${passed} passed, ${failed} failed, ${skipped} skipped`

if (import.meta.main) {
  const result = await runTests(process.argv.slice(2))
  console.log(lastLine(result))
  process.exit(result.failed === 0 ? 0 : 1)
}
