/** Tests the S3 disks against a server from npm behind a proxy that checks and disturbs requests. */
import { buffer, text } from 'node:stream/consumers'
import { storageDiskCases } from '@plinth/dev/conformance/storage'
import { rejectsWith } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import { healthCheck } from '@plinth/kernel'
import type { RunningProduct } from '@plinth/kernel/host'
import fc from 'fast-check'
import t from 'tap'
import { partBytesOf } from '../src/upload.ts'
import { rows, runCase } from './fixtures/fault-rows.ts'
import { account, bucket, chunksOf, contentOf, startProduct, startS3 } from './fixtures/s3.ts'

t.setTimeout(120_000)

/** Returns the warnings of all health checks. */
async function checkHealth(running: RunningProduct): Promise<readonly string[]> {
  const warnings: string[] = []
  const checks = running.contributions(healthCheck)
  for (const name of ['storage', 's3-private', 's3-public'])
    warnings.push(...((await checks.get(name)?.(new AbortController().signal))?.warnings ?? []))
  return [...new Set(warnings)]
}

t.test('an S3 disk fulfils the contract of disks', async (t) => {
  const { proxy, endpoint } = await startS3(t, '@20minutes/s3rver')
  const [one, other] = [await startProduct(t, endpoint), await startProduct(t, endpoint)]
  const cases = storageDiskCases(() => ({ disk: one.privateDisk, other: other.privateDisk }), { patienceMs: 60_000 })
  // The proof writes the 1,001 files of this case.
  for (const { name, run } of cases.filter(({ name }) => name !== 'a list contains all files')) await t.test(name, run)
  const rejections = [...new Set(proxy.rejections)].sort()
  t.same(rejections, ['PreconditionFailed', 'XAmzContentSHA256Mismatch'], 'only the requests that test the server')
  t.same([...proxy.uploads.keys()], [], 'no upload is unfinished')
})

t.test('one disturbed request leads to the right result', async (t) => {
  const { proxy, endpoint } = await startS3(t, '@20minutes/s3rver')
  const { privateDisk } = await startProduct(t, endpoint)
  const kinds = ['cut-response', 'lost-response', 'error-in-200'] as const
  const small = rows.filter(({ size = 0, name }) => size < 1_000_000 && name !== 'list')
  for (const kind of kinds) {
    for (const row of [...small, ...rows.filter(({ name }) => name === 'end of parts')]) {
      // A server reports errors of reads by the status. These operations begin with one.
      if (kind === 'error-in-200' && !row.name.includes('write') && row.name !== 'end of parts') continue
      const { outcome, violation } = await runCase(proxy, privateDisk, row, kind, 1, 'once')
      t.same([outcome, violation], ['success', undefined], `${row.name}: ${kind}`)
    }
  }
  t.same([...proxy.uploads.keys()], [])
})

t.test('a lasting fault ends with an error that says the disk cannot be used', async (t) => {
  const { proxy, endpoint } = await startS3(t, '@20minutes/s3rver')
  const { storage, running } = await startProduct(t, endpoint)
  await storage.put('local', 'a.txt', 'old')
  const fault = { kind: 'unavailable', times: Number.POSITIVE_INFINITY } as const
  proxy.faults.push(fault)
  await rejectsWith(t, storage.put('local', 'a.txt', 'new'), { code: 'PLINTH_STORAGE_DISK_UNAVAILABLE' })
  await rejectsWith(t, storage.stat('local', 'a.txt'), { code: 'PLINTH_STORAGE_DISK_UNAVAILABLE' })
  t.match((await checkHealth(running)).join(' '), /S3|does not respond/, 'an instance serves requests without files')
  proxy.faults.length = 0
  t.equal(await text((await storage.open('local', 'a.txt')).content), 'old')
})

t.test('a damaged object is not delivered as a whole', async (t) => {
  const { proxy, endpoint } = await startS3(t, '@20minutes/s3rver')
  const { storage } = await startProduct(t, endpoint)
  await storage.put('local', 'a.bin', contentOf(200_000, 1))
  proxy.faults.push({ kind: 'damaged-response', times: 1, concerns: ({ method }) => method === 'GET' })
  const { content } = await storage.open('local', 'a.bin')
  const received: Buffer[] = []
  await rejectsWith(
    t,
    (async () => {
      for await (const chunk of content) received.push(chunk)
    })(),
    { code: 'PLINTH_STORAGE_S3_DAMAGED' },
  )
  t.ok(Buffer.concat(received).length < 200_000, 'the last bytes are missing, so that a client notices')
})

t.test('a clock that is 20 minutes wrong is corrected once', async (t) => {
  for (const minutes of [20, -20]) {
    const { proxy, endpoint } = await startS3(t, 's3rver')
    const { storage, running } = await startProduct(t, endpoint)
    proxy.skewMs = minutes * 60_000
    await storage.put('local', 'a.txt', 'content')
    t.equal(await text((await storage.open('local', 'a.txt')).content), 'content')
    t.equal(proxy.rejections.filter((code) => code === 'RequestTimeTooSkewed').length, 1, 'one request was rejected')
    t.match(JSON.stringify(await checkHealth(running)), /differ by 20 minutes/)
  }
})

t.test('the clock is corrected once for a request, if servers with different clocks answer', async (t) => {
  const { proxy, endpoint } = await startS3(t, 's3rver')
  const { storage } = await startProduct(t, endpoint)
  let sign = 1
  proxy.faults.push({
    kind: 'silent',
    times: 1,
    concerns() {
      sign = -sign
      proxy.skewMs = sign * 20 * 60_000
      return false
    },
  })
  const put = storage.put('local', 'a.txt', 'content')
  await rejectsWith(t, put, { code: 'PLINTH_STORAGE_S3_REJECTED' })
  t.equal(proxy.rejections.filter((code) => code === 'RequestTimeTooSkewed').length, 2)
})

t.test('the checks of the server appear as warnings', async (t) => {
  const { proxy, endpoint } = await startS3(t, 's3rver')
  const check = async () => {
    const { running } = await startProduct(t, endpoint)
    return (await checkHealth(running)).map((one) => /If-None-Match|If-Match|content-sha256|lifecycle/.exec(one)?.[0])
  }
  t.same(await check(), [])
  proxy.checksConditions = false
  proxy.checksHashes = false
  proxy.listsUploads = false
  const warned = ['If-Match', 'If-None-Match', 'content-sha256', 'lifecycle']
  t.same((await check()).sort(), warned)
  proxy.rejectsConditions = true
  t.same((await check()).sort(), warned)
  const { privateDisk } = await startProduct(t, endpoint)
  t.equal(await privateDisk.create?.('a', chunksOf(Buffer.from('first'))), true)
  const second = privateDisk.create?.('a', chunksOf(Buffer.from('second')))
  t.equal(await second, false, 'without conditions, the file is looked up')
})

t.test('a wrong configuration is named', async (t) => {
  const { endpoint } = await startS3(t, 's3rver')
  const verify = async (config: Record<string, string | boolean | string[]>) => {
    const { privateDisk } = await startProduct(t, endpoint, { config })
    return privateDisk.verify(new AbortController().signal)
  }
  await rejectsWith(t, verify({ 'platform.storage-s3.region': 'eu-central-1' }), { code: 'PLINTH_STORAGE_S3_REGION' })
  await rejectsWith(t, verify({ 'platform.storage-s3.bucket': 'missing' }), { code: 'PLINTH_STORAGE_S3_REJECTED' })
  await rejectsWith(t, verify({ 'platform.storage-s3.secret-access-key': 'wrong' }), {
    code: 'PLINTH_STORAGE_S3_REJECTED',
  })
  await rejectsWith(t, verify({ 'platform.outgoing-http.allowed-hosts': [] }), { code: 'PLINTH_STORAGE_S3_ADDRESS' })
})

t.test('presigned URLs expire, and have the headers of the product', async (t) => {
  const { proxy, endpoint } = await startS3(t, '@20minutes/s3rver')
  const { storage } = await startProduct(t, endpoint, { config: { 'platform.storage-s3.presigned-urls': true } })
  await storage.put('local', 'a b/ü.html', '<p>')
  const url = new URL(await storage.resolveUrl('local', 'a b/ü.html', { name: 'Résumé 1.html', expiresInMs: 90_000 }))
  t.equal(url.origin, endpoint)
  t.equal(url.searchParams.get('X-Amz-Expires'), '90')
  const response = await fetch(url)
  t.equal(await response.text(), '<p>')
  t.match(response.headers.get('content-disposition'), /^attachment; .*R%C3%A9sum%C3%A9%201\.html/)
  t.match(response.headers.get('content-type'), /^text\/html/)
  url.searchParams.set('X-Amz-Expires', '900')
  t.equal((await fetch(url)).status, 403, 'a changed lifetime is not signed')
  proxy.skewMs = 91_000
  t.equal(
    (await fetch(await storage.resolveUrl('local', 'a b/ü.html', { expiresInMs: 90_000 }))).status,
    403,
    'expired',
  )
  proxy.skewMs = 0
  storage.guardUrls('acme', async () => {}, 'guarded')
  t.match(await storage.resolveUrl('local', 'guarded/a'), /^\/api\/v1\/storage\/files\/local\//, 'the guard decides')
  t.equal(await storage.resolveUrl('public', 'a.png'), '/storage/a.png', 'a permanent address')
})

t.test('the product sends files of the bucket, also in parts', async (t) => {
  const { proxy, endpoint } = await startS3(t, '@20minutes/s3rver')
  const { storage, running } = await startProduct(t, endpoint)
  const { url } = running.service(http)
  const get = async (path: string, headers: Record<string, string> = {}) => fetch(new URL(path, url), { headers })
  await storage.put('public', 'a.txt', '0123456789')
  await storage.put('public', 'empty.txt', '')
  const whole = await get('/storage/a.txt')
  t.same([whole.status, await whole.text()], [200, '0123456789'])
  const part = await get('/storage/a.txt', { range: 'bytes=2-4' })
  t.same([part.status, part.headers.get('content-range'), await part.text()], [206, 'bytes 2-4/10', '234'])
  const known = { 'if-none-match': whole.headers.get('etag') ?? '', 'cache-control': 'max-age=0' }
  t.equal((await get('/storage/a.txt', known)).status, 304)
  t.equal(await (await get('/storage/empty.txt')).text(), '')
  t.equal((await get('/storage/missing.txt')).status, 404)
  const signed = await storage.resolveUrl('local', 'missing.txt')
  t.hasStrict(await (await get(signed)).json(), { code: '404' })
  // The file is replaced after its facts were read.
  proxy.faults.push({ kind: 'wrong-etag', times: 1, concerns: ({ method }) => method === 'HEAD' })
  t.equal(await (await get('/storage/a.txt')).text(), '0123456789', 'the product opens the file again')
})

t.test('each file has parts enough for its size', (t) => {
  const gibibyte = 1024 ** 3
  fc.assert(
    fc.property(fc.integer({ min: 8 * 1024 ** 2 + 1, max: 5 * 1024 * gibibyte }), (size) => {
      const part = partBytesOf(size)
      return part >= 5 * 1024 ** 2 && part <= 5 * gibibyte && Math.ceil(size / part) <= 10_000
    }),
  )
  t.equal(partBytesOf(gibibyte), 8 * 1024 ** 2)
  t.end()
})

t.test('unfinished uploads are removed after their age', async (t) => {
  const { proxy, endpoint } = await startS3(t, '@20minutes/s3rver')
  const day = 24 * 60 * 60_000
  const add = (id: string, key: string, ageMs: number) =>
    proxy.uploads.set(id, { key, initiatedAt: new Date(Date.now() - ageMs), parts: new Map() })
  add('old', 'private/a', day + 60_000)
  add('young', 'private/b', day - 60_000)
  add('foreign', 'other/c', 2 * day)
  const { privateDisk } = await startProduct(t, endpoint)
  await privateDisk.sweep?.(new AbortController().signal)
  t.same([...proxy.uploads.keys()], ['young', 'foreign'])
})

t.test('objects of other programs are not files', async (t) => {
  const { endpoint, serverEndpoint } = await startS3(t, 's3rver')
  const { storage } = await startProduct(t, endpoint)
  await storage.put('local', 'a.txt', 'mine')
  for (const key of ['private/.hidden', 'private/directory/', 'public-other/a', 'private'])
    await fetch(`${serverEndpoint}/${bucket}/${key}`, { method: 'PUT', body: 'foreign' })
  await fetch(`${serverEndpoint}/${bucket}/private/b.txt`, { method: 'PUT', body: 'copied' })
  const found: string[] = []
  for await (const { path } of storage.list('local')) found.push(path)
  t.same(found.sort(), ['a.txt', 'b.txt'])
  t.equal(await text((await storage.open('local', 'b.txt')).content), 'copied', 'a file without a hash can be read')
})

t.test('of files that are created at the same time, one is stored', async (t) => {
  const { endpoint } = await startS3(t, '@20minutes/s3rver')
  const { privateDisk } = await startProduct(t, endpoint)
  const contents = Array.from({ length: 8 }, (_, index) => Buffer.from(`content ${index}`))
  const results = await Promise.all(contents.map((content) => privateDisk.create?.('a', chunksOf(content))))
  t.equal(results.filter(Boolean).length, 1)
  const file = await privateDisk.open('a')
  t.ok(file !== undefined && contents[results.indexOf(true)]?.equals(await buffer(file.content)))
})

t.test('requests contain no secret', async (t) => {
  const { proxy, endpoint } = await startS3(t, 's3rver')
  const { storage } = await startProduct(t, endpoint, { config: { 'platform.storage-s3.checksum': 'crc32' } })
  await storage.put('local', 'a', 'content')
  const put = proxy.requests.find(({ method, key }) => method === 'PUT' && key === 'private/a')
  t.match(put?.headers['x-amz-content-sha256'], /^[0-9a-f]{64}$/, 'the body is signed')
  t.equal(put?.headers['x-amz-meta-sha256'], put?.headers['x-amz-content-sha256'])
  t.ok(put?.headers['x-amz-checksum-crc32'])
  t.equal(account.secretAccessKey, account.accessKeyId, 'this server has one account, so its secret is public')
})
