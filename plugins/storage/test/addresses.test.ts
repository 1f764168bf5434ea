import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { manualClock, rejectsWith, startForTest } from '@plinth/dev/testing'
import { BusinessError, definePlugin, defineProduct } from '@plinth/kernel'
import storagePlugin, { storage } from '@plinth/storage'
import fc from 'fast-check'
import t from 'tap'
import { createTestDirectory, rawGet, startStorage } from './fixtures/product.ts'

const bodyOf = async (response: Response) => (await response.json()) as { code: string; data: { reason: string } }

t.test('N-102 an address follows the current configuration', async (t) => {
  const config = { 'platform.storage.base-url': '/shop' }
  const { storage } = await startStorage(t, { config })
  t.equal(await storage.resolveUrl('public', 'a b/ü#.png'), '/shop/storage/a%20b/%C3%BC%23.png')
  t.match(
    await storage.resolveUrl('local', 'a.png'),
    /^\/shop\/api\/v1\/storage\/files\/local\/a\.png\?expires=\d+&signature=/,
  )
  t.match(
    await storage.resolveUrl('public', 'a.png', { name: 'b.png' }),
    /^\/shop\/api\/v1\/storage\/files\/public\/a\.png\?/,
  )

  const whole = await startStorage(t, {
    config: {
      'platform.storage.base-url': 'https://api.example.com/shop',
      'platform.storage.disks.public.base-url': 'https://cdn.example.com',
    },
  })
  t.equal(await whole.storage.resolveUrl('public', 'a.png'), 'https://cdn.example.com/a.png')
  t.match(
    await whole.storage.resolveUrl('local', 'a.png'),
    /^https:\/\/api\.example\.com\/shop\/api\/v1\/storage\/files\//,
  )

  for (const bad of ['shop', '/shop/', '//evil.example', 'ftp://a', 'https://a/?b', '/a b', 'javascript:alert(1)']) {
    const rejected = startStorage(t, { config: { 'platform.storage.base-url': bad } })
    await rejectsWith(t, rejected, { message: /platform\.storage\.base-url/ }, bad)
  }
})

t.test('public files are served with types, ranges and validators, and run no code', async (t) => {
  const { storage, get, server, root } = await startStorage(t)
  await storage.put('public', 'pictures/cat.png', 'meow!')
  const cat = await get('/storage/pictures/cat.png')
  t.equal(cat.headers.get('content-type'), 'image/png')
  t.equal(cat.headers.get('cache-control'), 'public, max-age=3600')
  t.equal(cat.headers.get('x-content-type-options'), 'nosniff')
  t.equal(cat.headers.get('cross-origin-resource-policy'), 'cross-origin')
  t.equal(cat.headers.get('content-disposition'), `inline; filename="cat.png"; filename*=UTF-8''cat.png`)
  t.match(cat.headers.get('content-security-policy'), /default-src 'none'.*; sandbox$/)
  t.equal(await cat.text(), 'meow!')

  const part = await get('/storage/pictures/cat.png', { headers: { range: 'bytes=1-2' } })
  t.equal(part.status, 206)
  t.equal(part.headers.get('content-range'), 'bytes 1-2/5')
  t.equal(await part.text(), 'eo')
  const beyond = await get('/storage/pictures/cat.png', { headers: { range: 'bytes=9-' } })
  t.equal(beyond.status, 416)
  t.equal(beyond.headers.get('content-range'), 'bytes */5')
  t.equal(await beyond.text(), '')
  const etag = cat.headers.get('etag') as string
  // The request is not sent with fetch, because fetch adds "no-cache".
  const statusOf = (headers: IncomingHttpHeaders) =>
    new Promise((resolve) => {
      const url = new URL('/storage/pictures/cat.png', server.url)
      request(url, { headers }, (response) => resolve(response.resume().statusCode)).end()
    })
  t.equal(await statusOf({ 'if-none-match': etag }), 304)
  t.equal(await statusOf({ 'if-none-match': '"other"' }), 200)
  t.equal(await statusOf({ 'if-match': '"other"' }), 412)
  const head = await get('/storage/pictures/cat.png', { method: 'HEAD' })
  t.equal(head.headers.get('content-length'), '5')
  t.equal(await head.text(), '')

  for (const path of ['pictures/dog.png', 'pictures', 'pictures/', '', '.drafts', 'pictures/cat.png/x']) {
    const none = await get(`/storage/${path}`)
    t.equal(none.status, 404, `/storage/${path}`)
    t.equal((await bodyOf(none)).data.reason, 'http.route-unknown')
    t.equal(none.headers.get('cache-control'), 'no-store')
  }
  t.equal((await get('/storage')).status, 404)

  const headers: Record<string, readonly [type: string, disposition: string]> = {
    'page.html': ['text/html; charset=utf-8', 'attachment'],
    'page.HTML': ['text/html; charset=utf-8', 'attachment'],
    'page.xhtml': ['application/xhtml+xml', 'attachment'],
    'picture.svg': ['image/svg+xml', 'attachment'],
    'data.xml': ['application/xml; charset=utf-8', 'attachment'],
    'script.js': ['text/plain; charset=utf-8', 'attachment'],
    'script.mjs': ['text/plain; charset=utf-8', 'attachment'],
    'style.css': ['text/plain; charset=utf-8', 'attachment'],
    'table.csv': ['text/csv; charset=utf-8', 'attachment'],
    'notes.txt': ['text/plain; charset=utf-8', 'inline'],
    'film.mp4': ['video/mp4', 'inline'],
    'paper.pdf': ['application/pdf', 'inline'],
    unknown: ['application/octet-stream', 'attachment'],
    'page.shtml': ['text/html; charset=utf-8', 'attachment'],
    'page.htc': ['text/x-component; charset=utf-8', 'attachment'],
  }
  for (const [path, [type, kind]] of Object.entries(headers)) {
    await storage.put('public', path, '<script>alert(1)</script>')
    const response = await get(`/storage/${path}`)
    t.equal(response.headers.get('content-type'), type, path)
    t.match(response.headers.get('content-disposition'), new RegExp(`^${kind};`), path)
    t.equal(response.headers.get('x-content-type-options'), 'nosniff')
  }
  t.notMatch((await get('/storage/paper.pdf')).headers.get('content-security-policy'), /sandbox/)
  t.match(await rawGet(server.url as string, '/storage/pictures/%63at.png'), /meow!$/, 'escapes are undone once')
  writeFileSync(join(root, 'public/.hidden'), 'x')
  t.equal((await get('/storage/.hidden')).status, 404)
})

t.test('a private file can be read with a signed address until it expires', async (t) => {
  const clock = manualClock()
  const { storage, get, root } = await startStorage(t, { clock })
  await storage.put('local', 'reports/2026.csv', 'a,b')
  t.equal((await get('/storage/reports/2026.csv')).status, 404, 'not public')
  const unsigned = await get('/api/v1/storage/files/local/reports/2026.csv')
  t.hasStrict(await bodyOf(unsigned), { code: '400' })

  const url = await storage.resolveUrl('local', 'reports/2026.csv')
  const response = await get(url)
  t.equal(response.status, 200)
  t.equal(await response.text(), 'a,b')
  t.equal(response.headers.get('cache-control'), 'private, no-store')
  t.equal(statSync(join(root, 'signing.key')).mode & 0o777, 0o600)
  const part = await get(url, { headers: { range: 'bytes=-1' } })
  t.equal(`${part.status} ${await part.text()}`, '206 b')

  clock.shiftWallClock(299_999)
  t.equal((await get(url)).headers.get('content-type'), 'text/csv; charset=utf-8')
  clock.shiftWallClock(1_001)
  t.hasStrict(await bodyOf(await get(url)), { code: '403', data: { reason: 'storage.url-expired' } })
  const chinese = await get(url, { headers: { 'accept-language': 'zh-CN' } })
  t.match(await chinese.text(), /文件地址已过期/)

  const brief = await storage.resolveUrl('local', 'reports/none.csv', { expiresInMs: 1_000 })
  t.hasStrict(await bodyOf(await get(brief)), { code: '404', data: { reason: 'storage.file-unknown' } })
})

t.test('a download has the given file name', async (t) => {
  const { storage, get } = await startStorage(t)
  await storage.put('local', 'x', 'x')
  const dispositionOf = async (name: string) =>
    (await get(await storage.resolveUrl('local', 'x', { name }))).headers.get('content-disposition')
  t.equal(await dispositionOf('rules.csv'), `attachment; filename="rules.csv"; filename*=UTF-8''rules.csv`)
  t.equal(
    await dispositionOf(`规则 "1"'\r\nx: y/..\\.csv`),
    `attachment; filename="__ _1_'__x: y_.._.csv"; filename*=UTF-8''%E8%A7%84%E5%88%99%20%221%22%27%0D%0Ax%3A%20y%2F..%5C.csv`,
  )
  t.equal(
    (await get(await storage.resolveUrl('local', 'x', { name: 'n'.repeat(500) }))).status,
    200,
    'long names are cut',
  )
})

t.test('a signed address with any changed part is rejected', async (t) => {
  const { storage, get, server } = await startStorage(t)
  for (const disk of ['local', 'public']) for (const path of ['a', 'b']) await storage.put(disk, path, 'content')
  const url = await storage.resolveUrl('local', 'a', { name: 'n' })
  t.equal(await (await get(url)).text(), 'content')
  const other = await storage.resolveUrl('local', 'b', { name: 'n' })
  const [, signature = ''] = url.split('signature=')
  const [, otherSignature = ''] = other.split('signature=')
  const changed = [
    url.replace('/local/a', '/local/b'),
    url.replace('/local/', '/public/'),
    url.replace('name=n', 'name=m'),
    url.replace('name=n&', ''),
    url.replace(/expires=(\d+)/, (_, at) => `expires=${Number(at) + 1}`),
    url.replace(signature, otherSignature),
    url.replace(signature, ''),
    url.replace(signature, signature.slice(0, -1)),
    url.replace(signature, `${signature}AAAA`),
  ]
  for (const bad of changed) {
    t.hasStrict(await bodyOf(await get(bad)), { code: '403', data: { reason: 'storage.signature-invalid' } }, bad)
  }
  const malformed = [
    url.replace('expires=', 'expires=x'),
    url.replace(/&signature=.*/, ''),
    url.replace('signature=', 'signature=+'),
    `${url}&expires=1`,
  ]
  for (const bad of malformed)
    t.hasStrict(await bodyOf(await get(bad)), { code: '400', data: { reason: 'http.invalid-input' } }, bad)

  await fc.assert(
    fc.asyncProperty(fc.nat(url.length - 1), fc.string({ minLength: 1, maxLength: 1 }), async (at, sign) => {
      const mutated = url.slice(0, at) + encodeURIComponent(sign) + url.slice(at + 1)
      // The last character of the signature has two unused bits, so a change of it may have no effect.
      const meansTheSame = decodeURIComponent(mutated) === url || at === url.length - 1
      const response = await rawGet(server.url as string, mutated)
      return meansTheSame || !response.endsWith('\r\n\r\ncontent')
    }),
    { numRuns: 150 },
  )
})

t.test('addresses stay valid after a change of the key while the old key is kept', async (t) => {
  const root = createTestDirectory(t)
  const [first, second] = ['first-key-'.repeat(4), 'second-key-'.repeat(4)]
  const clock = manualClock()
  const start = (key: string) => startStorage(t, { root, clock, config: { 'platform.storage.signing-key': key } })
  const old = await start(first)
  await old.storage.put('local', 'a', 'content')
  const url = await old.storage.resolveUrl('local', 'a')
  const rotated = await start(`${second},${first}`)
  t.equal(await (await rotated.get(url)).text(), 'content')
  const fresh = await rotated.storage.resolveUrl('local', 'a')
  t.not(fresh, url)
  const later = await start(second)
  t.equal(await (await later.get(fresh)).text(), 'content')
  t.hasStrict(await bodyOf(await later.get(url)), { code: '403', data: { reason: 'storage.signature-invalid' } })
  await rejectsWith(t, start('short'), { message: /platform\.storage\.signing-key/ })
})

t.test('instances that share a directory share its key, which is created once', async (t) => {
  const root = createTestDirectory(t)
  const clock = manualClock()
  const drafts = ['signing.key.old', 'signing.key.young'].map((name) => join(root, name))
  for (const [index, hours] of [2, 0].entries()) {
    const written = clock.now() / 1000 - hours * 3_600
    writeFileSync(drafts[index] as string, 'draft')
    utimesSync(drafts[index] as string, written, written)
  }
  const instances = await Promise.all([1, 2, 3, 4].map(() => startStorage(t, { root, clock })))
  const [one] = instances
  await one?.storage.put('local', 'a', 'content')
  const fresh = '/api/v1/storage/files/local/a?expires=9999999999&signature=AAAA'
  t.hasStrict(await bodyOf(await (one as NonNullable<typeof one>).get(fresh)), { code: '403' }, 'nothing is signed yet')
  const urls = await Promise.all(instances.map(({ storage }) => storage.resolveUrl('local', 'a')))
  t.equal(new Set(urls).size, 1)
  for (const { get } of instances) t.equal(await (await get(urls[0] as string)).text(), 'content')
  t.match(readFileSync(join(root, 'signing.key'), 'utf8'), /^[A-Za-z0-9+/]{43}=\n$/)
  t.same(drafts.map(existsSync), [false, true], 'what a process left that was killed while it made the key goes')

  writeFileSync(join(root, 'signing.key'), 'short\n')
  const product = defineProduct({ name: 'test', plugins: [storagePlugin], config: { 'platform.storage.root': root } })
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  await rejectsWith(t, running.service(storage).resolveUrl('local', 'a'), { code: 'PLINTH_STORAGE_SIGNING_KEY_FILE' })
  t.match(await (await (one as NonNullable<typeof one>).get('/docs/openapi.json')).text(), /storage\/files\/\{disk\}/)
})

t.test(
  'a path that is not a file causes no wait',
  { skip: process.platform === 'win32' && 'no named pipes' },
  async (t) => {
    const { storage, get, root } = await startStorage(t)
    await storage.put('public', 'a.txt', 'content')
    await storage.put('local', 'a.txt', 'content')
    for (const disk of ['public', 'local']) execFileSync('mkfifo', [join(root, disk, 'pipe.txt')])
    symlinkSync(join(root, 'public/pipe.txt'), join(root, 'public/link.txt'))
    const socket = createServer().listen(join(root, 'public/socket.txt'))
    t.teardown(() => socket.close())
    const signal = AbortSignal.timeout(120_000)
    const signed = await storage.resolveUrl('local', 'pipe.txt')
    // The test sends more requests than there are threads for file access.
    const urls = ['pipe.txt', 'link.txt', 'socket.txt'].flatMap((name) =>
      Array.from({ length: 6 }, () => `/storage/${name}`),
    )
    const statuses = urls.flatMap((url) =>
      ['GET', 'HEAD'].map(async (method) => (await get(url, { method, signal })).status),
    )
    t.same(new Set(await Promise.all(statuses)), new Set([404]))
    t.hasStrict(await bodyOf(await get(signed, { signal })), { code: '404', data: { reason: 'storage.file-unknown' } })
    await rejectsWith(t, storage.open('local', 'pipe.txt'), { code: '404' })
    t.equal(await (await get('/storage/a.txt', { signal })).text(), 'content')
    t.equal(await (await get('/storage/a.txt', { signal, headers: { range: 'bytes=0-0' } })).text(), 'c')
    t.equal((await get('/storage/a.txt', { signal, method: 'HEAD' })).headers.get('content-length'), '7')
  },
)

t.test('an address may name a guard that checks each request', async (t) => {
  const requested: unknown[] = []
  let isRevoked = false
  const vouching = definePlugin({
    id: 'vouching',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { storage },
    setup({ services }) {
      services.storage.guardUrls('shop', async (subject, file) => {
        requested.push([subject, file])
        if (isRevoked) throw new BusinessError('403', 'gone', { reason: 'shop.gone' })
      })
    },
  })
  const { storage: files, get, running, root } = await startStorage(t, { plugins: [vouching] })
  for (const disk of ['public', 'local']) await files.put(disk, 'a', 'content')
  const grant = { guard: 'shop', subject: '7.42' }
  for (const disk of ['public', 'local']) {
    isRevoked = false
    const url = await files.resolveUrl(disk, 'a', { grant })
    t.equal(await (await get(url)).text(), 'content')
    t.same(requested.pop(), ['7.42', { disk, path: 'a' }])
    isRevoked = true
    t.hasStrict(await bodyOf(await get(url)), { code: '403', data: { reason: 'shop.gone' } })
    for (const bad of [
      url.replace('7.42', '7.43'),
      url.replace(/grant=[^&]*&/, ''),
      url.replace('shop%3A', 'forum%3A'),
    ]) {
      t.hasStrict(await bodyOf(await get(bad)), { code: '403', data: { reason: 'storage.signature-invalid' } }, bad)
    }
  }
  for (const bad of [
    { guard: 'forum', subject: '1' },
    { guard: 'shop', subject: 'a b' },
    { guard: 'shop', subject: '' },
  ]) {
    await rejectsWith(t, files.resolveUrl('local', 'a', { grant: bad }), { code: 'PLINTH_STORAGE_URL_GUARD' })
  }
  const url = await files.resolveUrl('local', 'a', { grant })
  await running.stop('the plugin is taken out')
  const without = await startStorage(t, { root })
  const reason = 'storage.url-revoked'
  t.hasStrict(await bodyOf(await without.get(url)), { code: '403', data: { reason } }, 'nobody vouches for it any more')
})

t.test('a file of a guarded directory is served only with the permission of its guard', async (t) => {
  const vouching = definePlugin({
    id: 'vouching',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { storage },
    setup({ services }) {
      services.storage.guardUrls('shop', async () => {}, 'shop')
      services.storage.guardUrls('forum', async () => {})
    },
  })
  const { storage: files, get } = await startStorage(t, { plugins: [vouching] })
  for (const path of ['shop/1.csv', 'shops/1.csv']) {
    for (const disk of ['public', 'local']) await files.put(disk, path, 'content')
  }
  const statusOf = async (path: string, grant?: { guard: string; subject: string }, disk = 'local') => {
    const response = await get(await files.resolveUrl(disk, path, { name: 'a.csv', ...(grant && { grant }) }))
    const text = await response.text()
    return text.startsWith('{') ? JSON.parse(text).data.reason : text
  }
  const revoked = 'storage.url-revoked'
  for (const disk of ['public', 'local']) {
    t.equal(await statusOf('shop/1.csv', { guard: 'shop', subject: '1' }, disk), 'content')
    t.equal(await statusOf('shop/1.csv', undefined, disk), revoked, 'a signature alone is not enough')
    t.equal(await statusOf('shop/1.csv', { guard: 'forum', subject: '1' }, disk), revoked, 'nor another guard')
    t.equal(await statusOf('Shop/1.csv', undefined, disk), revoked, 'nor another spelling of the directory')
    t.equal(await statusOf('shops/1.csv', undefined, disk), 'content', 'another directory is open')
  }
  t.equal((await get('/storage/shop/1.csv')).status, 404)
  t.equal((await get('/storage/SHOP/1.csv')).status, 404)
  t.equal(await (await get('/storage/shops/1.csv')).text(), 'content')
})

t.test('a caller who disconnects releases the file', async (t) => {
  const { storage, server } = await startStorage(t)
  await storage.put('public', 'large.bin', Buffer.alloc(20_000_000))
  await new Promise<void>((resolve) => {
    request(new URL('/storage/large.bin', server.url), (response) => {
      response.once('data', () => {
        response.destroy()
        resolve()
      })
    }).end()
  })
  t.equal(await storage.delete('public', 'large.bin'), true)
})
