import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { manualClock } from '@plinth/dev/testing'
import { processIdentity } from '@plinth/kernel/host'
import { DirectoryDisk } from '@plinth/storage'
import t from 'tap'
import { AgeCheck, warningsOf } from '../src/age-check.ts'
import { backupId, type Manifest } from '../src/format.ts'
import { isBackupDue } from '../src/tasks.ts'
import { type BackupList, listBackups, ofProduct, type Place, Vault } from '../src/vault.ts'

const recipient = 'age1vacjxf302ke754t9tast28d0mfmjlmf4kahud6qqkhvx2uc5eeaqlg5ku3'
const hourMs = 3_600_000
const log = { warn: () => {} }

const manifestOf = (createdAt: number): Manifest => {
  const time = new Date(createdAt).toISOString()
  return {
    format: 1,
    id: backupId(createdAt),
    product: 'shop',
    productVersion: '1.0.0',
    createdAt: time,
    provenAt: time,
    recipient,
    dialect: 'sqlite',
    databaseVersion: '3.53.4',
    plugins: {},
    tables: 0,
    rows: 0,
    files: 0,
    bytes: 0,
    objects: [],
    earlierFailures: [],
    seconds: 1,
  }
}

t.test('the newest backup is checked every ten minutes', async (t) => {
  const clock = manualClock()
  const directory = t.testdir({})
  const disk = new DirectoryDisk(directory, 'private', clock)
  const place: Place = { name: directory, prefix: '', disk, isOwn: () => false }
  const age = new AgeCheck({ place, product: 'shop', recipient, maxAgeMs: () => 26 * hourMs, clock, log })
  const warningsAfter = async (ms: number) => {
    await clock.advance(ms)
    await age.refresh()
    return age.warnings.map(({ text }) => text)
  }
  t.same(await warningsAfter(0), ['There is no complete backup. Run `plinth backup create`.'])
  const createdAt = clock.now()
  const manifest = manifestOf(createdAt)
  const { id, createdAt: time } = manifest
  await mkdir(join(directory, id))
  await writeFile(join(directory, id, 'manifest.json'), JSON.stringify(manifest))
  t.equal((await warningsAfter(1_000)).length, 1, 'the last result is valid for ten minutes')
  t.same(await warningsAfter(hourMs), [])
  t.same(await warningsAfter(26 * hourMs), [`The newest backup is from ${time}. Run \`plinth backup create\`.`])
  await writeFile(join(directory, id, 'manifest.json'), '{"format":1}')
  t.same(await warningsAfter(hourMs), ['There is no complete backup. Run `plinth backup create`.'])
})

t.test('without a recipient, nothing is checked, and an error of the disk is a warning', async (t) => {
  const clock = manualClock()
  const failing = {
    // biome-ignore lint/correctness/useYield: it fails before the first file
    async *list() {
      throw new Error('no route to host')
    },
  } as unknown as Place['disk']
  const place: Place = { name: 'bucket', prefix: '', disk: failing, isOwn: () => false }
  const unused = new AgeCheck({ place, product: 'shop', recipient: '', maxAgeMs: () => hourMs, clock, log })
  await unused.refresh()
  t.same(unused.warnings, [])
  const age = new AgeCheck({ place, product: 'shop', recipient, maxAgeMs: () => hourMs, clock, log })
  await age.refresh()
  t.strictSame(
    age.warnings.map(({ code, text }) => [code, text]),
    [['unavailable', 'The backups cannot be checked: The backups in bucket cannot be listed: no route to host.']],
  )
})

t.test('a place that does not respond is a warning after a minute, and is not read twice at a time', async (t) => {
  const clock = manualClock()
  let reads = 0
  const silent = {
    async *list() {
      reads++
      await new Promise(() => {})
      yield
    },
  } as unknown as Place['disk']
  const place: Place = { name: 'bucket', prefix: '', disk: silent, isOwn: () => false }
  const age = new AgeCheck({ place, product: 'shop', recipient, maxAgeMs: () => hourMs, clock, log })
  const checked = age.refresh()
  void age.refresh(0)
  await clock.advance(60_000)
  await checked
  t.strictSame(
    age.warnings.map(({ code, text }) => [code, /did not respond within 60 s/.test(text)]),
    [['unavailable', true]],
  )
  t.equal(reads, 1)
})

/** Lists a place with complete backups, failures and runs of dead processes, by their times. */
async function listOf(times: { complete?: number[]; failed?: number[]; died?: number[] }): Promise<BackupList> {
  const vault = (time: number) =>
    new Vault({ name: '', prefix: '', disk: {} as never, isOwn: () => false }, backupId(time))
  const failure = { product: 'shop', failedAt: 0, code: 'PLINTH_BACKUP_TOOL', reason: 'pg_dump is missing' }
  const run = { product: 'shop', startedAt: 1, renewedAt: 1, host: 'other', space: '', pid: 1, scratch: '' }
  return {
    complete: (times.complete ?? []).map(manifestOf),
    failed: (times.failed ?? []).map((time) => [vault(time), failure]),
    unfinished: (times.died ?? []).map((time) => [vault(time), run]),
    damaged: [],
  }
}

t.test('a failure after the newest backup is a warning, and an earlier one is not', async (t) => {
  const now = Date.UTC(2026, 10, 30)
  const codes = async (times: Parameters<typeof listOf>[0]) =>
    warningsOf(await listOf(times), now, 26 * hourMs).map(({ code }) => code)
  t.same(await codes({}), ['none'])
  t.same(await codes({ failed: [now] }), ['none', 'failed'])
  t.same(await codes({ complete: [now - hourMs] }), [])
  t.same(await codes({ complete: [now - hourMs], failed: [now - 2 * hourMs] }), [])
  t.same(await codes({ complete: [now - hourMs], failed: [now] }), ['failed'])
  t.same(await codes({ complete: [now - hourMs], died: [now] }), ['failed'], 'its process died')
  t.same(await codes({ complete: [now - 27 * hourMs], failed: [now] }), ['too-old', 'failed'])
  t.same(
    await codes({ complete: [now + 400 * 24 * hourMs, now - 27 * hourMs] }),
    ['too-old'],
    'a wrong clock hides no age',
  )
  const [, last] = warningsOf(await listOf({ failed: [now] }), now, 26 * hourMs)
  t.equal(last?.text, 'The backup of 2026-11-30T00:00:00.000Z failed: pg_dump is missing')
})

t.test('a backup is due after the interval, and one hour after a failure', async (t) => {
  const now = Date.UTC(2026, 10, 30)
  const isDue = async (times: Parameters<typeof listOf>[0]) => isBackupDue(await listOf(times), 24 * hourMs, now)
  t.equal(await isDue({}), true)
  t.equal(await isDue({ complete: [now - 23 * hourMs] }), false)
  t.equal(await isDue({ complete: [now - 24 * hourMs] }), true)
  t.equal(await isDue({ complete: [now - 30 * hourMs], failed: [now - hourMs / 2] }), false)
  t.equal(await isDue({ complete: [now - 30 * hourMs], failed: [now - hourMs] }), true)
  t.equal(await isDue({ failed: [now + 400 * 24 * hourMs] }), true, 'a clock that was wrong does not stop the schedule')
  t.equal(await isDue({ complete: [now + 400 * 24 * hourMs, now - 24 * hourMs] }), true, 'nor does a backup from then')
  t.equal(await isDue({ complete: [now + hourMs] }), false, 'clocks of two instances differ')
  t.equal(await isDue({ died: [now - hourMs] }), true)
  const dead = await listOf({ died: [now - hourMs] })
  const alive = dead.unfinished.map(
    ([vault]) =>
      [vault, { ...processIdentity(), product: 'shop', startedAt: now, renewedAt: now, scratch: '' }] as const,
  )
  t.equal(isBackupDue({ ...dead, unfinished: alive }, 24 * hourMs, now), false, 'a backup is being made')
})

t.test('a backup of another product in the same place does not count', async (t) => {
  const clock = manualClock()
  const directory = t.testdir({})
  const disk = new DirectoryDisk(directory, 'private', clock)
  const place: Place = { name: directory, prefix: '', disk, isOwn: () => false }
  const other = { ...manifestOf(clock.now()), product: 'other' }
  await new Vault(place, other.id).writeText('manifest.json', other)
  const age = new AgeCheck({ place, product: 'shop', recipient, maxAgeMs: () => 26 * hourMs, clock, log })
  await age.refresh()
  t.same(
    age.warnings.map(({ code }) => code),
    ['none'],
  )
  t.equal(isBackupDue(ofProduct(await listBackups(place), 'shop'), 24 * hourMs, clock.now()), true)
  t.equal(isBackupDue(ofProduct(await listBackups(place), 'other'), 24 * hourMs, clock.now()), false)
})

t.test('failures and damaged manifests are listed, and the records of failures are few', async (t) => {
  const directory = t.testdir({})
  const disk = new DirectoryDisk(directory, 'private', manualClock())
  const place: Place = { name: directory, prefix: '', disk, isOwn: () => false }
  const [first, second] = [1, 2].map((time) => new Vault(place, backupId(time))) as [Vault, Vault]
  await first.writeText('failure.json', { product: 'shop', failedAt: 5, code: 'PLINTH_BACKUP_TOOL', reason: 'missing' })
  await mkdir(join(directory, second.id))
  await writeFile(join(directory, second.id, 'manifest.json'), '{}')
  const { failed, damaged, complete, unfinished } = await listBackups(place)
  t.same(
    failed.map(([{ id }, { code }]) => [id, code]),
    [[first.id, 'PLINTH_BACKUP_TOOL']],
  )
  t.equal(ofProduct(await listBackups(place), 'shop').failed.length, 1)
  t.equal(ofProduct(await listBackups(place), 'other').failed.length, 0, 'another product has its own failures')
  t.same([damaged, complete, unfinished], [[second.id], [], []])
})
