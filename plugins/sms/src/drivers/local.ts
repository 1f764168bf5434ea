import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorReason, type Logger } from '@plinth/kernel'
import type { SmsDriver } from '../contract.ts'

/**
 * Driver for development that writes messages to files. Only their owner can read the files, because a message may
 * contain a sign-in code.
 */
export function createFileDriver(directory: string): SmsDriver {
  return {
    displayName: { en: 'Files', 'zh-CN': '文件' },
    isConfigured: () => true,
    async send(request, signal) {
      try {
        await mkdir(directory, { recursive: true, mode: 0o700 })
        const path = join(directory, `${encodeURIComponent(request.reference)}-${request.to.slice(1)}.json`)
        await writeFile(path, `${JSON.stringify(request, null, 2)}\n`, { signal, mode: 0o600 })
        return { outcome: 'accepted', provider: 'file' }
      } catch (error) {
        const errorMessage = `The file cannot be written: ${errorReason(error).split(',')[0]}`
        return { outcome: 'deferred', errorCode: 'sms.file-unwritable', errorMessage, provider: 'file' }
      }
    },
  }
}

/**
 * Driver for development that writes messages to the log. The text is left out, because it may contain a sign-in code.
 */
export function createLogDriver(log: Logger): SmsDriver {
  return {
    displayName: { en: 'Log', 'zh-CN': '日志' },
    isConfigured: () => true,
    async send({ to, templateCode, signName, reference }) {
      log.info({ to: `***${to.slice(-4)}`, templateCode, signName, reference }, 'text message')
      return { outcome: 'accepted', provider: 'log' }
    },
  }
}
