/** Tests disks that cannot be written. The health check reports them, and calls fail as unavailable. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertMembers, manualClock, rejectsWith } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import { definePlugin, healthCheck } from '@plinth/kernel'
import { storage } from '@plinth/storage'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { diskPlugin, memoryDisk } from './fixtures/memory-disk.ts'
import { createTestDirectory, startStorage } from './fixtures/product.ts'

/** A plugin whose route stores the body of a request as a file. */
const upload = definePlugin({
  id: 'upload',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http, storage },
  setup({ services: { http: server, storage: files } }) {
    server.route({
      method: 'POST',
      path: '/api/v1/upload/:disk',
      summary: 'Stores a file',
      access: 'public',
      request: { params: Type.Object({ disk: Type.String() }) },
      response: Type.Null(),
      async handler({ params }) {
        await files.put(params.disk, 'a.txt', 'x'.repeat(64 * 1024))
        return null
      },
    })
  },
})

async function start(t: Test, root: string, plugins: Parameters<typeof startStorage>[1] = {}) {
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
  const clock = manualClock()
  const started = await startStorage(t, {
    root,
    logger,
    clock,
    ...plugins,
    plugins: [upload, ...(plugins.plugins ?? [])],
  })
  const check = async () => started.running.contributions(healthCheck).get('storage')?.(new AbortController().signal)
  const put = async (disk = 'local') => {
    const response = await started.get(`/api/v1/upload/${disk}`, { method: 'POST' })
    const { code } = (await response.json()) as { code: string }
    return { status: response.status, code, retryAfter: response.headers.get('retry-after') }
  }
  const errors = () => lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 50)
  return { ...started, check, put, errors, lines, clock }
}

const unavailable = { status: 503, code: '503', retryAfter: '5' }
const available = { status: 200, code: '200' }

const fileSystems = [
  { title: 'a full disk', options: 'size=4m', fill: fillBytes },
  {
    title: 'a disk without inodes',
    options: 'size=16m,nr_inodes=200',
    fill: fillInodes,
  },
  { title: 'a read-only disk', options: 'size=16m', fill: remount },
]

function fillBytes(directory: string) {
  const filler = join(directory, 'filler')
  assert.throws(() => writeFileSync(filler, Buffer.alloc(16 * 1024 * 1024)), { code: 'ENOSPC' })
  return () => rmSync(filler)
}

function fillInodes(directory: string) {
  const fillers = join(directory, 'fillers')
  mkdirSync(fillers)
  assert.throws(
    () => {
      for (let n = 0; n < 1_000; n++) writeFileSync(join(fillers, String(n)), '')
    },
    { code: 'ENOSPC' },
  )
  return () => rmSync(fillers, { recursive: true })
}

function remount(directory: string) {
  execFileSync('mount', ['-o', 'remount,ro', directory])
  return () => execFileSync('mount', ['-o', 'remount,rw', directory])
}

for (const { title, options, fill } of fileSystems) {
  t.test(`${title} makes the product not ready, and files are unavailable`, async (t) => {
    const directory = join(createTestDirectory(t), 'small')
    mkdirSync(directory)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', directory], { stdio: 'ignore' })
    } catch {
      t.test('the disk', { skip: 'no file system of a limited size can be mounted here' }, () => {})
      return
    }
    t.teardown(() => execFileSync('umount', ['-l', directory]))
    const { check, put, errors, clock } = await start(t, join(directory, 'storage'))
    await check()
    t.match(await put(), available)
    t.same(readdirSync(join(directory, 'storage/local/.drafts')), [], 'the check leaves no file')
    const free = fill(directory)
    for (let count = 0; count < 5; count++) t.same(await put(), unavailable)
    await clock.advance(5_001)
    await rejectsWith(t, check(), { code: /^E(?:NOSPC|ROFS)$/ })
    await rejectsWith(t, check(), { code: /^E(?:NOSPC|ROFS)$/ }, 'a failure proves nothing')
    assertMembers(t, errors(), [{ disk: 'local', msg: 'a disk of the storage cannot be used' }])
    t.equal(errors().length, 1, 'one line for the state')
    t.notMatch(JSON.stringify(errors()), /"stack"/, 'without a stack')
    free()
    await check()
    t.match(await put(), available)
  })
}

t.test('a disk that fails for ten seconds makes the product not ready, although its check succeeds', async (t) => {
  const faulty = memoryDisk('private')
  const { write } = faulty
  let isFailing = true
  const full = Object.assign(new Error('failed'), { code: 'EMFILE' })
  faulty.write = (path, content) => (isFailing ? Promise.reject(full) : write(path, content))
  const plugins = [diskPlugin('acme', faulty)]
  const { put, check, clock } = await start(t, createTestDirectory(t), { plugins })
  for (let second = 0; second < 10; second += 5) {
    t.same(await put('acme'), unavailable)
    await check()
    await clock.advance(5_000)
  }
  t.same(await put('acme'), unavailable)
  await rejectsWith(t, check(), { code: 'PLINTH_STORAGE_DISK_UNAVAILABLE' })
  await clock.advance(10_001)
  await check()
  t.same(await put('acme'), unavailable)
  await check()
  isFailing = false
  await clock.advance(5_000)
  t.match(await put('acme'), available)
})

t.test(
  'too many open files, and errors of other disks, are unavailable; programming errors of a disk are not',
  async (t) => {
    const faulty = { ...memoryDisk('private'), code: 'EMFILE' }
    faulty.write = () => Promise.reject(Object.assign(new Error('failed'), { code: faulty.code }))
    const { put, running } = await start(t, createTestDirectory(t), { plugins: [diskPlugin('acme', faulty)] })
    for (const code of ['EMFILE', 'ENFILE', 'EDQUOT']) {
      faulty.code = code
      t.same(await put('acme'), unavailable, code)
      const error = { code: 'PLINTH_STORAGE_DISK_UNAVAILABLE' }
      await rejectsWith(t, running.service(storage).put('acme', 'a.txt', 'x'), error, code)
    }
    faulty.code = 'ACME_BUG'
    t.hasStrict(await put('acme'), { status: 200, code: '500' })
  },
)
