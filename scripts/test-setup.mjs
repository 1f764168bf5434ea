/** Loaded before each test file by `node-arg` in `.taprc`. Processes that a test starts inherit the environment set here. */
import { mkdirSync, readFileSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
process.env.NODE_COMPILE_CACHE ??= join(root, '.tap/compiled')
enableCompileCache(process.env.NODE_COMPILE_CACHE)

// Migrated databases that the test files of one run share: see `startMigrated` of @plinth/database/testing.
process.env.PLINTH_TEST_TEMPLATES ??= join(root, '.tap/templates')
mkdirSync(process.env.PLINTH_TEST_TEMPLATES, { recursive: true })

// Property tests try the same cases in each run, so that a failure comes from a change. `PROPERTY_SEED=random` tries new ones.
if (readFileSync(process.argv[1], 'utf8').includes("'fast-check'")) {
  const { default: fc } = await import('fast-check')
  const seed = process.env.PROPERTY_SEED ?? '20260401'
  if (seed !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) })
}
