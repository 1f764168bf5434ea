import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { abuseSuspected, events } from '@plinth/events'
import { http } from '@plinth/http'
import { type Clock, definePlugin, type Logger, optional } from '@plinth/kernel'
import { rateLimiter } from '@plinth/rate-limit'
import { sharedStore } from '@plinth/shared-store'
import { configCentre, PluginEncryptionKey } from '@plinth/system-config'
import { accounts } from '../contract.ts'
import { iamError } from '../declarations.ts'
import { CodeStore } from './code-store.ts'
import { VerificationCodeService } from './codes.ts'
import { keys, secretKeyName } from './config.ts'
import {
  type VerificationChannel,
  type VerificationCodeSender,
  verificationCodeSender,
  verificationCodes,
} from './contract.ts'
import { businessError, messages } from './declarations.ts'
import { proofRoutes, routes } from './routes.ts'
import { settingsOf } from './settings.ts'

const builtInSenders = ['file', 'log']

/**
 * Verification codes by text message and e-mail. This is a separate plugin, because the notification plugins that
 * deliver the codes may require accounts.
 */
export default definePlugin({
  id: 'iam.verification',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: { http, rateLimiter, sharedStore, configCentre, accounts: optional(accounts), events: optional(events) },
  provides: [verificationCodes],
  extensionPoints: [verificationCodeSender],
  contributes: [verificationCodeSender],
  config: keys,
  messages,
  setup({ plugin, services, config, clock, log, roles, root, provide, contribute, contributions }) {
    const directory = resolve(root, config.get('platform.iam.auth.login.verification.file-sender.directory'))
    contribute(verificationCodeSender, 'file', createFileSender(directory, clock))
    contribute(verificationCodeSender, 'log', createLogSender(log))
    const all = contributions(verificationCodeSender)
    // Only web instances log warnings about the sender. A command sends no codes, and a warning would mix with its
    // output.
    const warn = (facts: object, text: string) => (roles.has('web') ? log.warn(facts, text) : undefined)
    const senderOf = (channel: VerificationChannel) => {
      const name = `platform.iam.auth.login.verification.${channel}.sender` as const
      config.onVerify(name, (chosen) => void chooseSender(channel, chosen, all, () => {}))
      return chooseSender(channel, config.get(name), all, warn)
    }
    const senders = { sms: senderOf('sms'), email: senderOf('email') }
    const stored = () => config.get(secretKeyName)
    const key = new PluginEncryptionKey({
      plugin: plugin.id,
      name: secretKeyName,
      centre: services.configCentre,
      stored,
    })
    const codes = new VerificationCodeService({
      store: new CodeStore(services.sharedStore, key, log),
      limiter: services.rateLimiter,
      senders,
      settings: settingsOf(config),
      events: services.events,
      clock,
      log,
    })
    services.events?.declarePublished(abuseSuspected)
    provide(verificationCodes, codes)
    services.http.addRoutes(routes, { codes })
    if (services.accounts !== undefined) services.http.addRoutes(proofRoutes, { codes, accounts: services.accounts })
  },
})

/**
 * Returns the configured sender, or the only sender that another plugin contributes.
 *
 * @throws PlinthError `PLINTH_IAM_VERIFICATION_SENDER`
 */
function chooseSender(
  channel: VerificationChannel,
  configured: string,
  all: ReadonlyMap<string, VerificationCodeSender>,
  warn: (facts: object, text: string) => void,
): VerificationCodeSender | undefined {
  const fitting = [...all].filter(([, { channels }]) => channels.includes(channel)).map(([name]) => name)
  const reject = (reason: string) =>
    iamError('PLINTH_IAM_VERIFICATION_SENDER', { channel, reason, senders: fitting.sort().join(', ') })
  if (configured !== '') {
    if (!fitting.includes(configured)) throw reject(`is "${configured}", which is not available`)
    if (builtInSenders.includes(configured)) {
      warn(
        { channel, sender: configured },
        'verification codes are stored without encryption: use this sender for development only',
      )
    }
    return all.get(configured)
  }
  const [name = '', ...others] = fitting.filter((candidate) => !builtInSenders.includes(candidate))
  if (others.length > 0) throw reject('is empty, but several plugins bring one')
  if (name === '') warn({ channel }, 'no plugin delivers verification codes, so no codes can be sent')
  return all.get(name)
}

/** Returns a sender for development that writes the code to the log, where every reader of the log sees it. */
function createLogSender(log: Logger): VerificationCodeSender {
  return {
    channels: ['sms', 'email'],
    async send({ channel, recipient, code, scene }) {
      log.warn({ channel, recipient, code, scene }, 'verification code, shown because the sender "log" is in use')
    },
  }
}

/**
 * Returns a sender for development that writes each message to its own file. Only the owner of the process can read the
 * file.
 */
function createFileSender(directory: string, clock: Pick<Clock, 'now'>): VerificationCodeSender {
  return {
    channels: ['sms', 'email'],
    async send({ ttlMs, ...message }) {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const sentAt = clock.now()
      const file = join(directory, `${sentAt}-${message.channel}-${randomUUID()}.json`)
      const content = { ...message, sentAt: iso(sentAt), expiresAt: iso(sentAt + ttlMs) }
      const draft = `${file}.draft`
      try {
        await writeFile(draft, `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' })
        await rename(draft, file)
      } catch (error) {
        await rm(draft, { force: true })
        throw error
      }
    },
  }
}

const iso = (ms: number) => new Date(ms).toISOString()
