/** Tests the effect of each configuration key of the mail plugin, as seen by a mail server. */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { assertKeyEffect, freePort, type KeyValues, manualClock, startForTest, until } from '@plinth/dev/testing'
import { defineProduct } from '@plinth/kernel'
import t from 'tap'
import mailPlugin, { mail } from '../src/index.ts'
import { selfSigned, startMailServer } from './fixtures/mail-server.ts'

type Server = Awaited<ReturnType<typeof startMailServer>>

/** Starts the mail service. The returned function `send` sends a mail and returns its driver and outcome. */
async function startMail(config: KeyValues, clock = manualClock()) {
  const running = await startForTest(defineProduct({ name: 'mails', plugins: [mailPlugin], config }), { clock })
  t.teardown(() => running.stop('test ended'))
  const send = async () => {
    const message = { to: ['ada@example.com'], subject: 'Hello', text: 'Dear Ada' }
    const { driver, deliveries } = await running.service(mail).send(message, { idempotencyKey: randomUUID() })
    const [delivery] = deliveries
    return {
      driver,
      outcome: delivery?.outcome,
      errorCode: delivery && 'errorCode' in delivery ? delivery.errorCode : '',
    }
  }
  return { send, clock }
}

/** Sends one mail to a new mail server and returns what this server received. */
const observeAt =
  (server: Server, config: KeyValues = {}) =>
  async (values: KeyValues) => {
    const [received, signIns] = [server.received.length, server.signIns.length]
    const { send } = await startMail({ ...server.config, ...config, ...values })
    const result = await send()
    const [message] = server.received.slice(received)
    return {
      ...result,
      from: message?.headers['from'],
      signature: /d=([^;]*);.* s=([^;]*);/.exec(message?.headers['dkim-signature'] ?? '')?.slice(1),
      signIn: server.signIns.slice(signIns)[0],
    }
  }

t.test('a mail is sent from the configured sender by the configured driver', async (t) => {
  const server = await startMailServer(t)
  const [senders] = await assertKeyEffect(t, 'platform.mail.from', {
    compared: 'one@shop.example',
    changed: 'other@shop.example',
    observe: observeAt(server),
  })
  t.hasStrict(senders, { before: { from: 'one@shop.example' }, after: { from: 'other@shop.example' } })
  const [drivers] = await assertKeyEffect(t, 'platform.mail.driver', {
    compared: 'smtp',
    changed: 'log',
    observe: observeAt(server),
  })
  t.hasStrict(drivers, { before: { driver: 'smtp', from: 'Shop <noreply@shop.example>' }, after: { driver: 'log' } })
  const at = t.testdir()
  const [directories] = await assertKeyEffect(t, 'platform.mail.file.directory', {
    compared: join(at, 'one'),
    changed: join(at, 'other'),
    observe: async (values) => {
      await (await startMail({ ...server.config, 'platform.mail.driver': 'file', ...values })).send()
      return readdirSync(at)
    },
  })
  t.same([directories?.before, directories?.after], [['one'], ['one', 'other']])
})

t.test('a mail goes to the configured server', async (t) => {
  const server = await startMailServer(t)
  const [hosts] = await assertKeyEffect(t, 'platform.mail.smtp.host', {
    compared: '127.0.0.1',
    changed: '127.0.0.9',
    observe: observeAt(server),
  })
  t.hasStrict(hosts, { before: { outcome: 'accepted' }, after: { errorCode: 'mail.unreachable' } })
  const [ports] = await assertKeyEffect(t, 'platform.mail.smtp.port', {
    compared: server.port,
    changed: await freePort(),
    observe: observeAt(server),
  })
  t.hasStrict(ports, { before: { outcome: 'accepted' }, after: { errorCode: 'mail.unreachable' } })
})

t.test('a product signs in only to a trusted server', async (t) => {
  const { key, cert } = selfSigned()
  const server = await startMailServer(t, { key, cert, disabledCommands: [], allowInsecureAuth: false })
  const trusted = { 'platform.mail.smtp.security': 'auto', 'platform.mail.smtp.ca': cert }
  const account = { 'platform.mail.smtp.username': 'shop', 'platform.mail.smtp.password': 'planted-secret' }
  const [trust] = await assertKeyEffect(t, 'platform.mail.smtp.ca', {
    changed: cert,
    observe: observeAt(server, { 'platform.mail.smtp.security': 'auto' }),
  })
  t.hasStrict(trust, { before: { errorCode: 'mail.tls-failed' }, after: { outcome: 'accepted' } })
  const [names] = await assertKeyEffect(t, 'platform.mail.smtp.username', {
    compared: 'shop',
    changed: 'other',
    observe: observeAt(server, { ...trusted, ...account }),
  })
  t.hasStrict(names, { before: { signIn: { username: 'shop' } }, after: { signIn: { username: 'other' } } })
  const [passwords] = await assertKeyEffect(t, 'platform.mail.smtp.password', {
    compared: 'planted-secret',
    changed: 'other-secret',
    observe: observeAt(server, { ...trusted, ...account }),
  })
  t.match(passwords?.after.signIn, { username: 'shop', password: 'other-secret' })
  const plain = await startMailServer(t)
  const [security] = await assertKeyEffect(t, 'platform.mail.smtp.security', {
    compared: 'opportunistic',
    changed: 'starttls',
    observe: observeAt(plain),
  })
  t.hasStrict(security, { before: { outcome: 'accepted' }, after: { errorCode: 'mail.tls-failed' } })
})

t.test('a mail is signed for the domain with the selector and the key', async (t) => {
  const privateKey = () =>
    generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    }).privateKey
  const server = await startMailServer(t)
  const dkim = {
    'platform.mail.dkim.domain': 'shop.example',
    'platform.mail.dkim.selector': 's1',
    'platform.mail.dkim.private-key': privateKey(),
  }
  const [domains] = await assertKeyEffect(t, 'platform.mail.dkim.domain', {
    compared: 'shop.example',
    changed: 'other.example',
    observe: observeAt(server, dkim),
  })
  t.same(
    [domains?.before.signature, domains?.after.signature],
    [
      ['shop.example', 's1'],
      ['other.example', 's1'],
    ],
  )
  const [selectors] = await assertKeyEffect(t, 'platform.mail.dkim.selector', {
    compared: 's1',
    changed: 's2',
    observe: observeAt(server, dkim),
  })
  t.same(selectors?.after.signature, ['shop.example', 's2'])
  const { 'platform.mail.dkim.private-key': _key, ...withoutKey } = dkim
  const [keys] = await assertKeyEffect(t, 'platform.mail.dkim.private-key', {
    changed: privateKey(),
    observe: (values) =>
      observeAt(
        server,
        withoutKey,
      )(values).then(
        ({ signature }) => signature ?? 'unsigned',
        (error: { code?: string }) => error.code,
      ),
  })
  t.same(keys?.after, ['shop.example', 's1'])
})

t.test('sessions are limited in number and in mails', async (t) => {
  const [messages] = await assertKeyEffect(t, 'platform.mail.smtp.max-messages', {
    changed: 2,
    observe: async (values) => {
      const server = await startMailServer(t)
      const { send } = await startMail({ ...server.config, ...values })
      for (let count = 0; count < 4; count++) await send()
      return { mails: server.maxMails, sessions: server.sessions }
    },
  })
  t.hasStrict(messages, { before: { mails: 4, sessions: 1 }, after: { mails: 2, sessions: 2 } })
  const [connections] = await assertKeyEffect(t, 'platform.mail.smtp.max-connections', {
    compared: 3,
    changed: 2,
    observe: async (values, key) => {
      const server = await startMailServer(t)
      const { send, clock } = await startMail({ ...server.config, ...values })
      server.behave({ hangs: true })
      const sent = Array.from({ length: 4 }, send)
      await until(() => server.received.length >= Number(values[key]), 'every session has a mail')
      await clock.advance(600_000)
      const outcomes = (await Promise.all(sent)).map(({ outcome }) => outcome)
      return { hanging: outcomes.filter((outcome) => outcome === 'unknown').length }
    },
  })
  t.hasStrict(connections, { before: { hanging: 3 }, after: { hanging: 2 } })
})

t.test('a mail is cancelled at its deadline', async (t) => {
  const [outcomes] = await assertKeyEffect(t, 'platform.mail.send-deadline', {
    changed: '5s',
    observe: async (values) => {
      const server = await startMailServer(t)
      const { send, clock } = await startMail({ ...server.config, ...values })
      server.behave({ hangs: true })
      let outcome: string | undefined = 'pending'
      const sent = send().then((result) => {
        outcome = result.outcome
      })
      await until(() => server.received.length === 1, 'the server has the mail')
      await clock.advance(5_000)
      const atFiveSeconds = outcome
      await clock.advance(600_000)
      await sent
      return [atFiveSeconds, outcome]
    },
  })
  t.same(
    [outcomes?.before, outcomes?.after],
    [
      ['pending', 'unknown'],
      ['unknown', 'unknown'],
    ],
  )
})
