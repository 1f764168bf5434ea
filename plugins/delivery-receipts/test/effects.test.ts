/** Tests the effect of each configuration key of delivery receipts. */
import { assertKeyEffect, type KeyValues } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { definePlugin, type JsonValue } from '@plinth/kernel'
import { type Mail, type MailAnnotations, mail } from '@plinth/mail'
import t from 'tap'
import { allSources, createCertificate, startOutside, startReceipts, topicArn } from './fixtures/product.ts'
import { providersWith, snsRequest, type TestProvider } from './fixtures/providers.ts'

const { key, cert } = createCertificate()
const providers = providersWith(key)

async function start(config: KeyValues, others: readonly ReturnType<typeof definePlugin>[] = []) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const outside = await startOutside(t, (_request, response) => response.end(cert))
  const all = { ...allSources, ...(config as Readonly<Record<string, JsonValue>>) }
  return startReceipts(t, at, { outside: outside.plugin, config: all, others })
}

/** Returns the status of the response to a valid request of a provider. */
const statusOf = (name: string) => async (config: KeyValues) => {
  const { post, clock } = await start(config)
  const about = { reference: 'a'.repeat(40), messageId: 'm', id: 'r', at: clock.now() }
  return (await post((providers[name] as TestProvider).request('delivered', about))).status
}

t.test('each source accepts only requests with the configured proof', async (t) => {
  const otherSecret = 'another-secret-0123456789abcdefghij'
  const proofs = [
    await assertKeyEffect(t, 'platform.delivery-receipts.ses.topic-arns', {
      compared: [topicArn],
      changed: [`${topicArn}-2`],
      observe: statusOf('ses'),
    }),
    await assertKeyEffect(t, 'platform.delivery-receipts.mailgun.secret', {
      changed: otherSecret,
      observe: statusOf('mailgun'),
    }),
    await assertKeyEffect(t, 'platform.delivery-receipts.postmark.secret', {
      changed: otherSecret,
      observe: statusOf('postmark'),
    }),
    await assertKeyEffect(t, 'platform.delivery-receipts.resend.secret', {
      changed: `whsec_${Buffer.alloc(24, 8).toString('base64')}`,
      observe: statusOf('resend'),
    }),
    await assertKeyEffect(t, 'platform.delivery-receipts.aliyun.secret', {
      changed: otherSecret,
      observe: statusOf('aliyun'),
    }),
    await assertKeyEffect(t, 'platform.delivery-receipts.tencent.secret', {
      changed: otherSecret,
      observe: statusOf('tencent'),
    }),
    await assertKeyEffect(t, 'platform.delivery-receipts.returned-mail.secret', {
      changed: otherSecret,
      observe: statusOf('returned-mail'),
    }),
  ].flat()
  for (const { key, before, after } of proofs) t.same([before, after], [200, 401], key)
})

t.test('signatures with SHA-1 are accepted only by the setting', async (t) => {
  const observe = async (config: KeyValues) => {
    const { post, clock } = await start(config)
    const Timestamp = new Date(clock.now()).toISOString()
    return (await post(snsRequest({ SignatureVersion: '1', MessageId: 'm', Timestamp, Message: '{}' }, key))).status
  }
  const [status] = await assertKeyEffect(t, 'platform.delivery-receipts.ses.allow-signature-version-1', {
    changed: true,
    observe,
  })
  t.hasStrict(status, { before: 401, after: 200 })
})

t.test('mails have a return path with a token, signed with the generated key', async (t) => {
  const observe = async (config: KeyValues): Promise<MailAnnotations> => {
    let annotate: Parameters<Mail['annotate']>[0] = () => ({})
    const fakeMail = definePlugin({
      id: 'mail',
      version: '1.0.0',
      kernel: '^1.0.0',
      provides: [mail],
      setup: ({ provide }) =>
        provide(mail, {
          annotate(annotations: typeof annotate) {
            annotate = annotations
          },
        } as Mail),
    })
    await start(config, [fakeMail])
    return annotate('b'.repeat(40))
  }
  const [paths] = await assertKeyEffect(t, 'platform.delivery-receipts.bounce-address', {
    compared: '',
    changed: 'bounce@mail.example.com',
    observe,
  })
  t.equal(paths?.before.returnPath, undefined)
  t.match(paths?.after.returnPath, /^bounce\+[0-9a-z]{47}@mail\.example\.com$/)
  t.same(paths?.after.headers, {
    'X-SES-MESSAGE-TAGS': `ref=${'b'.repeat(40)}`,
    'X-Mailgun-Variables': `{"ref":"${'b'.repeat(40)}"}`,
    'X-PM-Metadata-ref': 'b'.repeat(40),
    'X-PM-KeepID': 'true',
  })
  const [signed] = await assertKeyEffect(t, 'platform.delivery-receipts.bounce-address-key', {
    changed: Buffer.alloc(32, 9).toString('base64'),
    observe: async (config) =>
      (await observe({ 'platform.delivery-receipts.bounce-address': 'bounce@mail.example.com', ...config })).returnPath,
  })
  t.not(signed?.before, signed?.after)
})

t.test('old receipts and subscriptions are removed', async (t) => {
  const dayMs = 86_400_000
  const countAfter = (days: number) => async (config: KeyValues) => {
    const { post, clock, stored, settle, running } = await start(config)
    const about = { reference: 'a'.repeat(40), messageId: 'm', id: 'r', at: clock.now() }
    await post((providers['ses'] as TestProvider).request('delivered', about))
    clock.shiftWallClock(days * dayMs)
    await settle()
    const purge = running.scheduledTasks.find(({ name }) => name === 'delivery-receipts.purge')
    await purge?.run(new AbortController().signal)
    return (await stored()).length
  }
  const [kept] = await assertKeyEffect(t, 'platform.delivery-receipts.retention', {
    changed: '2d',
    observe: countAfter(10),
  })
  t.hasStrict(kept, { before: 1, after: 0 })
})
