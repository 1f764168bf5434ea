/** The S3 disks against two servers, with all faults at all operations. Prints the number of tries and of cases that held. */
import { storageDiskCases } from '@plinth/dev/conformance/storage'
import t from 'tap'
import { faultKinds } from './fixtures/fault-proxy.ts'
import { isNoticeable, type RowResult, rows, runCase, tableOf } from './fixtures/fault-rows.ts'
import { serverNames, startProduct, startS3 } from './fixtures/s3.ts'

t.setTimeout(3_000_000)

for (const name of serverNames) {
  t.test(`the contract of disks on ${name}`, async (t) => {
    const { endpoint } = await startS3(t, name)
    // These servers need more than a second for a list of 1,001 files on a busy machine.
    const config = { 'platform.storage-s3.request-timeout': '20s' }
    const [one, other] = [await startProduct(t, endpoint, { config }), await startProduct(t, endpoint, { config })]
    const create = () => ({ disk: one.publicDisk, other: other.publicDisk })
    for (const { name: rule, run } of storageDiskCases(create, { patienceMs: 60_000 })) await t.test(rule, run)
  })

  t.test(`each fault at each operation on ${name}`, async (t) => {
    const { proxy, endpoint } = await startS3(t, name)
    // The server, the proxy and the product share this process, so undisturbed requests can take seconds.
    const config = { 'platform.storage-s3.request-timeout': '6s' }
    const { privateDisk } = await startProduct(t, endpoint, { config })
    const waiting = [1, Number.POSITIVE_INFINITY].flatMap((times) =>
      rows.flatMap((row) =>
        faultKinds
          .filter((kind) => isNoticeable(row, kind))
          // Each attempt to send a part waits for 38 seconds.
          .filter((kind) => times === 1 || kind !== 'silent' || row.name !== 'a part')
          .map((kind) => ({ times, row, kind })),
      ),
    )
    const total = waiting.length
    const results: RowResult[] = []
    const runNext = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        results.push(await runCase(proxy, privateDisk, next.row, next.kind, next.times, `times-${next.times}`))
    }
    await Promise.all(Array.from({ length: 5 }, runNext))
    t.equal(results.length, total)
    t.same(
      results.filter(({ violation }) => violation !== undefined),
      [],
    )
    t.comment(`${name}\n${tableOf(results)}`)
    // Aborted uploads may have failed to be removed. After their age, the sweep removes them.
    const day = 25 * 60 * 60_000
    for (const [id, upload] of proxy.uploads)
      proxy.uploads.set(id, { ...upload, initiatedAt: new Date(upload.initiatedAt.getTime() - day) })
    // The disk of a new instance sweeps immediately.
    const { privateDisk: next } = await startProduct(t, endpoint)
    await next.sweep?.(new AbortController().signal)
    t.same([...proxy.uploads.keys()], [], 'no unfinished upload after the sweep')
  })
}
