import { manualClock, startForTest } from '@plinth/dev/testing'
import {
  type DeliveryOutcome,
  definePlugin,
  defineProduct,
  key,
  type NotificationMessage,
  notificationChannel,
  type SendContext,
} from '@plinth/kernel'
import notification, { notification as facadeRef } from '@plinth/notification'
import log from '@plinth/notification-channels/log'
import t from 'tap'

const token = 'planted/Token+of the?Channel-4711'
const inMessage = 'one-time-code-81723'

type Answer = (text: string) => DeliveryOutcome

/** Returns a plugin whose channel repeats its token and the message in every text of its outcome. */
const careless = (response: Answer, write: (secret: string) => string) =>
  definePlugin({
    id: 'test.careless',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [notificationChannel],
    config: {
      'platform.careless.token': key.string({ title: 'Token', default: '', sensitive: true, destination: [] }),
    },
    setup({ config, contribute }) {
      contribute(notificationChannel, 'careless', {
        displayName: 'Careless',
        recipientKinds: [],
        traits: { idempotent: false },
        send: async ({ content }: NotificationMessage, _: SendContext) =>
          response(`${'x'.repeat(960)} said ${write(config.get('platform.careless.token'))} to ${content}`),
      })
    },
  })

const forms: Readonly<Record<string, (secret: string) => string>> = {
  plain: (secret) => secret,
  'basic authentication': (secret) => `Basic ${Buffer.from(`account:${secret}`).toString('base64')}`,
  'basic authentication in base64url': (secret) => Buffer.from(`ac:${secret}`).toString('base64url'),
  'in a URL': (secret) => `https://a.example/?token=${encodeURIComponent(secret)}`,
  'in a form': (secret) => new URLSearchParams({ token: secret }).toString(),
  'in JSON': (secret) => JSON.stringify({ token: secret }).replaceAll('/', '\\/'),
}
const responses: Readonly<Record<string, Answer>> = {
  rejected: (text) => ({ outcome: 'rejected', errorCode: text, errorMessage: text, providerMessage: text, hint: text }),
  accepted: (text) => ({
    outcome: 'accepted',
    messageId: text,
    provider: text,
    providerCode: text,
    providerMessage: text,
  }),
  deferred: (text) => ({ outcome: 'deferred', errorCode: 'a.b', errorMessage: text, providerCode: text }),
}

/** Returns all sequences of eight characters of a secret. Each of them would reveal a part of the secret. */
const partsOf = (secret: string) => Array.from({ length: secret.length - 7 }, (_, at) => secret.slice(at, at + 8))

for (const [form, write] of Object.entries(forms)) {
  for (const [outcome, response] of Object.entries(responses)) {
    t.test(`N-062 a result (${outcome}) shows no secret that a channel repeats ${form}`, async (t) => {
      const product = defineProduct({ name: 'notices', plugins: [notification, log, careless(response, write)] })
      const set = { 'platform.careless.token': token }
      const running = await startForTest(product, { clock: manualClock(), set })
      t.teardown(() => running.stop('test ended'))
      const variables = { code: inMessage }
      const draft = { content: `Code ${inMessage}`, variables, secretVariables: ['code'] }
      const [result] = await running.service(facadeRef).send(draft, { channels: ['careless'] })
      const shown = JSON.stringify(result)
      t.match(result, { outcome })
      t.ok(shown.includes('******'))
      for (const part of partsOf(write(token)).filter((one) => partsOf(token).includes(one))) {
        t.notOk(shown.includes(part), 'no part of the token')
      }
      const bytes = shown.match(/[A-Za-z0-9+/_-]{8,}/g)?.map((word) => Buffer.from(word, 'base64').toString()) ?? []
      t.notOk(
        bytes.some((word) => word.includes(token.slice(4, 16))),
        'nor in base64',
      )
      t.ok((result?.errorMessage ?? '').length <= 1_000)
    })
  }
}
