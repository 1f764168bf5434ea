/** Tests the responses to requests for a file: ranges, preconditions, and errors while reading. */
import { renameSync, utimesSync, writeFileSync } from 'node:fs'
import fs, { type FileHandle } from 'node:fs/promises'
import { type IncomingHttpHeaders, request } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Disk, StoredFile } from '@plinth/storage'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { diskPlugin, memoryDisk } from './fixtures/memory-disk.ts'
import { startStorage } from './fixtures/product.ts'

const problem = (code: string) => Object.assign(new Error(`${code}: not today, /srv/secret`), { code })

/** Replaces how files with this name are opened, until the returned function is called. */
function openBy(t: Test, name: string, change: (open: () => Promise<FileHandle>) => Promise<FileHandle>): () => void {
  const { open } = fs
  fs.open = (path, ...rest) => (String(path).endsWith(name) ? change(() => open(path, ...rest)) : open(path, ...rest))
  syncBuiltinESMExports()
  const undo = () => {
    fs.open = open
    syncBuiltinESMExports()
  }
  t.teardown(undo)
  return undo
}

/**
 * Sends a request and returns the response unchanged. It does not use fetch, because fetch adds "no-cache" to some
 * requests.
 */
function ask(serverUrl: string | undefined, path: string, headers: IncomingHttpHeaders = {}, method = 'GET') {
  return new Promise<{ status: number; headers: IncomingHttpHeaders; body: Buffer }>((resolve, reject) => {
    const requested = request(new URL(path, serverUrl), { headers, method }, async (response) => {
      const body = Buffer.concat(await response.toArray())
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body })
    })
    requested.on('error', reject).end()
  })
}

const ofFile = ['etag', 'last-modified', 'accept-ranges', 'content-range', 'content-disposition'] as const

t.test('a file that cannot be read is a failure that no cache stores', async (t) => {
  const lines: unknown[] = []
  const logger = { debug() {}, info() {}, warn() {}, error: (...line: unknown[]) => void lines.push(line) }
  const quiet = { ...logger, child: () => quiet }
  const { storage, server } = await startStorage(t, { logger: quiet as never })
  await storage.put('public', 'cat.png', 'meow!')
  await storage.put('local', 'cat.png', 'meow!')
  const signed = await storage.resolveUrl('local', 'cat.png', { name: 'cat.png' })
  const handleWith = (broken: 'read' | 'stat', code: string) => async (open: () => Promise<FileHandle>) => {
    const handle = await open()
    handle[broken] = () => Promise.reject(problem(code))
    return handle
  }
  const problems: Record<string, (open: () => Promise<FileHandle>) => Promise<FileHandle>> = {
    'EACCES on opening': () => Promise.reject(problem('EACCES')),
    'ESTALE on opening': () => Promise.reject(problem('ESTALE')),
    'ESTALE on looking': handleWith('stat', 'ESTALE'),
    'EIO on reading': handleWith('read', 'EIO'),
    'ESTALE on reading': handleWith('read', 'ESTALE'),
  }
  for (const [name, change] of Object.entries(problems)) {
    const undo = openBy(t, 'cat.png', change)
    for (const [url, status, headers] of [
      ['/storage/cat.png', 500, {}],
      ['/storage/cat.png', 500, { range: 'bytes=1-2' }],
      [signed, 200, {}],
    ] as const) {
      lines.length = 0
      const response = await ask(server.url, url, headers)
      t.equal(response.status, status, `${name}: ${url}`)
      t.equal(response.headers['cache-control'], 'no-store')
      for (const header of ofFile) t.equal(response.headers[header], undefined, header)
      t.hasStrict(JSON.parse(response.body.toString()), { code: '500', data: null })
      t.notMatch(response.body.toString(), 'secret')
      t.equal(lines.length, 1, 'the operator learns of it')
    }
    undo()
    const mended = await ask(server.url, '/storage/cat.png')
    t.equal(`${mended.status} ${mended.body}`, '200 meow!')
    t.equal(mended.headers['cache-control'], 'public, max-age=3600')
  }
})

t.test(
  'a file that cannot be opened because too many files are open is unavailable, and no cache stores this',
  async (t) => {
    const { storage, server } = await startStorage(t)
    await storage.put('public', 'cat.png', 'meow!')
    await storage.put('local', 'cat.png', 'meow!')
    const signed = await storage.resolveUrl('local', 'cat.png', { name: 'cat.png' })
    const undo = openBy(t, 'cat.png', () => Promise.reject(problem('EMFILE')))
    for (const url of ['/storage/cat.png', signed]) {
      const response = await ask(server.url, url)
      t.equal(response.status, 503, url)
      t.match(response.headers, { 'retry-after': '5', 'cache-control': 'no-store' })
      for (const header of ofFile) t.equal(response.headers[header], undefined, header)
      t.hasStrict(JSON.parse(response.body.toString()), { code: '503', data: { reason: 'http.unavailable' } })
    }
    undo()
    t.equal((await ask(server.url, '/storage/cat.png')).status, 200)
  },
)

t.test('an error of a third-party disk is also a failure, and its files are released', async (t) => {
  const memory = memoryDisk('private')
  memory.files.set('a.txt', Buffer.from('content'))
  let content: () => Readable = () => Readable.from(['content'], { objectMode: false })
  const streams: Readable[] = []
  let closed = 0
  const reading = () => {
    const stream = content()
    streams.push(stream)
    return stream
  }
  const stat = { path: 'a.txt', size: 7, modifiedAt: new Date(0) }
  class Held implements StoredFile {
    readonly path = stat.path
    readonly size = stat.size
    readonly modifiedAt = stat.modifiedAt
    readonly version = '1'
    read() {
      return reading()
    }
    async close() {
      closed += 1
    }
  }
  const disks: Record<string, Disk> = {
    whole: { ...memory, open: async () => ({ ...stat, content: reading() }) },
    held: { ...memory, hold: async () => new Held() },
  }
  for (const [name, disk] of Object.entries(disks)) {
    const { storage, server, clock } = await startStorage(t, { plugins: [diskPlugin('memory', disk)] })
    const url = await storage.resolveUrl('memory', 'a.txt')
    content = () => Readable.from(['content'], { objectMode: false })
    const good = await ask(server.url, url)
    t.equal(`${good.status} ${good.body}`, '200 content', name)
    t.equal(good.headers['cache-control'], 'private, no-store')
    t.equal(good.headers['accept-ranges'], name === 'held' ? 'bytes' : 'none')
    const unchanged = await ask(server.url, url, { 'if-none-match': String(good.headers.etag) })
    t.equal(`${unchanged.status} ${unchanged.body}`, '304 ')
    t.equal((await ask(server.url, url, {}, 'HEAD')).headers['content-length'], '7')

    content = () =>
      new Readable({
        read() {
          this.destroy(problem('EIO'))
        },
      })
    const bad = await ask(server.url, url)
    t.hasStrict(JSON.parse(bad.body.toString()), { code: '500' })
    t.equal(bad.headers['cache-control'], 'no-store')
    for (const header of ofFile) t.equal(bad.headers[header], undefined, header)

    const requested = Promise.withResolvers<void>()
    content = () => new Readable({ read: () => requested.resolve() })
    const silent = ask(server.url, url)
    await requested.promise
    await clock.advance(30_000)
    t.hasStrict(JSON.parse((await silent).body.toString()), { code: '500' }, 'what never begins has an end')
    t.ok(streams.every((stream) => stream.destroyed))
  }
  t.equal(closed, 2, 'what is held and not read is closed')
})

t.test('ranges and preconditions follow RFC 9110', async (t) => {
  const { storage, server, root, clock } = await startStorage(t)
  clock.shiftWallClock(Date.now() - clock.now())
  const text = 'abcdefghij'
  await storage.put('public', 'a.txt', text)
  const get = (headers: IncomingHttpHeaders = {}, method = 'GET') => ask(server.url, '/storage/a.txt', headers, method)
  const brief = async (headers: IncomingHttpHeaders) => {
    const { status, body } = await get(headers)
    return `${status} ${body}`
  }
  const { etag = '', 'last-modified': modified = '' } = (await get()).headers
  t.match(etag, /^W\//)
  const older = new Date(Date.parse(modified) - 5_000).toUTCString()
  const kept = 'public, max-age=3600'
  for (const [headers, status, cached] of [
    [{}, 200, kept],
    [{ range: 'bytes=0-0' }, 206, kept],
    [{ 'if-none-match': etag }, 304, kept],
    [{ 'if-none-match': '*' }, 304, kept],
    [{ 'if-modified-since': modified }, 304, kept],
    [{ 'if-modified-since': older }, 200, kept],
    [{ 'if-none-match': '"other"', 'if-modified-since': modified }, 200, kept],
    [{ 'if-match': '*' }, 200, kept],
    [{ 'if-match': etag }, 412, 'no-store'],
    [{ 'if-match': '"other"' }, 412, 'no-store'],
    [{ 'if-unmodified-since': modified }, 200, kept],
    [{ 'if-unmodified-since': 'never' }, 200, kept],
    [{ 'if-unmodified-since': older }, 412, 'no-store'],
    [{ range: 'bytes=10-' }, 416, 'no-store'],
  ] as const) {
    const response = await get(headers)
    t.equal(response.status, status, JSON.stringify(headers))
    t.equal(response.headers['cache-control'], cached, JSON.stringify(headers))
    if (status === 412 || status === 416) t.equal(response.body.length, 0)
  }

  const range = 'bytes=2-4'
  t.equal(await brief({ range }), '206 cde')
  t.equal(await brief({ range, 'if-range': etag }), `200 ${text}`, 'a weak tag never lets a part through')
  t.equal(await brief({ range, 'if-range': etag.slice(2) }), `200 ${text}`)
  t.equal(
    await brief({ range, 'if-range': modified }),
    `200 ${text}`,
    'nor does a time at which it may have changed twice',
  )
  const settled = new Date(Date.now() - 120_000)
  utimesSync(join(root, 'public/a.txt'), settled, settled)
  t.equal(await brief({ range, 'if-range': settled.toUTCString() }), '206 cde')
  t.equal(await brief({ range, 'if-range': new Date().toUTCString() }), `200 ${text}`)

  const position = fc.option(fc.nat(14), { nil: '' })
  await fc.assert(
    fc.asyncProperty(position, position, async (first, last) => {
      const { status, headers, body } = await get({ range: `bytes=${first}-${last}` })
      const isSuffix = first === ''
      const means = first !== '' || last !== ''
      const from = isSuffix ? Math.max(0, 10 - Number(last)) : Number(first)
      const to = isSuffix || last === '' ? 9 : Number(last)
      if (!means || (!isSuffix && last !== '' && to < from)) return status === 200 && body.toString() === text
      if (from > 9) return status === 416 && headers['content-range'] === 'bytes */10'
      const part = text.slice(from, to + 1)
      return status === 206 && body.toString() === part && headers['content-length'] === String(part.length)
    }),
  )
  for (const several of ['bytes=0-1,3-4', 'bytes=a-b', 'lines=1-2', `bytes=${'9'.repeat(400)}-x`]) {
    t.equal(await brief({ range: several }), `200 ${text}`, several)
  }
  t.equal(await brief({ range: `bytes=${'9'.repeat(400)}-` }), '416 ')
  await storage.put('public', 'a.txt', '')
  t.equal(await brief({}), '200 ')
  t.equal(await brief({ range: 'bytes=0-' }), '416 ')
})

t.test('reading a file while it is replaced returns the complete old or new file', async (t) => {
  const { storage, server, root } = await startStorage(t)
  const version = (round: number) => (round % 2 ? 'a' : 'b').repeat(100_000 + (round % 2))
  await storage.put('public', 'a.txt', version(0))
  const isWhole = ({ status, headers, body }: Awaited<ReturnType<typeof ask>>) => {
    const text = body.toString()
    const size = Number(/\/(\d+)$/.exec(headers['content-range'] ?? '')?.[1] ?? text.length)
    const letter = size % 2 ? 'a' : 'b'
    t.ok(status === 200 || status === 206, `status ${status}`)
    t.equal(text.length, Number(headers['content-length']))
    t.equal(text, letter.repeat(text.length))
  }
  let isOver = false
  const writing = (async () => {
    for (let round = 1; !isOver; round++) await storage.put('public', 'a.txt', version(round))
  })()
  for (let count = 0; count < 40; count++) {
    isWhole(await ask(server.url, '/storage/a.txt'))
    isWhole(await ask(server.url, '/storage/a.txt', { range: 'bytes=90000-' }))
  }
  isOver = true
  await writing

  let round = 0
  const replace = () => {
    writeFileSync(join(root, 'public/new'), version(++round))
    renameSync(join(root, 'public/new'), join(root, 'public/a.txt'))
  }
  const undo = openBy(t, 'public/a.txt', async (open) => {
    replace()
    const handle = await open()
    replace()
    return handle
  })
  for (let count = 0; count < 5; count++) isWhole(await ask(server.url, '/storage/a.txt', { range: 'bytes=1-' }))
  undo()

  let before: string | undefined
  for (let count = 0; count < 20; count++) {
    await storage.put('public', 'a.txt', `version ${count % 10}`)
    const { etag } = (await ask(server.url, '/storage/a.txt')).headers
    t.not(etag, before, 'versions of one size written right after each other have tags of their own')
    before = etag
  }
})
