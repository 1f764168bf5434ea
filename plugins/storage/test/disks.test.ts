import { fork } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { manualClock, rejectsWith, startForTest, until, watchProcess } from '@plinth/dev/testing'
import { defineProduct } from '@plinth/kernel'
import storagePlugin, { DirectoryDisk, type Disk, diskUnavailable, fileReplaced, storage } from '@plinth/storage'
import t from 'tap'
import { directoryErrorOf } from '../src/disk-reports.ts'
import { diskPlugin, memoryDisk } from './fixtures/memory-disk.ts'
import { collectAll, createTestDirectory, startStorage } from './fixtures/product.ts'

const drafts = (root: string, disk: string) => readdirSync(join(root, disk, '.drafts'))

async function text(stream: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await collectAll(stream)).toString()
}

t.test('files are written, read, listed and deleted', async (t) => {
  const { storage, root } = await startStorage(t)
  t.same(await collectAll(storage.list('local')), [], 'a disk that was never written to is empty')
  t.equal(await storage.delete('local', 'a/b.txt'), false)
  t.equal(await storage.stat('local', 'a/b.txt'), undefined)

  const written = await storage.put('local', 'a/b.txt', 'über')
  t.match(written, { path: 'a/b.txt', size: 5 })
  t.equal(await text((await storage.open('local', 'a/b.txt')).content), 'über')
  const parts = async function* () {
    yield Buffer.from([0, 1])
    yield 'x'
    yield new Uint8Array([255])
  }
  await storage.put('local', 'a/c.bin', parts())
  t.same(readFileSync(join(root, 'local/a/c.bin')), Buffer.from([0, 1, 120, 255]))
  await storage.put('local', 'a/b.txt', '')
  t.equal((await storage.stat('local', 'a/b.txt'))?.size, 0, 'replaced, also by nothing')
  await storage.put('local', 'z', Buffer.alloc(300_000))

  const paths = async (directory?: string) =>
    (await collectAll(storage.list('local', directory))).map(({ path, size }) => `${path} ${size}`).sort()
  t.same(await paths(), ['a/b.txt 0', 'a/c.bin 4', 'z 300000'])
  t.same(await paths('a'), ['a/b.txt 0', 'a/c.bin 4'])
  t.same(await paths('none'), [])
  t.equal(statSync(join(root, 'local/z')).mode & 0o777, 0o600, 'private files are for the product alone')
  await storage.put('public', 'z', 'x')
  t.equal(statSync(join(root, 'public/z')).mode & 0o777, 0o644)

  t.equal(await storage.delete('local', 'a'), false, 'a directory is no file')
  t.equal(await storage.delete('local', 'a/b.txt'), true)
  t.equal(await storage.delete('local', 'a/c.bin'), true)
  t.notOk(existsSync(join(root, 'local/a')), 'an empty directory goes with its last file')
  t.ok(existsSync(join(root, 'local/z')))
  await rejectsWith(t, storage.put('local', 'z/under', 'x'), { code: '409', reason: 'storage.path-taken' })
  await storage.put('local', 'dir/file', 'x')
  await rejectsWith(t, storage.put('local', 'dir', 'x'), { code: '409', reason: 'storage.path-taken' })
  await rejectsWith(t, storage.open('local', 'dir'), { code: '404', reason: 'storage.file-unknown' })
  t.same(drafts(root, 'local'), [], 'nothing half-written stays')
})

t.test('deleted files are kept for a backup, in every process', async (t) => {
  const directory = t.testdir({})
  const clock = manualClock()
  const [disk, other] = [1, 2].map(() => new DirectoryDisk(directory, 'private', clock)) as [
    DirectoryDisk,
    DirectoryDisk,
  ]
  const write = (path: string) => disk.write(path, Readable.from([Buffer.from(path)]))
  for (const path of ['a/b', 'a/c', 'd', 'e']) await write(path)
  const kept = await disk.keepDeleted()
  t.equal(await other.delete('a/b'), true)
  t.equal(await other.delete('a/b'), false)
  t.equal(await other.delete('none'), false)
  t.equal(await other.stat('a/b'), undefined)
  await clock.advance(9 * 60_000)
  await kept.renew()
  await clock.advance(9 * 60_000)
  t.equal(await other.delete('d'), true)
  const { signal } = new AbortController()
  await other.sweep(signal)
  t.same((await collectAll(disk.list(''))).map(({ path }) => path).sort(), ['a/c', 'e'])
  t.same((await collectAll(kept.disk.list(''))).map(({ path }) => path).sort(), ['a/b', 'd'])
  t.equal(await text((await kept.disk.open('a/b'))?.content ?? Readable.from([])), 'a/b')
  await kept.end()
  t.equal(await other.delete('e'), true)
  t.notOk(existsSync(join(directory, '.kept')))

  await disk.keepDeleted()
  await clock.advance(11 * 60_000)
  t.equal(await other.delete('a/c'), true, 'the process of the backup died')
  await other.sweep(signal)
  t.notOk(existsSync(join(directory, '.kept')))
})

t.test('a file is written completely or not at all', async (t) => {
  const { storage, root } = await startStorage(t)
  await storage.put('local', 'report.txt', 'old')
  const content = () => readFileSync(join(root, 'local/report.txt'), 'utf8')
  const failing = async function* () {
    yield 'new'
    t.equal(content(), 'old', 'what is there stays while it is written')
    throw new Error('the source dried up')
  }
  await rejectsWith(t, storage.put('local', 'report.txt', failing()), { message: 'the source dried up' })
  t.equal(content(), 'old')
  t.same(drafts(root, 'local'), [])

  const abort = new AbortController()
  let isReleased = false
  const stuck = async function* () {
    try {
      yield 'new'
      abort.abort(new Error('given up'))
      await new Promise((resolve) => setImmediate(resolve))
      yield 'more'
    } finally {
      isReleased = true
    }
  }
  await t.rejects(storage.put('local', 'report.txt', stuck(), { signal: abort.signal }))
  t.equal(content(), 'old')
  await until(() => isReleased, 'the writer is released')
  t.same(drafts(root, 'local'), [])
})

t.test('files that are too large are rejected and leave nothing', async (t) => {
  const { storage, root } = await startStorage(t, { config: { 'platform.storage.max-file-size': '1KiB' } })
  await storage.put('local', 'a', Buffer.alloc(1024))
  const tooLarge = { code: '400', reason: 'storage.file-too-large', message: /1024 bytes/ }
  await rejectsWith(t, storage.put('local', 'a', Buffer.alloc(1025)), tooLarge)
  await rejectsWith(t, storage.put('local', 'b', 'é'.repeat(600), { maxBytes: 10_000 }), tooLarge)
  await rejectsWith(t, storage.put('local', 'b', 'abcd', { maxBytes: 3 }), { message: /3 bytes/ })
  let given = 0
  const endless = async function* () {
    for (;;) {
      given += 100
      yield Buffer.alloc(100)
    }
  }
  await rejectsWith(t, storage.put('local', 'b', endless()), tooLarge)
  t.ok(given < 100_000, `it stopped asking after ${given} bytes`)
  t.same(await collectAll(storage.list('local')).then((files) => files.map(({ path }) => path)), ['a'])
  t.same(drafts(root, 'local'), [])
})

t.test('writers and deleters of the same directory do not disturb each other', async (t) => {
  const { storage } = await startStorage(t)
  const work = Array.from({ length: 8 }, async (_, worker) => {
    for (let round = 0; round < 15; round++) {
      await storage.put('local', `shared/deep/${worker}`, `${worker}/${round}`)
      if (round < 14) await storage.delete('local', `shared/deep/${worker}`)
    }
  })
  await Promise.all(work)
  for (let worker = 0; worker < 8; worker++) {
    t.equal(await text((await storage.open('local', `shared/deep/${worker}`)).content), `${worker}/14`)
  }
})

/** Moves the modification time of a file into the past. */
function age(file: string, seconds: number): void {
  const time = new Date(Date.now() - seconds * 1000)
  utimesSync(file, time, time)
}

const sweep = ({ running }: Pick<Awaited<ReturnType<typeof startStorage>>, 'running'>) =>
  running.scheduledTasks.find(({ name }) => name === 'storage.sweep')?.run(new AbortController().signal)

t.test('files of a killed writer are removed without a restart when its lease expires', async (t) => {
  const root = createTestDirectory(t)
  const first = await startStorage(t, { root })
  await first.storage.put('local', 'report.txt', 'old')
  const program = new URL('fixtures/writer-process.ts', import.meta.url)
  const writers = [1, 2].map(() => watchProcess(t, fork(program, [root], { silent: true })))
  for (const writer of writers) await writer.until(() => writer.messages.length > 0, 'it writes')
  const files = () => drafts(root, 'local').map((name) => join(root, 'local/.drafts', name))
  const isBeat = (file: string) => file.endsWith('.beat')
  await until(
    () => files().filter((file) => !isBeat(file) && statSync(file).size > 0).length >= 2,
    'both drafts have content',
  )
  for (const writer of writers) await writer.end('SIGKILL')
  // On a slow host the writers have already written heartbeat files, which the test does not count.
  for (const file of files().filter(isBeat)) rmSync(file)
  t.equal(await text((await first.storage.open('local', 'report.txt')).content), 'old')
  t.equal(files().length, 2, 'half of the new content was written, twice')

  await sweep(first)
  t.equal(files().length, 2, 'a young draft may still have its writer')
  const [dead, living] = files() as [string, string]
  for (const file of [dead, living]) age(file, 121)
  writeFileSync(`${living}.beat`, '.')
  age(`${living}.beat`, 100)
  await sweep(first)
  t.same(files().sort(), [living, `${living}.beat`].sort())
  age(`${living}.beat`, 121)
  await sweep(first)
  t.same(files(), [])
  t.equal(await text((await first.storage.open('local', 'report.txt')).content), 'old')
  await t.resolves(Promise.resolve(sweep(await startStorage(t))), 'a disk that was never written to has none')
})

t.test('a slow writer renews its lease, and a writer that lost its lease gets an error', async (t) => {
  const started = await startStorage(t)
  const { storage, root, clock } = started
  const slow = () => {
    const rest = Promise.withResolvers<void>()
    const content = async function* () {
      yield 'first, '
      await rest.promise
      yield 'last'
    }
    return { rest, written: storage.put('local', 'slow.txt', content()) }
  }
  const sizes = () =>
    existsSync(join(root, 'local/.drafts'))
      ? drafts(root, 'local').map((name) => statSync(join(root, 'local/.drafts', name)).size)
      : []
  const ageAll = async () => {
    await until(() => sizes().includes('first, '.length), 'the draft has its first part')
    for (const name of drafts(root, 'local')) age(join(root, 'local/.drafts', name), 121)
  }
  const patient = slow()
  await ageAll()
  await clock.advance(10_000)
  await until(() => drafts(root, 'local').some((name) => name.endsWith('.beat')), 'the draft has its mark')
  await sweep(started)
  patient.rest.resolve()
  t.match(await patient.written, { size: 11 })
  t.same(drafts(root, 'local'), [], 'its signs of life go with its draft')

  const stopped = slow()
  await ageAll()
  await sweep(started)
  t.same(drafts(root, 'local'), [])
  stopped.rest.resolve()
  await rejectsWith(t, stopped.written, { code: 'PLINTH_STORAGE_DRAFT_LOST' })
  t.equal(await text((await storage.open('local', 'slow.txt')).content), 'first, last', 'what was there stays')
  t.same(drafts(root, 'local'), [])
})

t.test('disks can be disabled, and unknown disks are rejected', async (t) => {
  const { storage, get } = await startStorage(t, { config: { 'platform.storage.disks.public.enabled': false } })
  const off = { code: '503', reason: 'storage.disk-disabled', message: /"public"/ }
  await rejectsWith(t, storage.put('public', 'a', 'x'), off)
  await rejectsWith(t, storage.open('public', 'a'), off)
  await rejectsWith(t, storage.resolveUrl('public', 'a'), off)
  t.equal((await get('/storage/a')).status, 404)
  t.same(storage.disks(), [
    { name: 'public', visibility: 'public', enabled: false },
    { name: 'local', visibility: 'private', enabled: true },
  ])
  await rejectsWith(t, storage.stat('cloud', 'a'), { code: '404', reason: 'storage.disk-unknown', message: /"cloud"/ })
  await rejectsWith(t, storage.put('local', '../a', 'x'), {
    code: '400',
    reason: 'storage.path-invalid',
    data: { rule: 'wrong-segment' },
  })
})

t.test('disks of third parties are used by their names', async (t) => {
  const disk = memoryDisk('private')
  const settings = { 'platform.storage.local-disk': 'memory' }
  const { storage, get } = await startStorage(t, { plugins: [diskPlugin('memory', disk)], config: settings })
  t.equal(storage.localDisk, 'memory')
  t.equal(storage.publicDisk, 'public')
  await storage.put('memory', 'a/b.txt', 'kept')
  t.equal(disk.files.get('a/b.txt')?.toString(), 'kept')
  t.equal(await text((await storage.open('memory', 'a/b.txt')).content), 'kept')
  t.same((await collectAll(storage.list('memory', 'a'))).length, 1)
  await rejectsWith(t, storage.put('memory', '../x', 'x'), { code: '400', reason: 'storage.path-invalid' })
  await storage.probe('memory', AbortSignal.timeout(120_000))
  t.same([...disk.files.keys()], ['a/b.txt'], 'a probe leaves nothing')

  const response = await get(await storage.resolveUrl('memory', 'a/b.txt', { name: 'download.txt' }))
  t.equal(await response.text(), 'kept', 'the product sends what the disk has no address for')
  t.match(response.headers.get('content-disposition'), /^attachment; filename="download.txt"/)

  let isBroken = false
  const swept: string[] = []
  const ownUrls: Disk = {
    ...disk,
    open: async (path) => {
      const file = await disk.open(path)
      return file && isBroken
        ? { ...file, content: Readable.from([Buffer.from('other')], { objectMode: false }) }
        : file
    },
    url: async (path, { expiresInMs, name }) => `https://files.example/${path}?${expiresInMs}&${name}`,
    sweep: async () => {
      swept.push('memory')
      throw new Error('no order')
    },
  }
  const last: Disk = { ...memoryDisk('private'), sweep: async () => void swept.push('last') }
  const plugins = [diskPlugin('memory', ownUrls), { ...diskPlugin('last', last), id: 'acme.last' }]
  const second = await startStorage(t, { plugins, config: settings })
  const url = (options?: object) => second.storage.resolveUrl('memory', 'a', options)
  t.equal(await url({ expiresInMs: 7 }), 'https://files.example/a?7&undefined')
  t.equal(await url({ name: 'x'.repeat(201) }), `https://files.example/a?300000&${'x'.repeat(200)}`)
  second.storage.guardUrls('acme', async () => {})
  t.match(
    await url({ grant: { guard: 'acme', subject: '7' } }),
    /^\/api\/v1\/storage\/files\/memory\/a\?.*grant=acme%3A7/,
  )
  isBroken = true
  await rejectsWith(t, second.storage.probe('memory', AbortSignal.timeout(120_000)), {
    message: 'Disk "memory" reads what was not written',
  })
  t.same([...disk.files.keys()], ['a/b.txt'], 'a failed probe leaves nothing')
  swept.length = 0
  await rejectsWith(t, () => sweep(second), { message: 'no order' })
  t.same(swept, ['memory', 'last'], 'a disk that fails does not keep the others from being swept')
})

t.test('a driver stores the files of a standard disk under its name', async (t) => {
  const [shared, hidden] = [memoryDisk('public'), memoryDisk('private')]
  const plugins = [
    diskPlugin('shared', shared),
    { ...diskPlugin('hidden', { ...hidden, url: async () => 'own' }), id: 'acme.other' },
  ]
  const config = {
    'platform.storage.disks.public.driver': 'shared',
    'platform.storage.disks.local.driver': 'hidden',
  }
  const { storage, get, root } = await startStorage(t, { plugins, config })
  t.same(
    storage.disks().map(({ name, visibility }) => [name, visibility]),
    [
      ['public', 'public'],
      ['local', 'private'],
    ],
  )
  await storage.put(storage.publicDisk, 'a.txt', 'for all')
  await storage.put(storage.localDisk, 'b.txt', 'secret')
  t.same([[...shared.files.keys()], [...hidden.files.keys()]], [['a.txt'], ['b.txt']])
  t.equal(await (await get(await storage.resolveUrl('public', 'a.txt'))).text(), 'for all')
  t.equal(await storage.resolveUrl('local', 'b.txt'), 'own')
  storage.guardUrls('acme', async () => {}, 'guarded')
  t.match(await storage.resolveUrl('local', 'guarded/b.txt'), /^\/api\/v1\/storage\/files\/local\//)
  t.notOk(existsSync(join(root, 'local')), 'no directory is created')

  const wrong = startStorage(t, { plugins, config: { 'platform.storage.disks.local.driver': 'shared' } })
  await rejectsWith(t, wrong, { cause: { code: 'PLINTH_STORAGE_DISK_VISIBILITY' } })
  const unknown = startStorage(t, { config: { 'platform.storage.disks.local.driver': 's3-private' } })
  await rejectsWith(t, unknown, { cause: { code: 'PLINTH_STORAGE_DISK_UNKNOWN' } })
})

t.test('a new file does not replace another one', async (t) => {
  const { storage } = await startStorage(t, { plugins: [diskPlugin('memory', memoryDisk('private'))] })
  await storage.put('local', 'a', 'first', { onlyNew: true })
  await rejectsWith(t, storage.put('local', 'a', 'second', { onlyNew: true }), {
    code: '409',
    reason: 'storage.file-exists',
  })
  t.equal(await text((await storage.open('local', 'a')).content), 'first')
  await rejectsWith(t, storage.put('local', 'a/b', 'x', { onlyNew: true }), { reason: 'storage.path-taken' })
  const results = await Promise.allSettled(
    Array.from({ length: 8 }, (_, index) => storage.put('local', 'b', `${index}`, { onlyNew: true })),
  )
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
  await t.rejects(storage.put('memory', 'a', 'x', { onlyNew: true }), TypeError)
})

t.test('an unavailable disk is reported, and a replaced file is opened again', async (t) => {
  const disk = memoryDisk('private')
  let replacements = 2
  const remote: Disk = {
    ...disk,
    stat: async () => {
      throw diskUnavailable('no response')
    },
    hold: async (path) => ({
      path,
      size: 3,
      modifiedAt: new Date(0),
      version: 'v',
      close: async () => {},
      read: () =>
        Readable.from(
          (async function* () {
            if (replacements-- > 0) throw fileReplaced()
            yield Buffer.from('new')
          })(),
          { objectMode: false },
        ),
    }),
  }
  const { storage, get } = await startStorage(t, { plugins: [diskPlugin('remote', remote)] })
  await rejectsWith(t, storage.stat('remote', 'a'), { code: 'PLINTH_STORAGE_DISK_UNAVAILABLE', message: /no response/ })
  const url = await storage.resolveUrl('remote', 'a.txt')
  t.equal(await (await get(url)).text(), 'new')
  replacements = 100
  t.hasStrict(await (await get(url)).json(), { code: '500' })
})

t.test('a start with unusable disks is rejected with a fix', async (t) => {
  const start = (name: string, visibility: Disk['visibility'], config: Record<string, string>) =>
    startStorage(t, { plugins: [diskPlugin(name, memoryDisk(visibility))], config })
  const publicDisk = 'platform.storage.public-disk'
  await rejectsWith(t, start('s3', 'public', { [publicDisk]: 's4' }), {
    cause: { code: 'PLINTH_STORAGE_DISK_UNKNOWN' },
    message: /unknown disk "s4"\. Available disks: public, local, s3/,
  })
  await rejectsWith(t, start('s3', 'private', { [publicDisk]: 's3' }), {
    cause: { code: 'PLINTH_STORAGE_DISK_VISIBILITY' },
    message: /needs a public disk, but disk "s3" is private/,
  })
  await rejectsWith(t, start('s3', 'private', { 'platform.storage.local-disk': 'public' }), {
    message: /needs a private disk/,
  })
  await rejectsWith(t, start('local', 'private', {}), {
    cause: { code: 'PLINTH_STORAGE_DISK_NAME' },
    message: /"local" cannot be used as the name of a disk/,
  })
  await rejectsWith(t, start('S 3', 'private', {}), {
    cause: { code: 'PLINTH_CONTRIBUTION_INVALID' },
    message: /is "S 3"/,
  })
})

t.test('health check and probe report whether files can be written', async (t) => {
  const { storage, root, get } = await startStorage(t)
  t.equal((await get('/health/ready')).status, 200)
  await storage.probe('public', AbortSignal.timeout(120_000))
  t.same(await collectAll(storage.list('public')), [])

  const blocked = createTestDirectory(t)
  writeFileSync(join(blocked, 'local'), 'a file where the disk should be')
  const broken = await startStorage(t, { root: blocked })
  await t.rejects(broken.storage.probe('local', AbortSignal.timeout(120_000)))
  const response = await broken.get('/health/ready')
  t.equal(response.status, 503)
  t.notMatch(await response.text(), blocked, 'no path is told')
  t.ok(existsSync(root))
})

t.test('the product starts although its directory cannot be created', async (t) => {
  const root = createTestDirectory(t)
  writeFileSync(join(root, 'file'), '')
  const { storage, get } = await startStorage(t, { root: join(root, 'file/storage') })
  await t.rejects(storage.put('local', 'a', 'x'))
  await rejectsWith(t, storage.resolveUrl('local', 'a'), { code: 'PLINTH_STORAGE_SIGNING_KEY_FILE' })
  t.equal((await get('/health/ready')).status, 503)
  const failure = directoryErrorOf('local', Object.assign(new Error('not a directory'), { code: 'ENOTDIR' }))
  t.equal(failure?.code, 'PLINTH_STORAGE_DISK_DIRECTORY')
})

t.test('the directory is next to the product file, and no server is needed', async (t) => {
  const root = createTestDirectory(t)
  const product = { ...defineProduct({ name: 'test', plugins: [storagePlugin] }), root }
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  t.equal(running.service(storage).root, join(root, 'data/storage'))
  await running.service(storage).put('local', 'a', 'x')
  t.ok(existsSync(join(root, 'data/storage/local/a')))
})
