import { Readable } from 'node:stream'
import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import { encodeAddressForServer } from '../../address.ts'
import type { MailConfig } from '../../config.ts'
import type { MailContent, OutgoingMail } from '../../contract.ts'

export interface SmtpSettings {
  readonly host: string
  readonly port: number
  readonly security: 'auto' | 'tls' | 'starttls' | 'opportunistic'
  readonly username: string
  readonly password: string
  readonly ca: string
  readonly maxConnections: number
  readonly maxMessages: number
}

export const smtpKeys = [
  'platform.mail.smtp.host',
  'platform.mail.smtp.port',
  'platform.mail.smtp.security',
  'platform.mail.smtp.username',
  'platform.mail.smtp.password',
  'platform.mail.smtp.ca',
  'platform.mail.smtp.max-connections',
  'platform.mail.smtp.max-messages',
] as const

export const readSmtpSettings = (config: Pick<MailConfig, 'get'>): SmtpSettings => ({
  host: config.get('platform.mail.smtp.host'),
  port: config.get('platform.mail.smtp.port'),
  security: config.get('platform.mail.smtp.security'),
  username: config.get('platform.mail.smtp.username'),
  password: config.get('platform.mail.smtp.password'),
  ca: config.get('platform.mail.smtp.ca'),
  maxConnections: config.get('platform.mail.smtp.max-connections'),
  maxMessages: config.get('platform.mail.smtp.max-messages'),
})

const thisMachine: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1'])

/**
 * Returns when TLS is used. RFC 8314, 3.3 defines port 465 for TLS. A password is only sent over TLS, except to this
 * machine.
 */
function tlsOf({ host, port, security, username }: SmtpSettings): { secure: boolean; requireTLS: boolean } {
  const secure = security === 'tls' || (security === 'auto' && port === 465)
  const isLocal = thisMachine.has(host)
  const requireTLS = !secure && (security !== 'opportunistic' || (username !== '' && !isLocal))
  return { secure, requireTLS }
}

export type SmtpError = Error & Partial<SMTPConnection.SMTPError>

export const toSmtpError = (error: unknown): SmtpError => (error instanceof Error ? error : new Error(String(error)))

export class SmtpFailure extends Error {
  override readonly name = 'SmtpFailure'
  /** True if all data was handed over. The server may then have the mail. It discards incomplete data (RFC 5321, 4.1.1.4). */
  readonly begun: boolean
  override readonly cause: SmtpError

  constructor(cause: SmtpError, begun: boolean) {
    super('The SMTP session failed')
    this.cause = cause
    this.begun = begun
  }
}

/**
 * Time limits in milliseconds. The connection and the greeting end before `platform.mail.send-deadline`, so that a server
 * that does not respond is reported as such. `socket` also closes an idle session.
 */
const timeouts = { connection: 5_000, greeting: 5_000, dns: 5_000, socket: 30_000 } as const

/** A session after the sign-in. It sends one mail after another. */
export class SmtpSession {
  readonly #connection: SMTPConnection
  #sent = 0

  private constructor(connection: SMTPConnection) {
    this.#connection = connection
  }

  /** Opens a session. @throws SmtpFailure, or the reason of the signal */
  static async open(settings: SmtpSettings, signal: AbortSignal): Promise<SmtpSession> {
    const { default: Connection } = await import('nodemailer/lib/smtp-connection')
    const { host, port, username: user, password: pass, ca } = settings
    const connection = new Connection({
      host,
      port,
      ...tlsOf(settings),
      connectionTimeout: timeouts.connection,
      greetingTimeout: timeouts.greeting,
      dnsTimeout: timeouts.dns,
      socketTimeout: timeouts.socket,
      // Closes the socket immediately, even if the server keeps its side of the connection open.
      socketCloseTimeout: 0,
      tls: { minVersion: 'TLSv1.2', ...(ca === '' ? {} : { ca }) },
      logger: false,
    })
    // Ignores error events: an error during a mail also goes to the caller that waits for it, and between two mails no
    // caller waits.
    connection.on('error', () => {})
    const session = new SmtpSession(connection)
    await session.#step(signal, (done) => connection.connect(done))
    if (user !== '') await session.#step(signal, (done) => connection.login({ user, pass }, done))
    return session
  }

  get isOpen(): boolean {
    return !this.#connection.destroyed
  }

  get sent(): number {
    return this.#sent
  }

  /**
   * Sends a mail. After a failure, the session is closed.
   *
   * @throws SmtpFailure, also when the signal aborts
   */
  async send(
    { from, returnPath, reference, to }: OutgoingMail,
    { stream, size }: MailContent,
    signal: AbortSignal,
  ): Promise<SMTPConnection.SentMessageInfo> {
    let begun = false
    async function* watched() {
      yield* stream
      begun = true
    }
    const body = Readable.from(watched(), { objectMode: false })
    try {
      const envelope = {
        from: encodeAddressForServer(returnPath ?? from),
        to: to.map(encodeAddressForServer),
        size,
        // A server without the extension DSN (RFC 3461) gets a plain envelope.
        ...(returnPath === undefined ? {} : { dsn: { id: reference, return: 'HDRS', notify: ['FAILURE', 'DELAY'] } }),
      }
      const info = await this.#step<SMTPConnection.SentMessageInfo>(signal, (done) =>
        this.#connection.send(envelope, body, done),
      )
      this.#sent += 1
      return info
    } catch (error) {
      throw new SmtpFailure(toSmtpError(error), begun)
    } finally {
      body.destroy()
      stream.destroy()
    }
  }

  /** Resets the session before the next mail. @throws if the server does not respond */
  async reset(signal: AbortSignal): Promise<void> {
    await this.#step(signal, (done) => this.#connection.reset(done))
  }

  close(): void {
    this.#connection.close()
  }

  /** Runs one step of the session. If the step fails or the signal aborts, the session is closed. */
  async #step<T>(signal: AbortSignal, work: (done: (error?: Error | null, value?: T) => void) => void): Promise<T> {
    const connection = this.#connection
    let settle: (() => void) | undefined
    try {
      signal.throwIfAborted()
      return await new Promise<T>((resolve, reject) => {
        const abort = () => reject(signal.reason)
        const end = () => reject(Object.assign(new Error('The connection ended'), { code: 'ECONNECTION' }))
        settle = () => {
          signal.removeEventListener('abort', abort)
          connection.removeListener('error', reject)
          connection.removeListener('end', end)
        }
        signal.addEventListener('abort', abort)
        connection.once('error', reject)
        connection.once('end', end)
        work((error, value) => (error ? reject(error) : resolve(value as T)))
      })
    } catch (error) {
      this.close()
      throw error
    } finally {
      settle?.()
    }
  }
}
