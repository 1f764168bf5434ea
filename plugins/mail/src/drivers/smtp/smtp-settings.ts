import type { MailConfig } from '../../config.ts'

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

export const smtpSettings = (config: Pick<MailConfig, 'get'>): SmtpSettings => ({
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

/** How the connection is encrypted: RFC 8314, 3.3 for port 465. A password asks for TLS, except on this machine. */
export function tlsOf({ host, port, security, username }: SmtpSettings): { secure: boolean; requireTLS: boolean } {
  const secure = security === 'tls' || (security === 'auto' && port === 465)
  const isLocal = thisMachine.has(host)
  const requireTLS = !secure && (security !== 'opportunistic' || (username !== '' && !isLocal))
  return { secure, requireTLS }
}
