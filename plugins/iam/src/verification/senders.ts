import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock, Logger } from '@plinth/kernel'
import type { VerificationCodeSender } from './contract.ts'

/** For development: writes the code to the log, where every reader sees it. */
export function logSender(log: Logger): VerificationCodeSender {
  return {
    channels: ['sms', 'email'],
    async send({ channel, recipient, code, scene }) {
      log.warn({ channel, recipient, code, scene }, 'verification code, shown because the sender "log" is in use')
    },
  }
}

/** Writes one file per message, readable only by its owner. Files are written atomically. */
export function fileSender(directory: string, clock: Pick<Clock, 'now'>): VerificationCodeSender {
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
