import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request as send } from 'node:http'
import { text } from 'node:stream/consumers'
import { assertMembers, manualClock } from '@plinth/dev/testing'
import { createDatabase, onDatabase } from '@plinth/dev/testing/database'
import { signatureHeaders } from '@plinth/open-platform'
import fc from 'fast-check'
import t from 'tap'
import {
  type ApiResponse,
  describeOutcome,
  exportScope,
  orderScope,
  type SignedCall,
  startOpen,
} from './fixtures/product.ts'

const apps = '/api/v1/admin/open-platform/apps'
const order = '/api/v1/shop/orders/7'
const stranger = { appKey: 'app_000000000000000000000000', secret: 'plinth_open_nobody' }
/** Returns the parts of a response that a caller sees. */
const seen = ({ status, code, message, data }: ApiResponse) => ({ status, code, message, data })

onDatabase(t, 'A25 C-052 a signed request is accepted once', async (t, db) => {
  const { createApp, adminToken, signed, headersOf, call, base } = await startOpen(t, db)
  const admin = await adminToken()
  const app = await createApp(admin)

  await t.test('signed in all equivalent forms', async (t) => {
    assertMembers(t, await signed(app), {
      code: '200',
      data: { appKey: app.appKey, name: 'Partner', scopes: [orderScope] },
    })
    const body = '{"message":"é 😀"}'
    const echo = await signed(app, { method: 'POST', target: '/api/v1/open/echo', body })
    t.match(echo, { code: /^200$/, data: { message: 'é 😀' } })
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await signed(app, { method, target: `${order}?b=2&a=1`, body: '{"n":1}' })
      t.hasStrict(
        answer,
        { code: '200', data: { appKey: app.appKey, query: { a: '1', b: '2' }, body: { n: 1 } } },
        method,
      )
    }
    const target = `${order}?b=2&a=x+y&a=%7e&c`
    const sent = { target: `${order}?a=x%20y&b=2&&c=&a=~` }
    assertMembers(t, await signed(app, { target, sent }), {
      code: '200',
      data: { query: { a: ['x y', '~'], b: '2', c: '' } },
    })
  })

  await t.test('the bytes of a body are signed, not their meaning', async (t) => {
    const put = { method: 'PUT', target: order }
    const written = ' {"n": 1.0,\t"a":"\\u00e9","n":2}\r\n'
    t.hasStrict(await signed(app, { ...put, body: written }), { code: '200', data: { body: { n: 2, a: 'é' } } })
    const bytes = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')])
    t.equal(describeOutcome(await signed(app, { ...put, body: bytes })), '400 http.body-malformed', 'JSON is UTF-8')
    for (const body of ['{"n":1 }', '{"n":1}\n', '{"n":1.0}', '']) {
      const answer = await signed(app, { ...put, body: '{"n":1}', sent: { body } })
      t.equal(describeOutcome(answer), '401 open-platform.signature-invalid', JSON.stringify(body))
    }
  })

  await t.test('the same request is rejected again, also with parameters in another order', async (t) => {
    const first: SignedCall = { target: `${order}?b=2&a=1`, nonce: 'nonce-of-the-first-call' }
    t.equal(describeOutcome(await signed(app, first)), '200')
    t.equal(describeOutcome(await signed(app, first)), '401 open-platform.nonce-used')
    t.equal(
      describeOutcome(await signed(app, { ...first, target: `${order}?a=1&b=2` })),
      '401 open-platform.nonce-used',
    )
    const other = await createApp(admin)
    t.equal(describeOutcome(await signed(other, first)), '200', 'nonces of another application are its own')
    const same = headersOf(app, { target: '/api/v1/open/whoami' })
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => signed(app, { headers: same }).then(describeOutcome)),
    )
    t.same(responses.filter((code) => code === '200').length, 1, 'of many at once one passes')
    t.same(new Set(responses), new Set(['200', '401 open-platform.nonce-used']))
  })

  await t.test('a rejected request does not use its nonce: a wrong signature, a missing scope', async (t) => {
    const nonce = 'nonce-that-was-guessed'
    const forged = { ...app, secret: 'plinth_open_guess' }
    t.equal(describeOutcome(await signed(forged, { nonce })), '401 open-platform.signature-invalid')
    t.equal(describeOutcome(await signed(app, { nonce })), '200')
    const poor = await createApp(admin, { scopes: [] })
    const call = { nonce: randomUUID(), target: order }
    assertMembers(t, await signed(poor, call), {
      status: 200,
      code: '403',
      data: { reason: 'open-platform.scope-missing', scopes: [orderScope] },
    })
    t.equal(describeOutcome(await signed(poor, call)), '403 open-platform.scope-missing')
    const both = { method: 'POST', target: '/api/v1/shop/exports', body: '{"year":2025}' }
    t.same((await signed(app, both)).data.scopes, [exportScope], 'all scopes of a route are needed')
  })

  await t.test('C-050 a login does not replace a signature, and a signature does not replace a login', async (t) => {
    t.equal(describeOutcome(await call('GET', order, admin)), '401 open-platform.header-missing')
    t.equal(describeOutcome(await signed(app, { target: apps })), '401 iam.token-missing')
  })

  await t.test('unknown and disabled applications and wrong signatures get the same response', async (t) => {
    const disabled = await createApp(admin)
    await call('POST', `${apps}/${disabled.id}/disable`, admin, {})
    const wrong = '0'.repeat(64)
    const responses = [
      await signed(stranger),
      await signed(disabled),
      await signed({ ...disabled, secret: 'plinth_open_wrong' }),
      await signed({ ...app, secret: 'plinth_open_wrong' }),
      await signed(app, { headers: { [signatureHeaders.signature]: wrong } }),
      await signed(app, { headers: { [signatureHeaders.appKey]: disabled.appKey } }),
      await signed(app, { target: order, sent: { target: '/api/v1/open/whoami' } }),
      await signed(app, { target: '/api/v1/open/whoami', sent: { target: order } }),
    ]
    for (const answer of responses) t.same(seen(answer), seen(responses[0] as ApiResponse))
    t.equal(describeOutcome(responses[0] as ApiResponse), '401 open-platform.signature-invalid')
    await call('POST', `${apps}/${disabled.id}/enable`, admin, {})
    t.equal(describeOutcome(await signed(disabled)), '200')
  })

  t.equal((await fetch(`${base}/api/v1/open/whoami`)).status, 200, 'a refusal is no HTTP failure')
})

t.test('C-049 headers are checked before anything else, one rule for each', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { createApp, adminToken, signed, clock, headersOf, base } = await startOpen(t, db)
  const app = await createApp(await adminToken())
  const { appKey, timestamp, nonce, signature } = signatureHeaders
  const without = (...names: string[]) => ({ headers: Object.fromEntries(names.map((name) => [name, undefined])) })

  for (const name of Object.values(signatureHeaders)) {
    const answer = await signed(app, without(name))
    assertMembers(t, answer, { code: '401', data: { reason: 'open-platform.header-missing', headers: [name] } })
    t.equal(describeOutcome(await signed(app, { headers: { [name]: '' } })), '401 open-platform.header-missing')
    t.match(answer.message, name)
  }
  t.same((await signed(stranger, without(nonce, signature))).data.headers, [nonce, signature])

  const now = Math.floor(clock.now() / 1000)
  const malformed: readonly (readonly [string, string | string[]])[] = [
    [appKey, 'app key'],
    [appKey, 'x'.repeat(33)],
    [timestamp, `${now}.0`],
    [timestamp, `0${now}`],
    [timestamp, `+${now}`],
    [timestamp, new Date(clock.now()).toISOString()],
    [nonce, 'short'],
    [nonce, 'x'.repeat(65)],
    [nonce, 'sixteen letters and a space'],
    [nonce, ['nonce-number-one-of-two', 'nonce-number-two-of-two']],
    [signature, 'f'.repeat(63)],
    [signature, 'F'.repeat(64)],
    [signature, `${'f'.repeat(63)}g`],
  ]
  for (const [name, value] of malformed) {
    const answer = await signed(app, { headers: { [name]: value } })
    t.hasStrict(
      answer,
      { code: '401', data: { reason: 'open-platform.header-invalid', header: name } },
      `${name}: ${value}`,
    )
  }

  await t.test('the timestamp is within 300 s, both ends included', async (t) => {
    for (const seconds of [-300, 0, 300]) {
      t.equal(describeOutcome(await signed(app, { timestamp: now + seconds })), '200', `${seconds} s`)
    }
    for (const seconds of [-301, 301, -1_000_000, 1_000_000]) {
      const answer = await signed(stranger, { timestamp: now + seconds })
      t.hasStrict(answer, { code: '401', data: { reason: 'open-platform.timestamp-out-of-range', serverTime: now } })
    }
    clock.shiftWallClock(500)
    t.equal(describeOutcome(await signed(app, { timestamp: now - 300 })), '401 open-platform.timestamp-out-of-range')
    t.equal(describeOutcome(await signed(app, { timestamp: now + 300 })), '200', 'milliseconds count')
  })

  await t.test('an invalid header or timestamp is rejected before the body is read', async (t) => {
    const body = `"${'x'.repeat(2 * 1024 * 1024)}"`
    const post = { method: 'POST', target: '/api/v1/open/echo', sent: { body } }
    t.equal((await signed(app, post)).status, 413)
    t.equal(describeOutcome(await signed(app, { ...post, ...without(nonce) })), '401 open-platform.header-missing')
    t.equal(describeOutcome(await signed(app, { ...post, timestamp: 1 })), '401 open-platform.timestamp-out-of-range')
  })

  await t.test('a body that arrives slowly does not extend the time window of a request', async (t) => {
    const body = '"slow"'
    const post = { method: 'POST', target: '/api/v1/open/echo', body }
    const headers = { ...headersOf(app, post), 'content-type': 'application/json', 'content-length': body.length }
    const slow = send(`${base}${post.target}`, { method: 'POST', headers: { ...headers, expect: '100-continue' } })
    const answered = once(slow, 'response')
    let isAnswered = false
    slow.once('response', () => {
      isAnswered = true
    })
    slow.flushHeaders()
    await once(slow, 'continue')
    // A rejection of the slow request would have arrived before the response of the later request.
    t.equal(describeOutcome(await signed(app)), '200')
    t.equal(isAnswered, false, 'the headers of the slow request were accepted')
    clock.shiftWallClock(301_000)
    slow.end(body)
    const [response] = await answered
    const { code, data } = JSON.parse(await text(response))
    t.equal(describeOutcome({ code, data }), '401 open-platform.timestamp-out-of-range')
    clock.shiftWallClock(-301_000)
  })

  await t.test('a request that cannot be signed is reported', async (t) => {
    for (const query of ['a=%zz', 'a=%ff', 'a=1#b']) {
      const answer = await signed(app, { sent: { target: `/api/v1/open/whoami?${query}` } })
      t.equal(describeOutcome(answer), '400 open-platform.query-malformed', query)
    }
  })

  await t.test('also in Chinese', async (t) => {
    const answer = await signed(stranger, { headers: { 'accept-language': 'zh-CN' } })
    t.match(answer.message, /\p{Script=Han}/u)
  })
})

t.test('C-049 the path is signed without the context path, also when a proxy removes it', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const config = { 'platform.http.context-path': '/shop' }
  const { createApp, adminToken, signed } = await startOpen(t, db, { config })
  const app = await createApp(await adminToken())
  for (const query of ['', '?b=2&a=1']) {
    const target = `/api/v1/open/whoami${query}`
    t.equal(describeOutcome(await signed(app, { target })), '200', 'a proxy has taken it off')
    t.equal(describeOutcome(await signed(app, { target, sent: { target: `/shop${target}` } })), '200', 'nobody has')
    const answer = await signed(app, { target: `/shop${target}` })
    t.equal(describeOutcome(answer), '401 open-platform.signature-invalid')
  }
})

t.test('C-052 a nonce stays used as long as its request could be repeated', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const clock = manualClock()
  const { createApp, adminToken, signed, headersOf } = await startOpen(t, db, { clock })
  const app = await createApp(await adminToken())
  const ahead = Math.floor(clock.now() / 1000) + 300
  const headers = headersOf(app, { timestamp: ahead })
  t.equal(describeOutcome(await signed(app, { headers })), '200')
  await clock.advance(600_000)
  t.equal(
    describeOutcome(await signed(app, { headers })),
    '401 open-platform.nonce-used',
    'the last moment that its timestamp counts',
  )
  await clock.advance(1)
  t.equal(describeOutcome(await signed(app, { headers })), '401 open-platform.timestamp-out-of-range')
})

t.test('A25 every correctly signed request is accepted, and none with one changed bit', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { createApp, adminToken, signed, headersOf, running } = await startOpen(t, db)
  t.ok(running)
  const app = await createApp(await adminToken(), { rateLimitPerMinute: 0 })
  const text = fc.string({ unit: 'binary', maxLength: 12 }).filter((value) => value.isWellFormed())
  const query = fc
    .array(fc.tuple(text, text), { maxLength: 4 })
    .map((pairs) => pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&'))
  const request = fc.record({
    method: fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE'),
    target: query.map((all) => `${order}?${all}`),
    body: fc.oneof(
      fc.constant(''),
      fc.json().filter((json) => !json.includes('__proto__') && !json.includes('constructor')),
    ),
  })
  await fc.assert(
    fc.asyncProperty(request, async (call) => describeOutcome(await signed(app, call)) === '200'),
    { numRuns: 60 },
  )

  const flip = (bytes: Buffer, bit: number) => {
    const flipped = Buffer.from(bytes)
    const at = (bit >> 3) % flipped.length
    flipped[at] = (flipped[at] as number) ^ (1 << (bit & 7))
    return flipped
  }
  const names = Object.values(signatureHeaders)
  const call = { method: 'POST', target: `${order}?a=1&b=22`, body: '{"amount":"100"}' } as const
  await fc.assert(
    fc.asyncProperty(fc.nat(1023), fc.constantFrom('body', 'query', ...names), async (bit, part) => {
      const headers = headersOf(app, call)
      if (part === 'body') {
        const answer = await signed(app, { ...call, headers, sent: { body: flip(Buffer.from(call.body), bit) } })
        return describeOutcome(answer) !== '200'
      }
      const flipped = (written: string) => flip(Buffer.from(written), bit).toString('latin1')
      if (part === 'query') {
        const target = `${order}?${flipped('a=1&b=22')}`
        // The HTTP parser itself rejects characters that are not printable ASCII, or that end the target.
        if (!/^[!-~]+$/.test(target)) return true
        return describeOutcome(await signed(app, { ...call, headers, sent: { target } })) !== '200'
      }
      const value = flipped(headers[part] as string)
      if (!/^[ -~]+$/.test(value)) return true
      return describeOutcome(await signed(app, { ...call, headers: { ...headers, [part]: value } })) !== '200'
    }),
    { numRuns: 120 },
  )
  t.equal(describeOutcome(await signed(app, call)), '200')
})
