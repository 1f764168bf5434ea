/** Tests the effect of each configuration key of backups. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { backupSchedule, backupSettings, expiredBackups } from '@plinth/backup/parts'
import { assertKeyEffect, type KeyValues, startForTest, throwsWith } from '@plinth/dev/testing'
import { healthCheck } from '@plinth/kernel'
import t from 'tap'
import { fullProduct, inMemoryConfig } from '../effects/product.ts'
import { recipient } from './backups.ts'

t.setTimeout(300_000)

const start = async (config: KeyValues) => {
  const set = Object.fromEntries(
    Object.entries(config).map(([key, value]) => [key, Array.isArray(value) ? value.join(',') : String(value)]),
  )
  const running = await startForTest(fullProduct, { roles: ['cli'], set: { ...inMemoryConfig, ...set } })
  t.teardown(() => running.stop('test ended'))
  return running
}
const settingsOf = async (config: KeyValues) => (await start(config)).service(backupSettings)

t.test('keys decide where backups are stored and what they contain', async (t) => {
  const found = [
    await assertKeyEffect(t, 'platform.backup.directory', {
      changed: '/srv/backups',
      observe: async (config) => (await settingsOf(config)).place.name,
    }),
    await assertKeyEffect(t, 'platform.backup.disk', {
      changed: 'local',
      observe: async (config) => (await settingsOf(config)).place.name,
    }),
    await assertKeyEffect(t, 'platform.backup.disks', {
      changed: ['local'],
      observe: async (config) => [...(await settingsOf(config)).disks.keys()],
    }),
    await assertKeyEffect(t, 'platform.backup.work-directory', {
      changed: '/srv/work',
      observe: async (config) => (await settingsOf(config)).workDirectory,
    }),
    await assertKeyEffect(t, 'platform.backup.tools-directory', {
      changed: '/srv/bin',
      observe: async (config) => (await settingsOf(config)).toolsDirectory,
    }),
  ]
  t.same(
    found.flat().map(({ after }) => after),
    ['/srv/backups', 'the storage disk "local"', ['local'], '/srv/work', '/srv/bin'],
  )
  const { place } = await settingsOf({ 'platform.backup.disk': 'public' })
  throwsWith(t, () => place.disk, { code: 'PLINTH_BACKUP_PLACE' })
})

t.test('the retention deletes what its keys do not keep', async (t) => {
  const dayMs = 86_400_000
  const backups = Array.from({ length: 800 }, (_, day) => ({ id: String(day), createdAt: day * dayMs }))
  await assertKeyEffect(t, 'platform.backup.keep-{daily,weekly,monthly}', {
    changed: 2,
    observe: async (config) => expiredBackups(backups, (await settingsOf(config)).retention).length,
  })
})

t.test('keys decide whether the product makes backups, and how often', async (t) => {
  const found = [
    await assertKeyEffect(t, 'platform.backup.auto-startup', {
      changed: false,
      observe: async (config) =>
        (await start(config)).scheduledTasks.find(({ name }) => name === 'backup.create')?.autoStartup(),
    }),
    await assertKeyEffect(t, 'platform.backup.interval', {
      changed: '48h',
      observe: async (config) => (await start(config)).service(backupSchedule).intervalMs,
    }),
  ]
  t.same(
    found.flat().map(({ after }) => after),
    [false, 48 * 3_600_000],
  )
})

t.test('the health check warns by age, if a recipient is set', async (t) => {
  const directory = t.testdir({})
  const createdAt = new Date(Date.now() - 2 * 3_600_000).toISOString()
  const id = createdAt.replaceAll(/[:.]/g, '-')
  const manifest = {
    format: 1,
    id,
    product: fullProduct.name,
    productVersion: '1.0.0',
    createdAt,
    provenAt: createdAt,
    recipient,
    dialect: 'sqlite',
    databaseVersion: '3',
    plugins: {},
    tables: 0,
    rows: 0,
    files: 0,
    bytes: 0,
    objects: [],
    earlierFailures: [],
    seconds: 1,
  }
  await mkdir(join(directory, id))
  await writeFile(join(directory, id, 'manifest.json'), JSON.stringify(manifest))
  const place = { 'platform.backup.directory': directory }
  const warningsWith = async (config: KeyValues) => {
    const running = await start({ ...place, ...config })
    const check = running.contributions(healthCheck).get('backup')
    return (await check?.(AbortSignal.timeout(10_000)))?.warnings?.length
  }
  const ages = await assertKeyEffect(t, 'platform.backup.max-age', {
    changed: '1h',
    observe: (config) => warningsWith({ 'platform.backup.recipient': recipient, ...config }),
  })
  t.same(
    ages.map(({ before, after }) => [before, after]),
    [[0, 1]],
  )
  await assertKeyEffect(t, 'platform.backup.recipient', {
    changed: recipient,
    observe: (config) => warningsWith({ 'platform.backup.max-age': '1h', ...config }),
  })
})
