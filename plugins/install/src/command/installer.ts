import { service } from '@plinth/kernel'
import type { DefaultsView, ExecuteView, RecordView } from '../contract.ts'
import type { Caller } from '../entry/caller.ts'
import type { InstallForm } from '../form/fields.ts'
import type { ClosedByState } from '../state/install-state.ts'

/** The whole installation for the command of this plugin. */
interface Installer {
  readonly stepCount: number
  /** The running configuration with its secrets: whoever runs a command on the server can read the file. */
  defaults(): DefaultsView
  /** Why there is nothing to install; `undefined` when there is. */
  closedBecause(): Promise<ClosedByState | undefined>
  /** Answers nothing when the lock was closed meanwhile. */
  install(
    form: InstallForm,
    options: {
      readonly caller: Caller
      readonly signal: AbortSignal
      readonly onRecord: (record: RecordView) => void
    },
  ): Promise<ExecuteView | undefined>
}

export const installer = service<Installer>('install.installer', { from: '@plinth/install' })
