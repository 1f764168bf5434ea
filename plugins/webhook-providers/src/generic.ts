import { createHash, createHmac, createPrivateKey, createSecretKey, sign } from 'node:crypto'
import {
  bodyText,
  createResponseJudge,
  WebhookInputError,
  type WebhookMessage,
  webhookProviderPlugin,
} from '@plinth/notification-channels/webhook'

export interface StandardSigning {
  /** Signing keys, separated by blanks: `whsec_` and base64 of 24 to 64 bytes, or `whsk_` and an ed25519 key. */
  readonly secret: string
  readonly id: string
  /** Unix time in seconds. */
  readonly timestampSeconds: number
  /** Exact text of the request body. */
  readonly body: string
}

const ed25519Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Signs a text with one key. */
type Signer = (content: string) => string

/**
 * Creates a key object once, because signing with it is four times as fast. @throws WebhookInputError for an invalid
 * key
 */
function signerOf(key: string): Signer {
  const [, kind = 'whsec_', encoded = ''] = /^(whsec_|whsk_)?(.*)$/s.exec(key) ?? []
  const bytes = Buffer.from(encoded, 'base64')
  const isBase64 = bytes.toString('base64').replace(/=+$/, '') === encoded.replace(/=+$/, '')
  if (!isBase64 || bytes.length < 24 || bytes.length > 64) {
    throw new WebhookInputError('The secret of the provider "generic"', 'be whsec_ and base64 of 24 to 64 bytes')
  }
  if (kind === 'whsec_') {
    const hmacKey = createSecretKey(bytes)
    return (content) => `v1,${createHmac('sha256', hmacKey).update(content).digest('base64')}`
  }
  const der = Buffer.concat([ed25519Prefix, bytes.subarray(0, 32)])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  return (content) => `v1a,${sign(null, Buffer.from(content), privateKey).toString('base64')}`
}

/** Signers for the secret that was used last. Nearly all messages use the configured secret. */
let lastSigners: { readonly secret: string; readonly signers: readonly Signer[] } | undefined

function signersOf(secret: string): readonly Signer[] {
  if (lastSigners?.secret === secret) return lastSigners.signers
  const keys = secret.split(/\s+/).filter((key) => key !== '')
  lastSigners = { secret, signers: keys.map(signerOf) }
  return lastSigners.signers
}

/**
 * Returns the header `webhook-signature` (Standard Webhooks 1.0.0). It contains one signature per key, so that no
 * message is lost while a key is replaced.
 *
 * @throws WebhookInputError for an invalid key
 */
export function standardSignature({ secret, id, timestampSeconds, body }: StandardSigning): string {
  const content = `${id}.${timestampSeconds}.${body}`
  return signersOf(secret)
    .map((signed) => signed(content))
    .join(' ')
}

/** Returns an id without dots, because dots separate id, time and body in the signed text. */
const webhookId = (id: string) => (id.includes('.') ? createHash('sha256').update(id).digest('hex').slice(0, 32) : id)

/**
 * Fields that say what opens when the user selects the notification (document 2 of the specification, "Inbox item
 * view").
 */
const jumpFields = [
  'module',
  'event',
  'eventType',
  'sourceType',
  'sourceId',
  'targetType',
  'targetId',
  'targetRoute',
  'targetUserId',
  'dedupeKey',
]

const typed = (messageType: string) => ({
  body: ({ id, subject, content, locale, context, nowMs }: WebhookMessage) => {
    const jump: Record<string, string | number> = {}
    for (const name of jumpFields) {
      const value = context[name]
      if (typeof value === 'string' || typeof value === 'number') jump[name] = value
    }
    const event = context['event'] ?? context['eventType']
    return {
      type: typeof event === 'string' && event !== '' ? event : 'notification.message',
      timestamp: new Date(nowMs).toISOString(),
      data: { id, subject, content, messageType, locale, ...jump },
    }
  },
})

/** Sends messages in the format of this product to your own servers, signed as in Standard Webhooks. */
export default webhookProviderPlugin(
  { id: 'webhook-providers.generic', version: '1.0.0' },
  {
    code: 'generic',
    displayName: { en: 'Generic webhook', 'zh-CN': '通用 Webhook' },
    knownHosts: [],
    secret: {
      use: 'signature',
      pattern: '^\\s*(?:(?:whsec_|whsk_)?[A-Za-z0-9+/]{32,88}={0,2}(?:\\s+|$))+$',
      rule: {
        en: 'be one or more keys of 24 to 64 bytes in base64, with whsec_ or whsk_ in front or without, separated by blanks',
        'zh-CN': '是一个或多个以空格分隔的密钥：24 至 64 字节的 base64，可带前缀 whsec_ 或 whsk_',
      },
    },
    messageTypes: { text: typed('text'), markdown: typed('markdown') },
    address: ({ id }) => ({ headers: { 'webhook-id': webhookId(id) } }),
    sign(request, { secret, nowMs, messageId }) {
      const [id, timestampSeconds, body] = [webhookId(messageId), Math.floor(nowMs / 1000), bodyText(request)]
      const signature = standardSignature({ secret, id, timestampSeconds, body })
      const headers = { 'webhook-timestamp': String(timestampSeconds), 'webhook-signature': signature }
      return { ...request, headers: { ...request.headers, ...headers }, body }
    },
    judge: createResponseJudge({
      delivered: () => true,
      code: ['code', 'error.code'],
      message: ['message', 'error.message'],
    }),
  },
)
