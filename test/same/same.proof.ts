/**
 * Tests that a record of this checkout can be written and is the same each time. Prints the differences from the base of the change.
 * They are no failures, because a change may have effects.
 */
import { join } from 'node:path'
import t from 'tap'
import { baseOfChange } from '../../scripts/changed-paths.ts'
import { recordCheckout, recordCommit, recordDifferences } from './record.ts'

t.test('a record of this checkout is the same each time', { timeout: 1_800_000 }, async (t) => {
  // Git finds the base of the change in the repository.
  process.chdir(join(import.meta.dirname, '../..'))
  const folder = t.testdir()
  const differences = (before: string, after: string) => recordDifferences(join(folder, before), join(folder, after))
  const base = baseOfChange()
  await Promise.all([
    recordCheckout(join(folder, 'first')),
    recordCheckout(join(folder, 'second'), ['lite']),
    base === undefined ? undefined : recordCommit(join(folder, 'base'), base, ['quickstart']),
  ])
  for (const part of ['lite', 'behaviour']) t.equal(differences(`first/${part}`, `second/${part}`), '', part)

  if (base === undefined) return t.comment('The base of the change is unknown, so there is nothing to compare.')
  // The runner of the tests shows only the standard error output.
  console.error(`== differences from ${base}`)
  for (const part of ['quickstart', 'behaviour']) console.error(differences(`base/${part}`, `first/${part}`))
})
