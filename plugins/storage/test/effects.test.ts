/** What keys of the storage do that no other test is about. */
import t from 'tap'
import { startStorage } from './fixtures/product.ts'

t.test('how long browsers keep public files, and how long a signed address lives', async (t) => {
  const { storage, get, clock } = await startStorage(t, {
    config: { 'platform.storage.disks.public.max-age': '7m', 'platform.storage.signed-url.lifetime': '90s' },
  })
  await storage.put('public', 'cat.png', 'meow!')
  const kept = (await get('/storage/cat.png')).headers.get('cache-control')
  t.equal(kept, 'public, max-age=420', 'effect of platform.storage.disks.public.max-age')
  const address = new URL(await storage.resolveUrl('local', 'a.png'), 'http://test')
  const lifetimeMs = Number(address.searchParams.get('expires')) * 1000 - clock.now()
  t.equal(lifetimeMs, 90_000, 'effect of platform.storage.signed-url.lifetime')
})

t.test('a disk that is switched off takes and gives nothing', async (t) => {
  for (const disk of ['local', 'public'] as const) {
    const { storage } = await startStorage(t, { config: { [`platform.storage.disks.${disk}.enabled`]: false } })
    const refused = storage.put(disk, 'a.txt', 'text')
    await t.rejects(refused, { code: /./ }, 'effects of platform.storage.disks.{local,public}.enabled')
    await storage.put(disk === 'local' ? 'public' : 'local', 'a.txt', 'text')
  }
})
