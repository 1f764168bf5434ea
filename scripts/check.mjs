/**
 * Program of `npm test`. It checks types, lint, import boundaries and generated pages, and runs all short tests, or the given files.
 * The last line contains the counts.
 */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { lastLine, readWords, runTests } from './count-tests.ts'
import { shortTestFiles } from './test-files.ts'

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
  ['types of the inbox element', 'tsc', '--noEmit', '--singleThreaded', '-p', 'inbox-element'],
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

/** Removes migrated databases of former sources. Other runs in this checkout may use newer ones. */
function removeOldTemplates(maxAgeMs = 24 * 3_600_000) {
  const folder = '.tap/templates'
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const file = join(folder, name)
    const { mtimeMs = Number.NaN } = statSync(file, { throwIfNoEntry: false }) ?? {}
    if (Date.now() - mtimeMs > maxAgeMs) rmSync(file, { recursive: true, force: true })
  }
}

removeOldTemplates()
const unprepared = await run(preparation)
const checks = Promise.all(steps.map(run))
console.log('\n== tests')
const { files, grep } = readWords()
const tests = await runTests(files.length > 0 ? files : shortTestFiles(), { grep })
const broken = [...unprepared, ...(await checks).flat()]
for (const title of broken) console.log(`FAILED: ${title}`)
const failed = tests.failed + broken.length
console.log(lastLine({ ...tests, failed }))
process.exit(failed === 0 ? 0 : 1)
