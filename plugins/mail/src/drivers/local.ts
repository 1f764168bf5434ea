import { randomUUID } from 'node:crypto'
import { access, constants, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bilingual, ChannelError, type Clock, type Logger } from '@plinth/kernel'
import { makePrivateDirectory } from '@plinth/kernel/host'
import { AttachmentFailure } from '../attachments.ts'
import type { MailDriver } from '../contract.ts'
import { acceptAllRecipients, deferAllAsCancelled, failAllRecipients } from './failures.ts'

export function createFileDriver(directory: string, clock: Pick<Clock, 'now'>, log: Pick<Logger, 'warn'>): MailDriver {
  return {
    displayName: { en: 'Files', 'zh-CN': '文件' },
    isConfigured: () => true,
    async send(mail, signal) {
      if (signal.aborted) return deferAllAsCancelled(mail.to)
      const moment = new Date(clock.now()).toISOString().replace(/[:.]/g, '-')
      const path = join(directory, `${moment}-${randomUUID()}.eml`)
      try {
        await makePrivateDirectory(directory)
        const { stream } = await mail.content()
        await writeFile(path, stream, { flag: 'wx', mode: 0o600, signal }).finally(() => stream.destroy())
        return acceptAllRecipients(mail.to)
      } catch (error) {
        await unlink(path).catch(() => {})
        if (signal.aborted) return deferAllAsCancelled(mail.to)
        if (error instanceof AttachmentFailure) return mail.to.map((address) => ({ address, ...error.delivery }))
        log.warn({ err: error }, 'a mail could not be written to a file')
        return failAllRecipients(
          mail.to,
          'deferred',
          'mail.file-failed',
          'The file could not be written; the log says why',
        )
      }
    },
    async verify() {
      try {
        await makePrivateDirectory(directory)
        await access(directory, constants.W_OK)
      } catch (error) {
        log.warn({ err: error }, 'the directory for mails is not writable')
        const reason = bilingual(
          'The directory for mails cannot be written to; the log says why.',
          '无法写入邮件目录，原因见日志。',
        )
        throw new ChannelError('connection', reason, ['configuration'])
      }
    },
  }
}

/** Driver that writes mails to the log. The content is left out, because it may contain sign-in codes. */
export function createLogDriver(log: Pick<Logger, 'info'>): MailDriver {
  return {
    displayName: { en: 'Log', 'zh-CN': '日志' },
    isConfigured: () => true,
    async send({ to, subject, messageId }, signal) {
      if (signal.aborted) return deferAllAsCancelled(to)
      log.info({ messageId, to: to.map(masked), subjectLength: subject.length }, 'mail')
      return acceptAllRecipients(to)
    },
    async verify() {},
  }
}

const masked = (address: string) => address.replace(/^(.).*@/u, '$1***@')
