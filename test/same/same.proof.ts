/**
 * Tests that a record of this checkout can be written and is the same each time. Prints the differences from the base of the change.
 * They are no failures, because a change may have effects.
 */
import { join } from 'node:path'
import t from 'tap'
import { baseOfChange } from '../../scripts/changed-paths.ts'
import { printDifferences, recordCheckout, recordCommit } from './record.ts'
import { recordDifferences } from './record-differences.ts'

const repository = join(import.meta.dirname, '../..')

t.test('a record of this checkout is the same each time', { timeout: 1_800_000 }, async (t) => {
  // Git finds the base of the change in the repository.
  process.chdir(repository)
  const folder = t.testdir()
  const [first, second, earlier] = ['first', 'second', 'base'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const base = baseOfChange()
  await Promise.all([
    recordCheckout(first),
    recordCheckout(second, ['lite']),
    base === undefined ? undefined : recordCommit(earlier, base, ['quickstart']),
  ])
  for (const part of ['lite', 'behaviour'])
    t.strictSame([...recordDifferences(join(first, part), join(second, part))], [], part)

  if (base === undefined) return t.comment('The base of the change is unknown, so there is nothing to compare.')
  // The runner of the tests shows only the standard error output.
  console.error(`== differences from ${base}`)
  for (const part of ['quickstart', 'behaviour'])
    printDifferences(join(earlier, part), join(first, part), (text) => console.error(`${part}/${text}`))
})
