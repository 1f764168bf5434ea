import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assertMembers, manualClock, rejectsWith, startForTest, until } from '@plinth/dev/testing'
import { defineProduct, type JsonValue } from '@plinth/kernel'
import t, { type Test } from 'tap'
import mailPlugin, { type Mail, type MailMessage, mail } from '../src/index.ts'
import { decodedHeader, partsOf, selfSigned, startMailServer } from './fixtures/mail-server.ts'

async function startMail(t: Test, config: Readonly<Record<string, JsonValue>>, clock = manualClock()) {
  const running = await startForTest(defineProduct({ name: 'mails', plugins: [mailPlugin], config }), { clock })
  t.teardown(() => running.stop('test ended'))
  return { running, clock, facility: running.service(mail) }
}

const hello: MailMessage = { to: ['ada@example.com'], subject: 'Hello', text: 'Dear Ada' }
const send = (facility: Mail, message: Partial<MailMessage> = {}, signal?: AbortSignal) =>
  facility.send({ ...hello, ...message }, { idempotencyKey: randomUUID(), signal })
const outcomes = async (work: ReturnType<Mail['send']>) => (await work).deliveries

t.test('N-008 [the facility] a mail is transferred as it was written', async (t) => {
  const server = await startMailServer(t)
  const { facility } = await startMail(t, server.config)
  t.equal(facility.isReady, true)
  await facility.verify(new AbortController().signal)
  t.same(server.received, [], 'verify sends nothing')
  const message = {
    to: ['ada@example.com', 'bob@exämple.de'],
    subject: 'Bestätigung "1" <中文>',
    text: 'two\nlines\r\n.\n..\n end ',
    html: '<p>two\nlines</p>',
    replyTo: 'help@shop.example',
    locale: 'zh-CN',
    unsubscribeUrl: `https://shop.example/u?token=${'x'.repeat(300)}`,
  }
  const sent = await facility.send(message, { idempotencyKey: 'order-7' })
  t.hasStrict(sent, { driver: 'smtp', deliveries: message.to.map((address) => ({ address, outcome: 'accepted' })) })
  const [{ from, to, headers, raw } = { from: '', to: [], headers: {}, raw: '' }] = server.received
  t.equal(from, 'noreply@shop.example')
  t.same(to, message.to)
  t.match(headers, {
    from: 'Shop <noreply@shop.example>',
    'reply-to': 'help@shop.example',
    'message-id': sent.messageId,
    'content-language': 'zh-CN',
    'auto-submitted': 'auto-generated',
    'list-unsubscribe': `<${message.unsubscribeUrl}>`,
    'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
    'mime-version': '1.0',
  })
  t.equal(decodedHeader(headers['subject']), message.subject)
  t.match(headers['content-type'], /^multipart\/alternative/)
  t.same(
    partsOf({ raw }),
    { 'text/plain': 'two\r\nlines\r\n.\r\n..\r\n end ', 'text/html': '<p>two\r\nlines</p>' },
    'the lines of encoded texts end with CRLF (RFC 2045, 6.8)',
  )
  t.match(
    await facility.send(message, { idempotencyKey: 'order-7' }),
    { messageId: sent.messageId },
    'the key names the mail',
  )
  t.not((await facility.send(message, { idempotencyKey: 'order-8' })).messageId, sent.messageId)
  t.equal(server.sessions, 1, 'one session for all of it')
})

t.test('a subject that looks like an encoded word arrives as it was written (RFC 2047)', async (t) => {
  const server = await startMailServer(t)
  const { facility } = await startMail(t, server.config)
  const subjects = ['=?utf-8?q?evil?=', `Order =?utf-8?B?ZXZpbA==?= ${'long '.repeat(30)}`, '=?not one', 'plain']
  for (const subject of subjects) {
    const before = server.received.length
    assertMembers(t, await outcomes(send(facility, { subject })), [{ outcome: 'accepted' }])
    const sent = server.received[before]?.headers['subject'] ?? ''
    t.equal(decodedHeader(sent), subject)
    t.notMatch(sent, /=\?utf-8\?(q\?evil|B\?ZXZpbA)/i)
  }
})

t.test('the sender is an address, or a name and an address; the name may be quoted (RFC 5322)', async (t) => {
  const key = 'platform.mail.from'
  const from = async (sender: string) => {
    const server = await startMailServer(t)
    const { facility, running } = await startMail(t, { ...server.config, [key]: sender })
    await send(facility)
    await running.stop('sent')
    return server.received[0]?.headers['from']
  }
  t.equal(await from('n@example.com'), 'n@example.com')
  t.equal(await from('"Shop, Ltd" <n@example.com>'), '"Shop, Ltd" <n@example.com>')
  t.equal(await from('Shop, Ltd <n@example.com>'), '"Shop, Ltd" <n@example.com>')
  t.equal(await from('"The \\"Shop\\"" Berlin <n@example.com>'), '"The \\"Shop\\" Berlin" <n@example.com>')
  const rejected = [
    'nobody',
    'a@b.c, d@e.f',
    '"Shop <n@example.com>',
    'Shop <n@example.com',
    'Shop <n@>',
    `${'x'.repeat(65)}@b.c`,
  ]
  for (const sender of rejected) {
    // Here the sender is configured in the product. A sender in `.env` is validated by the same rule.
    const start = startMail(t, { 'platform.mail.driver': 'log', [key]: sender })
    const problem = await start.then(
      () => undefined,
      (error: Error) => error.message,
    )
    t.match(problem, key, sender)
    t.match(problem, 'Shop <noreply@example.com>', 'with an example')
  }
})

t.test('an invalid mail is rejected before anything is sent', async (t) => {
  const server = await startMailServer(t)
  const { facility } = await startMail(t, server.config)
  const rejected: readonly (readonly [Partial<MailMessage>, string])[] = [
    [{ subject: 'Hi\r\nBcc: eve@example.com' }, 'mail.subject-invalid'],
    [{ subject: 'Hi\nthere' }, 'mail.subject-invalid'],
    [{ subject: 'Hi\0' }, 'mail.subject-invalid'],
    [{ subject: 'x'.repeat(999) }, 'mail.subject-invalid'],
    [{ to: ['ada@example.com\r\nRCPT TO:<eve@example.com>'] }, 'mail.address-invalid'],
    [{ to: ['ada@example.com, eve@example.com'] }, 'mail.address-invalid'],
    [{ to: ['Ada <ada@example.com>'] }, 'mail.address-invalid'],
    [{ to: ['ada'] }, 'mail.address-invalid'],
    [{ to: [''] }, 'mail.address-invalid'],
    [{ to: [`${'x'.repeat(65)}@example.com`] }, 'mail.address-invalid'],
    [{ replyTo: 'x@y.z\nBcc: a@b.c' }, 'mail.address-invalid'],
    [{ locale: 'en\r\nX: y' }, 'mail.locale-invalid'],
    [{ unsubscribeUrl: 'https://a.b\r\nX: y' }, 'mail.unsubscribe-invalid'],
    [{ text: ' ' }, 'mail.empty'],
    [{ text: 'x'.repeat(1_000_001) }, 'mail.too-large'],
    [{ to: Array(51).fill('a@b.c') }, 'mail.too-many-recipients'],
  ]
  for (const [message, errorCode] of rejected) {
    const [delivery] = await outcomes(send(facility, message))
    t.hasStrict(delivery, { outcome: 'rejected', errorCode }, JSON.stringify(message).slice(0, 60))
  }
  t.same(server.received, [])
  assertMembers(t, await outcomes(send(facility, { to: ['bad', 'ada@example.com'] })), [
    { address: 'bad', outcome: 'rejected' },
    { address: 'ada@example.com', outcome: 'accepted' },
  ])
})

t.test('no part of a message is read from files or URLs', async (t) => {
  const server = await startMailServer(t)
  const { facility } = await startMail(t, server.config)
  const html = { path: '/etc/hostname' } as unknown as string
  const [delivery] = await outcomes(send(facility, { html }))
  t.not(delivery?.outcome, 'accepted')
  t.same(server.received, [])
})

t.test('responses decide the outcome of each address', async (t) => {
  const server = await startMailServer(t)
  const { facility } = await startMail(t, server.config)
  const three = { to: ['a@example.com', 'b@example.com', 'c@example.com'] }
  const outcomeOf = async (message: Partial<MailMessage> = {}) =>
    (await outcomes(send(facility, message))).map(({ outcome, errorCode, replyCode }) => [
      outcome,
      errorCode,
      replyCode,
    ])
  const full = { code: 452, text: '4.2.2 Mailbox full' }
  const gone = { code: 550, text: '5.1.1 No such user' }

  server.behave({ onRecipient: (address) => ({ a: undefined, b: full, c: gone })[address[0] as 'a' | 'b' | 'c'] })
  t.same(await outcomeOf(three), [
    ['accepted', undefined, undefined],
    ['deferred', 'mail.deferred', '452'],
    ['rejected', 'mail.refused', '550'],
  ])
  t.match((await outcomes(send(facility, three)))[2], { reply: '550 5.1.1 No such user' })
  server.behave({ onRecipient: (address) => (address.startsWith('a') ? full : gone) })
  t.same(await outcomeOf(three), [
    ['deferred', 'mail.deferred', '452'],
    ['rejected', 'mail.refused', '550'],
    ['rejected', 'mail.refused', '550'],
  ])
  for (const [code, outcome, errorCode] of [
    [451, 'deferred', 'mail.deferred'],
    [554, 'rejected', 'mail.refused'],
  ] as const) {
    server.behave({ onMail: { code, text: 'No' } })
    t.same(await outcomeOf(), [[outcome, errorCode, String(code)]], `${code} after the mail`)
    server.behave({ onSender: { code, text: 'No' } })
    t.same(await outcomeOf(), [[outcome, errorCode, String(code)]], `${code} to the sender`)
  }
  server.behave({ closes: true })
  t.same(await outcomeOf(), [['unknown', 'mail.no-answer', undefined]], 'it may have the mail')
  server.behave({})
  t.same(await outcomeOf(), [['accepted', undefined, undefined]], 'and no failure lasts')
})

t.test('a mail that is larger than the server accepts is rejected', async (t) => {
  const server = await startMailServer(t, { size: 10_000 })
  const { facility } = await startMail(t, server.config)
  const [large] = await outcomes(send(facility, { text: 'x'.repeat(20_000) }))
  t.match(large, { outcome: /^rejected$/, errorCode: /mail\.(too-large|refused)/ })
  assertMembers(t, await outcomes(send(facility)), [{ outcome: 'accepted' }])
})

t.test(
  'one deadline: after it the socket is destroyed, and the outcome says what the server had received',
  async (t) => {
    const server = await startMailServer(t)
    const { facility, clock } = await startMail(t, { ...server.config, 'platform.mail.send-deadline': '5s' })
    server.behave({ hangs: true })
    const hanging = send(facility)
    await until(() => server.received.length !== 0, 'the server has received it')
    const [connection] = server.server.connections
    const closed = new Promise((resolve) => connection?.['_socket'].once('close', resolve))
    await clock.advance(5_000)
    assertMembers(t, await outcomes(hanging), [{ outcome: 'unknown', errorCode: 'mail.no-answer' }])
    await closed
    server.behave({})
    assertMembers(t, await outcomes(send(facility)), [{ outcome: 'accepted' }])
    const given = AbortSignal.abort(new Error('The caller gives up'))
    assertMembers(t, await outcomes(send(facility, {}, given)), [{ outcome: 'deferred' }])
    t.equal(server.received.length, 2)
  },
)

/** Starts a server that accepts connections and calls `speak` for each. */
async function startSpeaker(t: Test, speak: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    speak(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  return { sockets, port: typeof address === 'object' ? (address?.port ?? 0) : 0 }
}

t.test('before the mail was sent every failure is deferred: no server, no greeting, a nonsense response', async (t) => {
  const from = { 'platform.mail.driver': 'smtp', 'platform.mail.from': 'a@b.c', 'platform.mail.smtp.host': '127.0.0.1' }
  const silent = await startSpeaker(t, () => {})
  const { facility, clock } = await startMail(t, {
    ...from,
    'platform.mail.smtp.port': silent.port,
    'platform.mail.send-deadline': '5s',
  })
  const waiting = send(facility)
  await until(() => silent.sockets.size !== 0, 'a client is connected')
  const [socket] = silent.sockets
  const closed = new Promise((resolve) => socket?.once('close', resolve))
  socket?.resume()
  await clock.advance(5_000)
  assertMembers(t, await outcomes(waiting), [{ outcome: 'deferred', errorCode: 'mail.unreachable' }])
  await closed
  for (const [greeting, errorCode] of [
    ['554 No\r\n', 'mail.server-refused'],
    ['421 Busy\r\n', 'mail.server-refused'],
    ['nonsense\r\n', 'mail.unreachable'],
    ['', 'mail.unreachable'],
  ] as const) {
    const { port } = await startSpeaker(t, (socket) => socket.end(greeting))
    const { facility } = await startMail(t, {
      ...from,
      'platform.mail.smtp.port': port,
      'platform.mail.smtp.security': 'opportunistic',
    })
    assertMembers(t, await outcomes(send(facility)), [{ outcome: 'deferred', errorCode }], greeting)
    await t.rejects(facility.verify(new AbortController().signal))
  }
  const { port } = await startSpeaker(t, () => {})
  const none = await startMail(t, { ...from, 'platform.mail.smtp.port': port === 65_535 ? 1 : port })
  t.equal(none.facility.isReady, true)
  const unreachable = await startMail(t, { ...from, 'platform.mail.smtp.host': 'no.such.host.invalid' })
  assertMembers(t, await outcomes(send(unreachable.facility)), [{ outcome: 'deferred', errorCode: 'mail.unreachable' }])
})

t.test('if TLS is required, nothing and no password is sent without it', async (t) => {
  const server = await startMailServer(t)
  const security = 'platform.mail.smtp.security'
  for (const how of ['auto', 'starttls'] as const) {
    const { facility } = await startMail(t, {
      ...server.config,
      [security]: how,
      'platform.mail.smtp.username': 'shop',
      'platform.mail.smtp.password': 'planted-secret-1',
    })
    assertMembers(t, await outcomes(send(facility)), [{ outcome: 'deferred', errorCode: 'mail.tls-failed' }], how)
  }
  const { facility } = await startMail(t, { ...server.config, [security]: 'tls' })
  assertMembers(t, await outcomes(send(facility)), [{ outcome: 'deferred' }], 'TLS from the start')
  t.same(server.signIns, [])
  t.same(server.received, [])
})

t.test('a certificate of an unknown authority is rejected, one of a configured authority is accepted', async (t) => {
  const { key, cert } = selfSigned()
  const server = await startMailServer(t, { key, cert, disabledCommands: [], allowInsecureAuth: false })
  const account = { 'platform.mail.smtp.username': 'shop', 'platform.mail.smtp.password': 'planted-secret-2' }
  const config = { ...server.config, ...account, 'platform.mail.smtp.security': 'auto' }
  const stranger = await startMail(t, config)
  assertMembers(t, await outcomes(send(stranger.facility)), [{ outcome: 'deferred', errorCode: 'mail.tls-failed' }])
  t.same(server.signIns, [])
  const known = await startMail(t, { ...config, 'platform.mail.smtp.ca': cert })
  assertMembers(t, await outcomes(send(known.facility)), [{ outcome: 'accepted' }])
  t.same(server.signIns, [{ username: 'shop', password: 'planted-secret-2' }])
})

t.test(
  'a rejected sign-in is an error of the configuration, and no response or log contains the password',
  async (t) => {
    const password = 'planted-secret-3/%"\\'
    const server = await startMailServer(t, {
      // This server repeats the credentials in its error.
      onAuth: ({ username, password }, _session, done) => done(new Error(`No ${username} with ${password}`)),
    })
    const lines: string[] = []
    const account = { 'platform.mail.smtp.username': 'shop', 'platform.mail.smtp.password': password }
    const write = process.stdout.write.bind(process.stdout)
    const { facility } = await startMail(t, { ...server.config, ...account })
    process.stdout.write = ((chunk: string | Uint8Array, ...rest: []) => {
      lines.push(String(chunk))
      return write(chunk, ...rest)
    }) as typeof process.stdout.write
    t.teardown(() => {
      process.stdout.write = write
    })
    const result = await send(facility)
    assertMembers(t, result.deliveries, [
      { outcome: /^deferred$/, errorCode: 'mail.sign-in-refused', replyCode: '535', reply: /^535 No shop with / },
    ])
    const rejected = await facility.verify(new AbortController().signal).catch((error: unknown) => error)
    t.match(rejected, { message: /sign-in/ })
    for (const text of [JSON.stringify(result), String(rejected), lines.join('')]) t.notMatch(text, 'planted-secret-3')
  },
)

t.test('a session that the server closed while idle loses no mail', async (t) => {
  const server = await startMailServer(t)
  const { facility } = await startMail(t, server.config)
  await send(facility)
  for (const connection of server.server.connections) connection.close()
  assertMembers(t, await outcomes(send(facility)), [{ outcome: 'accepted' }])
  t.equal(server.received.length, 2)
  // The server closes the idle session only when the next mail starts.
  server.behave({ onSender: { code: 421, text: 'Too long idle' } })
  const rejected = await outcomes(send(facility))
  assertMembers(t, rejected, [{ outcome: 'deferred' }], 'a new session that is refused as well is not tried for ever')
  t.equal(server.sessions, 3)
})

t.test('sessions are limited, shared and ended after their number of mails', async (t) => {
  const server = await startMailServer(t)
  const limits = { 'platform.mail.smtp.max-connections': 2, 'platform.mail.smtp.max-messages': 3 }
  const { facility } = await startMail(t, { ...server.config, ...limits })
  const sent = await Promise.all(Array.from({ length: 12 }, () => send(facility)))
  t.same(
    sent.flatMap(({ deliveries }) => deliveries.map(({ outcome }) => outcome)),
    Array(12).fill('accepted'),
  )
  t.equal(server.received.length, 12)
  t.equal(server.maxMails, 3, 'a session ends after its mails')
  // The number depends on how the mails are distributed to the two connections.
  t.ok(server.sessions === 4 || server.sessions === 5, `${server.sessions} sessions for twelve mails`)
  server.behave({ hangs: true })
  const controller = new AbortController()
  const held = [send(facility, {}, controller.signal), send(facility, {}, controller.signal)]
  const queued = new AbortController()
  const third = send(facility, {}, queued.signal)
  queued.abort(new Error('enough'))
  assertMembers(t, await outcomes(third), [{ outcome: 'deferred' }], 'a mail that waits for a session can give up')
  await until(() => server.received.length >= 14, 'the server has received it')
  controller.abort(new Error('enough'))
  assertMembers(t, await Promise.all(held.map(outcomes)), [[{ outcome: 'unknown' }], [{ outcome: 'unknown' }]])
  server.behave({})
  assertMembers(t, await outcomes(send(facility)), [{ outcome: 'accepted' }], 'their places are free again')
})

t.test('a stop cancels hanging mails and leaves no connection', async (t) => {
  const server = await startMailServer(t)
  const { facility, running } = await startMail(t, server.config)
  await send(facility)
  t.equal(server.server.connections.size, 1)
  const [connection] = server.server.connections
  const closed = new Promise((resolve) => connection?.['_socket'].once('close', resolve))
  await running.stop('test ended')
  await closed
})

t.test('DKIM signs the configured headers', async (t) => {
  const { generateKeyPairSync } = await import('node:crypto')
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const server = await startMailServer(t)
  const { facility } = await startMail(t, {
    ...server.config,
    'platform.mail.dkim.domain': 'shop.example',
    'platform.mail.dkim.selector': 's1',
    'platform.mail.dkim.private-key': privateKey,
  })
  assertMembers(t, await outcomes(send(facility, { unsubscribeUrl: 'https://shop.example/u' })), [
    { outcome: 'accepted' },
  ])
  const signature = server.received[0]?.headers['dkim-signature'] ?? ''
  t.match(signature, /d=shop\.example; .*s=s1;/)
  t.match(signature, /h=[^;]*list-unsubscribe:[^;]*list-unsubscribe-post/i)
})

t.test(
  'driver "file" stores each mail as a private .eml file, driver "log" writes a line without the text',
  async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'plinth-mail-'))
    t.teardown(() => rmSync(directory, { recursive: true, force: true }))
    const place = join(directory, 'mails')
    const config = { 'platform.mail.from': 'shop@example.com', 'platform.mail.file.directory': place }
    const { facility } = await startMail(t, { ...config, 'platform.mail.driver': 'file' })
    await facility.verify(new AbortController().signal)
    assertMembers(t, await send(facility, { text: 'Dear Ada 中文' }), {
      driver: 'file',
      deliveries: [{ outcome: 'accepted' }],
    })
    await send(facility)
    const files = readdirSync(place)
    t.equal(files.length, 2)
    const texts = files.map((name) => partsOf({ raw: readFileSync(join(place, name), 'latin1') })['text/plain'])
    t.same(texts.toSorted(), ['Dear Ada', 'Dear Ada 中文'])
    t.ok(files.every((name) => name.endsWith('.eml') && (statSync(join(place, name)).mode & 0o077) === 0))
    assertMembers(t, await outcomes(send(facility, {}, AbortSignal.abort(new Error('late')))), [
      { outcome: 'deferred' },
    ])
    t.equal(readdirSync(place).length, 2)
    rmSync(place, { recursive: true })
    writeFileSync(place, 'in the way')
    assertMembers(t, await outcomes(send(facility)), [{ outcome: 'deferred', errorCode: 'mail.file-failed' }])
    await t.rejects(facility.verify(new AbortController().signal))

    const log = await startMail(t, { ...config, 'platform.mail.driver': 'log' })
    assertMembers(t, await send(log.facility), { driver: 'log', deliveries: [{ outcome: 'accepted' }] })
  },
)

t.test('without a driver or a sender nothing is sent, and the product starts anyway', async (t) => {
  for (const config of [
    {},
    { 'platform.mail.driver': 'smtp', 'platform.mail.from': 'a@b.c' },
    { 'platform.mail.driver': 'log' },
    { 'platform.mail.driver': 'carrier-pigeon', 'platform.mail.from': 'a@b.c' },
  ]) {
    const { facility } = await startMail(t, config)
    t.equal(facility.isReady, false, JSON.stringify(config))
    assertMembers(t, await outcomes(send(facility)), [{ outcome: 'deferred', errorCode: 'mail.not-configured' }])
    await rejectsWith(t, facility.verify(new AbortController().signal), { message: /platform\.mail\.driver/ })
  }
})
