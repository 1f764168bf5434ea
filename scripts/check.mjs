// `npm test`: types, lint with import boundaries and cycles, generated pages, then every test. Ends with one line of counts.
import { spawnSync } from 'node:child_process'
import { lastLine, runTests } from './run-tests.mjs'

const broken = []
function step(title, command, args) {
  console.log(`\n== ${title}`)
  const { status } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) broken.push(title)
}

step('types', 'tsc', ['--noEmit'])
step('types of the pages', 'tsc', ['--noEmit', '-p', 'plugins/console/web'])
step('lint, format and import boundaries', 'biome', ['check', '--error-on-warnings', '.'])
step('layers', 'node', ['scripts/layers.ts'])
step('generated pages are current', 'node', ['scripts/generate.ts', '--check'])
console.log('\n== tests')
const tests = await runTests(process.argv.slice(2))
for (const title of broken) console.log(`FAILED: ${title}`)
const failed = tests.failed + broken.length
console.log(lastLine({ ...tests, failed }))
process.exit(failed === 0 ? 0 : 1)
