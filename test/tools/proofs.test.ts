/** Tests the table of proofs, and the selection of proofs by the paths of a change. */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { concernedProofs } from '../../scripts/changed-paths.ts'
import { longTests } from '../../scripts/long-tests.ts'
import { groupCount, proofs } from '../../scripts/proofs.ts'
import { findFiles, proofFiles, testFiles } from '../../scripts/test-files.ts'

process.chdir(join(import.meta.dirname, '../..'))

t.test('each proof file belongs to one proof, and each pattern matches a file', async (t) => {
  const owners = Map.groupBy(
    Object.entries(proofs).flatMap(([name, { files }]) => globSync(files).map((file) => ({ name, file }))),
    ({ file }) => file,
  )
  t.strictSame(
    proofFiles().filter((file) => owners.get(file)?.length !== 1),
    [],
  )
  const patterns = Object.values(proofs).flatMap(({ files, paths }) => [...files, ...paths])
  t.strictSame(
    patterns.filter((pattern) => globSync(pattern).length === 0),
    [],
  )
})

t.test('each test file is short or belongs to a proof of its area, which runs it on each database', async (t) => {
  const areas = Object.values(proofs).filter(({ databases }) => databases !== undefined)
  const owners = areas.flatMap(({ files }) => files.flatMap((pattern) => findFiles(pattern)))
  t.strictSame(owners.toSorted(), testFiles(), 'each file once')
  const patterns = longTests.filter((pattern) => findFiles(pattern).length < pattern.split(',').length)
  t.strictSame(patterns, [], 'each long file exists')
})

t.test('the proofs of one day end before the time of CI', async (t) => {
  for (let group = 0; group < groupCount; group++) {
    const all = Object.values(proofs).filter((proof) => proof.group === group)
    const minutes = all.reduce((sum, proof) => sum + proof.minutes, 0)
    t.ok(minutes > 0 && minutes <= 30, `group ${group}: ${minutes} minutes`)
  }
})

t.test('the paths of a change select proofs', async (t) => {
  const all = Object.keys(proofs)
  const table: readonly (readonly [path: string, proofs: readonly string[]])[] = [
    ['CHANGELOG.md', []],
    ['scripts/check.mjs', all],
    ['plugins/money/test/postings.test.ts', ['money']],
    ['plugins/sms/src/plugin.ts', ['messages']],
    ['docs/faults.md', ['documents']],
    ['plugins/money/src/ledger/ledger-service.ts', ['kills', 'money']],
    ['plugins/money/package.json', ['packages']],
    ['test/growth.proof.ts', ['growth']],
    ['package-lock.json', all],
    ['kernel/src/plan.ts', all],
    ['kernel/test/plan.test.ts', ['core']],
  ]
  for (const [path, expected] of table) t.strictSame(concernedProofs([path]), expected, path)
  t.strictSame(concernedProofs(['docs/faults.md', 'test/growth.proof.ts']), ['growth', 'documents'])
})
