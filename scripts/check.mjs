// `npm test`: types, lint with import boundaries and cycles, generated pages, then every test. Ends with one line of counts.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'

const report = '.tap/last.tap'

function step(title, command, args) {
  console.log(`\n== ${title}`)
  const { status } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  return status === 0
}

function counts() {
  try {
    const summary = [...readFileSync(report, 'utf8').matchAll(/^# \{ (.*) \}$/gm)].at(-1)?.[1] ?? ''
    const count = (name) => Number(new RegExp(`${name}: (\\d+)`).exec(summary)?.[1] ?? 0)
    return { passed: count('pass'), failed: count('fail'), skipped: count('skip') + count('todo') }
  } catch {
    return { passed: 0, failed: 0, skipped: 0 }
  }
}

/** Every failed assertion with its diagnosis, so that a log cut short still ends with what went wrong. */
function failuresOf(file) {
  try {
    const blocks = readFileSync(file, 'utf8').matchAll(
      /^( *)(?:not ok|Bail out!).*(?:\n\1 {2}---\n[\s\S]*?\n\1 {2}\.\.\.)?/gm,
    )
    return [...blocks].map(([block]) => `\n${block.slice(0, 2_000)}`).slice(-30)
  } catch {
    return []
  }
}

mkdirSync('.tap', { recursive: true })
rmSync(report, { force: true })
const results = [
  // Without this, the first run on a fresh checkout would still load tap's default plugins.
  step('test runner', 'tap', ['build']),
  step('types', 'tsc', ['--noEmit']),
  step('types of the pages', 'tsc', ['--noEmit', '-p', 'plugins/console/web']),
  step('lint, format and import boundaries', 'biome', ['check', '--error-on-warnings', '.']),
  step('generated pages are current', 'node', ['scripts/generate.ts', '--check']),
  step('tests', 'tap', ['run', '--reporter=terse', `--output-file=${report}`, ...process.argv.slice(2)]),
]
for (const failure of failuresOf(report)) console.log(failure)
const { passed, failed, skipped } = counts()
const broken = results.filter((ok) => !ok).length
// A run that died before it counted anything is a failure too.
const failures = broken === 0 ? failed : Math.max(failed, broken)
console.log(`\n${passed} passed, ${failures} failed, ${skipped} skipped`)
process.exit(broken === 0 && passed > 0 ? 0 : 1)
