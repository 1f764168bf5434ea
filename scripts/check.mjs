/** `npm test`: types, lint with import boundaries, generated pages, and all tests by tap. Ends with one line of counts. */
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { lastLine, runTests } from './count-tests.mjs'

/** The first tests that need the pages of the browser would build all of them at the same time. */
const preparation = ['pages of the browser', 'node', 'plugins/console/scripts/build-pages.ts']
/** Checks that run beside the tests. One thread: several repeat much of the work and wait for each other. */
const steps = [
  ['types', 'tsc', '--noEmit', '--singleThreaded'],
  ['types of the pages', 'tsc', '--noEmit', '--singleThreaded', '-p', 'plugins/console/web'],
  ['lint, format and import boundaries', 'biome', 'check', '--error-on-warnings', '.'],
  ['layers', 'node', 'scripts/layers.ts'],
  ['generated pages are current', 'node', 'scripts/generate.ts', '--check'],
]

/** Returns the title of the step if it failed. Its output is printed in one piece when it ends. */
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
// Tests wait for servers and processes some of their time: two files for each processor keep it busy.
const tests = await runTests([`--jobs=${2 * availableParallelism()}`, ...process.argv.slice(2)])
const broken = [...unprepared, ...(await checks).flat()]
for (const title of broken) console.log(`FAILED: ${title}`)
const failed = tests.failed + broken.length
console.log(lastLine({ ...tests, failed }))
process.exit(failed === 0 ? 0 : 1)
