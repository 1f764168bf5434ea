import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { Writable } from 'node:stream'
import { database } from '@plinth/database'
import { createDatabase, onEachDatabase } from '@plinth/database/testing'
import { manualClock } from '@plinth/kernel/testing'
import { pino } from 'pino'
import t from 'tap'
import { CallMeter } from '../src/call-meter.ts'
import type { CallRecord } from '../src/call-records.ts'
import type { GuardedReply, GuardedRequest, OpenCaller } from '../src/contract.ts'
import { outcome, startOpen } from './fixtures/product.ts'

const apps = '/api/v1/admin/open-platform/apps'
const unusable = '503 open-platform.secret-key-unusable'

onEachDatabase(t, 'C-053 a sealed secret opens only where it belongs', async (t, db) => {
  const { adminToken, createApp, signed, running, call } = await startOpen(t, db)
  const admin = await adminToken()
  const [one, other] = [await createApp(admin), await createApp(admin)]
  const service = running.service(database)
  const sealedOf = async ({ id }: { id: number }) => {
    const [row] = await service.query<{ sealed: string }>('select secret_enc as sealed from open_app where id = ?', [
      id,
    ])
    return row?.sealed ?? ''
  }
  const put = (id: number, sealed: string) =>
    service.execute('update open_app set secret_enc = ? where id = ?', [sealed, id])
  const original = await sealedOf(one)
  const altered = Buffer.from(original, 'base64')
  altered[20] = (altered[20] as number) ^ 1
  for (const sealed of [
    await sealedOf(other),
    altered.toString('base64'),
    '',
    'no base64 at all',
    original.slice(0, 20),
  ]) {
    await put(one.id, sealed)
    t.equal(outcome(await signed(one)), unusable)
  }
  t.equal(outcome(await signed(other)), '200', 'others are not touched')
  const renewed = await call('POST', `${apps}/${one.id}/rotate-secret`, admin, { graceSeconds: 0 })
  t.equal(outcome(await signed(renewed.data)), '200', 'a new secret mends it')
  const [again] = [await call('POST', `${apps}/${one.id}/rotate-secret`, admin, { graceSeconds: 0 })]
  t.not(await sealedOf(one), original)
  t.equal(outcome(await signed(again.data)), '200')
})

t.test('C-053 without the master key nothing is replaced, and with it everything is back', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const clock = manualClock()
  const first = await startOpen(t, db, { clock })
  const app = await first.createApp(await first.adminToken())
  await first.running.stop('test')

  const lost = { 'platform.system-config.master-key-file': `${db.directory}/other.key` }
  const second = await startOpen(t, db, { clock, config: lost })
  const admin = await second.login()
  t.equal(outcome(await second.signed(app)), unusable)
  t.equal(outcome(await second.call('POST', apps, admin, { name: 'x' })), unusable)
  t.equal(outcome(await second.signed({ ...app, appKey: 'app_unknown' })), '401 open-platform.signature-invalid')
  await second.running.stop('test')
  rmSync(`${db.directory}/other.key`, { force: true })

  const third = await startOpen(t, db, { clock })
  t.equal(outcome(await third.signed(app)), '200')
})

t.test('C-051 calls wait for a database that is away; when too many wait, more are refused', async (t) => {
  const clock = manualClock()
  const written: CallRecord[] = []
  const batches: number[] = []
  let isAway = true
  const meter = new CallMeter({
    records: {
      async write(calls) {
        if (isAway) throw new Error('away')
        batches.push(calls.length)
        written.push(...calls)
      },
    },
    clock,
    log: pino({ level: 'silent' }),
    flushIntervalMs: () => 1000,
  })
  meter.start()
  const caller: OpenCaller = {
    ...{ appId: 1, appKey: 'app_1', name: 'x', scopes: new Set<string>() },
    ...{ rateLimitPerMinute: 0, ownerUserId: null },
  }
  const accept = async (count: number, from: number) => {
    const ended = Array.from({ length: count }, (_, index) => {
      const raw = new Writable({ write: (_chunk, _encoding, done) => done() })
      const headers = { 'x-open-timestamp': '1', 'x-open-nonce': `nonce-${from + index}` }
      const request = { headers, method: 'GET', traceId: 'x', failureCode: '' } as unknown as GuardedRequest
      meter.assertRoom()
      const call = { caller, route: '/api/v1/x', cost: 1, quotaLimit: 0 }
      meter.accept(request, { raw, statusCode: 200 } as unknown as GuardedReply, call)
      return once(raw.end(), 'close')
    })
    await Promise.all(ended)
  }
  const full = { reason: 'open-platform.metering-unavailable', code: '503' }
  await accept(9_999, 0)
  meter.assertRoom()
  await accept(1, 9_999)
  t.throws(() => meter.assertRoom(), full)
  for (let seconds = 0; seconds < 3; seconds++) await clock.advance(1000)
  t.throws(() => meter.assertRoom(), full)
  t.equal(written.length, 0)
  isAway = false
  await clock.advance(1000)
  meter.assertRoom()
  t.equal(written.length, 10_000)
  t.equal(new Set(written.map(({ callKey }) => callKey)).size, 10_000)
  t.ok(batches.every((size) => size === 200))
  t.match(written[0], { appKey: 'app_1', code: '200', method: 'GET', day: '2026-01-01' })

  await accept(200, 10_000)
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(written.length, 10_200, 'a full batch does not wait for the interval')
  await accept(5, 10_200)
  isAway = true
  await t.rejects(meter.close(), { message: 'away' })
  isAway = false
  await meter.close()
  t.equal(written.length, 10_205)
  t.equal(clock.sleepers, 0)
})
