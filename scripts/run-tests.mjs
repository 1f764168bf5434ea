/**
 * Runs the tests, one line per finished file. The first run decides. Files that failed in it run once more, alone, for the
 * diagnosis only: what passes then is named unsteady, and the run has failed all the same.
 *
 * A test that is skipped because something is missing on the machine (its reason begins with "no ") fails the run when what
 * is missing is a server that accepts connections, and with `PLINTH_TEST_MACHINE=complete` whatever is missing.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'

const report = '.tap/last.tap'
const secondReport = '.tap/again.tap'
/** More failed files than this are no chance. */
const mostUnsteady = 3

/** Servers that tests use: how reasons to skip name them, and their ports. */
const servers = [
  { name: /\bpostgresql\b/i, port: 5432 },
  { name: /\b(mariadb|mysql)\b/i, port: 3306 },
  { name: /\bRedis on\b/i, port: 6379 },
]

const textOf = (file) => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function counts(text) {
  const summary = [...text.matchAll(/^# \{ (.*) \}$/gm)].at(-1)?.[1] ?? ''
  const count = (name) => Number(new RegExp(`${name}: (\\d+)`).exec(summary)?.[1] ?? 0)
  return { passed: count('pass'), failed: count('fail'), skipped: count('skip') + count('todo') }
}

/** Every failed assertion with its diagnosis, so that a log cut short still ends with what went wrong. */
const failuresIn = (text) =>
  [...text.matchAll(/^( *)(?:not ok|Bail out!).*(?:\n\1 {2}---\n[\s\S]*?\n\1 {2}\.\.\.)?/gm)]
    .map(([block]) => `\n${block.slice(0, 2_000)}`)
    .slice(-30)

const failedFilesIn = (text) => [...text.matchAll(/^not ok \d+ - (\S+\.test\.ts)\b/gm)].map(([, name]) => name)

/** Every skipped test with its file and reason. */
function skipsIn(text) {
  const skips = []
  let file = ''
  for (const line of text.split('\n')) {
    file = /^# Subtest: (.*)$/.exec(line)?.[1] ?? file
    const [, name, reason] = /^ *ok \d+ - (.*) # SKIP ?(.*)$/.exec(line) ?? []
    if (name !== undefined) skips.push({ file, name, reason })
  }
  return skips
}

const accepts = (port) =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: 5_000 })
    const end = (isThere) => () => {
      socket.destroy()
      resolve(isThere)
    }
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false))
  })

/** Skipped tests that nothing excuses. */
async function wrongSkips(skips) {
  const missing = skips.filter(({ reason }) => reason.startsWith('no '))
  if (process.env.PLINTH_TEST_MACHINE === 'complete') return missing
  const there = []
  for (const { name, port } of servers) if (await accepts(port)) there.push(name)
  return missing.filter(({ reason }) => there.some((name) => name.test(reason)))
}

function run(output, words) {
  const reporter = fileURLToPath(new URL('test-reporter.mjs', import.meta.url))
  const args = ['run', `--reporter=${reporter}`, `--output-file=${output}`, ...words]
  return spawnSync('tap', args, { stdio: ['ignore', 'inherit', 'inherit'] }).status === 0
}

/**
 * @param {readonly string[]} words for the runner: files, options
 * @returns {Promise<{ passed: number, failed: number, skipped: number }>} good when nothing failed
 */
export async function runTests(words) {
  mkdirSync('.tap', { recursive: true })
  for (const file of [report, secondReport]) rmSync(file, { force: true })
  const isGood = run(report, words)
  const text = textOf(report)
  for (const failure of failuresIn(text)) console.log(failure)

  const again = failedFilesIn(text)
  if (again.length > 0 && again.length <= mostUnsteady) {
    console.log(`\n== for the diagnosis, once more and alone: ${again.join(', ')}`)
    const isUnsteady = run(secondReport, ['--jobs=1', ...again])
    for (const failure of failuresIn(textOf(secondReport))) console.log(failure)
    console.log(isUnsteady ? `\nUnsteady, to be mended: ${again.join(', ')}` : '\nFailed again.')
  }

  const reasons = Map.groupBy(skipsIn(text), ({ reason }) => reason)
  for (const [reason, { length }] of reasons) console.log(`skipped ${length}: ${reason || 'without a reason'}`)
  const wrong = await wrongSkips([...reasons.values()].flat())
  for (const { file, name, reason } of wrong) console.log(`MUST NOT BE SKIPPED ${file}: ${name} (${reason})`)

  const { passed, failed, skipped } = counts(text)
  // A run that died before it counted anything is a failure too.
  const isRed = !isGood || passed === 0
  return { passed, skipped, failed: Math.max(failed + wrong.length, isRed ? 1 : 0) }
}

export const lastLine = ({ passed, failed, skipped }) => `\n${passed} passed, ${failed} failed, ${skipped} skipped`

if (import.meta.main) {
  const result = await runTests(process.argv.slice(2))
  console.log(lastLine(result))
  process.exit(result.failed === 0 ? 0 : 1)
}
