/** The table provider x case, from the documented payloads of each provider. */
import { createDatabase, onEachDatabase } from '@plinth/dev/testing/database'
import { sendReference } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { createCertificate, startOutside, startReceipts } from './fixtures/product.ts'
import { type Kind, providersWith, type Reported, snsRequest } from './fixtures/providers.ts'

const { key, cert } = createCertificate()
const providers = providersWith(key)
const states: Readonly<Record<Kind, readonly [state: string, bounce: string | null]>> = {
  delivered: ['delivered', null],
  hard: ['bounced', 'hard'],
  soft: ['bounced', 'soft'],
  complained: ['complained', null],
  early: ['', null],
}

/** Rows of the printed table. */
const table: Record<string, Record<string, string>> = {}
t.teardown(() => console.table(table))

const outsideOf = (t: Test) => startOutside(t, (_request, response) => response.end(cert))

for (const [name, provider] of Object.entries(providers)) {
  t.test(`receipts of ${name}`, async (t) => {
    const at = await createDatabase('sqlite')
    t.teardown(() => at.drop())
    const outside = await outsideOf(t)
    const product = await startReceipts(t, at, { outside: outside.plugin })
    const { post, send, logOf, stored, settle, clock } = product
    const { channel, kinds, response, rejection, request, forge } = provider
    const cells: Record<string, string> = {}
    table[name] = cells
    const holds = (cell: string, isHeld: boolean) => {
      cells[cell] = isHeld ? 'yes' : 'NO'
      t.ok(isHeld, cell)
    }
    let ids = 0
    const next = (): Omit<Reported, 'reference'> => {
      const number = ++ids
      return { messageId: `${name}-message-${number}`, id: `${name}-receipt-${number}`, at: clock.now() }
    }
    const sendOne = async () => {
      const about = next()
      const messageId = provider.channel === 'sms' ? about.messageId : undefined
      const reference = await send(channel, { provider: provider.provider, ...(messageId && { messageId }) })
      return { ...about, reference }
    }

    for (const kind of kinds) {
      const about = await sendOne()
      t.same((await logOf(about.reference)).deliveryState, 'sent', 'reports are expected')
      const { status, body } = await post(request(kind, about))
      t.same([status, body], response, 'the provider gets the response that it requires')
      await settle()
      const [state, bounce] = kind === 'early' ? [provider.early, null] : states[kind]
      const { deliveryState, bounceKind, status: sent } = await logOf(about.reference)
      holds(kind, deliveryState === state && bounceKind === bounce && sent === 'success')
    }

    const before = (await stored()).length
    const target = await sendOne()
    const forged = await post(forge(request('delivered', target)))
    await settle()
    t.equal(forged.status, rejection)
    const untouched = (await logOf(target.reference)).deliveryState === 'sent'
    holds('forged', forged.status === rejection && untouched && (await stored()).length === before)

    const valid = request('delivered', target)
    const responses = [await post(valid), await post(valid), await post(valid)].map(({ status }) => status)
    await settle()
    const deliveredAt = (await logOf(target.reference)).deliveredAt
    clock.shiftWallClock(60_000)
    responses.push((await post(valid)).status)
    await settle()
    const isOnce = (await stored()).length === before + 1 && (await logOf(target.reference)).deliveredAt === deliveredAt
    holds('replayed', isOnce && responses.every((status) => status === response[0]))

    const racing = await sendOne()
    const lower = kinds.includes('early') ? 'early' : 'soft'
    const late = { ...racing, id: `${racing.id}-late` }
    if (lower === 'early') {
      await post(request('delivered', racing))
      await settle()
      await post(request('early', late))
      await settle()
      const log = await logOf(racing.reference)
      holds('out of order', log.deliveryState === 'delivered' && log.deliveredAt !== null)
    } else {
      // A bounce that arrives before its delivery shows both.
      await post(request('soft', late))
      await settle()
      await post(request('delivered', racing))
      await settle()
      const log = await logOf(racing.reference)
      holds('out of order', log.deliveryState === 'bounced' && log.deliveredAt !== null && log.bouncedAt !== null)
    }

    const early = next()
    const sendKey = `${name}-before-the-row`
    const reference = sendReference(sendKey)
    const first = await post(request('delivered', { ...early, reference }))
    await settle()
    const isWaiting = (await stored()).at(-1)?.status === 'waiting'
    await send(
      channel,
      { provider: provider.provider, ...(channel === 'sms' && { messageId: early.messageId }) },
      sendKey,
    )
    for (let step = 0; step < 4; step++) await settle()
    const isApplied = (await logOf(reference)).deliveryState === 'delivered'
    holds('before the row', first.status === response[0] && isWaiting && isApplied)

    const unknown = await post(request('delivered', { ...next(), reference: 'f'.repeat(40) }))
    await settle()
    t.equal((await stored()).at(-1)?.status, 'waiting')
    clock.shiftWallClock(25 * 3_600_000)
    await settle()
    holds('unknown id', unknown.status === response[0] && (await stored()).at(-1)?.status === 'unknown')
    t.equal(product.mail.sends + product.sms.sends, kinds.length + 3, 'nothing was sent by a receipt')
  })
}

onEachDatabase(t, 'a lost response is resolved by its receipt, also if two of them arrive together', async (t, at) => {
  const outside = await outsideOf(t)
  const { post, send, logOf, settle, clock, call, mail } = await startReceipts(t, at, { outside: outside.plugin })
  const { request } = providers['ses'] as (typeof providers)[string]
  const reference = await send('mail', { outcome: 'unknown' })
  t.hasStrict(await logOf(reference), { status: 'unknown', outcome: 'unknown', errorCode: 'mail.connection-lost' })
  const about = { reference, messageId: 'ses-1', at: clock.now() }
  await Promise.all([
    post(request('early', { ...about, id: 'receipt-1' })),
    post(request('delivered', { ...about, id: 'receipt-2' })),
    post(request('delivered', { ...about, id: 'receipt-2' })),
  ])
  await settle()
  t.hasStrict(await logOf(reference), {
    status: 'success',
    outcome: 'accepted',
    errorCode: null,
    deliveryState: 'delivered',
    retryable: false,
  })
  const { data: summary } = await call('GET', '/api/v1/notification-send-logs/summary')
  t.hasStrict(summary, { total: 1, success: 1, unknown: 0 })
  t.equal(mail.sends, 1, 'nothing is sent again')
  const listed = async (state: string) =>
    (await call('GET', `/api/v1/notification-send-logs?deliveryState=${state}`)).data.items.length
  t.same([await listed('delivered'), await listed('sent'), await listed('unconfirmed')], [1, 0, 0])

  await send('mail')
  t.same([await listed('sent'), await listed('unconfirmed')], [1, 0])
  clock.shiftWallClock(73 * 3_600_000)
  t.same([await listed('sent'), await listed('unconfirmed')], [0, 1], 'no report within 72 hours')

  const lost = await send('mail', { outcome: 'unknown' })
  const suppressed = {
    bounceType: 'Permanent',
    bounceSubType: 'OnAccountSuppressionList',
    timestamp: new Date().toISOString(),
  }
  const event = { eventType: 'Bounce', bounce: suppressed, mail: { messageId: 'x', tags: { ref: [lost] } } }
  const Timestamp = new Date(clock.now()).toISOString()
  await post(snsRequest({ MessageId: 'suppressed', Timestamp, Message: JSON.stringify(event) }, key))
  await settle()
  t.hasStrict(await logOf(lost), {
    status: 'failed',
    outcome: 'rejected',
    errorCode: 'notification.not-delivered',
    deliveryState: 'failed',
  })
})
