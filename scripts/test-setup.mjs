/**
 * Node.js loads this module before each test file (`node-arg` in `.taprc`). Processes that a test starts inherit the
 * environment that is set here.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join, relative } from 'node:path'

const root = join(import.meta.dirname, '..')
process.env.NODE_COMPILE_CACHE ??= join(root, '.tap/compiled')
enableCompileCache(process.env.NODE_COMPILE_CACHE)

// Folder of migrated databases that test files share. `startMigrated` of @plinth/dev/testing/database uses it. The name of a
// database depends on the code that creates it.
process.env.PLINTH_TEST_TEMPLATES ??= join(root, '.tap/templates')
mkdirSync(process.env.PLINTH_TEST_TEMPLATES, { recursive: true })

// Property tests use the same cases in each run, so that a failure is caused by a change of the code. Set
// `PROPERTY_SEED=random` for new cases.
if (readFileSync(process.argv[1], 'utf8').includes("'fast-check'")) {
  const { default: fc } = await import('fast-check')
  const seed = process.env.PROPERTY_SEED ?? '20260401'
  if (seed !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) })
}

if (/\.(?:test|proof)\.ts$/.test(process.argv[1])) {
  const { default: t } = await import('tap')
  // Two runs of the same file do not share the directories of `t.testdir`.
  const fixtures = join(root, '.tap/fixtures', String(process.pid))
  t.testdirName = join(fixtures, relative(root, process.argv[1]).replaceAll(/\W+/g, '-'))
  process.once('exit', () => {
    rmSync(fixtures, { recursive: true, force: true })
    // tap succeeds if `--grep` matches no title. `count-tests.ts` judges all files together.
    if (!process.env.TAP_GREP || process.env.PLINTH_TEST_COUNTED || t.counts.pass > 0) return
    console.error('No test with this title has passed.')
    process.exitCode = 1
  })
  // A debugger may stop the tests for any time.
  if (process.execArgv.some((word) => word.startsWith('--inspect'))) t.setTimeout(0)
}

// The proofs of the areas check on each server the statements that other databases have executed.
if (process.env.PLINTH_TEST_STATEMENTS) {
  const { recordStatements } = await import('./recorded-statements.mjs')
  recordStatements(process.env.PLINTH_TEST_STATEMENTS)
}
