// `npm test`: types, lint with import boundaries and cycles, generated pages, and every test. Ends with one line of counts.
import { spawn } from 'node:child_process'
import { lastLine, runTests } from './run-tests.mjs'

/** The first tests that need the pages of the browser would build them all at once. */
const preparation = ['pages of the browser', 'node', 'plugins/console/scripts/build-pages.ts']
/** What is checked beside the tests. One thread: several do much of the work twice, and wait for each other. */
const steps = [
  ['types', 'tsc', '--noEmit', '--singleThreaded'],
  ['types of the pages', 'tsc', '--noEmit', '--singleThreaded', '-p', 'plugins/console/web'],
  ['lint, format and import boundaries', 'biome', 'check', '--error-on-warnings', '.'],
  ['layers', 'node', 'scripts/layers.ts'],
  ['generated pages are current', 'node', 'scripts/generate.ts', '--check'],
]

/** Title of the step when it is broken. What it printed comes at its end, in one piece. */
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
const tests = await runTests(process.argv.slice(2))
const broken = [...unprepared, ...(await checks).flat()]
for (const title of broken) console.log(`FAILED: ${title}`)
const failed = tests.failed + broken.length
console.log(lastLine({ ...tests, failed }))
process.exit(failed === 0 ? 0 : 1)
