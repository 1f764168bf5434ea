/** Tests files that users upload in forms: the upload, its place at a plugin, and the cleanup. */
import databasePlugin, { database } from '@plinth/database'
import { assertMembers, rejectsWith } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { headerPermissionGuard } from '@plinth/dev/testing/http'
import { http } from '@plinth/http'
import { type Clock, definePlugin, healthCheck, type JsonValue, type Plugin, service } from '@plinth/kernel'
import sharedStorePlugin from '@plinth/shared-store'
import { maxUploadBytes, uploads } from '@plinth/storage'
import t from 'tap'
import { safeFileName } from '../src/upload-service.ts'
import { collectAll, startStorage } from './fixtures/product.ts'

const photo = { types: ['image/*'], disk: 'public', directory: 'couriers' }

/** Plugin in place of the identity plugin. The header `x-user` contains the id of the caller. */
const userPlugin = definePlugin({
  id: 'test.users',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http },
  setup: ({ services }) =>
    services.http.guard({
      name: 'test-users',
      stage: 'access',
      forRoute: () => (request) => {
        Object.assign(request, { principal: { userId: Number(request.headers['x-user']) } })
      },
    }),
})

async function startUploads(
  t: Parameters<typeof startStorage>[0],
  plugins: readonly Plugin[] = [],
  config: Readonly<Record<string, JsonValue>> = {},
) {
  const started = await startStorage(t, { plugins: [headerPermissionGuard, ...plugins], config })
  const post = async (payload: object, permission = 'storage:file:upload', headers: Record<string, string> = {}) =>
    (
      await started.server.inject({
        method: 'POST',
        url: '/api/v1/admin/storage/uploads',
        headers: { 'x-grants': permission, 'accept-language': 'en', ...headers },
        payload,
      })
    ).json()
  const upload = async (name: string, content: string) =>
    (await post({ name, content: Buffer.from(content).toString('base64') })).data
  return { ...started, post, upload, uploads: started.running.service(uploads) }
}

t.test('an upload is private until a plugin takes it, and then it is at its place', async (t) => {
  const { get, storage, uploads, upload } = await startUploads(t)
  const { id, name, url } = await upload('Ann  Berg.PNG', 'picture')
  t.equal(name, 'Ann-Berg.png')
  t.equal(await (await get(url)).text(), 'picture', 'the form shows what was uploaded')
  t.equal((await get(`/storage/uploads/${id}`)).status, 404)

  const path = await uploads.take(id, photo)
  t.equal(path, `couriers/${id}`)
  t.equal(await uploads.take(id, photo), path, 'a repeated write has the same result')
  const view = await uploads.view('public', path)
  t.strictSame(view, { id: path, name: 'Ann-Berg.png', url: `/storage/${path}` })
  t.equal(await (await get(view.url)).text(), 'picture')
  await storage.delete('public', path)
  t.equal(await uploads.take(path, { ...photo, current: path }), path, 'the form sends the file that the object has')
})

t.test('only an upload with an accepted type and size is taken', async (t) => {
  const { uploads, upload } = await startUploads(t)
  const { id } = await upload('a.txt', 'text')
  await rejectsWith(t, uploads.take(id, { ...photo, field: 'photo' }), {
    reason: 'storage.upload-type',
    data: { field: 'photo' },
  })
  await rejectsWith(t, uploads.take(id, { ...photo, types: ['text/plain'], maxBytes: 3 }), {
    reason: 'storage.file-too-large',
  })
  const other = 'couriers/00000000-0000-0000-0000-000000000000/a.png'
  for (const wrong of [other, other.slice('couriers/'.length), '../a.png', id.replace('/', '/b/'), 'a.png'])
    await rejectsWith(t, uploads.take(wrong, { ...photo, field: 'photo' }), {
      reason: 'storage.upload-unknown',
      data: { field: 'photo' },
    })
})

t.test('an upload needs its permission, and is at most 10 MiB of Base64', async (t) => {
  const { post } = await startUploads(t)
  const content = Buffer.from('x').toString('base64')
  t.hasStrict(await post({ name: 'a.png', content }, 'storage:disk:view'), { code: '403' })
  t.hasStrict(await post({ name: 'a.png', content: 'a b!' }), { code: '400' })
  const largest = Buffer.alloc(maxUploadBytes, 1)
  t.hasStrict(await post({ name: 'a.png', content: largest.toString('base64') }), { code: '200' })
  const larger = Buffer.concat([largest, Buffer.from('x')])
  t.hasStrict(await post({ name: 'a.png', content: larger.toString('base64') }), {
    code: '400',
    data: { reason: 'storage.file-too-large' },
  })
})

t.test('an upload that no plugin has taken is deleted after a day', async (t) => {
  const { clock, running, storage, upload } = await startUploads(t)
  const sweep = () =>
    running.scheduledTasks.find(({ name }) => name === 'storage.sweep')?.run(new AbortController().signal)
  await sweep()
  await upload('a.png', 'picture')
  const [file] = await collectAll(storage.list('local', 'uploads'))
  const writtenAt = file?.modifiedAt.getTime() ?? 0
  const day = 24 * 60 * 60_000
  await clock.advance(Math.max(0, writtenAt + day - 60_000 - clock.now()))
  await sweep()
  t.equal((await collectAll(storage.list('local', 'uploads'))).length, 1)
  await clock.advance(2 * 60 * 60_000)
  await sweep()
  t.equal((await collectAll(storage.list('local', 'uploads'))).length, 0)
})

t.test('a clock of the host that is ahead of the database deletes no upload', async (t) => {
  const reference = service<{ readonly clock: Clock }>('database')
  const plugin = definePlugin({
    id: 'database',
    version: '1.0.0',
    kernel: '^1.0.0',
    provides: [reference],
    setup: ({ provide, clock }) => provide(reference, { clock: { ...clock, now: () => Date.now() } }),
  })
  const { clock, running, storage, upload } = await startUploads(t, [plugin])
  await upload('a.png', 'picture')
  clock.shiftWallClock(Date.now() + 48 * 60 * 60_000 - clock.now())
  await running.scheduledTasks.find(({ name }) => name === 'storage.sweep')?.run(new AbortController().signal)
  t.equal((await collectAll(storage.list('local', 'uploads'))).length, 1)
})

t.test('the name of a file on the disk has only safe characters', (t) => {
  const names = {
    'Foto 1.JPG': 'Foto-1.jpg',
    '照片.png': '照片.png',
    '../../etc/passwd': 'etc-passwd',
    'con.txt': 'file.txt',
    '.env': 'file.env',
    '???': 'file',
    '': 'file',
    [`${'a'.repeat(300)}.pdf`]: `${'a'.repeat(40)}.pdf`,
    'a%2f<b>.html': 'a-2f-b.html',
  }
  for (const [name, safe] of Object.entries(names)) t.equal(safeFileName(name), safe, name)
  t.end()
})

const mebibytes = (count: number) => Buffer.alloc(count * 1024 * 1024, 1).toString('base64')
const quotas = {
  'platform.storage.uploads.max-user-bytes': '10MiB',
  'platform.storage.uploads.max-total-bytes': '15MiB',
}

t.test('uploads have a quota per user and day, and one for all users together', async (t) => {
  const { post, clock, running, storage } = await startUploads(t, [userPlugin], quotas)
  const check = () => running.contributions(healthCheck).get('storage')?.(new AbortController().signal)
  const upload = (user: string, size: number) =>
    post({ name: 'a.png', content: mebibytes(size) }, 'storage:file:upload', { 'x-user': user })
  t.hasStrict(await upload('1', 6), { code: '200' })
  t.same(await check(), { warnings: [] })
  const denied = await upload('1', 5)
  t.hasStrict(denied, {
    code: '429',
    message: 'You can upload at most 10 MiB per day. Try again in 24 h.',
    data: { reason: 'storage.upload-quota', limit: 10 * 1024 * 1024, retryAfter: 86_400 },
  })
  t.hasStrict(await upload('1', 4), { code: '200' }, 'a rejected upload takes nothing')
  t.hasStrict(await upload('2', 6), {
    code: '503',
    data: { reason: 'storage.upload-total-quota', limit: 15 * 1024 * 1024, retryAfter: 86_400 },
  })
  t.equal((await collectAll(storage.list('local', 'uploads'))).length, 2)
  t.hasStrict(await upload('2', 3), { code: '200' })
  assertMembers(t, await check(), { warnings: [/13 of 15 MiB.*platform\.storage\.uploads\.max-total-bytes/] })
  await clock.advance(86_400_000)
  t.same(await check(), { warnings: [] })
  t.hasStrict(await upload('1', 10), { code: '200' }, 'a day later')
})

t.test('all instances count uploads together, and each its own if they cannot', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const plugins = [userPlugin, databasePlugin, sharedStorePlugin]
  const config = { ...quotas, ...db.config }
  const one = await startUploads(t, plugins, config)
  const two = await startUploads(t, plugins, config)
  const upload = ({ post }: typeof one, size: number) =>
    post({ name: 'a.png', content: mebibytes(size) }, 'storage:file:upload', { 'x-user': '1' })
  t.hasStrict(await upload(one, 6), { code: '200' })
  t.hasStrict(await upload(two, 5), { code: '429', data: { reason: 'storage.upload-quota' } })
  await two.running.service(database).execute('drop table shared_store_entry')
  t.hasStrict(await upload(two, 5), { code: '200' })
  t.hasStrict(await upload(two, 6), { code: '429', data: { reason: 'storage.upload-quota' } })
})
