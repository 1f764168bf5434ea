import type { DeliveryOutcome } from '@plinth/kernel'
import { asPlainText, secretPartsOfUrl, type WebhookHint } from '@plinth/notification-channels/webhook'
import { parseJsonOrUndefined } from '@plinth/outgoing-http'
import {
  type CaseBodies,
  type ConformanceCase,
  createCases,
  expectBothLanguages,
  expectEqual,
  expectNoSecret,
  expectThat,
} from '../index.ts'
import { echoed, inspectable, long, noise, textOf, textsIn } from './bodies.ts'
import { type ProviderHarness, startProvider, type WebhookProviderSetting, type WebhookSample } from './harness.ts'

export type { WebhookProviderSetting, WebhookSample } from './harness.ts'

export interface WebhookFailureSample extends WebhookSample {
  readonly outcome: Exclude<DeliveryOutcome['outcome'], 'accepted'>
  /** Error code, if the response contains one. */
  readonly code?: string
  readonly hint?: WebhookHint
}

export interface WebhookProviderCaseOptions extends WebhookProviderSetting {
  readonly success: WebhookSample
  /** Failures with sample responses: one for each kind of documented failure; at least one. */
  readonly failures: readonly WebhookFailureSample[]
  /**
   * Texts on one line that the service would interpret, such as `@all`, by message type. Required for message types
   * with `plain`.
   */
  readonly markup?: Readonly<Record<string, readonly string[]>>
  /**
   * Returns the text that the service shows for a sent text, by message type. Required for message types whose escapes
   * the service undoes before it looks for addresses.
   */
  readonly shown?: Readonly<Record<string, (sent: string) => string>>
  /**
   * How success is recognised. `status`: a success status is sufficient. `body` (default): the body must confirm it.
   */
  readonly judgedBy?: 'status' | 'body'
}

/**
 * Test cases for the contract of `WebhookProvider`. No request leaves the process.
 *
 * @param options plugin from `webhookProviderPlugin`, with sample responses of its service
 */
export function webhookProviderCases(options: WebhookProviderCaseOptions): ConformanceCase[] {
  const { endpoint, secret, success, failures, markup = {}, shown = {}, judgedBy = 'body' } = options
  const secrets = [secret, ...secretPartsOfUrl(endpoint)].filter((part) => part.length >= 6)
  const sent = async (harness: ProviderHarness, message: Parameters<ProviderHarness['send']>[0] = {}) => {
    const outcome = await harness.send(message)
    expectNoSecret('an outcome', outcome, secrets)
    return outcome
  }
  const accepted = async (harness: ProviderHarness, message: Parameters<ProviderHarness['send']>[0] = {}) => {
    const outcome = await sent(harness, message)
    expectEqual('A message is accepted when the service says so', outcome.outcome, 'accepted')
    return harness.requests.at(-1)
  }
  const types = ({ configured }: ProviderHarness) => Object.keys(configured.provider.messageTypes)

  const cases: CaseBodies<ProviderHarness> = {
    'describes itself': [
      'Give code and aliases as lower-case words joined by "-", displayName and the titles of attributes in English and Chinese, the message type text, hosts without protocol, and limits above 0.',
      ({ configured: { provider } }) => {
        const { code, aliases = [], displayName, attributes = {}, messageTypes, knownHosts } = provider
        const isWord = (name: string) => /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name)
        const names = [code, ...aliases, ...Object.keys(attributes), ...Object.keys(messageTypes)]
        expectEqual(
          'Codes and names are words joined by "-"',
          names.filter((name) => !isWord(name)),
          [],
        )
        expectEqual('No alias is the code or another alias', new Set([code, ...aliases]).size, aliases.length + 1)
        expectBothLanguages('displayName is not empty in any language', displayName)
        for (const [name, { title }] of Object.entries(attributes))
          expectBothLanguages(`The attribute ${name} has a title`, title)
        expectThat('There is the message type text', 'text' in messageTypes, 'text', Object.keys(messageTypes))
        const hosts = knownHosts.filter((host) => !/^(?:\*\.)?[a-z0-9.-]+$/.test(host))
        expectEqual('knownHosts are names of hosts', hosts, [])
        const { rateLimits = [] } = provider
        const limits = Object.values(messageTypes).flatMap(({ limit }) => limit?.max ?? [])
        const bounds = [...limits, ...rateLimits.flatMap(({ max, windowMs }) => [max, windowMs])]
        expectEqual(
          'Limits are whole numbers above 0',
          bounds.filter((bound) => !(Number.isSafeInteger(bound) && bound > 0)),
          [],
        )
        expectEqual(
          'A provider that signs has sign()',
          provider.secret.use === 'signature',
          provider.sign !== undefined,
        )
      },
    ],

    'hands subject and content on, in every message type': [
      'Put subject and content into the payload of each message type; what it returns is an object for JSON.',
      async (harness) => {
        harness.answer(success)
        for (const type of types(harness)) {
          const subject = 'Release seventeen'
          const attributes = { 'webhook.message-type': type }
          const request = await accepted(harness, { subject, content: 'It is out today', attributes })
          const body = String(request?.body)
          expectThat(`The payload of ${type} is a JSON object`, body.startsWith('{'), 'an object', body)
          for (const text of [subject, 'It is out today'])
            expectThat(`The payload of ${type} holds subject and content`, body.includes(text), text, body)
        }
      },
    ],

    'sends a message without a subject': [
      'Leave the title out, or make one of the content, where a message has none.',
      async (harness) => {
        harness.answer(success)
        for (const type of types(harness)) {
          const request = await accepted(harness, { subject: '', attributes: { 'webhook.message-type': type } })
          expectThat('The content is sent', String(request?.body).includes('It is out'), 'It is out', request?.body)
        }
      },
    ],

    'the same message is the same request': [
      'Take everything from the message that is given: no clock, no counter, no chance. Change nothing in it.',
      async (harness) => {
        harness.answer(success)
        const { provider } = harness.configured
        for (const type of types(harness)) {
          const frozen = Object.freeze({ 'webhook.message-type': type })
          const one = await accepted(harness, { id: 'one', attributes: frozen })
          const two = await accepted(harness, { id: 'one', attributes: frozen })
          const withoutSignature =
            provider.secret.use === 'signature' ? [] : textOf([two].flatMap((each) => each ?? []))
          expectEqual(
            `Two requests of one message (${type})`,
            withoutSignature.length === 0 ? [] : textOf([one].flatMap((each) => each ?? [])),
            withoutSignature,
          )
        }
      },
    ],

    'a long message is cut between characters, not refused': [
      'Declare the limit of the service and the member that it counts; do not cut texts by their UTF-16 units.',
      async (harness) => {
        harness.answer(success)
        for (const type of types(harness)) {
          const content = harness.configured.provider.messageTypes[type]?.limit ? long : long.slice(0, 20_000)
          const request = await accepted(harness, { content, attributes: { 'webhook.message-type': type } })
          const body = String(request?.body)
          expectThat(
            'No character is cut in two',
            body.isWellFormed() && !/\\ud[89a-f]/i.test(body),
            'whole characters',
            '',
          )
        }
      },
    ],

    'text of people stays text': [
      'Declare plain for each message type that the service reads with a parser: its tokens, and nothing else. Put written.subject and written.content only where the service shows text without a parser.',
      async (harness) => {
        harness.answer(success)
        const { messageTypes } = harness.configured.provider
        const sentWith = async (type: string, content: string, isValue: boolean) => {
          const ranges = { subject: [], content: [[0, content.length]] as const }
          const attributes = { 'webhook.message-type': type }
          const request = await accepted(harness, { content, attributes, ...(isValue ? { valueRanges: ranges } : {}) })
          return textsIn(parseJsonOrUndefined(String(request?.body))).join('\n')
        }
        for (const [type, { plain }] of Object.entries(messageTypes)) {
          const tokens = markup[type] ?? []
          expectEqual(
            `There are samples of markup of ${type} where it declares plain`,
            tokens.length > 0,
            plain !== undefined,
          )
          if (plain !== undefined)
            expectThat(`The tokens of ${type} have the flag g`, plain.tokens.global, 'g', plain.tokens.flags)
          for (const token of tokens) {
            const asText = plain === undefined ? token : asPlainText(token, plain)
            expectThat(`Markup of ${type} is changed where it is text`, asText !== token, `not ${token}`, asText)
            const shown = await sentWith(type, token, true)
            expectThat(`A value in ${type} is text`, shown.includes(asText), asText, shown)
            if (type === 'text') continue
            const written = await sentWith(type, token, false)
            expectThat(`The author of a text in ${type} may use markup`, written.includes(token), token, written)
            expectThat(`A value in ${type} is no markup`, shown !== written, 'text', shown)
          }
          const ordinary = 'Disk sda is full, see page 7'
          const shown = await sentWith(type, ordinary, true)
          expectThat(`Ordinary text in ${type} is unchanged`, shown.includes(ordinary), ordinary, shown)
        }
      },
    ],

    'an address in a text stays the same address': [
      'Declare inAddress in plain, unless the service undoes escapes before it looks for addresses: percentEncodedMark encodes the marks that are unreserved characters, such as "_", and leaves others, such as "*".',
      async (harness) => {
        harness.answer(success)
        const address = 'https://status.example/_next/a*b~c_(d)/~e~?q=_f_'
        for (const type of types(harness)) {
          const content = `See ${address} now`
          const valueRanges = { subject: [], content: [[0, content.length]] as const }
          const attributes = { 'webhook.message-type': type }
          const request = await accepted(harness, { content, attributes, valueRanges })
          const text = textsIn(parseJsonOrUndefined(String(request?.body))).join('\n')
          const read = (shown[type]?.(text) ?? text).replace(/%(?:5F|7E)/gi, decodeURIComponent)
          expectThat(`The address in a message of type ${type}`, read.includes(address), address, text)
        }
      },
    ],

    'failures are told as what they are': [
      'Judge by what the service documents: rejected for what will never be sent as it is, deferred for what was not sent and may be tried again, unknown for what may have been sent.',
      async (harness) => {
        expectThat('There is a sample of a failure', failures.length > 0, 'at least one', failures)
        for (const { outcome, code, hint, ...sample } of failures) {
          harness.answer(sample)
          const reported = await sent(harness)
          const shown = JSON.stringify(sample.body)
          expectEqual(`The outcome of ${shown}`, reported.outcome, outcome)
          if (code !== undefined) expectEqual(`The business code of ${shown}`, reported.providerCode, code)
          if (hint === undefined || reported.outcome === 'accepted') continue
          expectEqual(`The hint of ${shown}`, reported.errorCode, `webhook.${hint}`)
        }
      },
    ],

    'what nobody understands is no success': [
      'Ask for what the service says on success, and for nothing that a page or a proxy could say as well; judge() never throws.',
      async (harness) => {
        for (const sample of noise) {
          harness.answer(sample)
          const { outcome } = await sent(harness)
          const isReported = judgedBy === 'status' ? outcome === 'accepted' : outcome !== 'accepted'
          expectThat('An answer of success that is none of the service', isReported, judgedBy, [sample.body, outcome])
        }
        for (const status of [301, 302, 400, 401, 404]) {
          harness.answer({ ...success, status })
          const { outcome } = await sent(harness)
          expectThat(
            `HTTP ${status} is no success, whatever the body says`,
            outcome !== 'accepted',
            'a failure',
            outcome,
          )
        }
      },
    ],

    'faults of the service may be tried again': [
      'Leave answers without a known code to the status: 429 and 500 are deferred; a gateway that got no answer is unknown.',
      async (harness) => {
        const seconds = { status: 429, headers: { 'retry-after': '7' }, body: 'slow down' }
        harness.answer(seconds)
        const reported = await sent(harness)
        const wait = reported.outcome === 'deferred' ? reported.retryAfterMs : undefined
        expectEqual('429 is deferred for as long as Retry-After says', [reported.outcome, wait], ['deferred', 7000])
        for (const body of ['', '<html>oops</html>', '{']) {
          harness.answer({ status: 500, body })
          expectEqual('500 is deferred', (await sent(harness)).outcome, 'deferred')
          harness.answer({ status: 504, body })
          expectEqual('504 is unknown', (await sent(harness)).outcome, 'unknown')
        }
      },
    ],

    'no secret comes back': [
      'Take code and message from the members that the service documents; never quote a request.',
      async (harness) => {
        for (const { outcome, code, hint, ...sample } of failures) {
          harness.answer((request) => {
            const [echo] = textOf([request])
            const body = typeof sample.body === 'string' ? `${sample.body} ${echo}` : echoed(sample.body, String(echo))
            return { ...sample, body }
          })
          await sent(harness)
        }
        harness.answer((request) => ({ status: 500, body: textOf([request])[0] }))
        await sent(harness)
      },
    ],

    'its question says yes to nothing else': [
      'Let verify.address lead to the service, the same each time, and verify.accepts be true for what the service alone answers.',
      ({ configured: { provider } }) => {
        if (provider.verify === undefined) return
        const { address, accepts } = provider.verify
        const token = provider.secret.use === 'token' ? secret : undefined
        const requested = () => address({ endpoint: new URL(endpoint), token })
        expectEqual('The question is the same each time', inspectable(requested()), inspectable(requested()))
        const { host } = requested().url ?? new URL(endpoint)
        expectEqual('It goes to the server of the endpoint', host, new URL(endpoint).host)
        for (const { body } of noise) {
          const text = String(body)
          const answer = {
            status: 200,
            headers: {},
            body: text,
            json: parseJsonOrUndefined(text),
            retryAfterMs: undefined,
          }
          expectEqual(`An answer that is none of the service: ${text}`, accepts(answer), false)
        }
      },
    ],

    'signs at the moment of sending': [
      'Sign in sign(), with the time that is given; keep the secret out of the request.',
      async (harness) => {
        const { provider } = harness.configured
        if (provider.secret.use !== 'signature' || provider.sign === undefined) return
        const request = { url: new URL(endpoint), headers: {}, body: { text: 'x' } }
        const key = { secret, nowMs: 1_700_000_000_000, messageId: 'one' }
        const shown = (nowMs: number) => inspectable(provider.sign?.(request, { ...key, nowMs }))
        expectEqual('The same time gives the same signature', shown(key.nowMs), shown(key.nowMs))
        expectThat('Another time gives another', shown(key.nowMs) !== shown(key.nowMs + 60_000), 'another', '')
        expectNoSecret('a signed request', shown(key.nowMs), [secret])
        expectEqual('The request is left as it was', request, {
          url: new URL(endpoint),
          headers: {},
          body: { text: 'x' },
        })
      },
    ],
  }
  return createCases(() => startProvider(options), cases)
}
