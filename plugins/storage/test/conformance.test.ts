/** Tests that the kit for disks accepts the disks of the product and rejects each faulty disk. */
import { join } from 'node:path'
import { storageDiskCases } from '@plinth/dev/conformance/storage'
import { testConformanceKit } from '@plinth/dev/testing'
import { systemClock } from '@plinth/kernel'
import t from 'tap'
import { DirectoryDisk } from '../src/directory-disk.ts'
import { createDiskCases, faultyDisks } from './fixtures/faulty-disks.ts'
import { createTestDirectory } from './fixtures/product.ts'

t.setTimeout(300_000)

for (const visibility of ['public', 'private'] as const) {
  t.test(`a ${visibility} directory is a correct disk`, async (t) => {
    const root = join(createTestDirectory(t), visibility)
    const create = () => new DirectoryDisk(root, visibility, systemClock)
    const cases = storageDiskCases(() => ({ disk: create(), other: create() }), { patienceMs: 60_000 })
    t.ok(cases.length >= 8)
    for (const { name, run } of cases) await t.test(name, run)
  })
}

t.test('the kit rejects faulty disks', async (t) => {
  const { faults, share, ...result } = await testConformanceKit(createDiskCases, faultyDisks)
  t.same(result, { wronglyRejected: [], missed: [], noSurvivors: [], unproven: [], vague: [] })
  t.ok(faults >= 24, `${faults} faulty disks`)
  t.ok(share >= 0.95)
})
