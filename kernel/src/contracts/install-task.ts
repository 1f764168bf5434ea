import type { LocalizedText } from '@plinth/config-schema'
import type { Declared, PluginRuntime } from '../plugin.ts'

export interface InstallTaskContext<D extends Partial<Declared>> extends PluginRuntime<D> {
  readonly signal: AbortSignal
  /** Shows progress to the operator. Never secrets. */
  note(text: string): void
}

/**
 * One step of the installation (document 3, "Install task contract"). A task may be killed at any moment and run again:
 * `run` must end in the same state however often it was started.
 */
export interface InstallTask<D extends Partial<Declared> = Declared> {
  /**
   * Globally unique step code, kebab-case.
   *
   * @example code: 'check-sms-account'
   */
  readonly code: string
  /**
   * @example displayName: { en: 'Check the SMS account', 'zh-CN': '检查短信账户' }
   */
  readonly displayName: LocalizedText
  /**
   * Base order; smaller runs earlier.
   *
   * @example order: 500
   */
  readonly order: number
  /**
   * Codes of tasks that run before this one when they are registered.
   *
   * @example dependencies: ['write-settings']
   */
  readonly dependencies?: readonly string[]
  /**
   * A failed required task stops the installation; a failed optional one is logged.
   *
   * @example required: false
   */
  readonly required: boolean
  /**
   * Whether the operator may be offered another try.
   *
   * @example retryable: true
   */
  readonly retryable: boolean
  /**
   * True when nothing is left to do; the task is skipped then. Writes nothing.
   *
   * @example isCompleted: ({ config }) => config.get('platform.acme-sms.poll') === 0
   */
  readonly isCompleted: (context: InstallTaskContext<D>) => boolean | Promise<boolean>
  /**
   * @example run: async ({ note, signal }) => note((await account(signal)) ? 'The account is open.' : 'The account is closed.')
   */
  readonly run: (context: InstallTaskContext<D>) => void | Promise<void>
}
