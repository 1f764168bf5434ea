/**
 * Program of `npm test`. It checks types, lint, import boundaries and generated pages, and runs all tests with tap. The
 * last line contains the counts.
 */
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { lastLine, runTests } from './count-tests.mjs'

/**
 * The browser pages are built first. Otherwise the first tests that need them would all build them at the same time.
 */
const preparation = ['pages of the browser', 'node', 'plugins/console/scripts/build-pages.ts']
/**
 * Checks that run at the same time as the tests. The compiler uses one thread, because several threads would repeat
 * much of the work and wait for each other.
 */
const steps = [
  ['types', 'tsc', '--noEmit', '--singleThreaded'],
  ['types of the pages', 'tsc', '--noEmit', '--singleThreaded', '-p', 'plugins/console/web'],
  ['lint, format and import boundaries', 'biome', 'check', '--error-on-warnings', '.'],
  ['layers', 'node', 'scripts/layers.ts'],
  ['generated pages are current', 'node', 'scripts/generate.ts', '--check'],
]

/** Runs one step, and prints its output when it ends. Returns the title of the step if it failed. */
async function run([title, command, ...words]) {
  const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'pipe'], shell: process.platform === 'win32' })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  const code = await new Promise((resolve) => child.once('close', resolve).once('error', resolve))
  console.log(`\n== ${title}\n${output}`.trimEnd())
  return code === 0 ? [] : [title]
}

const unprepared = await run(preparation)
const checks = Promise.all(steps.map(run))
console.log('\n== tests')
// Tests wait for servers and processes part of the time, so two test files per processor keep the processor busy.
const tests = await runTests([`--jobs=${2 * availableParallelism()}`, ...process.argv.slice(2)])
const broken = [...unprepared, ...(await checks).flat()]
for (const title of broken) console.log(`FAILED: ${title}`)
const failed = tests.failed + broken.length
console.log(lastLine({ ...tests, failed }))
process.exit(failed === 0 ? 0 : 1)
