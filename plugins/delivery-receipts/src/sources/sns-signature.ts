import { createVerify, X509Certificate } from 'node:crypto'
import type { Clock } from '@plinth/kernel'
import type { JsonObject, OutgoingHttp } from '@plinth/outgoing-http'
import { ReceiptRejected } from '../contract.ts'

const notificationFields = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
const subscriptionFields = ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']

/**
 * Returns the text that Amazon SNS signs: name and value of each field, each followed by a line feed, also the last one
 * (Amazon SNS, "Verifying the signatures of Amazon SNS messages").
 */
export const canonicalText = (message: JsonObject): string =>
  (message['Type'] === 'Notification' ? notificationFields : subscriptionFields)
    .filter((name) => message[name] !== undefined && message[name] !== null)
    .map((name) => `${name}\n${message[name]}\n`)
    .join('')

/** Returns the host of Amazon SNS for the region of a topic. @throws ReceiptRejected `topic` for another form */
export function snsHostOf(topicArn: string): string {
  const [, china, region] = /^arn:aws(-cn|-us-gov)?:sns:([a-z0-9-]{1,40}):\d{12}:[\w.-]{1,256}$/.exec(topicArn) ?? []
  if (region === undefined) throw new ReceiptRejected('topic')
  return `sns.${region}.amazonaws.com${china === '-cn' ? '.cn' : ''}`
}

const algorithms: Readonly<Record<string, string | undefined>> = { '1': 'RSA-SHA1', '2': 'RSA-SHA256' }

const maxCertificates = 20
const maxCertificateBytes = 16_384
const fetchDeadlineMs = 5_000

interface Settings {
  readonly http: Pick<OutgoingHttp, 'request'>
  readonly clock: Pick<Clock, 'now'>
  readonly allowsVersion1: () => boolean
}

/** Verifies messages of Amazon SNS, and stores the certificates of the signatures in memory. */
export class SnsSignatures {
  readonly #settings: Settings
  readonly #certificates = new Map<string, X509Certificate>()

  constructor(settings: Settings) {
    this.#settings = settings
  }

  /** @throws ReceiptRejected `signature`, `certificate`, or `unavailable` if the certificate cannot be fetched now */
  async verify(message: JsonObject, topicArn: string): Promise<void> {
    const { SignatureVersion: version, Signature: signature, SigningCertURL: url } = message
    const algorithm = algorithms[String(version)]
    if (algorithm === undefined || (version !== '2' && !this.#settings.allowsVersion1())) {
      throw new ReceiptRejected('signature')
    }
    if (typeof signature !== 'string') throw new ReceiptRejected('signature')
    const certificate = await this.#certificate(pinnedUrl(url, topicArn))
    const now = this.#settings.clock.now()
    if (now < certificate.validFromDate.getTime() || now > certificate.validToDate.getTime()) {
      throw new ReceiptRejected('certificate')
    }
    const verifier = createVerify(algorithm).update(canonicalText(message))
    if (!verifier.verify(certificate.publicKey, signature, 'base64')) throw new ReceiptRejected('signature')
  }

  async #certificate(url: string): Promise<X509Certificate> {
    const known = this.#certificates.get(url)
    if (known !== undefined) return known
    const request = { url, method: 'GET', deadlineMs: fetchDeadlineMs, maxResponseBytes: maxCertificateBytes } as const
    const response = await this.#settings.http.request(request).catch(() => undefined)
    if (response === undefined || response.status >= 500) throw new ReceiptRejected('unavailable')
    // A redirect is another status than 200.
    if (response.status !== 200 || response.truncated) throw new ReceiptRejected('certificate')
    let certificate: X509Certificate
    try {
      certificate = new X509Certificate(response.body)
    } catch {
      throw new ReceiptRejected('certificate')
    }
    if (this.#certificates.size >= maxCertificates) this.#certificates.clear()
    this.#certificates.set(url, certificate)
    return certificate
  }
}

/** Returns the address of a certificate. @throws ReceiptRejected `certificate` unless it is a file of Amazon SNS in the region */
function pinnedUrl(value: unknown, topicArn: string): string {
  const [, host] =
    /^https:\/\/([a-z0-9.-]+)\/SimpleNotificationService(?:-[A-Za-z0-9]+)?\.pem$/.exec(String(value)) ?? []
  if (host === undefined || host !== snsHostOf(topicArn)) throw new ReceiptRejected('certificate')
  return String(value)
}

/** True for an address of Amazon SNS in the region of the topic. */
export function isSubscribeUrl(value: unknown, topicArn: string): value is string {
  if (typeof value !== 'string' || value.length > 2_000 || !URL.canParse(value)) return false
  const url = new URL(value)
  return (
    url.protocol === 'https:' &&
    url.host === snsHostOf(topicArn) &&
    url.username === '' &&
    url.password === '' &&
    url.pathname === '/' &&
    url.searchParams.get('Action') === 'ConfirmSubscription' &&
    url.searchParams.get('TopicArn') === topicArn
  )
}
