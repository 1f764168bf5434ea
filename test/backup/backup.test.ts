import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { backupId, listBackups, Vault, verifyBackup } from '@plinth/backup/parts'
import type { ConnectionSettings } from '@plinth/database/stored-data'
import { rejectsWith } from '@plinth/dev/testing'
import { everyDialect } from '@plinth/dev/testing/database'
import t from 'tap'
import { changeSets, emptyDatabase, filledDatabase } from '../move/databases.ts'
import {
  backUp as backUpAll,
  backupFilesIn,
  contextOf,
  digestsOf,
  filesIn,
  identity,
  restoreTo as restoreAllTo,
  type Site,
  writeFiles,
} from './backups.ts'

/** Some tables with all kinds of columns. The proof uses all tables. */
const plugins = changeSets.filter(({ plugin }) => ['iam', 'money'].includes(plugin))
const backUp = (site: Site, more: Parameters<typeof backUpAll>[1] = {}) =>
  backUpAll(site, { changeSets: plugins, ...more })
const restoreTo = (site: Site, id: string, more: Parameters<typeof restoreAllTo>[2] = {}) =>
  restoreAllTo(site, id, { changeSets: plugins, ...more })

for (const { dialect, skip } of everyDialect) {
  t.test(
    `${dialect}: a backup is restored with the secret key, and nothing is left over`,
    { skip, timeout: 300_000 },
    async (t) => {
      const root = t.testdir({})
      const site = { root, database: await filledDatabase(t, dialect, 3, plugins), backups: join(root, 'backups') }
      await writeFiles(site, 2)
      const { place } = contextOf(site)
      const manifest = await backUp(site)
      const { complete, unfinished } = await listBackups(place)
      t.same(complete, [manifest])
      t.same(unfinished, [])
      const signal = new AbortController().signal
      t.equal((await verifyBackup({ place, id: manifest.id, signal, identity })).rows, manifest.rows)
      const target = { root: join(root, 'restored'), database: await emptyDatabase(t, dialect), backups: site.backups }
      await restoreTo(target, manifest.id)
      t.same(await digestsOf(target.database, plugins), await digestsOf(site.database, plugins))
      t.equal(
        await readFile(join(target.root, 'data/master.key'), 'utf8'),
        await readFile(join(root, 'data/master.key'), 'utf8'),
      )
      t.same(await filesIn(join(root, 'work')), [])
      await rejectsWith(t, restoreTo(target, manifest.id), { code: 'PLINTH_BACKUP_TARGET' })
    },
  )
}

t.test('without a valid recipient, nothing is written', async (t) => {
  const root = t.testdir({})
  const site = { root, database: await filledDatabase(t, 'sqlite', 1, plugins), backups: join(root, 'backups') }
  for (const recipient of ['', 'age1', 'ssh-ed25519 AAAA', identity]) {
    await rejectsWith(t, backUp(site, { recipient }), { code: 'PLINTH_BACKUP_RECIPIENT' })
  }
  t.same(await filesIn(site.backups), [])
})

t.test('a failed check of the product on the copy removes the backup', async (t) => {
  const root = t.testdir({})
  const site = { root, database: await filledDatabase(t, 'sqlite', 1, plugins), backups: join(root, 'backups') }
  const failed = { check: 'data of money.ledger', outcome: 'failed', detail: 'unbalanced s3cret' } as const
  const examine = async (set: object) => (Object.keys(set).length > 0 ? [failed] : [])
  await rejectsWith(t, backUp(site, { examine }), { code: 'PLINTH_BACKUP_CHECKS' })
  t.same(await backupFilesIn(site.backups), [])
  const { failed: records } = await listBackups(contextOf(site).place)
  t.strictSame(
    records.map(([, { code }]) => code),
    ['PLINTH_BACKUP_CHECKS'],
    'the reason is recorded',
  )
  t.same(
    records.map(([, { reason }]) => [reason.includes('unbalanced ***'), reason.includes('s3cret')]),
    [[true, false]],
    'without secrets',
  )
})

t.test('a second run, another type of database and a malformed identity file are rejected', async (t) => {
  const root = t.testdir({})
  const site = { root, database: await filledDatabase(t, 'sqlite', 1, plugins), backups: join(root, 'backups') }
  const memory = { ...site, database: { ...site.database, file: ':memory:' } as ConnectionSettings }
  await rejectsWith(t, backUp(memory), { code: 'PLINTH_BACKUP_DATABASE' })
  const record = () => rejectsWith(t, backUp(site), { code: 'PLINTH_BACKUP_RUNNING' })
  const { id } = await backUp(site, { record: async () => void (await record()) })
  const target = { root: join(root, 'restored'), database: await emptyDatabase(t, 'sqlite'), backups: site.backups }
  await rejectsWith(t, restoreTo(target, id, { key: 'AGE-SECRET-KEY-1' }), { code: 'PLINTH_BACKUP_OPTIONS' })
  await rejectsWith(t, restoreTo(target, id, { key: 'age1' }), { code: 'PLINTH_BACKUP_OPTIONS' })
  const server = { ...target.database, type: 'postgresql', name: 'shop' } as ConnectionSettings
  await rejectsWith(t, restoreTo({ ...target, database: server }, id), { code: 'PLINTH_BACKUP_DIALECT' })
  t.same(await filesIn(target.root), [])
})

t.test('a run without a sign of life for 15 minutes has ended, and one of another product is left alone', async (t) => {
  const root = t.testdir({})
  const site = { root, database: await filledDatabase(t, 'sqlite', 1, plugins), backups: join(root, 'backups') }
  const { place } = contextOf(site)
  const minutesAgo = (minutes: number) => Date.now() - minutes * 60_000
  /** A run in a container that does not exist any more, so nobody can look for its process. */
  const record = async (minutes: number, product = 'quickstart') => {
    const vault = new Vault(place, backupId(minutesAgo(minutes + 60)))
    const times = { startedAt: minutesAgo(minutes + 60), renewedAt: minutesAgo(minutes) }
    await vault.writeText('run.json', { product, ...times, host: 'gone', space: 'gone', pid: 1, scratch: '' })
    return vault
  }
  const own = await record(14)
  const other = await record(0, 'other')
  await rejectsWith(t, backUp(site), { code: 'PLINTH_BACKUP_RUNNING' })
  await own.remove()
  const ended = await record(16)
  const copies = [ended.id, backupId(minutesAgo(9_000))].map((id) => join(root, 'work', id))
  for (const copy of copies) {
    await mkdir(copy, { recursive: true })
    await writeFile(join(copy, 'dump.sqlite'), 'rows')
  }
  const { id } = await backUp(site)
  const { complete, unfinished } = await listBackups(place)
  t.strictSame([complete.map((one) => one.id), unfinished.map(([vault]) => vault.id)], [[id], [other.id]])
  t.strictSame(await filesIn(join(root, 'work')), [], 'no unencrypted copy is left, also of a run that is not recorded')
})
