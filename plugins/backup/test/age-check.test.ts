import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { manualClock } from '@plinth/dev/testing'
import { DirectoryDisk } from '@plinth/storage'
import t from 'tap'
import { AgeCheck } from '../src/age-check.ts'
import { backupId, type Manifest } from '../src/format.ts'
import type { Place } from '../src/vault.ts'

const recipient = 'age1vacjxf302ke754t9tast28d0mfmjlmf4kahud6qqkhvx2uc5eeaqlg5ku3'
const hourMs = 3_600_000

t.test('the newest backup is checked every ten minutes', async (t) => {
  const clock = manualClock()
  const directory = t.testdir({})
  const disk = new DirectoryDisk(directory, 'private', clock)
  const place: Place = { name: directory, prefix: '', disk, isOwn: () => false }
  const age = new AgeCheck({ place, recipient, maxAgeMs: () => 26 * hourMs, clock })
  const warningsAfter = async (ms: number) => {
    await clock.advance(ms)
    await age.refresh()
    return age.warnings
  }
  t.same(await warningsAfter(0), ['There is no complete backup. Run `plinth backup create`.'])
  const createdAt = clock.now()
  const id = backupId(createdAt)
  const time = new Date(createdAt).toISOString()
  const manifest: Manifest = {
    format: 1,
    id,
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
  const unused = new AgeCheck({ place, recipient: '', maxAgeMs: () => hourMs, clock })
  await unused.refresh()
  t.same(unused.warnings, [])
  const age = new AgeCheck({ place, recipient, maxAgeMs: () => hourMs, clock })
  await age.refresh()
  t.same(age.warnings, ['The backups cannot be checked: no route to host'])
})
