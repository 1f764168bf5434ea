import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { rejectsWith } from '@plinth/dev/testing'
import { BusinessError } from '@plinth/kernel'
import { pathProblem } from '@plinth/storage'
import fc from 'fast-check'
import t from 'tap'
import { collectAll, createTestDirectory, rawGet, startStorage } from './fixtures/product.ts'

const secret = 'what nobody may see'

/** Path segments of known directory traversal attacks, mixed with ordinary ones. */
const segment = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('a', 'report.pdf', 'ä', '报告.csv', 'a b', '2026', "it's", 'x'.repeat(200)) },
  fc.constantFrom(
    '..',
    '.',
    '',
    '...',
    '.. ',
    ' ..',
    '.git',
    'a.',
    'a ',
    '%2e%2e',
    '%2E%2E%2F',
    '%252e%252e',
    '..%c0%af',
    '．．',
    '\0',
    'a\0.png',
    'a\nb',
    '\u202e',
    '\u2028',
    '\ud800',
    'C:',
    'a:stream',
    '~',
    '$HOME',
    '*',
    '?',
    '|',
    '"',
    '<',
    'CON',
    'con.txt',
    'Aux',
    'NUL.tar.gz',
    'COM1',
    'com0.x',
    'LPT9',
    'lpt¹',
    'CONIN$',
    'prn.',
    'e\u0301',
    '..\\..',
    '\\',
    '\\\\server',
    'x'.repeat(201),
    '语'.repeat(70),
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
)
const separator = fc.constantFrom('/', '/', '/', '//', '\\', '/../', '/./', '%2f')
const plainPath = fc
  .array(fc.stringMatching(/^[a-zA-Z0-9äé语()',;=+@!~-]{1,9}$/), { minLength: 1, maxLength: 4 })
  .map((segments) => segments.join('/'))
const oddPath = fc
  .tuple(
    fc.constantFrom('', '', '', '/', '../', './', '~/', 'file:///'),
    fc.array(fc.tuple(segment, separator)),
    segment,
  )
  .map(([start, middle, end]) => start + middle.map((pair) => pair.join('')).join('') + end)
const path = fc.oneof(plainPath, { weight: 3, arbitrary: oddPath })

t.test('a path is rejected, or names one file within any directory on every system', async (t) => {
  const root = resolve('/disk')
  fc.assert(
    fc.property(path, (path) => {
      if (pathProblem(path) !== undefined) return true
      const file = resolve(root, path)
      const segments = path.split('/')
      return (
        relative(root, file).split(sep).join('/') === path &&
        segments.every((part) => !/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(part) && !/[\0\\:%]/.test(part)) &&
        decodeURIComponent(encodeURIComponent(path)) === path
      )
    }),
    { numRuns: 5_000 },
  )
  const accepted = ['a', 'a/b/c.txt', '报告/2026.csv', 'a b/ä.pdf', "it's (1).jpg", 'a..b', 'context', 'com.txt', 'a~1']
  for (const good of accepted) t.equal(pathProblem(good), undefined, good)
  const rejected = {
    'wrong-length': ['', `${'a/'.repeat(256)}a`],
    'wrong-character': ['a\\b', 'C:/a', 'a\0', 'a%2e', 'a\u0007', 'a\ud800', 'e\u0301', 'a?b', '\u2028'],
    'wrong-segment': ['..', '/a', 'a//b', 'a/', './a', 'a/../b', '.env', 'a/.b', 'a.', 'a /b', ' a'],
    'segment-too-long': ['x'.repeat(201), '语'.repeat(67)],
    'device-name': ['con', 'a/NUL.txt', 'Com1', 'lpt³.x', 'CONOUT$'],
  }
  for (const [rule, paths] of Object.entries(rejected)) {
    for (const bad of paths) t.equal(pathProblem(bad), rule, encodeURIComponent(bad.toWellFormed().slice(0, 20)))
  }
})

t.test(
  'a disk returns accepted content unchanged, also at its address; rejected content changes nothing',
  async (t) => {
    const { storage, root, get } = await startStorage(t)
    writeFileSync(join(root, 'outside.txt'), secret)
    const before = () => readdirSync(root).sort().join()
    const disks = before()
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(path, fc.uint8Array(), async (path, content) => {
        let written: unknown
        try {
          written = await storage.put('public', path, content)
        } catch (error) {
          if (!(error instanceof BusinessError)) throw error
          return error.reason === 'storage.path-invalid' || error.reason === 'storage.path-taken'
        }
        accepted += 1
        const stat = await storage.stat('public', path)
        const { content: stream } = await storage.open('public', path)
        const read = Buffer.concat(await stream.toArray())
        const response = await get(await storage.resolveUrl('public', path))
        const sent = new Uint8Array(await response.arrayBuffer())
        return (
          stat?.size === content.length &&
          JSON.stringify(written) === JSON.stringify(stat) &&
          read.equals(content) &&
          response.status === 200 &&
          Buffer.from(sent).equals(content) &&
          existsSync(join(root, 'public', path))
        )
      }),
      { numRuns: 150 },
    )
    t.ok(accepted > 5, `${accepted} paths were accepted`)
    const { local, ...others } = Object.fromEntries(
      before()
        .split(',')
        .map((name) => [name, true]),
    )
    t.same(Object.keys(others), ['outside.txt', 'public'], `nothing was written beside the disk (before: ${disks})`)
  },
)

t.test('no path leads out of a disk, in any notation', async (t) => {
  const { storage, root, server } = await startStorage(t)
  await storage.put('local', 'secret.txt', secret)
  await storage.put('public', 'open.txt', 'for all')
  await storage.resolveUrl('local', 'secret.txt')
  const key = readFileSync(join(root, 'signing.key'), 'latin1').trim()
  const dot = fc.constantFrom('.', '%2e', '%2E', '%252e', '%c0%ae', '%uff0e', '．')
  const slash = fc.constantFrom('/', '%2f', '%2F', '\\', '%5c', '%255c', '%252f', '//', '/;/', '%00/')
  const up = fc.tuple(dot, dot, slash).map((parts) => parts.join(''))
  const goal = fc.constantFrom('local/secret.txt', 'signing.key', 'public/open.txt', 'etc/passwd', '.drafts', '')
  const target = fc
    .tuple(
      fc.constantFrom(
        '/storage/',
        '/storage',
        '/storage//',
        '/storage/a/',
        '/api/v1/storage/files/local/',
        '/storage/%00',
      ),
      fc.array(fc.oneof(up, fc.string({ maxLength: 4 }).map(encodeURIComponent)), { maxLength: 6 }),
      goal,
      fc.constantFrom('', '?expires=9999999999&signature=AAAA', '#', '%00.png', '/', '/.'),
    )
    .map(([start, ways, end, tail]) => Buffer.from(start + ways.join('') + end + tail).toString('latin1'))
  await fc.assert(
    fc.asyncProperty(target, async (target) => {
      const response = await rawGet(server.url as string, target)
      if (response.includes(secret) || response.includes(key) || response.includes('root:')) return false
      // If the path is plain after one decoding, the request may return the public file.
      return response.startsWith('HTTP/1.1 4') || /"code":"40[034]"/.test(response) || response.includes('for all')
    }),
    { numRuns: 300 },
  )
  t.match(await rawGet(server.url as string, '/storage/open.txt'), /for all$/)
  t.match(await rawGet(server.url as string, '/storage/'), /^HTTP\/1\.1 404/, 'a directory is not listed')
})

t.test('symbolic links that lead out of the disk are not followed', async (t) => {
  const { storage, root, get } = await startStorage(t)
  const elsewhere = createTestDirectory(t)
  writeFileSync(join(elsewhere, 'secret.txt'), secret)
  await storage.put('public', 'inside/real.txt', 'real')
  const disk = join(root, 'public')
  symlinkSync(elsewhere, join(disk, 'away'))
  symlinkSync(join(elsewhere, 'secret.txt'), join(disk, 'file.txt'))
  symlinkSync(join(elsewhere, 'new'), join(disk, 'dangling'))
  symlinkSync(join(disk, 'inside'), join(disk, 'shortcut'))

  for (const path of ['away/secret.txt', 'file.txt']) {
    t.equal(await storage.stat('public', path), undefined, `${path} is not seen`)
    await rejectsWith(t, storage.open('public', path), { code: '404', reason: 'storage.file-unknown' })
    t.equal((await get(`/storage/${path}`)).status, 404)
  }
  await rejectsWith(t, storage.put('public', 'away/new.txt', 'x'), { code: '409', reason: 'storage.path-outside' })
  await rejectsWith(t, storage.put('public', 'away/deep/new.txt', 'x'), { code: '409', reason: 'storage.path-outside' })
  await rejectsWith(t, storage.put('public', 'dangling/new.txt', 'x'), { code: '409', reason: 'storage.path-taken' })
  t.equal(await storage.delete('public', 'away/secret.txt'), false)
  t.same(readdirSync(elsewhere), ['secret.txt'], 'nothing was written or deleted there')
  t.same(await collectAll(storage.list('public')).then((files) => files.map(({ path }) => path)), ['inside/real.txt'])

  t.equal((await storage.stat('public', 'shortcut/real.txt'))?.size, 4, 'a link within the disk is followed')
  await storage.put('public', 'file.txt', 'own')
  t.equal(readFileSync(join(elsewhere, 'secret.txt'), 'utf8'), secret, 'writing replaces a link, not what it points to')
  t.equal(await (await get('/storage/file.txt')).text(), 'own')
})

t.test('a disk may itself be a symbolic link', async (t) => {
  const root = createTestDirectory(t)
  const volume = createTestDirectory(t)
  mkdirSync(join(volume, 'files'))
  symlinkSync(join(volume, 'files'), join(root, 'public'))
  const { storage, get } = await startStorage(t, { root })
  await storage.put('public', 'a/b.txt', 'there')
  t.equal(readFileSync(join(volume, 'files/a/b.txt'), 'utf8'), 'there')
  t.equal(await (await get('/storage/a/b.txt')).text(), 'there')
})
