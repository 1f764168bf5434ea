import { bilingual, ChannelError } from '@plinth/kernel'
import type { MailDelivery, MailDriver, OutgoingMail } from '../../contract.ts'
import { deliveriesOf, deliveriesOfFailure } from './smtp-outcome.ts'
import { SmtpPool } from './smtp-pool.ts'
import { type SmtpError, SmtpFailure, type SmtpSettings, smtpKeys } from './smtp-session.ts'

interface SmtpOptions {
  readonly settings: () => SmtpSettings
  readonly mask: (text: string) => string
}

interface SmtpDriver extends MailDriver {
  /** Applies changed settings. Mails that are being sent use the old settings until they are done. */
  renew(): void
  close(): void
}

/** Driver that sends mails to an SMTP server (RFC 5321). */
export function createSmtpDriver({ settings, mask }: SmtpOptions): SmtpDriver {
  let pool: SmtpPool | undefined
  const opened = () => {
    pool ??= new SmtpPool(settings())
    return pool
  }

  return {
    displayName: { en: 'SMTP server', 'zh-CN': 'SMTP 服务器' },
    isConfigured: () => settings().host !== '',
    needs: () => ({ keys: smtpKeys, missingKeys: settings().host === '' ? ['platform.mail.smtp.host'] : [] }),
    async send(mail, signal) {
      try {
        return deliveriesOf(mail.to, await sendOnce(opened(), mail, signal), mask)
      } catch (error) {
        return deliveriesOfFailure(mail.to, error, mask)
      }
    },
    async verify(signal) {
      try {
        await opened().use(signal, true, ({ session }) => session.reset(signal))
        return ['configuration', 'connection', ...(settings().username === '' ? [] : (['credentials'] as const))]
      } catch (error) {
        const [delivery] = deliveriesOfFailure(['nobody@example.com'], error, mask)
        throw problemOf(delivery ?? {})
      }
    },
    renew() {
      pool?.retire()
      pool = undefined
    },
    close() {
      pool?.close()
      pool = undefined
    },
  }
}

/** Sends a mail. Servers close idle sessions, so a mail that fails for this reason is sent again in a new session. */
async function sendOnce(pool: SmtpPool, mail: OutgoingMail, signal: AbortSignal) {
  let wasUsed = false
  const send = (fresh: boolean) =>
    pool.use(signal, fresh, async ({ session, isUsed }) => {
      wasUsed = isUsed
      return session.send(mail, await mail.content(), signal)
    })
  try {
    return await send(false)
  } catch (error) {
    if (wasUsed && !signal.aborted && isLostSession(error)) return send(true)
    throw error
  }
}

const lostCodes: ReadonlySet<string> = new Set(['ECONNECTION', 'ESOCKET', 'ETIMEDOUT'])

/** True if the server has ended the session, for example with reply 421 (RFC 5321, 3.8). */
function isLostSession(error: unknown): boolean {
  if (!(error instanceof SmtpFailure) || error.begun) return false
  const { code = '', responseCode }: SmtpError = error.cause
  return responseCode === 421 || (!responseCode && lostCodes.has(code))
}

const problems = {
  'mail.sign-in-refused': bilingual('The SMTP server does not accept the sign-in', 'SMTP 服务器拒绝登录'),
  'mail.tls-failed': bilingual(
    'The connection could not be encrypted as it must be',
    '无法按要求加密与 SMTP 服务器的连接',
  ),
  'mail.server-refused': bilingual('The SMTP server takes no mails now', 'SMTP 服务器当前不接收邮件'),
  'mail.busy': bilingual('All connections to the SMTP server are in use', '与 SMTP 服务器的连接已全部占用'),
} as const
const unreachable = bilingual(
  'The SMTP server could not be reached, or did not answer in time',
  '无法连接 SMTP 服务器，或服务器未及时应答',
)

/** Returns the reason why a session cannot be opened. */
function problemOf({ errorCode, reply = '' }: Pick<Partial<MailDelivery>, 'errorCode' | 'reply'>): ChannelError {
  const reason = Object.entries(problems).find(([code]) => code === errorCode)?.[1] ?? unreachable
  return errorCode === 'mail.sign-in-refused'
    ? new ChannelError('credentials', reason, ['configuration', 'connection'], reply)
    : new ChannelError('connection', reason, ['configuration'], reply)
}
