import { createPrivateKey } from 'node:crypto'
import type { Accounts } from '@plinth/iam'
import {
  bilingual,
  type ChannelCheck,
  ChannelError,
  type ChannelReadiness,
  type Clock,
  type LocalizedText,
  type NotificationChannel,
  type NotificationMessage,
} from '@plinth/kernel'
import type { OutgoingHttp } from '@plinth/outgoing-http'
import type { Site } from '@plinth/site'
import { type Attempt, aborted, combineAttempts, type FailedOutcome, noDevice, tooLarge } from './attempts.ts'
import { enabledKeys, type PushConfig, type ServiceAccount, serviceAccountKey } from './config.ts'
import { type Devices, type Registration, sha256 } from './devices.ts'
import type { PushChannelCode } from './entities.ts'
import { type AccessTokens, TokenError } from './fcm/access-tokens.ts'
import { fcmPayload, fcmRequest, maxPayloadBytes, sendFcm } from './fcm/sender.ts'
import { fitPayload, type PushText, pushTextOf } from './push-text.ts'
import { maxPlaintextBytes } from './web-push/encryption.ts'
import type { EndpointRules } from './web-push/endpoint.ts'
import { sendWebPush } from './web-push/sender.ts'
import type { Vapid } from './web-push/vapid.ts'

interface ChannelDependencies {
  readonly config: PushConfig
  readonly devices: Devices
  readonly accounts: Pick<Accounts, 'find' | 'findAll'>
  readonly site: Site
  readonly http: OutgoingHttp
  readonly clock: Clock
  readonly rules: EndpointRules
  readonly vapid: Vapid
  readonly tokens: AccessTokens
}

/** Sends a message that fits to one device. Must not throw, except for defects. */
type Deliver = (registration: Registration, signal: AbortSignal) => Promise<Attempt>

interface Transport extends Pick<NotificationChannel, 'displayName' | 'verify'> {
  readonly code: PushChannelCode
  /** Keys in addition to the switch of the channel. */
  readonly keys: readonly string[]
  /** Needed keys without a valid value. */
  missingKeys(): readonly string[]
  /** Prepares a message once for all devices. Returns undefined if it is too large. */
  prepare(text: PushText): Deliver | undefined
}

/** Returns the channel of a transport. It sends to all devices of one user per call. */
function channelOf(transport: Transport, parts: ChannelDependencies): NotificationChannel {
  const { config, devices, accounts, site } = parts
  const { code, displayName, verify, keys, missingKeys, prepare } = transport

  const send = async (message: NotificationMessage, sendHash: string, signal: AbortSignal) => {
    const userId = message.recipients.find((recipient) => recipient.kind === 'user')?.userId
    if (userId === undefined)
      return {
        outcome: 'rejected',
        errorCode: 'push.recipient-missing',
        errorMessage: 'The message is for no user',
      } as const
    if (message.subject.trim() === '' && message.content.trim() === '') return missingText
    const text = pushTextOf(message, site)
    if ('outcome' in text) return text
    const deliver = prepare(text)
    if (deliver === undefined) return tooLarge
    const found = await devices.pending(userId, code, sendHash)
    if (found === undefined) return unreadableDevices
    const { open, accepted } = found
    if (open.length + accepted === 0 || (await accounts.find(userId))?.enabled !== true) return noDevice
    if (signal.aborted) return aborted
    const attempts = await Promise.all(
      open.map(async (device) => {
        const attempt = await deliver(device.registration, signal)
        if (attempt.outcome === 'accepted') await devices.accept(device.id, sendHash)
        if (attempt.outcome === 'gone') await devices.remove(device)
        return attempt
      }),
    )
    return combineAttempts(attempts, accepted)
  }

  return {
    displayName,
    recipientKinds: ['user'],
    // Push services do not recognise a repeated message.
    traits: { idempotent: false, recipients: 'each' },
    enabled: () => config.get(enabledKeys[code]) && missingKeys().length === 0,
    send: async (message, { signal, idempotencyKey }) =>
      signal.aborted ? aborted : send(message, sha256(idempotencyKey), signal),
    async reachable(userIds) {
      const owners = await devices.reachable(userIds, code)
      const users = await accounts.findAll([...owners])
      return new Set(users.filter(({ enabled }) => enabled).map(({ id }) => id))
    },
    condition: (): ChannelReadiness => ({ keys: [...keys, enabledKeys[code]], missingKeys: missingKeys() }),
    ...(verify && { verify }),
  }
}

const missingText = {
  outcome: 'rejected',
  errorCode: 'text-missing',
  errorMessage: 'The message has no text, neither its own nor by a template',
} as const
const unreadableDevices = {
  outcome: 'deferred',
  errorCode: 'push.devices-unreadable',
  errorMessage: 'The devices of the user cannot be read; the log says why',
} as const satisfies FailedOutcome

const unreachable = (reason: LocalizedText, checked: readonly ChannelCheck[], detail = '') =>
  new ChannelError('connection', reason, checked, detail)

/** The channel `web-push`: browsers (RFC 8030). */
export function webPushChannel(parts: ChannelDependencies): NotificationChannel {
  const { config, site, http, vapid } = parts
  return channelOf(
    {
      code: 'web-push',
      displayName: { en: 'Push to browsers', 'zh-CN': '浏览器推送' },
      keys: ['platform.push.web-push.hosts'],
      missingKeys: () => (site.url.startsWith('https://') ? [] : ['platform.site.url']),
      prepare(text) {
        const payload = fitPayload(text.body, maxPlaintextBytes, (body) => declarativeMessage(text, body))
        if (payload === undefined) return undefined
        const plaintext = Buffer.from(JSON.stringify(payload))
        return async (registration, signal) =>
          sendWebPush(registration as Registration & { channel: 'web-push' }, text, plaintext, parts, signal)
      },
      async verify(signal) {
        await vapid.publicKey()
        const hosts = config.get('platform.push.web-push.hosts').filter((host) => !host.startsWith('*.'))
        if (hosts.length === 0) return ['configuration']
        // A network may block some push services, for example those of other countries.
        const checks = hosts.map(async (host) => {
          const { status } = await http.request({
            url: `https://${host}/`,
            method: 'GET',
            signal,
            maxResponseBytes: 1_024,
          })
          if (status >= 500) throw new Error(`status ${status}`)
        })
        await Promise.any(checks).catch(() => {
          throw unreachable(bilingual('No push service is reachable.', '无法连接任何推送服务。'), ['configuration'])
        })
        return ['configuration', 'connection']
      },
    },
    parts,
  )
}

/** Returns a message that browsers with declarative Web Push show without a service worker (Push API, section 3.3). */
const declarativeMessage = ({ title, url, locale, topic, id }: PushText, body: string) => ({
  web_push: 8030,
  notification: {
    title,
    body,
    navigate: url,
    ...(locale !== undefined && { lang: locale }),
    ...(topic !== undefined && { tag: topic }),
    data: { messageId: id },
  },
})

/** The channel `fcm`: apps with Firebase Cloud Messaging, HTTP v1. */
export function fcmChannel(parts: ChannelDependencies): NotificationChannel {
  const { config, http, tokens, clock } = parts
  const account = () => config.get(serviceAccountKey)
  return channelOf(
    {
      code: 'fcm',
      displayName: { en: 'Push to apps (FCM)', 'zh-CN': '应用推送（FCM）' },
      keys: [serviceAccountKey],
      missingKeys: () => (accountProblem(account()) === undefined ? [] : [serviceAccountKey]),
      prepare(text) {
        const [current, endpoint] = [account(), config.get('platform.push.fcm.endpoint').replace(/\/?$/, '/')]
        const payload = fitPayload(text.body, maxPayloadBytes, (body) => fcmPayload(text, body))
        if (payload === undefined) return undefined
        if (current === undefined) return async () => noServiceAccount
        const dependencies = { http, tokens, clock, account: current, endpoint }
        return async (registration, signal) =>
          sendFcm(fcmRequest((registration as { token: string }).token, text, payload), dependencies, signal)
      },
      async verify(signal) {
        const current = account()
        if (current === undefined || accountProblem(current) !== undefined)
          throw new ChannelError(
            'configuration',
            bilingual('The service account is missing or invalid.', '服务账号缺失或无效。'),
          )
        try {
          await tokens.request(current, signal)
        } catch (error) {
          if (!(error instanceof TokenError)) throw error
          const { outcome, errorMessage, providerCode = '' } = error.attempt
          if (outcome === 'rejected')
            throw new ChannelError(
              'credentials',
              bilingual('The service account was rejected.', '服务账号被拒绝。'),
              ['configuration'],
              providerCode,
            )
          throw unreachable(
            bilingual('No access token was issued.', '未能获取访问令牌。'),
            ['configuration'],
            errorMessage,
          )
        }
        return ['configuration', 'connection', 'credentials']
      },
    },
    parts,
  )
}

const noServiceAccount: Attempt = {
  outcome: 'deferred',
  errorCode: 'fcm.configuration',
  errorMessage: 'The service account is missing',
}

/** Returns what is wrong with a service account, with the name of the member. */
export function accountProblem(account: ServiceAccount | undefined): string | undefined {
  if (account === undefined) return 'The service account is missing.'
  if (!/^[a-z0-9:.-]{1,100}$/.test(account.project_id)) return 'The member project_id is not the id of a project.'
  if (!account.token_uri.startsWith('https://')) return 'The member token_uri is not an https URL.'
  const isSigningKey = () => createPrivateKey(account.private_key).asymmetricKeyType === 'rsa'
  try {
    return isSigningKey() ? undefined : 'The member private_key is not an RSA key.'
  } catch {
    return 'The member private_key is not a private key in PEM (PKCS #8).'
  }
}
