import type { MailDriver, OutgoingMail } from '../../contract.ts'
import { deliveriesOf, deliveriesOfFailure } from './smtp-outcome.ts'
import { SmtpPool } from './smtp-pool.ts'
import { type SmtpError, SmtpFailure } from './smtp-session.ts'
import type { SmtpSettings } from './smtp-settings.ts'

export interface SmtpParts {
  readonly settings: () => SmtpSettings
  /** Masks credentials. */
  readonly mask: (text: string) => string
}

export interface SmtpDriver extends MailDriver {
  /** From now on with the present settings. What is under way ends as it began. */
  renew(): void
  close(): void
}

/** Sends through an SMTP server (RFC 5321). */
export function smtp({ settings, mask }: SmtpParts): SmtpDriver {
  let pool: SmtpPool | undefined
  const opened = () => {
    pool ??= new SmtpPool(settings())
    return pool
  }

  return {
    displayName: { en: 'SMTP server', 'zh-CN': 'SMTP 服务器' },
    isConfigured: () => settings().host !== '',
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
      } catch (error) {
        const [delivery] = deliveriesOfFailure(['nobody@example.com'], error, mask)
        throw new Error([delivery?.errorMessage, delivery?.reply].filter(Boolean).join(': '))
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

/** Servers close sessions that nobody used for a while: what fails for that reason alone is sent once more, on a new one. */
async function sendOnce(pool: SmtpPool, mail: OutgoingMail, signal: AbortSignal) {
  const raw = await mail.raw()
  let wasUsed = false
  const send = (fresh: boolean) =>
    pool.use(signal, fresh, ({ session, isUsed }) => {
      wasUsed = isUsed
      return session.send(mail, raw, signal)
    })
  try {
    return await send(false)
  } catch (error) {
    if (wasUsed && !signal.aborted && isLostSession(error)) return send(true)
    throw error
  }
}

const lostCodes: ReadonlySet<string> = new Set(['ECONNECTION', 'ESOCKET', 'ETIMEDOUT'])

/** 421 is how a server ends a session (RFC 5321, 3.8). */
function isLostSession(error: unknown): boolean {
  if (!(error instanceof SmtpFailure) || error.begun) return false
  const { code = '', responseCode }: SmtpError = error.cause
  return responseCode === 421 || (!responseCode && lostCodes.has(code))
}
