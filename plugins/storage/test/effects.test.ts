/** Tests the effect of each configuration key of storage. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { assertKeyEffect, type KeyValues } from '@plinth/dev/testing'
import { headerPermissionGuard } from '@plinth/dev/testing/http'
import t from 'tap'
import { diskPlugin, memoryDisk } from './fixtures/memory-disk.ts'
import { createTestDirectory, startStorage } from './fixtures/product.ts'

t.test('public files and signed addresses are valid as long as configured', async (t) => {
  const observe = async (config: KeyValues) => {
    const { storage, get, clock } = await startStorage(t, { config })
    await storage.put('public', 'cat.png', 'meow!')
    const cached = (await get('/storage/cat.png')).headers.get('cache-control')
    const address = new URL(await storage.resolveUrl('local', 'a.png'), 'http://test')
    return { cached, lifetimeMs: Number(address.searchParams.get('expires')) * 1000 - clock.now() }
  }
  const [cached] = await assertKeyEffect(t, 'platform.storage.disks.public.max-age', { changed: '7m', observe })
  t.equal(cached?.after.cached, 'public, max-age=420')
  const [lifetime] = await assertKeyEffect(t, 'platform.storage.signed-url.lifetime', { changed: '90s', observe })
  t.equal(lifetime?.after.lifetimeMs, 90_000)
})

t.test('a disabled disk stores nothing', async (t) => {
  const outcomes = await assertKeyEffect(t, 'platform.storage.disks.{local,public}.enabled', {
    changed: false,
    observe: async (config, key) => {
      const { storage } = await startStorage(t, { config })
      const [disk, other] = key.includes('.local.') ? ['local', 'public'] : ['public', 'local']
      await storage.put(other, 'a.txt', 'text')
      return storage.put(disk, 'a.txt', 'text').then(
        () => 'stored',
        ({ code, reason }: { code: string; reason: string }) => `${code} ${reason}`,
      )
    },
  })
  for (const { before, after } of outcomes) t.same([before, after], ['stored', '503 storage.disk-disabled'])
})

t.test('a file is stored up to the maximum size', async (t) => {
  const [outcomes] = await assertKeyEffect(t, 'platform.storage.max-file-size', {
    changed: '1KiB',
    observe: async (config) => {
      const { storage } = await startStorage(t, { config })
      return storage.put('local', 'a', Buffer.alloc(1025)).then(
        () => 'stored',
        ({ reason }: { reason: string }) => reason,
      )
    },
  })
  t.same([outcomes?.before, outcomes?.after], ['stored', 'storage.file-too-large'])
})

t.test('uploads of a day are accepted up to the quotas', async (t) => {
  const content = Buffer.alloc(6 * 1024 * 1024).toString('base64')
  const outcomes = await assertKeyEffect(t, 'platform.storage.uploads.{max-user-bytes,max-total-bytes}', {
    changed: '10MiB',
    observe: async (config) => {
      const { server } = await startStorage(t, { config, plugins: [headerPermissionGuard] })
      const upload = async () => {
        const headers = { 'x-grants': 'storage:file:upload' }
        const payload = { name: 'a.png', content }
        const response = await server.inject({
          method: 'POST',
          url: '/api/v1/admin/storage/uploads',
          headers,
          payload,
        })
        return response.json().data.reason ?? 'stored'
      }
      return [await upload(), await upload()]
    },
  })
  t.same(
    outcomes.map(({ before, after }) => [before, after]),
    [
      [
        ['stored', 'stored'],
        ['stored', 'storage.upload-quota'],
      ],
      [
        ['stored', 'stored'],
        ['stored', 'storage.upload-total-quota'],
      ],
    ],
  )
})

t.test('files are stored in the directory', async (t) => {
  const [one, other] = [createTestDirectory(t), createTestDirectory(t)]
  const [places] = await assertKeyEffect(t, 'platform.storage.root', {
    compared: one,
    changed: other,
    observe: async (config) => {
      const { storage } = await startStorage(t, { config })
      await storage.put('local', 'a.txt', 'text')
      const found = [one, other].map((root) => existsSync(join(root, 'local/a.txt')))
      await storage.delete('local', 'a.txt')
      return found
    },
  })
  t.same(
    [places?.before, places?.after],
    [
      [true, false],
      [false, true],
    ],
  )
})

t.test('addresses begin with the configured address, and are signed with the key', async (t) => {
  const addressOf = (disk: string) => async (config: KeyValues) => {
    const { storage } = await startStorage(t, { config })
    return (await storage.resolveUrl(disk, 'a.png')).split('?')[0]
  }
  const proofs = [
    await assertKeyEffect(t, 'platform.storage.base-url', { changed: '/shop', observe: addressOf('public') }),
    await assertKeyEffect(t, 'platform.storage.disks.public.base-url', {
      changed: 'https://cdn.example.com',
      observe: addressOf('public'),
    }),
  ].flat()
  t.same(
    proofs.map(({ before, after }) => [before, after]),
    [
      ['/storage/a.png', '/shop/storage/a.png'],
      ['/storage/a.png', 'https://cdn.example.com/a.png'],
    ],
  )
  const [one, other] = ['first-key-'.repeat(4), 'second-key-'.repeat(4)]
  const [isServed] = await assertKeyEffect(t, 'platform.storage.signing-key', {
    compared: one,
    changed: other,
    observe: async (config) => {
      const root = createTestDirectory(t)
      const signing = await startStorage(t, { root, config: { 'platform.storage.signing-key': one } })
      await signing.storage.put('local', 'a', 'content')
      const url = await signing.storage.resolveUrl('local', 'a')
      const serving = await startStorage(t, { root, config })
      return (await (await serving.get(url)).text()) === 'content'
    },
  })
  t.match(isServed, { before: true, after: false })
})

t.test('another disk can store the files of a standard disk', async (t) => {
  const found = await assertKeyEffect(t, 'platform.storage.disks.{public,local}.driver', {
    changed: 'memory',
    observe: async (config, key) => {
      const name = key.includes('.public.') ? 'public' : 'local'
      const disk = memoryDisk(name === 'public' ? 'public' : 'private')
      const { storage } = await startStorage(t, { plugins: [diskPlugin('memory', disk)], config })
      await storage.put(name, 'a', 'content')
      return [...disk.files.keys()].length
    },
  })
  for (const { before, after } of found) t.same([before, after], [0, 1])
})

t.test('other disks can replace the default disks', async (t) => {
  const observe = async (config: KeyValues, key: string) => {
    const isPublic = key.endsWith('public-disk')
    const disk = diskPlugin('memory', memoryDisk(isPublic ? 'public' : 'private'))
    const { storage } = await startStorage(t, { plugins: [disk], config })
    return isPublic ? storage.publicDisk : storage.localDisk
  }
  const found = await assertKeyEffect(t, 'platform.storage.{public,local}-disk', { changed: 'memory', observe })
  t.same(
    found.map(({ before, after }) => [before, after]),
    [
      ['public', 'memory'],
      ['local', 'memory'],
    ],
  )
})
