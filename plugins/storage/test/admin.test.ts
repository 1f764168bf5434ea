import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { headerPermissionGuard } from '@plinth/dev/testing/http'
import { http } from '@plinth/http'
import t from 'tap'
import { pages } from '../src/admin-routes.ts'
import { diskPlugin, memoryDisk } from './fixtures/memory-disk.ts'
import { createTestDirectory, startStorage } from './fixtures/product.ts'

const path = '/api/v1/admin/storage/disks'

async function startDisks(t: Parameters<typeof startStorage>[0], settings: Parameters<typeof startStorage>[1] = {}) {
  const started = await startStorage(t, { ...settings, plugins: [headerPermissionGuard, ...(settings.plugins ?? [])] })
  const call = async (url: string, permission = 'storage:disk:view') =>
    (await started.server.inject({ url, headers: { 'x-grants': permission, 'accept-language': 'en' } })).json()
  return { ...started, call }
}

t.test('A15 operators see each disk, whether it is writable and what it contains', async (t) => {
  const full = {
    ...memoryDisk('private'),
    verify: () => Promise.reject(Object.assign(new Error('/secret/place is full'), { code: 'ENOSPC' })),
  }
  const { running, storage, call } = await startDisks(t, {
    plugins: [diskPlugin('acme', full)],
    config: { 'platform.storage.disks.public.enabled': false },
  })
  t.hasStrict(await call(path, 'storage:disk:other'), { code: '403' })
  const { routes } = running.service(http)
  const scopes = routes.filter(({ path: url }) => url.startsWith(path)).map(({ access }) => access)
  const whole = { permission: 'storage:disk:view', scope: 'all' }
  t.same(scopes, [whole, whole], 'a disk contains the files of all organisations')
  await storage.put('local', 'exports/a.csv', 'abc')
  await storage.put('local', 'exports/b.csv', 'defgh')

  const { data } = await call(path)
  t.same(data, [
    { name: 'public', visibility: 'public', enabled: false, state: 'disabled', fault: null },
    { name: 'local', visibility: 'private', enabled: true, state: 'ready', fault: null },
    { name: 'acme', visibility: 'private', enabled: true, state: 'failing', fault: 'ENOSPC' },
  ])
  t.notMatch(JSON.stringify(data), /secret/, 'the place of the disk stays inside')

  const local = (await call(`${path}/local`)).data
  t.hasStrict(local, { state: 'ready', files: 2, bytes: 8, complete: true })
  t.type(local.newestAt, 'string')
  t.hasStrict((await call(`${path}/public`)).data, { state: 'disabled', files: 0, newestAt: null, complete: false })
  t.hasStrict((await call(`${path}/acme`)).data, { state: 'failing', files: 0, complete: false })
  t.hasStrict(await call(`${path}/none`), { code: '404', data: { reason: 'storage.disk-unknown' } })
})

t.test('counting the files of a large disk stops, and the result says that it is incomplete', async (t) => {
  let listed = 0
  const endless = {
    ...memoryDisk('private'),
    async *list() {
      for (;;) yield { path: `${listed++}`, size: 2, modifiedAt: new Date(listed === 5 ? 7_000 : 0) }
    },
  }
  const { call } = await startDisks(t, { plugins: [diskPlugin('acme', endless)] })
  const newestAt = new Date(7_000).toISOString()
  t.match((await call(`${path}/acme`)).data, { files: 10_000, bytes: 20_000, complete: false, newestAt })
  t.equal(listed, 10_001)
})

t.test('a disk that never responds fails at the deadline', async (t) => {
  const requested = Promise.withResolvers<void>()
  const silent = {
    ...memoryDisk('private'),
    verify() {
      requested.resolve()
      return new Promise<void>(() => {})
    },
  }
  const { call, clock } = await startDisks(t, { plugins: [diskPlugin('acme', silent)] })
  const response = call(`${path}/acme`)
  await requested.promise
  await clock.advance(5_000)
  t.hasStrict((await response).data, { state: 'failing', fault: 'ETIMEDOUT' })
})

t.test('a directory that is a file cannot be written to', async (t) => {
  const root = createTestDirectory(t)
  await writeFile(join(root, 'local'), 'in the way')
  const { call } = await startDisks(t, { root })
  t.hasStrict((await call(`${path}/local`)).data, { state: 'failing', fault: 'EEXIST' })
})

t.test('the list of disks shows the names of the disks of the product', async (t) => {
  const [list] = pages
  t.strictSame(list?.kind === 'list' && list.columns[0]?.labels?.['public'], {
    en: 'Public files',
    'zh-CN': '公开文件',
  })
})
