// `npm test`: types, lint with import boundaries and cycles, generated pages, then every test. Ends with one line of counts.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'

const report = '.tap/last.tap'
const secondReport = '.tap/again.tap'
/** More failed files than this are no chance. */
const mostUnsteady = 3

function step(title, command, args) {
  console.log(`\n== ${title}`)
  const { status } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  return status === 0
}

function counts(file) {
  try {
    const summary = [...readFileSync(file, 'utf8').matchAll(/^# \{ (.*) \}$/gm)].at(-1)?.[1] ?? ''
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

/** Test files with a failure. */
function failedFilesOf(file) {
  try {
    return [...readFileSync(file, 'utf8').matchAll(/^not ok \d+ - (\S+\.test\.ts)\b/gm)].map(([, name]) => name)
  } catch {
    return []
  }
}

const tests = (file, words) => ['run', '--reporter=terse', `--output-file=${file}`, ...words]

mkdirSync('.tap', { recursive: true })
for (const file of [report, secondReport]) rmSync(file, { force: true })
const checks = [
  // Without this, the first run on a fresh checkout would still load tap's default plugins.
  step('test runner', 'tap', ['build']),
  step('types', 'tsc', ['--noEmit']),
  step('types of the pages', 'tsc', ['--noEmit', '-p', 'plugins/console/web']),
  step('lint, format and import boundaries', 'biome', ['check', '--error-on-warnings', '.']),
  step('generated pages are current', 'node', ['scripts/generate.ts', '--check']),
]
let areTestsGood = step('tests', 'tap', tests(report, process.argv.slice(2)))
for (const failure of failuresOf(report)) console.log(failure)
const { passed, skipped, failed: failedAtFirst } = counts(report)
let failed = failedAtFirst

// Real servers and processes share the machine with whatever else runs there. A few files that failed run once more, alone;
// what passes only then is named, for it is a defect of the test.
const again = failedFilesOf(report)
if (!areTestsGood && again.length > 0 && again.length <= mostUnsteady) {
  areTestsGood = step(`once more, alone: ${again.join(', ')}`, 'tap', tests(secondReport, ['--jobs=1', ...again]))
  for (const failure of failuresOf(secondReport)) console.log(failure)
  failed = counts(secondReport).failed
  if (areTestsGood) console.log(`\nUnsteady, to be mended: ${again.join(', ')}`)
}

const broken = [...checks, areTestsGood].filter((isGood) => !isGood).length
// A run that died before it counted anything is a failure too.
if (broken > 0) failed = Math.max(failed, broken)
console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`)
process.exit(broken === 0 && passed > 0 ? 0 : 1)
