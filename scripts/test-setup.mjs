/**
 * Node.js loads this module before each test file (`node-arg` in `.taprc`). Processes that a test starts inherit the
 * environment that is set here.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
process.env.NODE_COMPILE_CACHE ??= join(root, '.tap/compiled')
enableCompileCache(process.env.NODE_COMPILE_CACHE)

// Folder of migrated databases that the test files of one run share. `startMigrated` of @plinth/database/testing uses
// it.
process.env.PLINTH_TEST_TEMPLATES ??= join(root, '.tap/templates')
mkdirSync(process.env.PLINTH_TEST_TEMPLATES, { recursive: true })

// Property tests use the same cases in each run, so that a failure is caused by a change of the code. Set
// `PROPERTY_SEED=random` for new cases.
if (readFileSync(process.argv[1], 'utf8').includes("'fast-check'")) {
  const { default: fc } = await import('fast-check')
  const seed = process.env.PROPERTY_SEED ?? '20260401'
  if (seed !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) })
}
