/** Tests the effect of each configuration key of storage on S3, as the server sees it. */
import { assertKeyEffect, type KeyValues } from '@plinth/dev/testing'
import t from 'tap'
import { chunksOf, startProduct, startS3 } from './fixtures/s3.ts'

t.setTimeout(120_000)

const { proxy, endpoint } = await startS3(t, 's3rver')
const presigned = { 'platform.storage-s3.presigned-urls': true }

/** Returns the presigned URL of a private file. */
const urlWith = async (config: KeyValues) => {
  const { privateDisk } = await startProduct(t, endpoint, { config: { ...presigned, ...config } })
  return new URL((await privateDisk.url?.('a.txt', { expiresInMs: 60_000 })) ?? 'none:')
}

t.test('requests go to the configured server and bucket', async (t) => {
  const proofs = [
    await assertKeyEffect(t, 'platform.storage-s3.endpoint', {
      compared: endpoint,
      changed: 'https://s3.example.com',
      observe: async (config) => (await urlWith(config)).host,
    }),
    await assertKeyEffect(t, 'platform.storage-s3.bucket', {
      compared: 'files',
      changed: 'other-files',
      observe: async (config) => (await urlWith(config)).pathname,
    }),
    await assertKeyEffect(t, 'platform.storage-s3.prefix', {
      changed: 'shop/',
      observe: async (config) => (await urlWith(config)).pathname,
    }),
    await assertKeyEffect(t, 'platform.storage-s3.path-style', {
      changed: false,
      observe: async (config) =>
        (await urlWith({ 'platform.storage-s3.endpoint': 'https://s3.example.com', ...config })).href.split('?')[0],
    }),
    await assertKeyEffect(t, 'platform.storage-s3.public-bucket', {
      changed: 'public-files',
      observe: async (config) => {
        const { publicDisk } = await startProduct(t, endpoint, { config: { ...presigned, ...config } })
        return new URL((await publicDisk.url?.('a.txt', { expiresInMs: 60_000 })) ?? 'none:').pathname
      },
    }),
  ]
  t.same(
    proofs.flat().map(({ after }) => after),
    [
      's3.example.com',
      '/other-files/private/a.txt',
      '/files/shop/private/a.txt',
      'https://files.s3.example.com/private/a.txt',
      '/public-files/public/a.txt',
    ],
  )
})

t.test('requests are signed with the configured account and region', async (t) => {
  const credential = async (config: KeyValues) => (await urlWith(config)).searchParams.get('X-Amz-Credential')
  const [region] = await assertKeyEffect(t, 'platform.storage-s3.region', {
    changed: 'eu-central-1',
    observe: credential,
  })
  t.match(region?.after, /\/eu-central-1\/s3\//)
  const [id] = await assertKeyEffect(t, 'platform.storage-s3.access-key-id', {
    compared: 'ONE',
    changed: 'OTHER',
    observe: credential,
  })
  t.match(id?.after, /^OTHER\//)
  await assertKeyEffect(t, 'platform.storage-s3.secret-access-key', {
    compared: 'one-secret',
    changed: 'other-secret',
    observe: async (config) => {
      const { privateDisk } = await startProduct(t, endpoint, {
        config: { ...config },
        clock: { now: () => 0, monotonic: () => 0, sleep: () => new Promise(() => {}) },
      })
      await privateDisk.stat('a').catch(() => undefined)
      // The first request has the time of the clock. After its rejection, the product uses the time of the server.
      const first = proxy.requests.findLast(({ headers }) => headers['x-amz-date'] === '19700101T000000Z')
      return /Signature=(\w+)/.exec(first?.headers.authorization ?? '')?.[1]
    },
  })
})

t.test('clients download as configured', async (t) => {
  const [proof] = await assertKeyEffect(t, 'platform.storage-s3.presigned-urls', {
    changed: true,
    observe: async (config) => {
      const { storage } = await startProduct(t, endpoint, { config })
      return (await storage.resolveUrl('local', 'a.txt')).startsWith(endpoint)
    },
  })
  t.same([proof?.before, proof?.after], [false, true])
})

t.test('uploads have the configured checksum', async (t) => {
  const [proof] = await assertKeyEffect(t, 'platform.storage-s3.checksum', {
    changed: 'sha256',
    observe: async (config) => {
      const { privateDisk } = await startProduct(t, endpoint, { config })
      await privateDisk.write('a', chunksOf(Buffer.from('content')))
      const put = proxy.requests.findLast(({ method }) => method === 'PUT')
      return put?.headers['x-amz-checksum-sha256']
    },
  })
  t.same([proof?.before, proof?.after], [undefined, '7XACtDnprIRfIjV9giusFERzD722AW0+yUMil7nsn3M='])
})

t.test('a silent server is asked again after the timeout', async (t) => {
  const [proof] = await assertKeyEffect(t, 'platform.storage-s3.request-timeout', {
    compared: '1s',
    changed: '3s',
    observe: async (config) => {
      const { privateDisk } = await startProduct(t, endpoint, { config })
      proxy.faults.push({ kind: 'silent', times: 1 })
      const startedAt = performance.now()
      await privateDisk.stat('a')
      return Math.floor((performance.now() - startedAt) / 1000)
    },
  })
  t.ok(Number(proof?.after) > Number(proof?.before))
})

t.test('unfinished uploads are removed after the configured age', async (t) => {
  const [proof] = await assertKeyEffect(t, 'platform.storage-s3.unfinished-upload-age', {
    changed: '2h',
    observe: async (config) => {
      const initiatedAt = new Date(Date.now() - 3 * 60 * 60_000)
      proxy.uploads.set('one', { key: 'private/a', initiatedAt, parts: new Map() })
      const { privateDisk } = await startProduct(t, endpoint, { config })
      await privateDisk.sweep?.(new AbortController().signal)
      return proxy.uploads.has('one')
    },
  })
  t.same([proof?.before, proof?.after], [true, false])
})
